// Languages by their codes: what they are called, and by which words they are known.
#pragma once

#include <string>
#include <string_view>

namespace attend::serve {

// "French" of "fr"; the code itself of one that is not in the table.
std::string language_name(const std::string& code);

// How many of a text's words are among the commonest of a language, 0 to 1; -1: no such words are known here.
double common_words(const std::string& code, std::string_view text);

}  // namespace attend::serve
