// Layer norm and add-norm. One kernel serves both; mean and rstd, f32 [rows] each, are kept for backward.
#include "attend/ops/norm.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

void check_norm(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_floats(op, {x, weight, bias});
  check_contiguous(op, {x, weight, bias});
  const Shape width{x.width()};
  check(x.rank() >= 1 && weight.defined() && weight.shape() == width, "{}: x is {}, so weight must be {}, not {}", op,
        x.shape(), width, weight.defined() ? weight.shape() : Shape{});
  check(!bias.defined() || bias.shape() == width, "{}: x is {}, so bias must be {}, not {}", op, x.shape(), width,
        bias.defined() ? bias.shape() : Shape{});
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps) {
  check_norm("layer_norm", x, weight, bias);
  const AddNorm args{.x = x, .branch = {}, .weight = weight, .bias = bias, .eps = eps};
  Tensor y = like(x), mean = like(x, {x.rows()}, DType::f32), rstd = like(mean);
  x.backend().add_norm(args, {}, y, mean, rstd);
  return record(y, {x, weight, bias}, [args, mean, rstd](const Tensor& dy, Grads& grad) {
    dy.backend().add_norm_backward(args, dy, {}, mean, rstd, grad(args.x), {}, grad(args.weight), grad(args.bias), {});
  });
}

Summed add_norm(const Tensor& x, const Tensor& branch, const Tensor& weight, const Tensor& bias,
                const AddNormOptions& options) {
  check_norm("add_norm", x, weight, bias);
  check_floats("add_norm", {x, branch});
  check_contiguous("add_norm", {branch});
  check(branch.defined() && x.shape() == branch.shape(), "add_norm: x is {}, so the branch must be too, not {}",
        x.shape(), branch.defined() ? branch.shape() : Shape{});
  check(options.dropout == 0 || options.drop_path == 0, "add_norm: dropout {} and drop_path {}; at most one of them",
        options.dropout, options.drop_path);
  const Tensor& made = lead({&x, &branch});
  Dropout dropout = made.pass() ? made.pass()->dropout(options.dropout + options.drop_path) : Dropout{};
  if (options.drop_path > 0 && x.size() > 0) dropout.group = x.size() / x.dim(0);
  const AddNorm args{x, branch, weight, bias, options.eps, dropout};
  Tensor sum = like(made, x.shape()), y = like(sum), mean = like(sum, {x.rows()}, DType::f32), rstd = like(mean);
  x.backend().add_norm(args, sum, y, mean, rstd);

  AddNorm kept = args;
  kept.x = sum, kept.branch = {};
  // Backward reads only the sum, so x and the branch are not kept.
  record_all({sum, y}, {x, branch, weight, bias},
             [x = Target(x), branch = Target(branch), kept, mean, rstd](std::span<const Tensor> dys, Grads& grad) {
               const Tensor &dsum = dys[0], &dy = dys[1];
               if (!dy.defined()) {  // only the sum was used, not the norm
                 grad.give(x, dsum);
                 if (kept.dropout.rate == 0)
                   grad.give(branch, dsum);
                 else if (Grad dbranch = grad(branch))
                   dsum.backend().dropout(dsum, kept.dropout, dbranch);
                 return;
               }
               // Without dropout both inputs have the same gradient, which is computed once and shared.
               const bool shared = kept.dropout.rate == 0;
               const Tensor d = like(dy);
               const Grad dbranch = shared ? Grad{} : grad(branch);
               dy.backend().add_norm_backward(kept, dy, dsum, mean, rstd, {d}, dbranch, grad(kept.weight),
                                              grad(kept.bias), Grads::sums(branch, shared ? Grad{d} : dbranch));
               grad.give(x, d);
               if (shared) grad.give(branch, d);
             });
  return {sum, y};
}

}  // namespace attend::ops
