// Counter-based random numbers: Philox4x32-10 (Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3").
// Number i of stream s under a seed is a pure function of (seed, s, i): the same for any number of threads and
// on every device. Dropout recomputes its mask in the backward pass instead of keeping it.
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

// Four words for counter (block, stream) under seed.
ATTEND_HOST_DEVICE Random4 philox(std::uint64_t seed, std::uint32_t stream, std::uint64_t block) {
  std::uint32_t c0 = static_cast<std::uint32_t>(block), c1 = static_cast<std::uint32_t>(block >> 32);
  std::uint32_t c2 = stream, c3 = 0;
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
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

// Element i is kept when its word is at or above this; then it is scaled by 1 / (1 - rate).
ATTEND_HOST_DEVICE std::uint32_t dropout_threshold(float rate) {
  return rate >= 1.0f ? 0xffffffffu : static_cast<std::uint32_t>(static_cast<double>(rate) * 4294967296.0);
}

}  // namespace attend
