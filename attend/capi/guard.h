// No exception leaves a C function: each is a status and a message. And what is asked of the structs it is given.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "attend/base/error.h"
#include "attend/c.h"

namespace attend::capi {

// A null handle, or a tensor that does not fit.
class ArgumentError : public Error {
 public:
  using Error::Error;
};

template <class... Args>
void check_argument(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) throw ArgumentError(fmt::format(format, std::forward<Args>(args)...));
}

// The status of what is being handled, called in a catch; keeps the message for attend_message().
attend_status failed() noexcept;

template <class Function>
attend_status guarded(Function&& function) noexcept {
  try {
    function();
    return ATTEND_OK;
  } catch (...) {
    return failed();
  }
}

// The caller's struct of options, which may be an earlier version's: shorter by whole members.
template <class Options>
Options options_of(const char* who, const Options* options) {
  constexpr std::size_t kMost = 4096;  // of any version to come; more was never set
  Options given = {};
  if (!options) return given;
  const std::size_t size = options->size;
  check_argument(size >= sizeof size && size <= kMost && (size >= sizeof given || size % alignof(Options) == 0),
                 "{}: 'size' of the options is {}, but must be the sizeof of their struct, {}", who, size,
                 sizeof given);
  std::memcpy(&given, options, std::min(size, sizeof given));
  return given;
}

}  // namespace attend::capi
