// Layer norm over rows (Ba et al. 2016) with the residual sum before it, and its gradient. A row stays in the first
// cache, so the three walks over it cost one trip to memory.
#include "attend/cpu/rows/math.h"
#include "attend/cpu/rows/philox.h"
#include "attend/cpu/rows/table.h"

namespace attend::cpu::ATTEND_ROWS {

constexpr std::int64_t kNormStretch = 512;

// What stochastic depth multiplies a row with, whose first element has this index.
ATTEND_INLINE float row_factor(const DropRule& rule, std::uint64_t first) {
  DropoutDraws<1> random;
  random.fill(rule.key, first / rule.group, 1);
  std::uint16_t draw = 0;
  __builtin_memcpy(&draw, random.begin(), sizeof draw);  // it lies in words
  return draw >= rule.threshold ? rule.scale : 0.0f;
}

// sum = x + dropout(branch) for one row whose first element has this index.
template <class E>
ATTEND_INLINE void add_branch(const NormRows& args, const E* x, const E* branch, E* sum, std::uint64_t first) {
  if (args.drop.threshold == 0) {
    each(args.width,
         [&](std::int64_t i, auto part) { store(sum + i, load(x + i, part) + load(branch + i, part), part); });
    return;
  }
  if (args.drop.group > 1) {
    const float factor = row_factor(args.drop, first);
    each(args.width,
         [&](std::int64_t i, auto part) { store(sum + i, load(x + i, part) + load(branch + i, part) * factor, part); });
    return;
  }
  DropoutDraws<kNormStretch> random;
  for (std::int64_t at = 0; at < args.width; at += kNormStretch) {
    const std::int64_t n = args.width - at < kNormStretch ? args.width - at : kNormStretch;
    random.fill(args.drop.key, first + static_cast<std::uint64_t>(at), n);
    const std::uint16_t* draws = random.begin();
    each(n, [&](std::int64_t i, auto part) {
      store(sum + at + i, load(x + at + i, part) + dropped(load(branch + at + i, part), args.drop, draws + i), part);
    });
  }
}

template <class E>
void norm_rows(const NormRows& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = args.width;
  const float inverse = 1.0f / static_cast<float>(width);
  const E *weight = static_cast<const E*>(args.weight), *bias = static_cast<const E*>(args.bias);
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t at = row * width;
    const E* x = static_cast<const E*>(args.x) + at;
    if (args.branch) {
      E* sum = static_cast<E*>(args.sum) + at;
      add_branch(args, x, static_cast<const E*>(args.branch) + at, sum, static_cast<std::uint64_t>(at));
      x = sum;  // statistics of what is stored: the backward pass reads it again
    }
    Vec total = {};
    each(width, [&](std::int64_t i, auto part) { total += load(x + i, part); });
    const float mean = sum_of(total) * inverse;
    Vec squares = {};
    each(width, [&](std::int64_t i, auto part) {
      const Vec d = keep(load(x + i, part) - mean, 0.0f, part);
      squares += d * d;
    });
    const float rstd = 1.0f / __builtin_sqrtf(sum_of(squares) * inverse + args.eps);
    args.mean[row] = mean;
    args.rstd[row] = rstd;
    E* y = static_cast<E*>(args.y) + at;
    each(width, [&](std::int64_t i, auto part) {
      Vec v = (load(x + i, part) - mean) * rstd * load(weight + i, part);
      if (bias) v += load(bias + i, part);
      store(y + i, v, part);
    });
  }
}

// dbranch = dropout(d) for a stretch of one row of finished gradients, and what that adds to the column sums.
template <class E>
ATTEND_INLINE void give_branch(const NormRows& args, const float* d, std::int64_t n, std::int64_t index, float* sums) {
  E* out = args.dbranch.data ? static_cast<E*>(args.dbranch.data) + index : nullptr;
  DropoutDraws<kNormStretch> random;
  const bool elements = args.drop.threshold != 0 && args.drop.group == 1;
  const float factor = args.drop.group > 1 ? row_factor(args.drop, static_cast<std::uint64_t>(index)) : 1.0f;
  if (elements) random.fill(args.drop.key, static_cast<std::uint64_t>(index), n);
  const std::uint16_t* draws = random.begin();
  each(n, [&](std::int64_t i, auto part) {
    Vec v = load(d + i, part) * factor;
    if (elements) v = dropped(v, args.drop, draws + i);
    if (sums) store(sums + i, load(sums + i, part) + v, part);
    if (!out) return;
    if (args.dbranch.accumulate) v += load(out + i, part);
    store(out + i, v, part);
  });
}

template <class E>
void norm_backward_rows(const NormRows& args, const NormSums& sums, std::int64_t begin, std::int64_t end) {
  float *dweight = sums.dweight, *dbias = sums.dbias, *branch = sums.branch;
  const std::int64_t width = args.width;
  const float inverse = 1.0f / static_cast<float>(width);
  const E* weight = static_cast<const E*>(args.weight);
  float d[kNormStretch];
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t at = row * width;
    const E *dy = static_cast<const E*>(args.dy) + at, *x = static_cast<const E*>(args.x) + at;
    const E* dsum = args.dsum ? static_cast<const E*>(args.dsum) + at : nullptr;
    E* dx = args.dx.data ? static_cast<E*>(args.dx.data) + at : nullptr;
    const float mean = args.mean[row], rstd = args.rstd[row];
    Vec sum_g = {}, sum_gx = {};
    each(width, [&](std::int64_t i, auto part) {
      const Vec dyi = load(dy + i, part), normal = (load(x + i, part) - mean) * rstd;
      const Vec g = rounded(dyi * load(weight + i, part));  // 0 beyond the row
      sum_g += g;
      sum_gx += g * normal;
      if (dweight) store(dweight + i, load(dweight + i, part) + dyi * normal, part);
      if (dbias) store(dbias + i, load(dbias + i, part) + dyi, part);
    });
    if (!dx && !args.dbranch.data && !branch) continue;
    const float mean_g = sum_of(sum_g) * inverse, mean_gx = sum_of(sum_gx) * inverse;
    for (std::int64_t c = 0; c < width; c += kNormStretch) {
      const std::int64_t n = width - c < kNormStretch ? width - c : kNormStretch;
      each(n, [&](std::int64_t i, auto part) {
        const Vec normal = (load(x + c + i, part) - mean) * rstd;
        // Rounded as it was for the mean, so that the two cancel where they are equal.
        const Vec g = rounded(load(dy + c + i, part) * load(weight + c + i, part));
        Vec v = (g - mean_g - normal * mean_gx) * rstd;
        if (dsum) v += load(dsum + c + i, part);
        store(d + i, v, part);
        if (!dx) return;
        if (args.dx.accumulate) v += load(dx + c + i, part);
        store(dx + c + i, v, part);
      });
      if (args.dbranch.data || branch) give_branch<E>(args, d, n, at + c, branch ? branch + c : nullptr);
    }
  }
}

void set_norm(RowKernels& table) {
  table.norm[0] = norm_rows<float>, table.norm[1] = norm_rows<Bf16Bits>;
  table.norm_backward[0] = norm_backward_rows<float>, table.norm_backward[1] = norm_backward_rows<Bf16Bits>;
}

}  // namespace attend::cpu::ATTEND_ROWS
