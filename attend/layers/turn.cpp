// Which thread computes on which device now: the one state that all tensors share, since threads that do not know of
// each other must meet somewhere. Entries exist only while something is computed.
#include <map>
#include <mutex>
#include <thread>

#include "attend/layers/inner.h"

namespace attend::layers {

namespace {

struct User {
  std::thread::id thread = {};
  int turns = 0;
};

std::mutex users_mutex;

std::map<const Backend*, User>& users() {
  static auto* all = new std::map<const Backend*, User>;  // tensors of static objects may be destroyed after it
  return *all;
}

}  // namespace

Turn::Turn(const char* op, const Backend& device) : device_(&device) {
  const std::lock_guard lock(users_mutex);
  User& user = users()[device_];
  const std::thread::id own = std::this_thread::get_id();
  check(user.turns == 0 || user.thread == own,
        "{}: another thread computes on this device; give each thread a Device of its own, or use a lock", op);
  user = {own, user.turns + 1};
}

Turn::~Turn() {
  const std::lock_guard lock(users_mutex);
  const auto user = users().find(device_);
  if (user != users().end() && --user->second.turns == 0) users().erase(user);
}

}  // namespace attend::layers
