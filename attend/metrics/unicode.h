// Text as code points, with the few character properties that the metrics need and the meaning Python gives them:
// sacreBLEU's scores depend on what str.split(), str.lower() and \p{P} do with every character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attend::metrics {

// Throws Error naming the byte where text stops being UTF-8.
std::u32string decode_utf8(std::string_view text);

bool is_space(char32_t c);        // str.isspace()
bool is_punctuation(char32_t c);  // category P
bool is_symbol(char32_t c);       // category S
bool is_number(char32_t c);       // category N

// Full lower case: İ becomes two characters, and a sigma that ends a word the final one.
std::u32string lower(std::u32string_view text);

std::u32string_view strip_right(std::u32string_view text);
std::string_view strip_right(std::string_view utf8);
// The pieces between runs of white space; views into text.
std::vector<std::u32string_view> split_words(std::u32string_view text);

}  // namespace attend::metrics
