// Scaling and casting, sums and products, activations and their derivatives.
#include "attend/cpu/rows/kernels.h"
#include "attend/cpu/rows/math.h"
#include "attend/cpu/rows/table.h"

namespace attend::cpu::ATTEND_ROWS {

template <class X, class Y>
void scale_rows(const void* x_, float alpha, Out y_, std::int64_t n) {
  const X* x = static_cast<const X*>(x_);
  Y* y = static_cast<Y*>(y_.data);
  const bool accumulate = y_.accumulate;
  each(n, [&](std::int64_t i, auto part) {
    Vec v = load(x + i, part) * alpha;
    if (accumulate) v += load(y + i, part);
    store(y + i, v, part);
  });
}

template <class E>
void add_rows(const void* a_, const void* b_, void* y_, std::int64_t n) {
  const E *a = static_cast<const E*>(a_), *b = static_cast<const E*>(b_);
  E* y = static_cast<E*>(y_);
  each(n, [&](std::int64_t i, auto part) { store(y + i, load(a + i, part) + load(b + i, part), part); });
}

template <class E>
void multiply_rows(const void* a_, const void* b_, Out y_, std::int64_t n) {
  const E *a = static_cast<const E*>(a_), *b = static_cast<const E*>(b_);
  E* y = static_cast<E*>(y_.data);
  const bool accumulate = y_.accumulate;
  each(n, [&](std::int64_t i, auto part) {
    Vec v = load(a + i, part) * load(b + i, part);
    if (accumulate) v += load(y + i, part);
    store(y + i, v, part);
  });
}

// GPT-2's gelu is x · sigmoid(2u) with u = sqrt(2/π) (x + 0.044715 x³), which needs one exponential and no tanh.
ATTEND_INLINE Vec gelu_gate(Vec x) { return sigmoid(x * (1.595769122f + 0.0713548163f * x * x)); }

template <Activation kKind>
ATTEND_INLINE Vec activate(Vec x) {
  if constexpr (kKind == Activation::relu) return x < 0.0f ? Vec{} : x;
  if constexpr (kKind == Activation::gelu) return x * normal_distribution(x).below;
  if constexpr (kKind == Activation::gelu_tanh) return x * gelu_gate(x);
  if constexpr (kKind == Activation::silu) return x * sigmoid(x);
  if constexpr (kKind == Activation::tanh) return hyperbolic_tangent(x);
  if constexpr (kKind == Activation::sigmoid) return sigmoid(x);
  if constexpr (kKind == Activation::leaky_relu) return x < 0.0f ? kLeakySlope * x : x;
  return x;
}

template <Activation kKind>
ATTEND_INLINE Vec slope(Vec x) {
  if constexpr (kKind == Activation::relu) return x > 0.0f ? splat(1.0f) : Vec{};
  if constexpr (kKind == Activation::gelu) {
    const Normal normal = normal_distribution(x);
    return normal.below + x * normal.bell * 0.3989422804f;
  }
  if constexpr (kKind == Activation::gelu_tanh) {
    const Vec gate = gelu_gate(x);
    return gate + x * gate * (1.0f - gate) * (1.595769122f + 0.2140644489f * x * x);
  }
  if constexpr (kKind == Activation::silu) {
    const Vec gate = sigmoid(x);
    return gate * (1.0f + x * (1.0f - gate));
  }
  if constexpr (kKind == Activation::tanh) {
    const Vec y = hyperbolic_tangent(x);
    return 1.0f - y * y;
  }
  if constexpr (kKind == Activation::sigmoid) {
    const Vec y = sigmoid(x);
    return y * (1.0f - y);
  }
  if constexpr (kKind == Activation::leaky_relu) return x > 0.0f ? splat(1.0f) : splat(kLeakySlope);
  return splat(1.0f);
}

template <Activation kKind, class E>
void activation_of(const E* x, E* y, std::int64_t n) {
  each(n, [&](std::int64_t i, auto part) { store(y + i, activate<kKind>(load(x + i, part)), part); });
}

template <class E>
void activation_rows(const void* x_, Activation kind, void* y_, std::int64_t n) {
  const E* x = static_cast<const E*>(x_);
  E* y = static_cast<E*>(y_);
  switch (kind) {
    case Activation::none:
      return activation_of<Activation::none>(x, y, n);
    case Activation::relu:
      return activation_of<Activation::relu>(x, y, n);
    case Activation::gelu:
      return activation_of<Activation::gelu>(x, y, n);
    case Activation::gelu_tanh:
      return activation_of<Activation::gelu_tanh>(x, y, n);
    case Activation::silu:
      return activation_of<Activation::silu>(x, y, n);
    case Activation::tanh:
      return activation_of<Activation::tanh>(x, y, n);
    case Activation::sigmoid:
      return activation_of<Activation::sigmoid>(x, y, n);
    case Activation::leaky_relu:
      return activation_of<Activation::leaky_relu>(x, y, n);
  }
}

template <Activation kKind, class E>
void backward_of(const ActivationBackwardRows& args, std::int64_t begin, std::int64_t end, float* sums) {
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t at = row * args.width;
    const E* dy = static_cast<const E*>(args.dy) + at;
    const E* x = kKind == Activation::none ? nullptr : static_cast<const E*>(args.x) + at;
    E* dx = args.dx.data ? static_cast<E*>(args.dx.data) + at : nullptr;
    each(args.width, [&](std::int64_t i, auto part) {
      Vec d = load(dy + i, part);
      if constexpr (kKind != Activation::none) d *= slope<kKind>(load(x + i, part));
      if (sums) store(sums + i, load(sums + i, part) + d, part);
      if (!dx) return;
      if (args.dx.accumulate) d += load(dx + i, part);
      store(dx + i, d, part);
    });
  }
}

