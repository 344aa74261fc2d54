// The items of a list as one text: joined(names, ", ").
// fmt::join would do, but <fmt/format.h> compiles all of fmt into every file that calls format_to, be it to show a
// shape: json_writer.cpp took 5.1 s with it and takes 1.7 s with <fmt/core.h>, which leaves that to libfmt.
#pragma once

#include <fmt/core.h>

#include <iterator>
#include <string>
#include <string_view>

namespace attend {

template <class Range>
std::string joined(const Range& items, std::string_view between) {
  std::string text;
  bool first = true;
  for (const auto& item : items) {
    if (!first) text += between;
    fmt::format_to(std::back_inserter(text), "{}", item), first = false;
  }
  return text;
}

}  // namespace attend
