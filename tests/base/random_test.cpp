// Philox4x32 against the known answers its authors publish, and the properties that dropout relies on.
#include "attend/base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <set>

namespace attend {
namespace {

// Plain rounds over the full 128-bit counter, written apart from the library's: the published all-ones vectors use
// counter words that philox() keeps at zero.
std::array<std::uint32_t, 4> rounds(int count, std::array<std::uint32_t, 4> c, std::array<std::uint32_t, 2> k) {
  for (int round = 0; round < count; ++round) {
    const std::uint64_t left = 0xD2511F53ull * c[0], right = 0xCD9E8D57ull * c[2];
    c = {static_cast<std::uint32_t>(right >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(right),
         static_cast<std::uint32_t>(left >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(left)};
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return c;
}

std::array<std::uint32_t, 4> words(const Random4& r) { return {r.word[0], r.word[1], r.word[2], r.word[3]}; }

TEST(Philox, KnownAnswerForZeros) {
  const std::array<std::uint32_t, 4> expected = {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u};
  EXPECT_EQ(words(philox(0, 0, 0)), expected);
  EXPECT_EQ(rounds(10, {0, 0, 0, 0}, {0, 0}), expected);
}

TEST(Philox, KnownAnswerForOnes) {
  const std::array<std::uint32_t, 4> expected = {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu};
  constexpr std::uint32_t kOnes = 0xffffffffu;
  EXPECT_EQ(rounds(10, {kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}), expected);
}

TEST(Philox, PlacesSeedStreamAndBlock) {
  const std::uint64_t seed = 0x299f31d0a4093822ull, block = 0x85a308d3243f6a88ull;
  EXPECT_EQ(words(philox(seed, 0x13198a2eu, block)),
            rounds(10, {0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0}, {0xa4093822u, 0x299f31d0u}));
}

// The published vectors for seven rounds, which dropout draws with.
TEST(Philox, KnownAnswersForSevenRounds) {
  const std::array<std::uint32_t, 4> zeros = {0x5f6fb709u, 0x0d893f64u, 0x4f121f81u, 0x4f730a48u};
  EXPECT_EQ(words(dropout_block(0, 0, 0)), zeros);
  const std::array<std::uint32_t, 4> ones = {0x5207ddc2u, 0x45165e59u, 0x4d8ee751u, 0x8c52f662u};
  constexpr std::uint32_t kOnes = 0xffffffffu;
  EXPECT_EQ(rounds(7, {kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}), ones);
}

TEST(Philox, WordIsTheWordOfItsBlock) {
  for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(random_word(7, 3, i), philox(7, 3, i / 4).word[i % 4]);
}

TEST(Philox, StreamsAndSeedsDiffer) {
  std::set<std::uint32_t> seen;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (std::uint32_t stream = 0; stream < 10; ++stream)
      for (std::uint64_t i = 0; i < 10; ++i) seen.insert(random_word(seed, stream, i));
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(Random, UnitIsHalfOpenAndUniform) {
  EXPECT_EQ(to_unit(0), 0.0f);
  EXPECT_LT(to_unit(0xffffffffu), 1.0f);
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double u = to_unit(random_word(42, 0, static_cast<std::uint64_t>(i)));
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.005);
  EXPECT_NEAR(squares / kCount - std::pow(sum / kCount, 2), 1.0 / 12, 0.002);
}

TEST(Random, DropoutDrawIsAHalfOfItsBlock) {
  for (std::uint64_t i = 0; i < 64; ++i) {
    const std::uint32_t word = dropout_block(7, 3, i / 8).word[i % 8 / 2];
    EXPECT_EQ(dropout_draw(7, 3, i), i % 2 == 0 ? word & 0xffff : word >> 16) << i;
  }
}

TEST(Random, DropoutKeepsTheRate) {
  EXPECT_EQ(dropout_threshold(0), 0u);  // every draw is at or above it: nothing is dropped
  EXPECT_EQ(dropout_scale(0), 1.0f);
  EXPECT_EQ(dropout_threshold(1), 65536u);  // above every draw
  EXPECT_EQ(dropout_scale(1), 0.0f);
  for (const float rate : {0.1f, 0.25f, 0.5f, 0.9f}) {
    int dropped = 0;
    constexpr int kCount = 400000;
    for (int i = 0; i < kCount; ++i)
      dropped += dropout_draw(1, 2, static_cast<std::uint64_t>(i)) < dropout_threshold(rate);
    const double share = dropout_threshold(rate) / 65536.0;
    EXPECT_NEAR(share, rate, 1.0 / 131072);
    EXPECT_NEAR(static_cast<double>(dropped) / kCount, share, 4 * std::sqrt(share * (1 - share) / kCount)) << rate;
    EXPECT_NEAR(dropout_scale(rate) * (1 - share), 1, 1e-7) << rate;  // the mean stays
  }
}

// Neighbours that share a word, and a block, are independent.
TEST(Random, DropoutNeighboursAreIndependent) {
  constexpr int kCount = 400000;
  for (std::uint64_t distance = 1; distance <= 8; ++distance) {
    double sum = 0;
    for (int i = 0; i < kCount; ++i) {
      const auto at = static_cast<std::uint64_t>(i);
      sum += (dropout_draw(5, 1, at) / 65535.0 - 0.5) * (dropout_draw(5, 1, at + distance) / 65535.0 - 0.5);
    }
    EXPECT_NEAR(sum / kCount * 12, 0, 4 / std::sqrt(kCount)) << distance;
  }
}

}  // namespace
}  // namespace attend
