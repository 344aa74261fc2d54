// What a handle of attend/c.h is: no address but a number, a slot of one table and which use of that slot it is. The
// memory of what was freed is soon another's, but no number is given out twice, so a copy of a handle that was closed
// or freed stays refused for as long as the process runs.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <shared_mutex>
#include <vector>

namespace attend::capi {

// Calls may come from any number of threads at once.
class HandleTable {
 public:
  enum class Kind { model, results, memory };
  static constexpr unsigned kHalf = sizeof(std::uintptr_t) * 4;  // bits of the slot, and of the use
  static constexpr std::uintptr_t kMostUses = std::numeric_limits<std::uintptr_t>::max() >> kHalf;

  // A slot is given up for good after so many uses; tests have fewer.
  explicit HandleTable(std::uintptr_t uses = kMostUses) : uses_(uses) {}

  // A new handle of this object. It is odd, which no address of a struct is. Throws std::bad_alloc.
  std::uintptr_t add(Kind kind, std::shared_ptr<void> object);
  // The object of a handle; null when it was taken, when it is of another kind, or none of ours.
  std::shared_ptr<void> find(Kind kind, std::uintptr_t handle) const;
  // The same, and the handle is no longer one. The caller destroys the object, so that nobody waits for it.
  std::shared_ptr<void> take(Kind kind, std::uintptr_t handle);

 private:
  struct Slot {
    std::uintptr_t use = 1;
    Kind kind = Kind::model;
    std::shared_ptr<void> object = {};  // null: free
  };
  // Null when the handle is not alive. Called with the lock.
  const Slot* alive(Kind kind, std::uintptr_t handle) const;

  const std::uintptr_t uses_;
  mutable std::shared_mutex mutex_;
  std::vector<Slot> slots_;
  std::deque<std::size_t> free_;
};

}  // namespace attend::capi
