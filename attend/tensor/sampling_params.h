// How the next token is drawn from a row of logits: sharpened by a temperature, cut to the likeliest, the first k (Fan
// et al. 2018), as many as hold probability p together (Holtzman et al. 2020), or those that have a share of the
// likeliest one's probability (Nguyen et al. 2024); and of what is left, the token at a number of the text's own.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "attend/base/random.h"

namespace attend {

struct SamplingParams {
  float temperature = 1;
  std::int32_t top_k = 0;  // 0: all
  float top_p = 1, min_p = 0;
  std::uint32_t seed_low = 0, seed_high = 0, number = 0, sample = 0;  // whose numbers decide,
  std::uint32_t position = 0;                                         // and which of them

  bool operator==(const SamplingParams&) const = default;
};

// All but the position as i32, which is how it reaches a device.
inline constexpr std::int64_t kDrawWords = 8;
inline std::array<std::int32_t, kDrawWords> words_of(const SamplingParams& draw) {
  const auto word = [](auto value) { return std::bit_cast<std::int32_t>(value); };
  return {word(draw.temperature), draw.top_k,           word(draw.top_p),  word(draw.min_p),
          word(draw.seed_low),    word(draw.seed_high), word(draw.number), word(draw.sample)};
}
ATTEND_HOST_DEVICE SamplingParams draw_of_words(const std::int32_t* words, std::int32_t position) {
  const auto number = [&](int i) { return std::bit_cast<float>(words[i]); };
  const auto bits = [](std::int32_t word) { return static_cast<std::uint32_t>(word); };
  return {number(0),      words[1],       number(2),      number(3),     bits(words[4]),
          bits(words[5]), bits(words[6]), bits(words[7]), bits(position)};
}

// [0, 1) in 53 bits, so that no token of a large vocabulary is out of reach.
ATTEND_HOST_DEVICE double number_of(const SamplingParams& draw) {
  const std::uint64_t seed = static_cast<std::uint64_t>(draw.seed_high) << 32 | draw.seed_low;
  const Random4 words = philox(seed, draw.number, draw.position | static_cast<std::uint64_t>(draw.sample) << 32);
  const std::uint64_t bits = static_cast<std::uint64_t>(words.word[0]) << 32 | words.word[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// The token at `u` of the way through the weights that the cuts leave, in the order of ids. The cuts take the largest
// logits first, of equal ones those of smaller ids. weights: exp((logit - the largest) / temperature), 0 of what may
// not be drawn.
std::int32_t drawn_token(std::span<const float> logits, std::span<const float> weights, const SamplingParams& draw,
                         double u);

}  // namespace attend
