// Spectral normalisation, built from kernels that every device has.
#include "attend/ops/spectral_norm.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

struct Unit {
  Tensor vector;   // x / max(‖x‖, 2⁻⁴⁰)
  Tensor inverse;  // f32 [1]: 1 / max(‖x‖, 2⁻⁴⁰)
};

// gradient_norm() gives the factor that clips a longer vector to length 1, on the device. Multiplying by 2⁴⁰ first,
// which is exact, makes almost every vector long enough.
Unit unit(const Tensor& x) {
  constexpr float kFar = 1099511627776.0f;
  const Tensor y = like(x), norm = like(x, {2}), inverse = like(x, {1});
  Backend& backend = x.backend();
  backend.scale(x, kFar, {y});
  backend.gradient_norm(y, 1, norm);
  const Tensor clip = norm.slice_first(1, 1);
  backend.scale_by(y, clip);
  backend.scale(clip, kFar, {inverse});
  return {y, inverse};
}

struct Iteration {
  Tensor u, v;     // [1, out], [1, rest]
  Tensor inverse;  // f32 [1]: 1 / σ
};

Iteration iterate(const Tensor& weight, const Tensor& u, const Tensor& v, bool moves) {
  Backend& backend = weight.backend();
  const Tensor to_v = like(weight, {1, weight.dim(1)}), to_u = like(weight, {1, weight.dim(0)});
  if (moves) {
    backend.matmul({.a = u, .b = weight}, {to_v});
    const Unit next_v = unit(to_v);
    backend.matmul({.a = next_v.vector, .b = weight, .transpose_b = true}, {to_u});
    const Unit next_u = unit(to_u);  // σ = uᵀ W v is the length of W v, because u is its direction
    backend.scale(next_u.vector, 1, {u});
    backend.scale(next_v.vector, 1, {v});
    return {next_u.vector, next_v.vector, next_u.inverse};
  }
  // A moving average of unit vectors (EMA weights) is shorter than 1, so it is normalised again.
  backend.scale(u, 1, {to_u}), backend.scale(v, 1, {to_v});
  const Tensor unit_u = unit(to_u).vector, unit_v = unit(to_v).vector, sigma = like(weight, {1, 1});
  backend.matmul({.a = unit_v, .b = weight, .transpose_b = true}, {to_u});
  backend.matmul({.a = to_u, .b = unit_u, .transpose_b = true}, {sigma});
  return {unit_u, unit_v, unit(sigma.reshape({1})).inverse};
}

// dW = (dY - ⟨dY, Y⟩ u vᵀ) / σ for Y = W / σ. All are [out, rest].
void backward(const Tensor& dy, const Tensor& y, const Iteration& at, const Grad& dweight) {
  Backend& backend = dy.backend();
  const std::int64_t out = at.u.dim(1), rest = at.v.dim(1);
  const Tensor product = like(dy), columns = like(dy, {1, rest}, DType::f32), dot = like(dy, {1, 1}, DType::f32);
  backend.multiply(dy, y, {product});
  backend.reduce(Reduction::sum, product.reshape({1, out, rest}), {columns}, {});
  backend.reduce(Reduction::sum, columns.reshape({1, rest, 1}), {dot}, {});
  const Tensor d = like(dy, {out, rest}, DType::f32), u = like(at.u);
  backend.scale(dy.reshape({out, rest}), 1, {d});
  backend.scale(at.u, 1, {u});
  backend.scale_by(u, dot.reshape({1}));
  backend.matmul({.a = u.reshape({out, 1}), .b = at.v, .alpha = -1}, {d, true});
  backend.scale_by(d, at.inverse);
  backend.scale(d.reshape(dy.shape()), 1, dweight);
}

}  // namespace

Tensor spectral_norm(const Tensor& x, const Tensor& weight, const SpectralVectors& vectors) {
  check_floats("spectral_norm", {weight});
  check_contiguous("spectral_norm", {weight});
  check(weight.rank() >= 2 && weight.size() > 0, "spectral_norm: wants a weight [out, ..], not {}", weight.shape());
  const std::int64_t out = weight.dim(0), rest = weight.size() / out;
  check(vectors.u.defined() && vectors.v.defined() && vectors.u.dtype() == DType::f32 &&
            vectors.v.dtype() == DType::f32 && vectors.u.shape() == Shape{out} && vectors.v.shape() == Shape{rest},
        "spectral_norm: weight is {}, so the vectors must be f32 [{}] and [{}]", weight.shape(), out, rest);
  Backend& backend = weight.backend();
  const Tensor scaled = like(x, {out, rest}, DType::f32);
  backend.scale(weight.reshape({out, rest}), 1, {scaled});
  const bool moves = x.pass() && x.pass()->recording() && !x.pass()->replaying();
  const Iteration at = iterate(scaled, vectors.u.reshape({1, out}), vectors.v.reshape({1, rest}), moves);
  backend.scale_by(scaled, at.inverse);
  Tensor y = scaled.reshape(weight.shape());
  if (weight.dtype() != DType::f32) {
    y = like(x, weight.shape(), weight.dtype());
    backend.scale(scaled.reshape(weight.shape()), 1, {y});
  }
  return record(y, {weight}, [to = Target(weight), y, at](const Tensor& dy, Grads& grad) {
    if (const Grad dweight = grad(to)) backward(dy, y, at, dweight);
  });
}

}  // namespace attend::ops
