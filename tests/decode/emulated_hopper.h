// What a kernel sees of a Hopper (the names of attend/cuda/decode/hopper.cuh), on an emulated GPU. With it
// attend/cuda/decode/many_rows_kernel.cuh runs on the host.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "attend/base/dtype.h"
#include "tests/decode/emulated_gpu.h"

// The kernel as plain C++.
#ifndef __CUDACC__
#define __device__
#define __forceinline__ inline
#endif
#include "attend/cuda/decode/many_rows_kernel.cuh"

namespace attend::test {

inline float float_of(std::uint16_t bits) {
  Bf16 x;
  x.bits = bits;
  return x;
}
inline std::uint16_t bf16_of(float x) { return Bf16(x).bits; }

struct EmulatedHopper {
  using Gpu = EmulatedGpu;
  static Gpu& gpu() { return Gpu::now(); }
  static int thread() { return gpu().thread(); }
  static int block() { return gpu().block(); }
  static void hide(int&) {}
  static void sync() { gpu().meet(0, cuda::kManyThreads); }
  static void sync_cluster() { gpu().meet_cluster(); }
  static float shuffle_xor(float x, int mask) {
    const int own = thread();
    gpu().show({std::bit_cast<std::uint32_t>(x)});
    gpu().meet(own / 32 * 32, 32);
    return std::bit_cast<float>(gpu().shown(own ^ mask)[0]);
  }
  static void wait_for_kernel_before() {}
  static void let_next_kernel_start() {}

  static void init(std::uint64_t& gate) { gpu().init(gate); }
  static void gates_are_ready() {}
  static void expect(std::uint64_t& at, std::uint32_t bytes) {
    Gpu::Gate& gate = gpu().gate(at);
    gate.bytes += bytes, --gate.pending;
    if (gate.pending < 0) gpu().fail("a gate was told twice what to expect");
    gate.check();
  }
  static void wait(std::uint64_t& at, std::uint32_t parity) {
    gpu().wait_until("a gate", [&at, parity] { return (gpu().gate(at).phase & 1u) != parity; });
  }
  static void show_to_engines() {}
  static void fetch(void* to, const void* from, std::uint32_t bytes, std::uint64_t& gate) {
    gpu().copy_later(to, from, bytes, gate);
  }
  static void fetch_to_l2(const void* from, std::uint32_t bytes) {
    const volatile auto* at = static_cast<const std::uint8_t*>(from);
    (void)at[0], (void)at[bytes - 1];
  }
  static void send(void* to, std::uint32_t x, std::uint64_t& gate, int rank) {
    gpu().write_later(&gpu().of_rank(*static_cast<std::byte*>(to), rank), x, 4, gpu().of_rank(gate, rank));
  }
  static void send(void* to, const cuda::Pair& x, std::uint64_t& gate, int rank) {
    gpu().write_later(&gpu().of_rank(*static_cast<std::byte*>(to), rank), whole(x), 8, gpu().of_rank(gate, rank));
  }
  static void send(void* to, const cuda::Words& x, std::uint64_t& gate, int rank) {
    send(to, cuda::Pair{x.x, x.y}, gate, rank);
    send(static_cast<cuda::Pair*>(to) + 1, cuda::Pair{x.z, x.w}, gate, rank);
  }

  static void arrive_at(std::uint32_t* counter) { gpu().flush(), ++*counter, gpu().has_changed(counter); }
  static std::uint32_t arrivals_at(const std::uint32_t* counter) {
    gpu().look_at(counter);
    return *counter;
  }
  static cuda::Words load_message(const void* from) {
    gpu().look_at(from);
    return *static_cast<const cuda::Words*>(from);
  }
  static void store_message(void* to, const cuda::Words& x) {
    store_message(to, cuda::Pair{x.x, x.y});
    store_message(static_cast<cuda::Pair*>(to) + 1, cuda::Pair{x.z, x.w});
  }
  static void store_message(void* to, const cuda::Pair& x) { gpu().write_message(to, whole(x)); }
  static cuda::Words load_once(const void* from) { return *static_cast<const cuda::Words*>(from); }

