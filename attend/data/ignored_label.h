// The label of a row that no loss and no score counts.
#pragma once

#include <cstdint>

namespace attend::data {

inline constexpr std::int32_t kIgnoredLabel = -100;

}  // namespace attend::data
