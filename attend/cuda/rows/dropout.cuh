// The dropout mask on the device, recomputed wherever it is needed: element i is kept when draw i of (seed, stream) is
// at or above the threshold. Elements of a group share the draw of their group.
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
  std::int64_t group = 1;

  DropoutMask() = default;
  explicit DropoutMask(const Dropout& dropout)
      : seed(dropout.seed),
        stream(dropout.stream),
        threshold(dropout_threshold(dropout.rate)),
        scale(dropout_scale(dropout.rate)),
        group(dropout.group) {
    if (dropout.rate <= 0) seed = nullptr;
  }

  __device__ bool active() const { return seed != nullptr; }
  __device__ std::uint64_t read_seed() const { return seed[0] | static_cast<std::uint64_t>(seed[1]) << 32; }

  // Whether the group of element i is kept. Divisions of 64 bits take five times as long, and a word chosen by its
  // number would go through memory.
  __device__ __forceinline__ bool keeps_group(std::uint64_t seed_value, std::uint64_t i) const {
    const auto size = static_cast<std::uint64_t>(group);
    const std::uint64_t item =
        (i | size) >> 32 ? i / size : static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(size);
    const Random4 random = dropout_block(seed_value, stream, item / kDropoutBlock);
    const std::uint32_t low = item & 2 ? random.word[1] : random.word[0],
                        high = item & 2 ? random.word[3] : random.word[2];
    const std::uint32_t word = item & 4 ? high : low;
    return (item & 1 ? word >> 16 : word & 0xffffu) >= threshold;
  }
  // The factors of elements [i, i + N), i and any group a multiple of N. 8 bf16 are one Philox block; of 4 f32 and
  // their neighbours each makes the block anew.
  template <int N>
  __device__ __forceinline__ void factors(std::uint64_t seed_value, std::uint64_t i, float (&factor)[N]) const {
    static_assert(N == 1 || N == 4 || N == kDropoutBlock);
    if (group > 1) {
      const float one = keeps_group(seed_value, i) ? scale : 0.0f;
#pragma unroll
      for (int j = 0; j < N; ++j) factor[j] = one;
    } else if constexpr (N == 1) {
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