  static float power_of_two(float x) { return std::exp2(x); }
  static float root_reciprocal(float x) { return 1 / std::sqrt(x); }
  static void activate(Activation kind, float (&x)[4]) {  // ReLU, or else GELU by tanh
    for (float& value : x)
      value = kind == Activation::relu
                  ? std::max(value, 0.0f)
                  : 0.5f * value * (1 + std::tanh(0.7978845608f * (value + 0.044715f * value * value * value)));
  }
  static std::uint32_t pack(float low, float high) {
    return bf16_of(low) | static_cast<std::uint32_t>(bf16_of(high)) << 16;
  }

  // mma.sync.m16n8k16 by the manual of PTX: a [16, 16], b [16, 8], c [16, 8].
  static void multiply(float (&c)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t a2, std::uint32_t a3,
                       std::uint32_t b0, std::uint32_t b1) {
    const int own = thread(), first = own / 32 * 32;
    gpu().show({a0, a1, a2, a3, b0, b1});
    gpu().meet(first, 32);
    for (int e = 0; e < 4; ++e) {
      const int row = own % 32 / 4 + e / 2 * 8, column = own % 4 * 2 + e % 2;
      for (int k = 0; k < 16; ++k) {
        const std::uint32_t a =
            gpu().shown(first + row % 8 * 4 + k % 8 / 2)[static_cast<std::size_t>(row / 8 + k / 8 * 2)];
        const std::uint32_t b = gpu().shown(first + column * 4 + k % 8 / 2)[static_cast<std::size_t>(4 + k / 8)];
        c[e] += half_of(a, k % 2) * half_of(b, k % 2);
      }
    }
  }
  // wgmma: what is in shared memory when the group waits is what it multiplies.
  static void begin_group() {}
  template <int N>
  static void multiply_group(float (&c)[N][4], const void* x, const void* w, int half, bool add) {
    if (!add)
      for (auto& tile : c) std::fill(std::begin(tile), std::end(tile), 0.0f);
    if (reinterpret_cast<std::uintptr_t>(x) % 512 != 0 || reinterpret_cast<std::uintptr_t>(w) % 512 != 0)
      gpu().fail("blocks for wgmma begin on 512 bytes");
    pending()[static_cast<std::size_t>(block() * cuda::kManyThreads + thread())].push_back(
        {static_cast<const std::byte*>(x), static_cast<const std::byte*>(w), half});
  }
  template <int N>
  static void end_group(float (&c)[N][4]) {
    const int own = thread();
    auto& products = pending()[static_cast<std::size_t>(block() * cuda::kManyThreads + own)];
    gpu().meet(own / 128 * 128, 128);
    for (const auto& product : products)
      for (int j = 0; j < N; ++j)
        for (int e = 0; e < 4; ++e) {
          const int row = own % 128 / 32 * 16 + own % 32 / 4 + e / 2 * 8, column = j * 8 + own % 4 * 2 + e % 2;
          for (int k = 0; k < 16; ++k)
            c[j][e] +=
                swizzled(product.x, row, product.half * 16 + k) * swizzled(product.w, column, product.half * 16 + k);
        }
    products.clear();
    gpu().meet(own / 128 * 128, 128);
  }

 private:
  struct GroupProduct {
    const std::byte *x, *w;
    int half;
  };
  static std::vector<std::vector<GroupProduct>>& pending() {
    static std::vector<std::vector<GroupProduct>> all(1 << 16);
    return all;
  }
  static std::uint64_t whole(const cuda::Pair& x) { return x.x | static_cast<std::uint64_t>(x.y) << 32; }
  static float half_of(std::uint32_t two, int which) {
    return std::bit_cast<float>(which ? two & 0xffff0000u : two << 16);
  }
  // Rows of 64 bytes, whose 16-byte chunks are permuted by bits 7 and 8 of the address.
  static float swizzled(const std::byte* blocks, int row, int k) {
    auto address = reinterpret_cast<std::uintptr_t>(blocks) + static_cast<std::uintptr_t>(row * 64 + k * 2);
    address ^= (address >> 7 & 3u) << 4;
    std::uint16_t bits;
    std::memcpy(&bits, reinterpret_cast<const void*>(address), 2);
    return float_of(bits);
  }
};

}  // namespace attend::test