template <class E>
void activation_backward_rows(const ActivationBackwardRows& args, std::int64_t begin, std::int64_t end, float* sums) {
  switch (args.kind) {
    case Activation::none:
      return backward_of<Activation::none, E>(args, begin, end, sums);
    case Activation::relu:
      return backward_of<Activation::relu, E>(args, begin, end, sums);
    case Activation::gelu:
      return backward_of<Activation::gelu, E>(args, begin, end, sums);
    case Activation::gelu_tanh:
      return backward_of<Activation::gelu_tanh, E>(args, begin, end, sums);
    case Activation::silu:
      return backward_of<Activation::silu, E>(args, begin, end, sums);
    case Activation::tanh:
      return backward_of<Activation::tanh, E>(args, begin, end, sums);
    case Activation::sigmoid:
      return backward_of<Activation::sigmoid, E>(args, begin, end, sums);
    case Activation::leaky_relu:
      return backward_of<Activation::leaky_relu, E>(args, begin, end, sums);
  }
}

template <class E>
void embed_row(const void* table_, float scale, const void* positions_, void* y_, std::int64_t n) {
  const E *table = static_cast<const E*>(table_), *positions = static_cast<const E*>(positions_);
  E* y = static_cast<E*>(y_);
  each(n, [&](std::int64_t i, auto part) {
    Vec v = load(table + i, part) * scale;
    if (positions) v += load(positions + i, part);
    store(y + i, v, part);
  });
}

// Four vectors of columns at a time stay in registers while the rows go by.
template <class X, class Y>
void gather_sum_rows(const void* x_, std::int64_t stride, const std::int32_t* order, std::int64_t count, float scale,
                     Out y_, std::int64_t n) {
  const X* x = static_cast<const X*>(x_);
  Y* y = static_cast<Y*>(y_.data);
  constexpr int kAtOnce = 4 * kLanes;
  std::int64_t c = 0;
  for (; c + kAtOnce <= n; c += kAtOnce) {
    Vec sum[4] = {};
    for (std::int64_t i = 0; i < count; ++i) {
      const X* row = x + order[i] * stride + c;
      for (int u = 0; u < 4; ++u) sum[u] += load(row + u * kLanes);
    }
    for (int u = 0; u < 4; ++u) {
      Vec v = sum[u] * scale;
      if (y_.accumulate) v += load(y + c + u * kLanes);
      store(y + c + u * kLanes, v);
    }
  }
  each(n - c, [&](std::int64_t i, auto part) {
    Vec sum = {};
    for (std::int64_t r = 0; r < count; ++r) sum += load(x + order[r] * stride + c + i, part);
    Vec v = sum * scale;
    if (y_.accumulate) v += load(y + c + i, part);
    store(y + c + i, v, part);
  });
}

void set_elementwise(RowKernels& table) {
  table.scale[0][0] = scale_rows<float, float>;
  table.scale[0][1] = scale_rows<float, Bf16Bits>;
  table.scale[1][0] = scale_rows<Bf16Bits, float>;
  table.scale[1][1] = scale_rows<Bf16Bits, Bf16Bits>;
  table.gather_sum[0][0] = gather_sum_rows<float, float>;
  table.gather_sum[0][1] = gather_sum_rows<float, Bf16Bits>;
  table.gather_sum[1][0] = gather_sum_rows<Bf16Bits, float>;
  table.gather_sum[1][1] = gather_sum_rows<Bf16Bits, Bf16Bits>;
  table.add[0] = add_rows<float>, table.add[1] = add_rows<Bf16Bits>;
  table.multiply[0] = multiply_rows<float>, table.multiply[1] = multiply_rows<Bf16Bits>;
  table.activation[0] = activation_rows<float>, table.activation[1] = activation_rows<Bf16Bits>;
  table.activation_backward[0] = activation_backward_rows<float>;
  table.activation_backward[1] = activation_backward_rows<Bf16Bits>;
  table.embed[0] = embed_row<float>, table.embed[1] = embed_row<Bf16Bits>;
}

}  // namespace attend::cpu::ATTEND_ROWS
