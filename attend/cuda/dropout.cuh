// The dropout mask on the device, recomputed wherever it is needed: element i is kept when random word i of
// (seed, stream) is at or above the threshold.
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
        scale(dropout.rate < 1 ? 1 / (1 - dropout.rate) : 0) {
    if (dropout.rate <= 0) seed = nullptr;
  }

  __device__ bool active() const { return seed != nullptr; }
  __device__ std::uint64_t read_seed() const { return seed[0] | static_cast<std::uint64_t>(seed[1]) << 32; }

  // The factors of elements [i, i + N). For N = 4 and more i must be a multiple of four: then one Philox call makes
  // four words.
  template <int N>
  __device__ __forceinline__ void factors(std::uint64_t seed_value, std::uint64_t i, float (&factor)[N]) const {
    if constexpr (N % 4 == 0) {
#pragma unroll
      for (int j = 0; j < N; j += 4) {
        const Random4 random = philox(seed_value, stream, (i + j) >> 2);
#pragma unroll
        for (int l = 0; l < 4; ++l) factor[j + l] = random.word[l] >= threshold ? scale : 0.0f;
      }
    } else {
#pragma unroll
      for (int j = 0; j < N; ++j) factor[j] = random_word(seed_value, stream, i + j) >= threshold ? scale : 0.0f;
    }
  }
};

}  // namespace attend::cuda
