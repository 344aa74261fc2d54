// Memory behind tensors, counted by reference, and the place where the gradient of that memory waits.
//
// Two counts: `strong` keeps the memory, `weak` keeps only this record. The tape holds weak references to the
// results it must find gradients for, so an activation nobody captured is freed while its gradient slot lives on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace attend {

class Backend;
class PackedWeight;
struct Products8;
class Pass;
struct PassMemory;
struct Storage;

// A counted pointer to a Storage; Weak keeps the record but not its memory.
template <bool Weak>
class StorageRef {
 public:
  StorageRef() = default;
  explicit StorageRef(Storage* storage);  // takes one more reference
  StorageRef(const StorageRef& other) : StorageRef(other.storage_) {}
  StorageRef(StorageRef&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  StorageRef& operator=(StorageRef other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~StorageRef();

  Storage* get() const { return storage_; }
  Storage* operator->() const { return storage_; }
  explicit operator bool() const { return storage_ != nullptr; }

 private:
  Storage* storage_ = nullptr;
};

using Memory = StorageRef<false>;
using Slot = StorageRef<true>;

struct Storage {
  std::atomic<int> strong{0};
  std::atomic<int> weak{0};

  std::byte* data = nullptr;
  std::size_t bytes = 0;
  Backend* backend = nullptr;
  Pass* pass = nullptr;                        // whose tape records what is made from this; null outside any pass
  PassMemory* home = nullptr;                  // whose record this is and whose arena holds the block
  bool owned = false;                          // free data on the backend when the last strong reference goes
  std::int32_t block = -1;                     // the arena's number for the memory, -1 when it is not the arena's
  Memory parent;                               // an alias keeps what it points into alive
  std::shared_ptr<const PackedWeight> packed;  // instead of data: a constant weight in the device's own form

  std::shared_ptr<const Products8> products8;  // a weight whose products are computed in 8 bits while it learns

  // The gradient. `gradient` is laid out as the storage itself, in its own dtype or in f32 (parameters).
  bool differentiable = false;
  bool keeps_gradient = false;  // a leaf: the gradient stays after the backward pass
  bool written = false;         // gradient holds a value: the next writer must add
  bool gradient_f32 = false;    // parameters computed in bf16 collect their gradient in f32
  Memory gradient;
  Memory whole;  // a piece of a split: the record of the whole, whose gradient the pieces are windows into

  // The column sums of a gradient (Grads::sums): whoever made this asks for them; and those of this, being a gradient,
  // f32, with how many of them are there.
  bool asks_for_sums = false;
  Memory sums;
  std::int64_t summed = 0;
  void forget_sums() { sums = Memory(), summed = 0; }
};

void acquire(Storage* storage, bool weak);
void release(Storage* storage, bool weak);

template <bool Weak>
StorageRef<Weak>::StorageRef(Storage* storage) : storage_(storage) {
  if (storage_) acquire(storage_, Weak);
}
template <bool Weak>
StorageRef<Weak>::~StorageRef() {
  if (storage_) release(storage_, Weak);
}

}  // namespace attend
