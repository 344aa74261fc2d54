// Grads::sums: when a projection's bias gradient comes with dy, and when it is summed by a kernel of its own. That the
// numbers are right is checked by the cases of tests/ops/cases_projection.cpp.
#include <gtest/gtest.h>

#include <array>

#include "attend/ops/arithmetic.h"
#include "attend/ops/attention.h"
#include "attend/ops/layout.h"
#include "attend/ops/linear.h"
#include "attend/ops/norm.h"
#include "attend/tensor/tape.h"
#include "tests/tensor/null_backend.h"

namespace attend::test {
namespace {

class ColumnSums : public testing::Test {
 protected:
  Tensor variable(const Shape& shape) { return pass_.variable(make_tensor(backend_, shape, DType::f32)); }
  Tensor projected() { return ops::linear(x_, weight_, bias_); }
  Tensor added(const Tensor& branch, float dropout = 0) {
    return ops::add_norm(x_, branch, norm_, {}, {.dropout = dropout}).norm;
  }
  // The reductions that the backward pass takes.
  int reductions(const Tensor& y) {
    backend_.reductions = 0;
    pass_.backward(y, like(y));
    return backend_.reductions;
  }

  NullBackend backend_;
  Pass pass_{backend_, {.recording = true}};
  Tensor x_ = variable({4, 8}), weight_ = variable({8, 8}), bias_ = variable({8}), norm_ = variable({8});
};

TEST_F(ColumnSums, ComeWithTheGradientOfTheOnlyReader) {
  EXPECT_EQ(reductions(added(projected())), 0);
  EXPECT_EQ(reductions(added(projected(), 0.5f)), 0);
  EXPECT_EQ(reductions(added(projected().reshape({2, 2, 8}).reshape({4, 8}))), 0);
  EXPECT_TRUE(gradient_of(bias_).defined());
}

TEST_F(ColumnSums, AreTakenAgainWhenSomethingWasAdded) {
  for (const float dropout : {0.0f, 0.5f}) {
    const Tensor branch = projected();
    const Tensor earlier = ops::scale(branch, 2);
    EXPECT_EQ(reductions(ops::add(added(branch, dropout), earlier)), 1) << dropout;
    const Tensor other = projected();
    const Tensor norm = added(other, dropout);
    EXPECT_EQ(reductions(ops::add(norm, ops::scale(other, 2))), 1) << dropout;
  }
}

TEST_F(ColumnSums, ReachAProjectionThatIsComputedAgain) {
  const auto project = [this] { return std::array<Tensor, 1>{projected()}; };
  EXPECT_EQ(reductions(added(recomputed(pass_, project)[0])), 0);
  const auto all = [this] { return std::array<Tensor, 1>{added(projected())}; };
  EXPECT_EQ(reductions(recomputed(pass_, all)[0]), 0);
}

TEST_F(ColumnSums, ComeThroughASplit) {
  const Tensor weight = variable({24, 8}), bias = variable({24});
  const auto attended = [&](bool keys_read, bool values_made) {
    const auto [q, k, v] = ops::split<3>(ops::linear(x_, weight, bias).reshape({1, 4, 24}));
    const Tensor y = ops::attention(q, k, values_made ? v : x_.reshape({1, 4, 8}), {});
    return keys_read ? ops::add(y, ops::scale(k, 2)) : y;
  };
  EXPECT_EQ(reductions(attended(false, true)), 0);
  EXPECT_EQ(reductions(attended(true, true)), 1);
  EXPECT_EQ(reductions(attended(false, false)), 1);  // nothing flows into a third of it
  backend_.leaves_attention_sums = false;
  EXPECT_EQ(reductions(attended(false, true)), 1);
}

TEST_F(ColumnSums, OfOneTensorInEveryRoleAreTakenAgain) {
  const Tensor made = projected().reshape({1, 4, 8});
  EXPECT_EQ(reductions(ops::attention(made, made, made, {})), 1);
}

TEST_F(ColumnSums, NobodyElsesAreTaken) {
  EXPECT_EQ(reductions(ops::scale(projected(), 2)), 1);
  const Tensor narrow = pass_.input(make_tensor(backend_, {8, 4}, DType::f32)), four = variable({4});
  EXPECT_EQ(reductions(ops::add_norm(narrow, projected().reshape({8, 4}), four, {}, {}).norm), 1);
}

}  // namespace
}  // namespace attend::test
