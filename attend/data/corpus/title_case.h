#pragma once

#include <string>
#include <string_view>

namespace attend::data {

// "A black box in your car." as "A Black Box in Your Car": English headlines capitalise all words but short ones of
// grammar, and have no full stop.
std::string title_cased(std::string_view text);

}  // namespace attend::data
