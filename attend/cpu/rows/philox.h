// Philox4x32-10 (attend/base/random.h) on vectors: the same words as random_word(), in order.
#pragma once

#include "attend/cpu/rows/kernels.h"
#include "attend/cpu/rows/vec.h"

namespace attend::cpu::ATTEND_ROWS {

typedef std::uint64_t LongVec __attribute__((vector_size(kLanes * 4)));
constexpr int kBlocks = kLanes / 2;  // of four words, one in each 64-bit lane

ATTEND_INLINE LongVec lane_numbers() {
  LongVec v = {};
  for (int i = 0; i < kBlocks; ++i) v[i] = static_cast<std::uint64_t>(i);
  return v;
}

// The low words of the lanes, multiplied; the high words of x may hold anything.
ATTEND_INLINE LongVec multiply_low(LongVec x, std::uint32_t factor) {
#if defined(__AVX512F__)
  return (LongVec)_mm512_mul_epu32((__m512i)x, _mm512_set1_epi64(factor));
#elif defined(__AVX2__)
  return (LongVec)_mm256_mul_epu32((__m256i)x, _mm256_set1_epi64x(factor));
#elif defined(__x86_64__)
  return (LongVec)_mm_mul_epu32((__m128i)x, _mm_set1_epi64x(factor));
#elif defined(__aarch64__)
  return (LongVec)vmull_u32(vmovn_u64((uint64x2_t)x), vdup_n_u32(factor));
#else
  return (x & 0xffffffffu) * factor;
#endif
}

// Interleaves the lanes of a and b: the first halves, then the second.
ATTEND_INLINE void interleave(LongVec a, LongVec b, std::uint32_t* out) {
  LongVec first, second;
#if defined(__AVX512F__)
  first = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
  second = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#elif defined(__AVX2__)
  first = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  second = __builtin_shufflevector(a, b, 2, 6, 3, 7);
#else
  first = __builtin_shufflevector(a, b, 0, 2);
  second = __builtin_shufflevector(a, b, 1, 3);
#endif
  __builtin_memcpy(out, &first, sizeof first);
  __builtin_memcpy(out + kLanes, &second, sizeof second);
}

// Words of the blocks [block, block + 2 · kBlocks). One block a 64-bit lane: a product fills the lane, its high word
// shifts down, and the garbage left above is ignored by the next product. Two chains run side by side, since one
// alone waits for its multiplications.
ATTEND_INLINE void philox_words(const RandomKey& key, std::uint64_t block, std::uint32_t* out) {
  constexpr int kChains = 2;
  LongVec c0[kChains], c1[kChains], c2[kChains], c3[kChains];
  for (int chain = 0; chain < kChains; ++chain) {
    c0[chain] = lane_numbers() + (block + static_cast<std::uint64_t>(chain * kBlocks));
    c1[chain] = c0[chain] >> 32;
    c2[chain] = LongVec{} + key.stream;
    c3[chain] = LongVec{};
  }
  std::uint32_t k0 = static_cast<std::uint32_t>(key.seed), k1 = static_cast<std::uint32_t>(key.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int chain = 0; chain < kChains; ++chain) {
      const LongVec p0 = multiply_low(c0[chain], 0xD2511F53u), p1 = multiply_low(c2[chain], 0xCD9E8D57u);
      c0[chain] = (p1 >> 32) ^ c1[chain] ^ (LongVec{} + k0);
      c2[chain] = (p0 >> 32) ^ c3[chain] ^ (LongVec{} + k1);
      c1[chain] = p1;
      c3[chain] = p0;
    }
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  for (int chain = 0; chain < kChains; ++chain)
    interleave((c0[chain] & 0xffffffffu) | (c1[chain] << 32), (c2[chain] & 0xffffffffu) | (c3[chain] << 32),
               out + chain * 4 * kBlocks);
}

constexpr int kWordsAtOnce = 8 * kBlocks;

// Random words of the elements [first, first + count), count <= kMost: at words().
template <int kMost>
class RandomWords {
 public:
  __attribute__((always_inline)) void fill(const RandomKey& key, std::uint64_t first, std::int64_t count) {
    start_ = static_cast<int>(first & 3);
    for (std::int64_t i = 0; i < count + start_; i += kWordsAtOnce)
      philox_words(key, (first >> 2) + static_cast<std::uint64_t>(i >> 2), buffer_ + i);
  }
  __attribute__((always_inline)) const std::uint32_t* words() const { return buffer_ + start_; }

 private:
  // Room for the words before the first and after the last of whole groups, and for a vector read past the end.
  std::uint32_t buffer_[(kMost + 4 + kWordsAtOnce) / kWordsAtOnce * kWordsAtOnce + kLanes];
  int start_ = 0;
};

// v · scale where the word is at or above the threshold, else 0.
ATTEND_INLINE Vec dropped(Vec v, const DropRule& rule, const std::uint32_t* words) {
  return load_words(words) >= (WordVec{} + rule.threshold) ? v * rule.scale : Vec{};
}

}  // namespace attend::cpu::ATTEND_ROWS
