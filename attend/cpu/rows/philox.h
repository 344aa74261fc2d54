// Philox4x32 (attend/base/random.h) on vectors: the same words as random_word(), and the same draws as dropout_draw(),
// in order.
#pragma once

#include "attend/base/random.h"
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
template <int kRounds>
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
  for (int round = 0; round < kRounds; ++round) {
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

// The random numbers of elements [first, first + count), count <= kMost: at begin(). Number is what an element gets, a
// word or half of one; a block has four words, which lie in memory in the order of the elements either way.
template <class Number, int kRounds, int kMost>
class RandomNumbers {
 public:
  __attribute__((always_inline)) void fill(const RandomKey& key, std::uint64_t first, std::int64_t count) {
    start_ = static_cast<int>(first % kBlock);
    for (std::int64_t i = 0; i < count + start_; i += kAtOnce)
      philox_words<kRounds>(key, (first + static_cast<std::uint64_t>(i)) / kBlock, words_ + i * 4 / kBlock);
  }
  __attribute__((always_inline)) const Number* begin() const {
    return reinterpret_cast<const Number*>(words_) + start_;
  }

 private:
  static constexpr int kBlock = 16 / sizeof(Number), kAtOnce = kWordsAtOnce * kBlock / 4;
  // Room for the numbers before the first and after the last of whole groups, and for a vector read past the end.
  std::uint32_t words_[(kMost + kBlock + kAtOnce) / kAtOnce * kWordsAtOnce + kLanes];
  int start_ = 0;
};

template <int kMost>
using RandomWords = RandomNumbers<std::uint32_t, kPhiloxRounds, kMost>;
template <int kMost>
using DropoutDraws = RandomNumbers<std::uint16_t, kDropoutRounds, kMost>;

ATTEND_INLINE WordVec load_draws(const std::uint16_t* draws) {
  HalfVec v;
  __builtin_memcpy(&v, draws, sizeof v);
  return spread(v);
}
ATTEND_INLINE WordVec load_draws(const std::uint32_t* draws) { return load_words(draws); }

// v · scale where the draw is at or above the threshold, else 0.
template <class Number>
ATTEND_INLINE Vec dropped(Vec v, const DropRule& rule, const Number* draws) {
  return load_draws(draws) >= (WordVec{} + rule.threshold) ? v * rule.scale : Vec{};
}

}  // namespace attend::cpu::ATTEND_ROWS
