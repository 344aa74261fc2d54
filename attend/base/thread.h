// A thread, or an Error that says what it was for: a machine may have no more to give (ulimit -u, a container's limit).
#pragma once

#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "attend/base/error.h"

namespace attend {

// A page in a browser has one thread.
#ifdef __EMSCRIPTEN__
inline constexpr bool kHasThreads = false;
#else
inline constexpr bool kHasThreads = true;
#endif

template <class Work>
std::thread start_thread(std::string_view what, Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    fail("{}: cannot start a thread: {}; there are too many processes (ulimit -u)", what, error.code().message());
  }
}

}  // namespace attend
