// Where a token stands. The sinusoids of Vaswani et al. 2017, section 3.5.
#pragma once

#include <cstdint>

#include "attend/tensor/tensor.h"

namespace attend::nn {

// P[t, 2i] = sin(t / 10000^(2i / C)), P[t, 2i + 1] = cos of the same.   -> [length, width]
// halves: all sines first, then all cosines, as tensor2tensor, Marian and fairseq lay them out.
enum class SinusoidOrder : std::uint8_t { interleaved, halves };
Tensor sinusoidal_positions(Backend& backend, std::int64_t length, std::int64_t width, DType dtype,
                            SinusoidOrder order = SinusoidOrder::interleaved);

}  // namespace attend::nn
