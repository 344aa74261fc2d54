// The memory of a pass. A training step asks for the same sizes in the same order every time, so the first step is
// written down, packed once into one slab, and from then on every request is an offset looked up.
//
// A plan is a list of events (take n bytes, give back block i). While a step follows its plan, addresses come from the
// slab; the first event that differs ends that, the rest of the step is served from loose blocks, and the plan is made
// anew. Plans are kept by key: one per batch shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace attend {

class Backend;

class Arena {
 public:
  explicit Arena(Backend& backend) : backend_(backend) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  struct Block {
    std::byte* data;
    std::int32_t number;
  };
  Block take(std::size_t bytes);
  void give_back(std::int32_t number);

  // Starts a step under the plan of this key; kNoPlan serves it from loose blocks, for work whose sizes vary.
  // All blocks of the step before must have been given back.
  static constexpr std::uint64_t kNoPlan = ~std::uint64_t{0};
  void begin(std::uint64_t key);

  bool replaying() const { return following_; }
  std::size_t live() const { return live_; }
  std::size_t slab_bytes() const { return slab_bytes_; }
  std::size_t allocations() const { return allocations_; }  // calls to the backend so far
  // Changes when the slab moves: a captured graph of an older generation must not be replayed.
  std::uint64_t generation() const { return generation_; }

 private:
  struct Event {
    std::int32_t block;
    std::size_t bytes;  // 0: the block is given back
  };
  struct Plan {
    std::vector<Event> events;
    std::vector<std::size_t> offsets;  // by block; empty until packed
    std::size_t peak = 0;
  };
  struct Loose {
    std::byte* data = nullptr;  // null: the block lies in the slab
    std::size_t bytes = 0;
  };

  static void pack(Plan& plan);
  void finish_step();
  void grow_slab(std::size_t bytes);
  std::byte* take_loose(std::size_t& bytes);
  void free_loose();

  Backend& backend_;
  std::unordered_map<std::uint64_t, Plan> plans_;
  Plan* plan_ = nullptr;
  bool recording_ = false;  // this step writes its plan
  bool following_ = false;  // this step is still on its plan
  std::size_t cursor_ = 0;
  std::vector<Loose> blocks_;  // of this step, by number
  std::size_t live_ = 0;

  std::byte* slab_ = nullptr;
  std::size_t slab_bytes_ = 0;
  std::uint64_t generation_ = 0;
  std::multimap<std::size_t, std::byte*> spare_;  // loose blocks not in use, by size
  std::size_t allocations_ = 0;
};

}  // namespace attend
