// No exception leaves a C function: each is a status and a message.
#pragma once

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

}  // namespace attend::capi
