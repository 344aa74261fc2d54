// The scores of additive attention. The sum q + k, [B, T, S, C], is not kept for backward.
#include "attend/ops/additive_attention.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

Tensor additive_scores(const Tensor& q, const Tensor& k, const Tensor& v) {
  check_floats("additive_scores", {q, k, v});
  check_contiguous("additive_scores", {q, k, v});
  check(q.rank() == 3 && k.rank() == 3 && q.dim(0) == k.dim(0) && q.dim(2) == k.dim(2),
        "additive_scores: q must be [B, T, C] and k [B, S, C], not {} and {}", q.shape(), k.shape());
  check(v.shape() == Shape{q.dim(2)}, "additive_scores: q is {}, so v must be [{}], not {}", q.shape(), q.dim(2),
        v.shape());
  Tensor scores = like(lead({&q, &k, &v}), {q.dim(0), q.dim(1), k.dim(1)});  // [B, T, S]
  q.backend().additive_scores(q, k, v, scores);
  return record(scores, {q, k, v}, [q, k, v](const Tensor& dscores, Grads& grad) {
    dscores.backend().additive_scores_backward(dscores, q, k, v, grad(q), grad(k), grad(v));
  });
}

}  // namespace attend::ops
