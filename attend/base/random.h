// Counter-based random numbers: Philox4x32 (Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3").
// Number i of stream s under a seed is a pure function of (seed, s, i): the same for any number of threads and
// on every device. Dropout recomputes its mask in the backward pass instead of keeping it, so its draws are made as
// cheap as they can be: 7 rounds instead of 10, the fewest that pass BigCrush (table 2 of the paper), and 16 bits an
// element, eight elements per block.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define ATTEND_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define ATTEND_HOST_DEVICE inline
#endif

namespace attend {

struct Random4 {
  std::uint32_t word[4];
};

inline constexpr int kPhiloxRounds = 10, kDropoutRounds = 7;

// Four words for counter (block, stream) under seed.
template <int kRounds = kPhiloxRounds>
ATTEND_HOST_DEVICE Random4 philox(std::uint64_t seed, std::uint32_t stream, std::uint64_t block) {
  std::uint32_t c0 = static_cast<std::uint32_t>(block), c1 = static_cast<std::uint32_t>(block >> 32);
  std::uint32_t c2 = stream, c3 = 0;
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t p0 = static_cast<std::uint64_t>(0xD2511F53u) * c0;
    const std::uint64_t p1 = static_cast<std::uint64_t>(0xCD9E8D57u) * c2;
    const std::uint32_t n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const std::uint32_t n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(p1);
    c3 = static_cast<std::uint32_t>(p0);
    c0 = n0, c2 = n2;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Word i of a stream. Kernels that walk rows take whole blocks of four from philox() instead.
ATTEND_HOST_DEVICE std::uint32_t random_word(std::uint64_t seed, std::uint32_t stream, std::uint64_t i) {
  return philox(seed, stream, i >> 2).word[i & 3];
}

// [0, 1) with 24 bits, exact in f32.
ATTEND_HOST_DEVICE float to_unit(std::uint32_t word) { return static_cast<float>(word >> 8) * (1.0f / 16777216.0f); }

// Element i of a dropout mask has half i % 2, low half first, of word i / 2 % 4 of block i / 8, and is kept when that
// is at or above the threshold. Attention counts its weights as if each row of keys were filled up to a whole block.
inline constexpr int kDropoutBlock = 8;

ATTEND_HOST_DEVICE Random4 dropout_block(std::uint64_t seed, std::uint32_t stream, std::uint64_t block) {
  return philox<kDropoutRounds>(seed, stream, block);
}
ATTEND_HOST_DEVICE std::uint32_t dropout_draw(std::uint64_t seed, std::uint32_t stream, std::uint64_t i) {
  return dropout_block(seed, stream, i >> 3).word[i >> 1 & 3] >> (i & 1 ? 16 : 0) & 0xffffu;
}

// The rate in 65536ths, rounded; 65536, above every draw, when everything is dropped.
ATTEND_HOST_DEVICE std::uint32_t dropout_threshold(float rate) {
  return rate >= 1.0f ? 65536u : static_cast<std::uint32_t>(rate * 65536.0f + 0.5f);
}
// What is kept is divided by the share of draws that keep, which is exact where 1 - rate would be off by up to 2^-17.
ATTEND_HOST_DEVICE float dropout_scale(float rate) {
  const std::uint32_t kept = 65536u - dropout_threshold(rate);
  return kept == 0 ? 0.0f : 65536.0f / static_cast<float>(kept);
}

}  // namespace attend
