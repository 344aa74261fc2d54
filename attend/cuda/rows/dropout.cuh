// The dropout mask on the device, recomputed wherever it is needed: element i is kept when draw i of (seed, stream) is
// at or above the threshold.
#pragma once

#include <cstdint>

#include "attend/base/random.h"
#include "attend/tensor/backend.h"

namespace attend::cuda {

struct DropoutMask {
  const std::uint32_t* seed = nullptr;
  std::uint32_t stream = 0;
  std::uint32_t threshold = 0;
  float scale = 1;  // of what is kept

  DropoutMask() = default;
  explicit DropoutMask(const Dropout& dropout)
      : seed(dropout.seed),
        stream(dropout.stream),
        threshold(dropout_threshold(dropout.rate)),
        scale(dropout_scale(dropout.rate)) {
    if (dropout.rate <= 0) seed = nullptr;
  }

  __device__ bool active() const { return seed != nullptr; }
  __device__ std::uint64_t read_seed() const { return seed[0] | static_cast<std::uint64_t>(seed[1]) << 32; }

  // The factors of elements [i, i + N), i a multiple of N. 8 bf16 are one Philox block; of 4 f32 and their neighbours
  // each makes the block anew.
  template <int N>
  __device__ __forceinline__ void factors(std::uint64_t seed_value, std::uint64_t i, float (&factor)[N]) const {
    static_assert(N == 1 || N == 4 || N == kDropoutBlock);
    if constexpr (N == 1) {
      factor[0] = dropout_draw(seed_value, stream, i) >= threshold ? scale : 0.0f;
    } else {
      const Random4 random = dropout_block(seed_value, stream, i / kDropoutBlock);
#pragma unroll
      for (int j = 0; j < N / 2; ++j) {
        const std::uint32_t word = N == 4 && (i & 4) ? random.word[(j + 2) % 4] : random.word[j];
        factor[2 * j] = (word & 0xffffu) >= threshold ? scale : 0.0f;
        factor[2 * j + 1] = word >> 16 >= threshold ? scale : 0.0f;
      }
    }
  }
};

}  // namespace attend::cuda
