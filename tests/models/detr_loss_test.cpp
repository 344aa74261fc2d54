// What DETR's loss is and asks of those who call it (tests/fixtures holds its matching against SciPy's).
#include "attend/models/detr_loss.h"

#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using models::DetrConfig;
using models::DetrCriterion;
using models::DetrObjects;

DetrConfig config_of(std::int64_t queries, std::int64_t labels) {
  DetrConfig config;
  config.queries = queries;
  config.labels.assign(static_cast<std::size_t>(labels), "label");
  return config;
}

Tensor device_tensor(const Shape& shape, const std::vector<float>& values) {
  const Tensor made = make_tensor(cpu(), shape, DType::f32);
  upload(made, values);
  return made;
}

// Two queries right where two objects are: no distance is left, and the pairs do not depend on the objects' order.
TEST(DetrLoss, OfPerfectBoxesIsTheClassesAlone) {
  const DetrConfig config = config_of(3, 2);
  const std::vector<float> logits = {9, 0, 0, 0, 0, 9, 0, 9, 0};
  const std::vector<float> boxes = {0.2f, 0.3f, 0.1f, 0.2f, 0.5f, 0.5f, 0.4f, 0.4f, 0.7f, 0.6f, 0.2f, 0.1f};
  const DetrObjects objects{{1, 0}, {0.7f, 0.6f, 0.2f, 0.1f, 0.2f, 0.3f, 0.1f, 0.2f}};
  DetrCriterion criterion(cpu(), config, 1, 1);
  const models::DetrOutput output{device_tensor({1, 3, 3}, logits), device_tensor({1, 3, 4}, boxes)};
  criterion.keep(output);
  criterion.match({&objects, 1});
  EXPECT_EQ(criterion.pairs(0)[0], (std::vector<AssignedPair>{{0, 1}, {2, 0}}));
  EXPECT_EQ(criterion.cardinality_error(), 0);
  const models::DetrLosses losses = criterion.loss(output);
  EXPECT_NEAR(download(losses.l1)[0], 0, 1e-6);
  EXPECT_NEAR(download(losses.giou)[0], 0, 1e-6);
  EXPECT_EQ(download(losses.total), download(losses.classes));
  EXPECT_NEAR(download(losses.classes)[0], std::log(1 + 2 * std::exp(-9.0)), 1e-6);
}

// An image without objects teaches "no object", and nothing about boxes.
TEST(DetrLoss, NothingToFind) {
  DetrCriterion criterion(cpu(), config_of(2, 1), 1, 1);
  const models::DetrOutput output{device_tensor({1, 2, 2}, {0, 0, 0, 0}),
                                  device_tensor({1, 2, 4}, {0.5f, 0.5f, 0.1f, 0.1f, 0, 0, 0, 0})};
  const DetrObjects none;
  criterion.keep(output);
  criterion.match({&none, 1});
  const models::DetrLosses losses = criterion.loss(output);
  EXPECT_NEAR(download(losses.total)[0], std::log(2.0), 1e-6);
  EXPECT_EQ(download(losses.l1)[0], 0);
  EXPECT_EQ(criterion.cardinality_error(), 2);  // the first of equals is a label
}

TEST(DetrLoss, SaysWhatIsWrongWithObjects) {
  DetrCriterion criterion(cpu(), config_of(2, 3), 1, 1);
  const models::DetrOutput output{device_tensor({1, 2, 4}, std::vector<float>(8, 0.0f)),
                                  device_tensor({1, 2, 4}, std::vector<float>(8, 0.5f))};
  criterion.keep(output);
  const DetrObjects kBad[] = {{{3}, {0.5f, 0.5f, 0.1f, 0.1f}},
                              {{-1}, {0.5f, 0.5f, 0.1f, 0.1f}},
                              {{0}, {0.5f, 0.5f, 0.1f}},
                              {{0}, {0.5f, 0.5f, -0.1f, 0.1f}},
                              {{0}, {0.5f, std::nanf(""), 0.1f, 0.1f}}};
  for (const DetrObjects& objects : kBad) EXPECT_THROW(criterion.match({&objects, 1}), Error);
  EXPECT_THROW(criterion.match({}), Error);
  EXPECT_THROW(criterion.keep({device_tensor({1, 1, 4}, {0, 0, 0, 0}), output.boxes}), Error);
}

}  // namespace
}  // namespace attend::test
