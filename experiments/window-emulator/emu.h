#pragma once
#include <cuda.h>
#include <cmath>
#include <cstring>
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>
#include "attend/tensor/activation.h"
#include "attend/tensor/window_walk.h"
#define __device__
#define __forceinline__ inline
#define __global__
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__
#define __align__(n) __attribute__((aligned(n)))
struct Dim { unsigned x; };
inline thread_local Dim threadIdx; inline Dim blockIdx, gridDim;
struct uint4 { unsigned x, y, z, w; }; struct float2 { float x, y; };
inline float2 make_float2(float x, float y) { return {x, y}; }
struct __nv_bfloat16 { unsigned short bits; };
struct __nv_bfloat162 { __nv_bfloat16 x, y; };
inline float fl(__nv_bfloat16 b) { unsigned u = unsigned(b.bits) << 16; float f; std::memcpy(&f, &u, 4); return f; }
inline __nv_bfloat16 bfl(float f) { unsigned u; std::memcpy(&u, &f, 4); u += 0x7fff + ((u >> 16) & 1); return {static_cast<unsigned short>(u >> 16)}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {fl(v.x), fl(v.y)}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {bfl(a), bfl(b)}; }
inline int __shfl_sync(unsigned, int v, int) { return v; }
void __syncwarp();
namespace attend::cuda {
using std::min;
using bf16 = __nv_bfloat16;
inline constexpr int kWarp = 32;
extern unsigned char memory[];
inline std::barrier<>* block_barrier; inline std::barrier<>* group_barriers[2]; inline std::barrier<>* warp_barriers[12];
inline void warp_sync() { warp_barriers[threadIdx.x / 32]->arrive_and_wait(); }
inline void __syncthreads_() { block_barrier->arrive_and_wait(); }
inline void group_barrier(int g) { group_barriers[g]->arrive_and_wait(); }
template <int R, int C> struct SharedTile {
  static constexpr int kRows = R, kColumns = C, kPanel = C % 64 == 0 ? 64 : 32, kPanelBytes = R * kPanel * 2, kBytes = R * C * 2;
  static std::uint32_t offset(int row, int chunk) {
    const int panel = chunk / 8, column = chunk % 8;
    return panel * kPanelBytes + row * 128 + ((column ^ (row & 7)) * 16);
  }
};
inline std::uint32_t shared_address(const void* p) { auto d = static_cast<const unsigned char*>(p) - memory; if (d < 0 || d >= 232448) { std::puts("address"); std::abort(); } return d; }
struct TileDescriptor {
  std::uint32_t low;
  template <class Tile> static TileDescriptor of(std::uint32_t address) { return {((address & 0x3ffff) >> 4) | (static_cast<std::uint32_t>(Tile::kPanelBytes >> 4) << 16)}; }
  std::uint64_t at(std::uint32_t bytes) const { constexpr std::uint64_t kHigh = (static_cast<std::uint64_t>(1024 >> 4) << 32) | (1ull << 62); return kHigh | (low + (bytes >> 4)); }
};
// barriers
struct Bar { std::condition_variable cv; int count = 0, pending = 0; long tx = 0; unsigned phase = 0; };
inline std::map<std::uint32_t, Bar> bars; inline std::mutex m;
inline void settle(Bar& b) { if (b.pending < 0) { std::puts("too many arrivals"); std::abort(); } if (b.pending == 0 && b.tx == 0) { b.pending = b.count; ++b.phase; b.cv.notify_all(); } }
inline void barrier_init(std::uint32_t a, std::uint32_t n) { std::lock_guard l(m); Bar& b = bars[a]; b.count = b.pending = n; b.tx = 0; b.phase = 0; }
inline void barriers_are_ready() {}
inline void barrier_expect(std::uint32_t a, std::uint32_t bytes) { std::lock_guard l(m); Bar& b = bars.at(a); b.tx += bytes; --b.pending; settle(b); }
inline void barrier_arrive(std::uint32_t a) { std::lock_guard l(m); Bar& b = bars.at(a); --b.pending; settle(b); }
inline void barrier_wait(std::uint32_t a, std::uint32_t parity) {
  std::unique_lock l(m); Bar& b = bars.at(a);
  if (!b.cv.wait_for(l, std::chrono::seconds(60), [&] { return (b.phase & 1) != parity; })) { std::printf("stuck at %u thread %u\n", a, threadIdx.x); std::abort(); }
}
// the copy engine: its orders are done by a thread of its own, in any order
struct Engine {
  std::vector<std::function<void()>> orders; std::mutex mutex; std::atomic<bool> stop{false}; std::thread thread; std::mt19937 random{7};
  Engine() : thread([this] { while (true) { std::function<void()> order; { std::lock_guard l(mutex); if (!orders.empty()) { auto i = random() % orders.size(); order = std::move(orders[i]); orders.erase(orders.begin() + i); } else if (stop) return; } if (order) order(); else std::this_thread::sleep_for(std::chrono::microseconds(20)); } }) {}
  ~Engine() { stop = true; thread.join(); }
  void add(std::function<void()> f) { std::lock_guard l(mutex); orders.push_back(std::move(f)); }
};
inline Engine* engine;
inline std::uint32_t swizzle(std::uint32_t address) { return address ^ (((address >> 7) & 7) << 4); }
inline void put(std::uint32_t to, int row, int c, unsigned short v) { std::memcpy(&memory[swizzle(to + row * 128 + c * 2)], &v, 2); }
inline void done(std::uint32_t barrier, long bytes) { std::lock_guard l(m); Bar& b = bars.at(barrier); b.tx -= bytes; settle(b); }
inline void copy_tile(std::uint32_t to, const CUtensorMap& f, int column, int row, std::uint32_t barrier) {
  if (to % 1024) { std::puts("alignment"); std::abort(); }
  engine->add([=, f = f] { for (int r = 0; r < f.rows; ++r) for (int c = 0; c < 64; ++c) { bool in = column + c < f.d[0] && row + r < f.d[1]; put(to, r, c, in ? f.data[(row + r) * f.s[0] + column + c] : 0); } done(barrier, f.rows * 128); });
}
inline void copy_head_tile(std::uint32_t to, const CUtensorMap& f, int column, int head, int row, std::uint32_t barrier) {
  if (to % 1024) { std::puts("alignment"); std::abort(); }
  engine->add([=, f = f] { for (int r = 0; r < f.rows; ++r) for (int c = 0; c < 64; ++c) { bool in = column + c < f.d[0] && head < f.d[1] && row + r < f.d[2]; put(to, r, c, in ? f.data[(row + r) * f.s[1] + head * f.s[0] + column + c] : 0); } done(barrier, f.rows * 128); });
}
inline void copy_windows(std::uint32_t to, const CUtensorMap& f, int channel, const images::WalkBase& base, int off_h, int off_w, std::uint32_t barrier) {
  if (to % 1024 || off_h < 0 || off_w < 0 || off_h > 255 || off_w > 255) { std::puts("windows"); std::abort(); }
  engine->add([=, f = f] {
    int n = base.image, h = base.h, w = base.w;
    for (int r = 0; r < f.rows; ++r) {
      for (int c = 0; c < 64; ++c) {
        bool in = channel + c < f.d[0] && n < f.d[3] && h + off_h >= 0 && w + off_w >= 0 && h + off_h < f.d[2] && w + off_w < f.d[1];
        put(to, r, c, in ? f.data[n * f.s[2] + (h + off_h) * f.s[1] + (w + off_w) * f.s[0] + channel + c] : 0);
      }
      w += f.step[0]; if (w <= f.d[1] - 1 + f.upper[0]) continue; w = f.lower[0]; h += f.step[1]; if (h <= f.d[2] - 1 + f.upper[1]) continue; h = f.lower[1]; ++n;
    }
    done(barrier, f.rows * 128);
  });
}
inline thread_local std::deque<std::vector<std::function<void()>>> stores; inline thread_local std::vector<std::function<void()>> store_batch;
inline void store_tile(const CUtensorMap& t, int column, int row, std::uint32_t from) {
  store_batch.push_back([=, &t] { for (int r = 0; r < t.rows; ++r) for (int c = 0; c < 64; ++c) if (column + c < t.d[0] && row + r < t.d[1]) std::memcpy(&t.data[(row + r) * t.s[0] + column + c], &memory[swizzle(from + r * 128 + c * 2)], 2); });
}
inline void commit_stores() { stores.push_back(std::move(store_batch)); store_batch.clear(); }
template <int N> void wait_for_stores() { while (stores.size() > N) { for (auto& f : stores.front()) f(); stores.pop_front(); } }
template <int> void fewer_registers() {} template <int> void more_registers() {}
inline std::uint32_t exchange[12][32];
inline void store_matrices(std::uint32_t address, const std::uint32_t (&r)[4]) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32; exchange[warp][lane] = address; warp_barriers[warp]->arrive_and_wait();
  for (int i = 0; i < 4; ++i) std::memcpy(&memory[exchange[warp][8 * i + lane / 4] + lane % 4 * 4], &r[i], 4);
  warp_barriers[warp]->arrive_and_wait();
}
// products, done as late as the waits allow
inline thread_local std::deque<std::vector<std::function<void()>>> groups; inline thread_local std::vector<std::function<void()>> group_batch;
template <bool kDown> float element(std::uint64_t d, int mn, int k) {
  const std::uint32_t start = (d & 0x3fff) << 4, lbo = ((d >> 16) & 0x3fff) << 4, sbo = ((d >> 32) & 0x3fff) << 4;
  if (d >> 62 != 1) { std::puts("descriptor"); std::abort(); }
  const std::uint32_t at = kDown ? start + mn / 64 * lbo + mn % 64 * 2 + k / 8 * sbo + k % 8 * 128 : start + mn / 8 * sbo + mn % 8 * 128 + k * 2;
  __nv_bfloat16 v; std::memcpy(&v, &memory[swizzle(at)], 2); return fl(v);
}
template <bool kDownA, bool kDownB, int N> void multiply(float (&c)[N][4], std::uint64_t a, std::uint64_t b, int add) {
  group_batch.push_back([&c, a, b, add] {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4; float left[2][16];
    for (int h = 0; h < 2; ++h) for (int k = 0; k < 16; ++k) left[h][k] = element<kDownA>(a, warp * 16 + lane / 4 + 8 * h, k);
    for (int j = 0; j < N; ++j) for (int e = 0; e < 2; ++e) { float right[16]; for (int k = 0; k < 16; ++k) right[k] = element<kDownB>(b, 8 * j + lane % 4 * 2 + e, k);
      for (int h = 0; h < 2; ++h) { float s = add ? c[j][2 * h + e] : 0; for (int k = 0; k < 16; ++k) s += left[h][k] * right[k]; c[j][2 * h + e] = s; } }
  });
}
struct GroupProducts {
  static void begin() {} static void publish() {} static std::uint32_t along_rows(int k) { return k * 16 * 128; }
  static void commit() { groups.push_back(std::move(group_batch)); group_batch.clear(); }
  template <int kPending, class... C> static void wait(C&...) { while (groups.size() > kPending) { for (auto& f : groups.front()) f(); groups.pop_front(); } warp_sync(); }
};
inline std::uint32_t pack_bf16(float a, float b) { __nv_bfloat162 v{bfl(a), bfl(b)}; std::uint32_t u; std::memcpy(&u, &v, 4); return u; }
template <Activation K> float activate(float x) { if constexpr (K == Activation::relu) return std::max(x, 0.f); if constexpr (K == Activation::silu) return x / (1 + std::exp(-x)); if constexpr (K == Activation::leaky_relu) return x < 0 ? kLeakySlope * x : x; return x; }
}
#define __syncthreads attend::cuda::__syncthreads_

inline void __syncwarp() { attend::cuda::warp_sync(); }
