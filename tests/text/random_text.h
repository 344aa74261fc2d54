// Text that no corpus has: any character at all, scripts mixed, marks without letters, controls, emoji.
#pragma once

#include <cstdint>
#include <string>

#include "attend/base/random.h"
#include "attend/base/unicode/unicode.h"

namespace attend::test {

// Text number `index`, of up to `most` characters.
inline std::string random_text(std::uint32_t index, std::uint32_t most) {
  struct Range {
    char32_t first, last;
  };
  constexpr Range kRanges[] = {{0x20, 0x7E},       {0x20, 0x20},         {0x0, 0x1F},        {0x80, 0x24F},
                               {0x300, 0x36F},     {0x370, 0x5FF},       {0x600, 0x6FF},     {0x900, 0x97F},
                               {0xAC00, 0xD7A3},   {0x2000, 0x206F},     {0x4E00, 0x9FFF},   {0xE000, 0xF8FF},
                               {0xFE00, 0xFE0F},   {0xFFF0, 0xFFFF},     {0x1F300, 0x1FAFF}, {0x20000, 0x2A6DF},
                               {0xE0000, 0xE007F}, {0x10FFFE, 0x10FFFF}, {'0', '9'},         {'a', 'z'}};
  std::uint64_t at = 0;
  const auto next = [&](std::uint32_t limit) { return random_word(17, index, at++) % limit; };
  std::string text;
  const std::uint32_t length = next(most + 1);
  std::uint32_t kind = 0;
  for (std::uint32_t i = 0; i < length; ++i) {
    if (next(3) == 0) kind = next(std::size(kRanges));
    const Range range = kRanges[kind];
    append_utf8(text, range.first + next(static_cast<std::uint32_t>(range.last - range.first + 1)));
  }
  return text;
}

}  // namespace attend::test
