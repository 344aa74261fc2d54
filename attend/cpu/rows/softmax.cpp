// Softmax over rows and the cross entropy of rows of logits, each with its gradient.
#include "attend/cpu/rows/math.h"
#include "attend/cpu/rows/table.h"

namespace attend::cpu::ATTEND_ROWS {

template <class E>
ATTEND_INLINE float row_max(const E* x, std::int64_t n) {
  Vec a = splat(-kInfinity), b = a;
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) a = larger(load(x + i), a), b = larger(load(x + i + kLanes), b);
  each(n - i, [&](std::int64_t j, auto part) { a = larger(keep(load(x + i + j, part), -kInfinity, part), a); });
  return max_of(larger(a, b));
}

template <class E>
void block_maxima(const void* x, std::int64_t blocks, std::int64_t block, float* maxima) {
  for (std::int64_t i = 0; i < blocks; ++i) maxima[i] = row_max(static_cast<const E*>(x) + i * block, block);
}

template <class E>
void softmax_row(const void* x_, void* y_, std::int64_t seen, std::int64_t n) {
  const E* x = static_cast<const E*>(x_);
  E* y = static_cast<E*>(y_);
  const float max = row_max(x, seen);
  Vec total = {};
  each(seen, [&](std::int64_t i, auto part) { total += keep(exponential(load(x + i, part) - max), 0.0f, part); });
  const float inverse = 1.0f / sum_of(total);
  // The exponentials again: f32 would not need it, but bf16 must not round twice.
  each(seen, [&](std::int64_t i, auto part) { store(y + i, exponential(load(x + i, part) - max) * inverse, part); });
  each(n - seen, [&](std::int64_t i, auto part) { store(y + seen + i, Vec{}, part); });
}

void weigh_row(const float* x, float* y, float most, float scale, std::int64_t n) {
  each(n, [&](std::int64_t i, auto part) { store(y + i, exponential((load(x + i, part) - most) * scale), part); });
}

template <class E>
void softmax_backward_row(const void* dy_, const void* y_, Out dx_, std::int64_t n) {
  const E *dy = static_cast<const E*>(dy_), *y = static_cast<const E*>(y_);
  E* dx = static_cast<E*>(dx_.data);
  Vec total = {};
  each(n, [&](std::int64_t i, auto part) { total += load(dy + i, part) * load(y + i, part); });
  const float dot = sum_of(total);
  each(n, [&](std::int64_t i, auto part) {
    Vec v = (load(dy + i, part) - dot) * load(y + i, part);
    if (dx_.accumulate) v += load(dx + i, part);
    store(dx + i, v, part);
  });
}

// A stretch is read from memory for its maximum and again from the first cache for its exponentials.
constexpr std::int64_t kSumStretch = 2048;

// loss = lse - (1 - ε) x[target] - ε mean(x).
template <class E>
void cross_entropy_rows(const CrossEntropyRows& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = args.width;
  for (std::int64_t row = begin; row < end; ++row) {
    const E* x = static_cast<const E*>(args.logits) + row * width;
    const std::int32_t target = args.targets[row];
    if (target == args.ignore) {  // the backward pass does not read its lse
      args.losses[row] = 0, args.lse[row] = 0;
      continue;
    }
    float max = -kInfinity;
    Vec total = {}, plain = {};
    for (std::int64_t at = 0; at < width; at += kSumStretch) {
      const std::int64_t n = width - at < kSumStretch ? width - at : kSumStretch;
      const float here = row_max(x + at, n);
      if (here > max) total *= exponential(max - here), max = here;
      each(n, [&](std::int64_t i, auto part) {
        const Vec v = load(x + at + i, part);
        total += keep(exponential(v - max), 0.0f, part);
        plain += v;
      });
    }
    const float lse = max + logarithm(sum_of(total));
    const bool inside = target >= 0 && target < width;
    const float hit = inside ? load(x + target, Part{1})[0] : kNan;
    args.lse[row] = lse;
    float loss = lse - (1.0f - args.smoothing) * hit;
    if (args.smoothing != 0) loss -= args.smoothing / static_cast<float>(width) * sum_of(plain);
    args.losses[row] = inside && args.class_weights ? loss * args.class_weights[target] : loss;
  }
}

