// Scores on the host: as probabilities, and the best of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attend {

// In place, with the largest value taken off first.
void softmax(std::span<float> values);

// The largest first, equal ones in order; at most count.
std::vector<std::size_t> largest(std::span<const float> values, std::int64_t count);

}  // namespace attend
