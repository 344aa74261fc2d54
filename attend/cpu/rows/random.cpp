// Dropout and random numbers: element i is a function of (seed, stream, i) alone.
#include "attend/cpu/rows/math.h"
#include "attend/cpu/rows/philox.h"
#include "attend/cpu/rows/table.h"

namespace attend::cpu::ATTEND_ROWS {

// Random numbers are made for this many elements at a time: 2 KB at most, in the first cache.
constexpr std::int64_t kDrawStretch = 512;

template <class E>
void dropout_rows(const void* x_, const DropRule& rule, Out y_, std::int64_t begin, std::int64_t end) {
  const E* x = static_cast<const E*>(x_);
  E* y = static_cast<E*>(y_.data);
  DropoutDraws<kDrawStretch> random;
  for (std::int64_t at = begin; at < end; at += kDrawStretch) {
    const std::int64_t n = end - at < kDrawStretch ? end - at : kDrawStretch;
    random.fill(rule.key, static_cast<std::uint64_t>(at), n);
    const std::uint16_t* draws = random.begin();
    each(n, [&](std::int64_t i, auto part) {
      Vec v = dropped(load(x + at + i, part), rule, draws + i);
      if (y_.accumulate) v += load(y + at + i, part);
      store(y + at + i, v, part);
    });
  }
}

// [0, 1) with 24 bits, exact.
ATTEND_INLINE Vec unit(WordVec words) {
  return __builtin_convertvector((IntVec)(words >> 8), Vec) * (1.0f / 16777216.0f);
}

template <class E>
void random_rows(const RandomRows& args, std::int64_t begin, std::int64_t end) {
  E* out = static_cast<E*>(args.out);
  RandomWords<kDrawStretch> random;
  float values[kDrawStretch];
  for (std::int64_t at = begin; at < end; at += kDrawStretch) {
    const std::int64_t n = end - at < kDrawStretch ? end - at : kDrawStretch;
    // begin is even, so a pair of words stays together.
    random.fill(args.key, static_cast<std::uint64_t>(at), n + (n & 1));
    const std::uint32_t* words = random.begin();
    if (args.normal) {
      // Box and Muller: words 2j and 2j + 1 make the elements 2j (cosine) and 2j + 1 (sine).
      for (std::int64_t i = 0; i < n; i += 2 * kLanes) {
        WordVec first, second;
        for (int lane = 0; lane < kLanes; ++lane)
          first[lane] = words[i + 2 * lane], second[lane] = words[i + 2 * lane + 1];
        const Vec radius = square_root(-2.0f * logarithm(1.0f - unit(first)));
        const Circle turn = circle(unit(second));
        const Vec even = radius * turn.cosine, odd = radius * turn.sine;
        for (int lane = 0; lane < kLanes; ++lane)
          values[i + 2 * lane] = even[lane], values[i + 2 * lane + 1] = odd[lane];
      }
    } else {
      each(n, [&](std::int64_t i, auto) { store(values + i, unit(load_words(words + i))); });
    }
    each(n, [&](std::int64_t i, auto part) { store(out + at + i, args.low + args.width * load(values + i), part); });
  }
}

void set_random(RowKernels& table) {
  table.dropout[0] = dropout_rows<float>, table.dropout[1] = dropout_rows<Bf16Bits>;
  table.random[0] = random_rows<float>, table.random[1] = random_rows<Bf16Bits>;
}

}  // namespace attend::cpu::ATTEND_ROWS
