// Norm and projection as one op, for decoding: a single row is limited by latency, and one kernel saves two launches.
#include "attend/ops/norm_linear.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/ops/linear.h"
#include "attend/ops/norm.h"
#include "attend/tensor/backend.h"

namespace attend::ops {

namespace {

// The number of columns that go to the cache.
std::int64_t cached_width(const Tensor& cache) {
  return !cache.defined() ? 0 : cache.rank() == 4 ? cache.dim(1) * cache.width() : cache.width();
}

// One kernel for a single row; undefined if the device has none, or if the result must be recorded.
Tensor at_once(const Tensor& x, const NormWeights& norm, const Tensor& weight, const Tensor& bias,
               const NormLinearOptions& options) {
  if (x.rows() != 1 || !options.input_major || recorded({x, norm.weight, norm.bias, weight, bias})) return {};
  const std::int64_t kept = weight.dim(1) - cached_width(options.cache);
  const Tensor y = like(lead({&x, &weight}), x.shape().with_last(kept));
  const bool done = x.backend().norm_linear({.x = x,
                                             .norm_weight = norm.weight,
                                             .norm_bias = norm.bias,
                                             .eps = norm.eps,
                                             .weight = weight,
                                             .bias = bias,
                                             .activation = options.activation,
                                             .cache = options.cache,
                                             .slot = options.slots},
                                            y);
  return done ? y : Tensor();
}

}  // namespace

Tensor norm_linear(const Tensor& x, const NormWeights& norm, const Tensor& weight, const Tensor& bias,
                   const NormLinearOptions& options) {
  const auto& [activation, input_major, cache, slots] = options;
  check_floats("norm_linear", {x, norm.weight, norm.bias, weight, bias});
  check(norm.weight.defined() && norm.weight.shape() == Shape{x.width()} && weight.rank() == 2 &&
            weight.dim(input_major ? 0 : 1) == x.width(),
        "norm_linear: x is {}, so neither a norm of {} nor a weight {} may differ from its width", x.shape(),
        norm.weight.defined() ? norm.weight.shape() : Shape{}, weight.shape());
  const std::int64_t out = weight.dim(input_major ? 1 : 0);
  if (cache.defined()) {
    check_ints("norm_linear", slots, x);
    check_contiguous("norm_linear", {cache});
    check((cache.rank() == 2 ? cache.dtype() == x.dtype() : cache.rank() == 4) && cached_width(cache) <= out &&
              slots.size() == x.rows(),
          "norm_linear: {} columns and {} rows go to {} slots of a cache {}", out, x.rows(), slots.size(),
          cache.shape());
  }
  if (const Tensor y = at_once(x, norm, weight, bias, options); y.defined()) return y;
  const Tensor y = linear(layer_norm(x, norm.weight, norm.bias, norm.eps), weight, bias,
                          {.activation = activation, .input_major = input_major});
  if (!cache.defined()) return y;
  const std::int64_t kept = out - cached_width(cache);
  const Tensor rows = y.flat_rows();
  // The last columns, keys and values, go to the cache; the rest is returned.
  x.backend().put_rows(rows.columns(kept, cached_width(cache)), slots, cache);
  return rows.columns(0, kept).reshape(x.shape().with_last(kept));
}

}  // namespace attend::ops
