// Position encodings: the sinusoids of Vaswani et al. 2017, section 3.5, [length, C].
#pragma once

#include <cstdint>
#include <vector>

#include "attend/tensor/tensor.h"

namespace attend::nn {

// P[t, 2i] = sin(t / 10000^(2i / C)), P[t, 2i + 1] = cos of the same.   -> [length, C]
enum class SinusoidOrder : std::uint8_t { interleaved, halves };
std::vector<float> sinusoids(std::int64_t length, std::int64_t width, SinusoidOrder order);
Tensor sinusoidal_positions(Backend& backend, std::int64_t length, std::int64_t width, DType dtype,
                            SinusoidOrder order = SinusoidOrder::interleaved);

}  // namespace attend::nn
