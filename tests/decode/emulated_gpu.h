// A GPU without hardware, for kernels that are written against names of their own (emulated_hopper.h): every thread of
// every block is a fiber, and blocks, copies and messages take their turns by chance. What the hardware leaves open is
// left to chance as well: copies read their source late and arrive in pieces, a message of 16 bytes arrives in halves,
// and messages to different places overtake each other. What it cannot show: missing fences between proxies, and time.
#pragma once

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace attend::test {

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

}  // namespace attend::test
