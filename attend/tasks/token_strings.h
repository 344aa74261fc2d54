// A text cut into what its tokens stand for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attend/text/tokenizer.h"

namespace attend::tasks {

// The text of each token: joined they are the whole. A character of several tokens goes to the last of them.
std::vector<std::string> token_strings(const text::Tokenizer& tokenizer, std::span<const std::int32_t> ids);

}  // namespace attend::tasks
