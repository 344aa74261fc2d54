#include "attend/ops/drop_path.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/ops/linear.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

Tensor drop_path(const Tensor& x, float rate) {
  check_floats("drop_path", {x});
  const Dropout dropout = x.pass() ? x.pass()->dropout(rate) : Dropout{};
  if (dropout.rate == 0) return x;
  const std::int64_t items = x.dim(0);
  const Tensor factors = like(x, {items, 1, 1});
  x.backend().fill(factors, 1);
  x.backend().dropout(factors, dropout, {factors});
  return matmul(factors, x.reshape({items, 1, -1})).reshape(x.shape());
}

}  // namespace attend::ops
