// What the forward and the backward pass of attention share: blocks of keys and queries, gathered into f32.
#pragma once

#include "attend/cpu/rows/math.h"
#include "attend/cpu/rows/philox.h"
#include "attend/cpu/rows/tile.h"

namespace attend::cpu::ATTEND_ROWS {

// 64 keys x D 64 in f32 is 16 KB: a block of keys, one of values and a tile of scores share the first cache.
constexpr std::int64_t kKeyBlock = 64;
constexpr std::int64_t kQueryBlock = 48;  // whole tiles of 4, 6 and 8 rows

ATTEND_INLINE std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
ATTEND_INLINE std::int64_t to_lanes(std::int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// rows x width, scaled, to rows of padded width with zeros behind.
template <class E>
static void gather(const E* from, std::int64_t stride, std::int64_t rows, std::int64_t width, float scale, float* to) {
  const std::int64_t padded = to_lanes(width);
  for (std::int64_t r = 0; r < rows; ++r)
    each(width,
         [&](std::int64_t i, auto part) { store(to + r * padded + i, load(from + r * stride + i, part) * scale); });
}

// rows x width to [width, kKeyBlock]: column r is row r. Columns up to the next whole vector become zeros.
template <class E>
static void gather_transposed(const E* from, std::int64_t stride, std::int64_t rows, std::int64_t width, float* to) {
  for (std::int64_t r = 0; r < rows; r += kLanes) {
    const std::int64_t have = smaller(rows - r, kLanes);
    each(width, [&](std::int64_t i, auto part) {
      Vec block[kLanes];
      if (have == kLanes) {
        for (int j = 0; j < kLanes; ++j) block[j] = load(from + (r + j) * stride + i, part);
      } else {
        for (int j = 0; j < kLanes; ++j) block[j] = j < have ? load(from + (r + j) * stride + i, part) : Vec{};
      }
      transpose(block);
      for (int j = 0; j < kLanes && i + j < width; ++j) store(to + (i + j) * kKeyBlock + r, block[j]);
    });
  }
}

// How many of the keys [first, first + count) query t sees.
ATTEND_INLINE std::int64_t seen_keys(const AttentionHead& head, std::int64_t t, std::int64_t first,
                                     std::int64_t count) {
  const std::int64_t end = head.windowed ? head.window.end(t) : smaller(t + head.shift + 1, head.keys);
  const std::int64_t seen = smaller(end - first, count);
  return seen < 0 ? 0 : seen;
}

// Of those, the ones that a window bars: they lie in front of what it shows, and behind the global ones. And those that
// are seen only later.
ATTEND_INLINE void bar_keys(const AttentionHead& head, std::int64_t t, std::int64_t first, std::int64_t seen,
                            float* scores) {
  if (head.seen_from)
    for (std::int64_t i = 0; i < seen; ++i)
      if (t < head.seen_from[first + i]) scores[i] = -kInfinity;
  if (!head.windowed) return;
  const std::int64_t end = smaller(head.window.from(t) - first, seen);
  for (std::int64_t i = head.window.globals > first ? head.window.globals - first : 0; i < end; ++i)
    scores[i] = -kInfinity;
}

// Whether the window bars all of the keys [first, first + count) to the queries from t on, which are not global.
ATTEND_INLINE bool all_barred(const AttentionHead& head, std::int64_t t, std::int64_t first, std::int64_t count) {
  return head.windowed && first >= head.window.globals && first + count <= head.window.from(t);
}

// The end of the keys that any of the queries [t, last] sees.
ATTEND_INLINE std::int64_t end_of_keys(const AttentionHead& head, std::int64_t t, std::int64_t last) {
  if (head.windowed) return head.window.end(t < head.window.seeing ? t : last);
  const std::int64_t end = smaller(last + head.shift + 1, head.keys);
  return end < 0 ? 0 : end;
}

// Adds the bias of query t to its scores of the `seen` keys from `first` on.
ATTEND_INLINE void add_bias(const AttentionHead& head, std::int64_t t, std::int64_t first, std::int64_t seen,
                            float* scores) {
  const std::int64_t at = t * head.bias_stride + first;
  const float* wide = static_cast<const float*>(head.bias) + at;
  const Bf16Bits* half = static_cast<const Bf16Bits*>(head.bias) + at;
  each(seen, [&](std::int64_t i, auto part) {
    store(scores + i, load(scores + i) + (head.bias_bf16 ? load(half + i, part) : load(wide + i, part)));
  });
}

// Turns the scores of one query against a block of keys into weights e^(score - max), and keeps max and sum running.
// Returns the factor that what was summed before must take.
ATTEND_INLINE float weigh(float* scores, std::int64_t seen, std::int64_t padded, float& max, float& sum) {
  Vec best = splat(-kInfinity);
  each(seen, [&](std::int64_t i, auto part) { best = larger(keep(load(scores + i), -kInfinity, part), best); });
  const float here = max_of(best);
  float factor = 1;
  if (here > max) {
    if (max != -kInfinity) factor = exponential(max - here);  // else there is nothing yet to scale
    max = here;
  }
  const float base = max == -kInfinity ? 0.0f : max;  // nothing seen yet: weights of e^-inf, not of NaN
  Vec total = {};
  // Four vectors at a time where they are short (arm64): see Several.
  constexpr int kCount = kLanes == 4 ? 4 : 1;
  std::int64_t done = 0;
  for (; done + kCount * kLanes <= seen; done += kCount * kLanes) {
    using S = Several<kLanes, kCount>;
    float* at = scores + done;
    const S w =
        exponential(S::each([&](int j) __attribute__((always_inline)) { return load(at + j * kLanes) - base; }));
    for (int j = 0; j < kCount; ++j) store(at + j * kLanes, w.of[j]), total += w.of[j];
  }
  each(seen - done, [&](std::int64_t i, auto part) {
    const Vec w = keep(exponential(load(scores + done + i) - base), 0.0f, part);
    store(scores + done + i, w);
    total += w;
  });
  for (std::int64_t i = to_lanes(seen); i < padded; i += kLanes) store(scores + i, Vec{});
  sum = sum * factor + sum_of(total);
  return factor;
}

template <int kMost>
ATTEND_INLINE void drop_weights(const AttentionHead& head, std::int64_t t, std::int64_t first, std::int64_t seen,
                                float* weights) {
  DropoutDraws<kMost> random;
  random.fill(head.drop.key,
              head.drop_first + static_cast<std::uint64_t>(t) * head.drop_stride + static_cast<std::uint64_t>(first),
              seen);
  const std::uint16_t* draws = random.begin();
  each(seen, [&](std::int64_t i, auto) { store(weights + i, dropped(load(weights + i), head.drop, draws + i)); });
}

}  // namespace attend::cpu::ATTEND_ROWS
