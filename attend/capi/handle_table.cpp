#include "attend/capi/handle_table.h"

#include <mutex>
#include <new>
#include <utility>

namespace attend::capi {

namespace {

constexpr std::uintptr_t kSlotMask = (std::uintptr_t{1} << (HandleTable::kHalf - 1)) - 1;

std::size_t slot_of(std::uintptr_t handle) { return static_cast<std::size_t>((handle >> 1) & kSlotMask); }
std::uintptr_t use_of(std::uintptr_t handle) { return handle >> HandleTable::kHalf; }

}  // namespace

std::uintptr_t HandleTable::add(Kind kind, std::shared_ptr<void> object) {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    if (slots_.size() > kSlotMask) throw std::bad_alloc();
    slots_.emplace_back();
    free_.push_back(slots_.size() - 1);
  }
  const std::size_t index = free_.front();
  free_.pop_front();
  Slot& slot = slots_[index];
  slot.kind = kind, slot.object = std::move(object);
  return (slot.use << kHalf) | (static_cast<std::uintptr_t>(index) << 1) | 1;
}

const HandleTable::Slot* HandleTable::alive(Kind kind, std::uintptr_t handle) const {
  if ((handle & 1) == 0 || slot_of(handle) >= slots_.size()) return nullptr;
  const Slot& slot = slots_[slot_of(handle)];
  return slot.object && slot.kind == kind && slot.use == use_of(handle) ? &slot : nullptr;
}

std::shared_ptr<void> HandleTable::find(Kind kind, std::uintptr_t handle) const {
  const std::shared_lock lock(mutex_);
  const Slot* slot = alive(kind, handle);
  return slot ? slot->object : nullptr;
}

std::shared_ptr<void> HandleTable::take(Kind kind, std::uintptr_t handle) {
  const std::lock_guard lock(mutex_);
  if (!alive(kind, handle)) return nullptr;
  Slot& slot = slots_[slot_of(handle)];
  std::shared_ptr<void> object = std::exchange(slot.object, nullptr);
  if (slot.use < uses_) {
    ++slot.use;
    try {
      free_.push_back(slot_of(handle));
    } catch (const std::bad_alloc&) {  // one slot less
    }
  }
  return object;
}

}  // namespace attend::capi
