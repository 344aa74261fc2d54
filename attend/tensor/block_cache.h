// Device memory that was freed, kept for whoever asks next. Asking a driver for memory takes long, and giving it back
// waits for the device, which translating one sentence would do some hundred times. A block may be handed out while
// the device still works on it if all work is one stream in order: what comes next runs behind what was before.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace attend {

class BlockCache {
 public:
  // The driver is asked for this many bytes instead, so that blocks of nearly the same size can stand for each other:
  // at most an eighth more, and the same number for what is too large to be kept.
  static std::size_t rounded(std::size_t bytes);

  // Keeps at most so many bytes in all; until then none.
  void set_most(std::size_t bytes) { most_ = bytes; }
  std::size_t kept() const { return kept_; }

  // Both take the number of bytes that was asked for, not the rounded one.
  void* take(std::size_t bytes);             // null: there is none
  bool keep(void* data, std::size_t bytes);  // false: the caller has to free it
  // All that is kept, for the caller to free.
  std::vector<void*> give_up();

 private:
  std::map<std::size_t, std::vector<void*>> blocks_;  // by rounded size
  std::size_t most_ = 0, kept_ = 0;
};

}  // namespace attend
