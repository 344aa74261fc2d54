// How much room text takes: columns of a terminal, which are also a fair guess for a figure. Chinese, Japanese, Korean
// and emoji take two (Unicode Standard Annex 11), marks that sit on the letter before them none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attend::view {

std::size_t columns_of(char32_t character);
std::size_t columns_of(std::string_view text);

// text, or as much of it as fits with an ellipsis behind it; columns must be at least 1.
std::string shortened(std::string_view text, std::size_t columns);

// What a terminal or an XML file must not see (control characters) becomes U+FFFD, as does what is not UTF-8.
std::string printable(std::string_view text);

}  // namespace attend::view
