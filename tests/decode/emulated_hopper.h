// A Hopper without a GPU, for the kernel of attend/cuda/decode/many_rows_kernel.cuh: every thread of every block is a
// fiber, and blocks, copies and messages take their turns by chance. It has the names of attend/cuda/decode/hopper.cuh.
// What the hardware leaves open is left to chance as well: copies read their source late and arrive in pieces, a
// message of 16 bytes arrives in halves, and messages to different places overtake each other. What it cannot show:
// missing fences between proxies, and time.
#pragma once

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// The kernel as plain C++.
#ifndef __CUDACC__
#define __device__
#define __forceinline__ inline
#endif
#include "attend/cuda/decode/many_rows_kernel.cuh"

namespace attend::test {

inline float float_of(std::uint16_t bf16) { return std::bit_cast<float>(static_cast<std::uint32_t>(bf16) << 16); }
inline std::uint16_t bf16_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

class EmulatedGpu {
 public:
  EmulatedGpu(int blocks, int threads, int cluster, std::size_t shared_bytes, std::uint64_t seed)
      : threads_(threads), cluster_(cluster), random_(seed) {
    stacks_ = static_cast<std::byte*>(mmap(nullptr, kStack * static_cast<std::size_t>(blocks * threads),
                                           PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (stacks_ == MAP_FAILED) throw std::runtime_error("no memory for stacks");
    fibers_.resize(static_cast<std::size_t>(blocks * threads));
    for (int i = 0; i < blocks; ++i) {
      blocks_.emplace_back();
      Block& block = blocks_.back();
      block.memory.reset(new (std::align_val_t{1024}) std::byte[shared_bytes]);
      std::memset(block.memory.get(), 0xff, shared_bytes);  // not numbers
    }
  }
  ~EmulatedGpu() { munmap(stacks_, kStack * fibers_.size()); }
  EmulatedGpu(const EmulatedGpu&) = delete;
  EmulatedGpu& operator=(const EmulatedGpu&) = delete;

  // body(shared memory of the block), by every thread.
  void run(std::function<void(void*)> body) {
    body_ = std::move(body);
    current_gpu_ = this;
    for (std::size_t i = 0; i < fibers_.size(); ++i) {
      Fiber& fiber = fibers_[i];
      fiber.block = static_cast<int>(i) / threads_, fiber.thread = static_cast<int>(i) % threads_;
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = stacks_ + i * kStack, fiber.context.uc_stack.ss_size = kStack;
      fiber.context.uc_link = nullptr;
      makecontext(&fiber.context, &EmulatedGpu::enter, 0);
    }
    left_ = fibers_.size();
    while (left_ > 0) {
      if (!error_.empty()) throw std::runtime_error(error_);
      if (visits_ > kMostVisits) throw std::runtime_error("threads wait for ever: " + waiting());
      // Some blocks are far behind the others for a while.
      const std::uint64_t block = below(blocks_.size());
      if (below(4) != 0 && block % 5 == slow_) continue;
      if (below(64) == 0) slow_ = below(6);
      visit(static_cast<int>(block));
      deliver(below(256));
    }
    while (!copies_.empty()) arrive(copies_, 0);
    for (Block& block : blocks_)
      while (!block.messages.empty()) arrive(block.messages, 0);
    current_gpu_ = nullptr;
  }

  // What a thread sees of the machine.
  static EmulatedGpu& now() { return *current_gpu_; }
  int thread() const { return fiber_->thread; }
  int block() const { return fiber_->block; }

  // All `count` threads from `first` of the block on.
  void meet(int first, int count) {
    Block& block = blocks_[static_cast<std::size_t>(fiber_->block)];
    Meeting& meeting = block.meetings[static_cast<std::size_t>(first * 4 + (count == 32 ? 0 : count == 128 ? 1 : 2))];
    const std::uint64_t round = meeting.round;
    if (++meeting.here == count) return meeting.here = 0, ++meeting.round, void();
    wait_until("others", [&meeting, round] { return meeting.round != round; });
  }
  void meet_cluster() {
    Meeting& meeting = blocks_[static_cast<std::size_t>(fiber_->block / cluster_ * cluster_)].of_cluster;
    const std::uint64_t round = meeting.round;
    if (++meeting.here == threads_ * cluster_) return meeting.here = 0, ++meeting.round, void();
    wait_until("others", [&meeting, round] { return meeting.round != round; });
  }
  template <class Condition>
  void wait_until(const char* what, Condition&& condition) {
    while (!condition()) {
      fiber_->waits_for = what;
      fiber_->waits = std::ref(condition);
      yield();
    }
    fiber_->waits = nullptr;
  }
  // What the lanes of a warp show each other: meeting once is enough, since nobody is two meetings ahead of another.
  using Shown = std::array<std::uint32_t, 6>;
  const Shown& show(const Shown& words) {
    fiber_->turn ^= 1;
    return shown(fiber_->thread) = words;
  }
  Shown& shown(int thread) {
    return blocks_[static_cast<std::size_t>(fiber_->block)].shown[static_cast<std::size_t>(thread * 2 + fiber_->turn)];
  }

  struct Gate {
    int arrivals = 1, pending = 1;
    std::int64_t bytes = 0;
    std::uint32_t phase = 0;
    void check() {
      if (pending == 0 && bytes == 0) ++phase, pending = arrivals;
    }
  };
  Gate& gate(std::uint64_t& at) {
    if (at >= gates_.size()) fail("a gate is used before it is made");
    return gates_[at];
  }
  void fail(const char* what) {
    error_ = what;
    for (;;) yield();
  }
  void init(std::uint64_t& at) { at = gates_.size(), gates_.emplace_back(); }

  template <class T>
  T& of_rank(T& mine, int rank) {
    const std::size_t own = static_cast<std::size_t>(fiber_->block);
    const std::size_t other =
        own / static_cast<std::size_t>(cluster_) * static_cast<std::size_t>(cluster_) + static_cast<std::size_t>(rank);
    const auto offset = reinterpret_cast<const std::byte*>(&mine) - blocks_[own].memory.get();
    return *reinterpret_cast<T*>(blocks_[other].memory.get() + offset);
  }
  // Bytes that arrive some time later, in pieces; `from` is read then.
  void copy_later(void* to, const void* from, std::size_t bytes, std::uint64_t& gate) {
    for (std::size_t i = 0, piece = 0; i < bytes; i += piece) {
      piece = std::min<std::size_t>(bytes - i, bytes > 8192 ? 8192 : 16 + 16 * below(32));
      copies_.push_back({static_cast<std::byte*>(to) + i, static_cast<const std::byte*>(from) + i, 0, piece, &gate});
    }
  }
  void write_later(void* to, std::uint64_t x, std::size_t bytes, std::uint64_t& gate) {
    copies_.push_back({static_cast<std::byte*>(to), nullptr, x, bytes, &gate});
  }
  // The same to memory. Two to one place arrive in their order.
  void write_message(void* to, std::uint64_t x) {
    blocks_[static_cast<std::size_t>(fiber_->block)].messages.push_back(
        {static_cast<std::byte*>(to), nullptr, x, 8, nullptr});
  }
  // All that this block has written to memory.
  void flush() {
    auto& messages = blocks_[static_cast<std::size_t>(fiber_->block)].messages;
    for (const Later& x : messages) std::memcpy(x.to, &x.word, x.bytes), has_changed(x.to);
    messages.clear();
  }
  // Whoever reads a place again waits until something has been written there, or near it, or for a while: what is
  // waited for may be a word of another place, read just before.
  void look_at(const void* place) {
    const std::uint64_t& version = version_of(place);
    Fiber::Look* look = std::find_if(std::begin(fiber_->looks), std::end(fiber_->looks),
                                     [&](const Fiber::Look& one) { return one.place == place; });
    if (look == std::end(fiber_->looks))
      look = &fiber_->looks[fiber_->next_look++ % 16];
    else
      wait_until("memory", [this, &version, seen = look->version, until = visits_ + 400] {
        return version != seen || visits_ > until;
      });
    *look = {place, version};
  }
  void has_changed(const void* place) { ++version_of(place); }
  std::uint64_t below(std::uint64_t n) {
    random_ = random_ * 6364136223846793005ull + 1442695040888963407ull;
    return (random_ >> 33) % n;
  }

 private:
  static constexpr std::size_t kStack = 128 << 10;
  static constexpr std::uint64_t kMostVisits = 1'000'000;
  struct Meeting {
    int here = 0;
    std::uint64_t round = 0;
  };
  struct Free {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{1024}); }
  };
  struct Later {
    std::byte* to;
    const std::byte* from;  // or none: a word
    std::uint64_t word;
    std::size_t bytes;
    std::uint64_t* gate;
  };
  struct Block {
    std::unique_ptr<std::byte[], Free> memory;
    std::vector<Meeting> meetings = std::vector<Meeting>(4 * 1024);
    std::vector<Shown> shown = std::vector<Shown>(2 * 1024);
    Meeting of_cluster;
    std::vector<Later> messages;
  };
  struct Fiber {
    struct Look {
      const void* place;
      std::uint64_t version;
    };
    ucontext_t context;  // where it begins; then it is where it last yielded
    jmp_buf yielded;
    bool begun = false, done = false;
    int block = 0, thread = 0, turn = 0;
    std::function<bool()> waits;
    const char* waits_for = "";
    Look looks[16] = {};
    std::size_t next_look = 0;
  };
  static void enter() {
    EmulatedGpu& gpu = now();
    Fiber& fiber = *gpu.fiber_;
    gpu.body_(gpu.blocks_[static_cast<std::size_t>(fiber.block)].memory.get());
    fiber.done = true, --gpu.left_;
    _longjmp(gpu.scheduler_, 1);
  }
  void yield() {
    if (_setjmp(fiber_->yielded) == 0) _longjmp(scheduler_, 1);
  }
  void resume(Fiber& fiber) {
    fiber_ = &fiber;
    if (_setjmp(scheduler_) != 0) return;
    if (fiber.begun) _longjmp(fiber.yielded, 1);
    fiber.begun = true;
    setcontext(&fiber.context);
  }
  std::uint64_t& version_of(const void* place) {
    return versions_[reinterpret_cast<std::uintptr_t>(place) / 128 % versions_.size()];
  }
  // What the threads of each block wait for.
  std::string waiting() const {
    std::string all;
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
      std::map<std::string, int> counts;
      for (std::size_t i = 0; i < static_cast<std::size_t>(threads_); ++i) {
        const Fiber& fiber = fibers_[block * static_cast<std::size_t>(threads_) + i];
        ++counts[fiber.done ? "nothing" : fiber.waits_for];
      }
      all += "\n" + std::to_string(block) + ":";
      for (const auto& [what, count] : counts) all += " " + std::to_string(count) + " for " + what;
    }
    return all;
  }
  // The threads of a block run until all of them wait; some warps hang back.
  void visit(int block) {
    ++visits_;
    for (bool again = true; again;) {
      again = false;
      const auto begin = static_cast<int>(below(static_cast<std::uint64_t>(threads_)));
      std::uint64_t rest = below(1u << 16) & below(1u << 16);
      if (below(4) != 0) rest = 0;
      for (int i = 0; i < threads_; ++i) {
        const int thread = (begin + i) % threads_;
        Fiber& fiber = fibers_[static_cast<std::size_t>(block * threads_ + thread)];
        if (fiber.done || (fiber.waits && !fiber.waits())) continue;
        again = true;
        if (rest >> (thread / 32 % 16) & 1) continue;
        resume(fiber);
        if (!error_.empty()) return;
      }
    }
  }
  void deliver(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!copies_.empty()) arrive(copies_, below(copies_.size()));
      auto& messages = blocks_[below(blocks_.size())].messages;
      if (!messages.empty()) arrive(messages, below(messages.size()));
    }
  }
  // Number i, or an older message to the same place.
  void arrive(std::vector<Later>& all, std::uint64_t i) {
    if (!all[i].gate)
      for (std::uint64_t j = 0; j < i; ++j)
        if (all[j].to == all[i].to) i = j;
    const Later x = all[i];
    std::memcpy(x.to, x.from ? static_cast<const void*>(x.from) : &x.word, x.bytes);
    if (x.gate) {
      Gate& counts = gate(*x.gate);
      counts.bytes -= static_cast<std::int64_t>(x.bytes), counts.check();
      all[i] = all.back(), all.pop_back();  // in any order
    } else {
      has_changed(x.to);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  inline static EmulatedGpu* current_gpu_ = nullptr;
  int threads_, cluster_;
  std::uint64_t random_, visits_ = 1, slow_ = 0;
  std::byte* stacks_ = nullptr;
  std::vector<Fiber> fibers_;
  std::vector<Block> blocks_;
  std::vector<Gate> gates_;
  std::vector<Later> copies_;
  std::size_t left_ = 0;
  std::string error_;
  std::function<void(void*)> body_;
  jmp_buf scheduler_;
  std::vector<std::uint64_t> versions_ = std::vector<std::uint64_t>(1 << 16);
  Fiber* fiber_ = nullptr;
};

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
