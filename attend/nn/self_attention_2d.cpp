// Self-attention over the places of an image (Zhang et al. 2019, section 3). S = H/2·W/2 with pooling, else H·W.
#include "attend/nn/self_attention_2d.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/embedding.h"
#include "attend/ops/linear.h"
#include "attend/ops/pooling.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/pass.h"

namespace attend::nn {

namespace {

SpectralConv2d projection(std::int64_t in, std::int64_t out, bool spectral) {
  return {in, out, 1, {.bias = false, .spectral = spectral}};
}

// Queries and keys have width C / 8, values C / 2.
std::int64_t eighth(std::int64_t width) { return std::max<std::int64_t>(1, width / 8); }
std::int64_t half(std::int64_t width) { return std::max<std::int64_t>(1, width / 2); }

// [B, H, W, C] -> [B, H · W, C]
Tensor as_rows(const Tensor& x) { return x.reshape({x.dim(0), x.dim(1) * x.dim(2), x.dim(3)}); }

}  // namespace

SelfAttention2d::SelfAttention2d(std::int64_t width, const SelfAttention2dConfig& config)
    : gamma_{{1}, {}},
      query_(projection(width, eighth(width), config.spectral)),
      key_(projection(width, eighth(width), config.spectral)),
      value_(projection(width, half(width), config.spectral)),
      output_(projection(half(width), width, config.spectral)),
      config_(config) {}

Tensor SelfAttention2d::operator()(const Tensor& x) const {
  check(x.rank() == 4, "self attention: wants images [B, H, W, C], not {}", x.shape());
  check(!config_.pooled || (x.dim(1) > 1 && x.dim(2) > 1), "self attention: {} x {} places, too few to pool", x.dim(1),
        x.dim(2));
  // A 1 x 1 convolution is a linear projection: [B, H, W, C'].
  const auto read = [&](const SpectralConv2d& by) { return ops::linear(x, by.projection(x)); };
  // Keys and values, perhaps pooled: [B, S, C'].
  const auto seen = [&](const SpectralConv2d& by) {
    const Tensor y = read(by);
    return as_rows(config_.pooled ? ops::max_pool2d(y, {.kernel = {2, 2}, .stride = {2, 2}}) : y);
  };
  const Tensor scores = ops::matmul(as_rows(read(query_)), seen(key_), {.transpose_b = true});  // [B, H·W, S]
  const Tensor weights = ops::softmax(scores);                                                  // [B, H·W, S]
  if (x.pass() && x.pass()->probe())
    x.pass()->probe()->attention(
        config_.label, ops::cast(weights, DType::f32).reshape({weights.dim(0), 1, weights.dim(1), weights.dim(2)}));
  const Tensor found = ops::matmul(weights, seen(value_));  // [B, H·W, C/2]
  // gamma is one number; a lookup repeats it for every column, and its gradient sums over them.
  const Tensor first = like(found, {found.width()}, DType::i32);
  first.backend().fill(first, 0);
  const Tensor gamma = ops::embedding(first, gamma_.value.reshape({1, 1})).reshape({found.width()});  // [C/2]
  // Shape [B, H, W, C].
  return ops::add(x, ops::linear(ops::multiply(found, gamma), output_.projection(x)).reshape(x.shape()));
}

}  // namespace attend::nn
