// The four normalization forms of Unicode (standard annex 15), with what each new character stands for.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "attend/text/aligned_text.h"

namespace attend::text {

enum class NormalizationForm : std::uint8_t { nfc, nfd, nfkc, nfkd };

std::vector<ChangedCharacter> normalize(std::u32string_view text, NormalizationForm form);

}  // namespace attend::text
