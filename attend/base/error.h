// The one error type. Library code throws it through check(); it never exits or aborts.
//   check(a == b, "matmul: a is {}, so b must be {}", a, b);
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace attend {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// In one place, so that a check costs its caller no more than a list of what the message names.
[[noreturn, gnu::cold]] void throw_error(fmt::string_view format, fmt::format_args args);

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(format, fmt::make_format_args(args...));
}

template <class... Args>
void check(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]]
    fail(format, std::forward<Args>(args)...);
}

}  // namespace attend
