// Output layer and cross entropy in chunks of rows. Forward computes the gradients, because the logits are gone later.
#include "attend/ops/linear_cross_entropy.h"

#include <algorithm>
#include <utility>

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

// Chunks are multiples of this, so that the tiles of a matrix product are full.
constexpr std::int64_t kRowStep = 128;

std::int64_t chunk_rows(const Tensor& x, std::int64_t classes, std::int64_t chunk_bytes) {
  const std::int64_t bytes = x.rows() * classes * static_cast<std::int64_t>(bytes_of(x.dtype()));
  const std::int64_t chunks = std::max<std::int64_t>(1, (bytes + chunk_bytes - 1) / chunk_bytes);
  const std::int64_t rows = (x.rows() + chunks - 1) / chunks;
  return chunks == 1 ? std::max<std::int64_t>(1, rows) : (rows + kRowStep - 1) / kRowStep * kRowStep;
}

// Gradients of the mean loss; undefined where they are not wanted.
struct Gradients {
  Tensor x, weight, bias;
};

// Adds the gradients from the logits' gradient [count, V] of one chunk of rows.
void add_chunk(const Gradients& to, const Tensor& dlogits, const Tensor& x, const Tensor& weight, std::int64_t begin) {
  Backend& backend = dlogits.backend();
  const bool further = begin > 0;
  if (to.x.defined())
    backend.matmul({.a = dlogits, .b = weight}, {to.x.flat_rows().slice_first(begin, dlogits.rows())});
  if (to.weight.defined()) backend.matmul({.a = dlogits, .b = x, .transpose_a = true}, {to.weight, further});
  if (to.bias.defined())
    backend.reduce(Reduction::sum, dlogits.reshape({1, dlogits.rows(), dlogits.width()}),
                   {to.bias.reshape({1, dlogits.width()}), further}, {});
}

}  // namespace

Loss linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& targets,
                          const CrossEntropyOptions& options, std::int64_t chunk_bytes) {
  check(!options.class_weights.defined(), "linear_cross_entropy: class weights are for cross_entropy alone");
  check_floats("linear_cross_entropy", {x, weight, bias});
  check_ints("linear_cross_entropy", targets, x);
  check_contiguous("linear_cross_entropy", {x, targets});
  check(weight.rank() == 2 && x.rank() >= 1 && weight.dim(1) == x.width(),
        "linear_cross_entropy: x is {}, so weight must be [classes, {}], not {}", x.shape(), x.width(), weight.shape());
  const std::int64_t classes = weight.dim(0), rows = x.rows();
  check(!bias.defined() || bias.shape() == Shape{classes}, "linear_cross_entropy: weight is {}, so bias must be [{}]",
        weight.shape(), classes);
  check(targets.size() == rows, "linear_cross_entropy: x is {}, so there must be {} targets, not {}", x.shape(), rows,
        targets.shape());
  check(options.smoothing >= 0 && options.smoothing < 1, "linear_cross_entropy: smoothing must be in [0, 1), not {}",
        options.smoothing);

  Backend& backend = x.backend();
  const Tensor& made = lead({&x, &weight});
  const Tensor losses = like(made, {rows}, DType::f32), total = like(losses, {2}), lse = like(losses);
  const bool learns = recorded({x, weight, bias});
  Gradients gradients;
  if (learns) {
    if (Grads::wants(x)) gradients.x = like(made, x.shape());
    if (Grads::wants(weight)) gradients.weight = like(made, weight.shape(), DType::f32);
    if (Grads::wants(bias)) gradients.bias = like(made, bias.shape(), DType::f32);
    // Gradients of the mean need the number of targets before the first chunk.
    backend.mean_loss({}, targets, {}, options.ignore, total);
    if (rows == 0)
      for (const Tensor& empty : {gradients.weight, gradients.bias})
        if (empty.defined()) backend.fill(empty, 0);
  }
  const Tensor inputs = x.flat_rows(), wanted = targets.reshape({rows});
  const std::int64_t step = chunk_rows(x, classes, chunk_bytes);
  const Tensor logits = like(made, {std::min(step, rows), classes});  // [step, V], reused by every chunk
  for (std::int64_t begin = 0; begin < rows; begin += step) {
    const std::int64_t count = std::min(step, rows - begin);
    const auto part = [&](const Tensor& all) { return all.slice_first(begin, count); };
    const Tensor scores = logits.slice_first(0, count), chunk = part(inputs);
    backend.matmul({.a = chunk, .b = weight, .transpose_b = true, .bias = bias}, {scores});
    if (!learns) {
      const Tensor unused = like(total);
      backend.cross_entropy(scores, part(wanted), {}, options.smoothing, options.ignore, part(losses), part(lse),
                            unused);
      continue;
    }
    // The gradient replaces the scores in place.
    backend.cross_entropy_gradient(scores, part(wanted), options.smoothing, options.ignore, total, part(losses),
                                   part(lse));
    add_chunk(gradients, scores, chunk, weight, begin);
  }
  backend.mean_loss(losses, wanted, {}, options.ignore, total);
  const Tensor mean = like(losses, {1});
  backend.scale(total.slice_first(0, 1), 1, {mean});
  const auto to_x = Target(x), to_weight = Target(weight), to_bias = Target(bias);
  record(mean, {x, weight, bias}, [to_x, to_weight, to_bias, gradients](const Tensor& dloss, Grads& grad) {
    const std::pair<const Target&, const Tensor&> all[] = {
        {to_x, gradients.x}, {to_weight, gradients.weight}, {to_bias, gradients.bias}};
    for (const auto& [to, gradient] : all) {
      if (!gradient.defined()) continue;
      dloss.backend().scale_by(gradient, dloss);
      grad.give(to, gradient);
    }
  });
  return {mean, losses, total};
}

}  // namespace attend::ops
