// The feed-forward network as one op. hidden is [.., H], where H is the inner width.
#include "attend/ops/feed_forward.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/ops/linear_fp8.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

// The gradient before the activation, (dy W₂) · f'(kept), [.., H], and the gradient of b₁.
Tensor back_through(const Tensor& dy, const Tensor& weight, const Tensor& kept, const LinearOptions& options,
                    const Grad& dbias) {
  Backend& backend = dy.backend();
  const Tensor d = like(dy, kept.shape());
  MatMul product{.a = dy.flat_rows(), .b = weight, .transpose_b = options.input_major};
  product.activation = options.activation, product.pre = kept.flat_rows();
  // One kernel if the device has it, else a product and the activation's backward.
  if (backend.matmul_slope(product, d.flat_rows(), dbias)) return d;
  product.activation = Activation::none, product.pre = {};
  backend.matmul(product, {d.flat_rows()});
  backend.activation_backward(d, kept, options.activation, {d}, dbias);
  return d;
}

}  // namespace

Tensor feed_forward(const Tensor& x, const Projection& expand, const Projection& contract,
                    const LinearOptions& options) {
  check(options.activation != Activation::none && !options.residual.defined(),
        "feed_forward: an activation between the projections, and no residual");
  check_floats("feed_forward", {x, expand.weight, expand.bias, contract.weight, contract.bias});
  const LinearOptions plain = {.input_major = options.input_major};
  const bool learns = recorded({x, expand.weight, expand.bias, contract.weight, contract.bias});
  // Inference needs no backward, and 8-bit products have their own.
  if (!learns || fits_linear_fp8(x, expand.weight, expand.bias, options))
    return linear(linear(x, expand.weight, expand.bias, options), contract.weight, contract.bias, plain);

  const Projected hidden = project(x, expand.weight, expand.bias, options, true);           // [.., H]
  const Projected result = project(hidden.y, contract.weight, contract.bias, plain, true);  // [.., O]
  ask_for_bias_gradient(result.y, contract.bias, Activation::none);
  return record(result.y, {x, expand.weight, expand.bias, contract.weight, contract.bias},
                [x, expand = expand.weight, to_expand_bias = Target(expand.bias), contract = contract.weight,
                 to_contract_bias = Target(contract.bias), hidden, options](const Tensor& dy, Grads& grad) {
                  before_activation(dy, {}, Activation::none, to_contract_bias, grad);
                  project_backward(dy, hidden.y, contract, options.input_major, grad);
                  const Tensor d = back_through(dy, contract, hidden.kept, options, grad(to_expand_bias));
                  project_backward(d, x, expand, options.input_major, grad);
                });
}

}  // namespace attend::ops
