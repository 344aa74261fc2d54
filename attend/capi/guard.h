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

// The `size` of a caller's struct, which may be an earlier version's, shorter by whole members, or a later one's.
template <class Struct>
std::size_t checked_size(const char* who, const char* what, const Struct& given) {
  constexpr std::size_t kMost = 4096;  // of any version to come; more was never set
  const std::size_t size = given.size;
  check_argument(size >= sizeof size && size <= kMost && (size >= sizeof given || size % alignof(Struct) == 0),
                 "{}: 'size' of the {} is {}, but must be the sizeof of their struct, {}", who, what, size,
                 sizeof given);
  return size;
}

// The caller's options; members that its version has not are 0.
template <class Options>
Options options_of(const char* who, const Options* options) {
  Options given = {};
  if (options) std::memcpy(&given, options, std::min(checked_size(who, "options", *options), sizeof given));
  return given;
}

// Fills a struct of the caller's, as far as it goes; members that this version has not are 0.
template <class Struct>
void write_out(const char* who, Struct* to, Struct from) {
  from.size = checked_size(who, "item", *to);
  std::memset(static_cast<void*>(to), 0, from.size);
  std::memcpy(static_cast<void*>(to), &from, std::min(from.size, sizeof from));
}

}  // namespace attend::capi