template <class E>
void cross_entropy_backward_rows(const CrossEntropyRows& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = args.width;
  const float even = args.smoothing / static_cast<float>(width);
  for (std::int64_t row = begin; row < end; ++row) {
    const E* x = static_cast<const E*>(args.logits) + row * width;
    E* dx = static_cast<E*>(args.dlogits.data) + row * width;
    const bool accumulate = args.dlogits.accumulate;
    const std::int32_t target = args.targets[row];
    if (target == args.ignore) {
      if (!accumulate) each(width, [&](std::int64_t i, auto part) { store(dx + i, Vec{}, part); });
      continue;
    }
    const bool inside = target >= 0 && target < width;
    // The target's own entry is put right afterwards, in f32, from what stood there before.
    const float weight = inside && args.class_weights ? args.class_weights[target] : 1.0f;
    const float lse = args.lse[row], scale = inside ? args.scale * weight : kNan;
    const float p = inside ? exponential(load(x + target, Part{1}) - lse)[0] : 0;
    const float old = inside && accumulate ? load(dx + target, Part{1})[0] : 0;
    each(width, [&](std::int64_t i, auto part) {
      Vec v = (exponential(load(x + i, part) - lse) - even) * scale;
      if (accumulate) v += load(dx + i, part);
      store(dx + i, v, part);
    });
    if (inside) store(dx + target, splat(old + (p - even - (1.0f - args.smoothing)) * scale), Part{1});
  }
}

// Of p = softmax(a), q = softmax(b): the log-sum-exps of a and b, and the means of a - b under p and under q.
template <class E>
void consistency_rows(const ConsistencyRows& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = args.width;
  for (std::int64_t row = begin; row < end; ++row) {
    const E* a = static_cast<const E*>(args.logits) + row * width;
    const E* b = a + args.count * width;
    const float max_a = row_max(a, width), max_b = row_max(b, width);
    Vec sum_a = {}, sum_b = {}, apart_a = {}, apart_b = {};
    each(width, [&](std::int64_t i, auto part) {
      const Vec x = load(a + i, part), y = load(b + i, part);
      const Vec p = keep(exponential(x - max_a), 0.0f, part), q = keep(exponential(y - max_b), 0.0f, part);
      sum_a += p, sum_b += q;
      apart_a += p * (x - y), apart_b += q * (x - y);
    });
    const float total_a = sum_of(sum_a), total_b = sum_of(sum_b);
    float* moments = args.moments + 4 * row;
    moments[0] = max_a + logarithm(total_a), moments[1] = max_b + logarithm(total_b);
    moments[2] = sum_of(apart_a) / total_a, moments[3] = sum_of(apart_b) / total_b;
  }
}

// da = p (d - E_p d) + p - q and db = -q (d - E_q d) - p + q, with d = a - b.
template <class E>
void consistency_backward_rows(const ConsistencyRows& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = args.width;
  for (std::int64_t row = begin; row < end; ++row) {
    const E* a = static_cast<const E*>(args.logits) + row * width;
    const E* b = a + args.count * width;
    E* da = static_cast<E*>(args.dlogits.data) + row * width;
    E* db = da + args.count * width;
    const float* moments = args.moments + 4 * row;
    each(width, [&](std::int64_t i, auto part) {
      const Vec x = load(a + i, part), y = load(b + i, part);
      const Vec p = exponential(x - moments[0]), q = exponential(y - moments[1]);
      Vec dx = (p * (x - y - moments[2]) + p - q) * args.scale;
      Vec dy = (q * (moments[3] - x + y) - p + q) * args.scale;
      if (args.dlogits.accumulate) dx += load(da + i, part), dy += load(db + i, part);
      store(da + i, dx, part), store(db + i, dy, part);
    });
  }
}

void set_softmax(RowKernels& table) {
  table.consistency[0] = consistency_rows<float>, table.consistency[1] = consistency_rows<Bf16Bits>;
  table.consistency_backward[0] = consistency_backward_rows<float>;
  table.consistency_backward[1] = consistency_backward_rows<Bf16Bits>;
  table.block_maxima[0] = block_maxima<float>, table.block_maxima[1] = block_maxima<Bf16Bits>;
  table.softmax[0] = softmax_row<float>, table.softmax[1] = softmax_row<Bf16Bits>;
  table.largest = row_max<float>, table.weigh = weigh_row;
  table.softmax_backward[0] = softmax_backward_row<float>, table.softmax_backward[1] = softmax_backward_row<Bf16Bits>;
  table.cross_entropy[0] = cross_entropy_rows<float>, table.cross_entropy[1] = cross_entropy_rows<Bf16Bits>;
  table.cross_entropy_backward[0] = cross_entropy_backward_rows<float>;
  table.cross_entropy_backward[1] = cross_entropy_backward_rows<Bf16Bits>;
}

}  // namespace attend::cpu::ATTEND_ROWS
