// Hungarian matching against SciPy's on DETR's costs (the fixture), and against trying everything.
#include "attend/base/assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/random.h"
#include "tests/base/fixtures.h"

namespace attend {
namespace {

// The least total over all ways to give each line of the short side a place of its own.
double try_everything(const std::vector<double>& cost, int rows, int columns) {
  const bool tall = rows > columns;
  const int lines = std::min(rows, columns), places = std::max(rows, columns);
  std::vector<int> order(places);
  std::iota(order.begin(), order.end(), 0);
  double best = std::numeric_limits<double>::infinity();
  do {
    double total = 0;
    for (int line = 0; line < lines; ++line)
      total += tall ? cost[order[line] * columns + line] : cost[line * columns + order[line]];
    best = std::min(best, total);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

void expect_one_to_one(const std::vector<AssignedPair>& pairs, int rows, int columns) {
  ASSERT_EQ(pairs.size(), static_cast<std::size_t>(std::min(rows, columns)));
  std::vector<bool> taken(columns);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    ASSERT_TRUE(pairs[i].row >= 0 && pairs[i].row < rows && pairs[i].column >= 0 && pairs[i].column < columns);
    EXPECT_TRUE(i == 0 || pairs[i - 1].row < pairs[i].row);
    EXPECT_FALSE(taken[pairs[i].column]);
    taken[pairs[i].column] = true;
  }
}

TEST(Assignment, AgreesWithDetrsMatcher) {
  const std::optional<Json> cases = test::fixture_json("vision", "detr_matcher.cases.json");
  if (!cases) GTEST_SKIP() << test::kNoFixture;
  EXPECT_TRUE(test::fixtures_given() || cases->size() == 12) << cases->size();
  for (const Json& item : *cases) {
    const int rows = item.at("queries").get<int>(), columns = static_cast<int>(item.at("target_labels").size());
    std::vector<double> cost;
    for (const Json& row : item.at("cost"))
      for (const Json& value : row) cost.push_back(value.get<double>());
    const auto pairs = linear_sum_assignment(cost, rows, columns);
    std::vector<AssignedPair> expected;
    for (const Json& pair : item.at("assignment")) expected.push_back({pair[0].get<int>(), pair[1].get<int>()});
    EXPECT_EQ(pairs, expected) << rows << " x " << columns;
    EXPECT_NEAR(total_cost(cost, columns, pairs), item.at("total_cost").get<double>(), 1e-6);
  }
}

TEST(Assignment, IsTheBestOfAll) {
  std::uint64_t drawn = 0;
  for (int trial = 0; trial < 600; ++trial) {
    const int rows = 1 + trial % 6, columns = 1 + trial / 6 % 6;
    const int kind = trial % 3;  // any numbers, few different ones (ties), all the same
    std::vector<double> cost(static_cast<std::size_t>(rows) * columns);
    for (double& value : cost) {
      const std::uint32_t word = random_word(7, 0, drawn++);
      value = kind == 0 ? to_unit(word) * 20 - 10 : kind == 1 ? word % 3 : 2.0;
    }
    const auto pairs = linear_sum_assignment(cost, rows, columns);
    expect_one_to_one(pairs, rows, columns);
    EXPECT_NEAR(total_cost(cost, columns, pairs), try_everything(cost, rows, columns), 1e-9) << rows << columns;
  }
}

TEST(Assignment, TurnedOnItsSideItCostsTheSame) {
  constexpr int kRows = 100, kColumns = 30;
  std::vector<double> cost(kRows * kColumns), turned(kRows * kColumns);
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column)
      cost[row * kColumns + column] = turned[column * kRows + row] =
          to_unit(random_word(3, 1, static_cast<std::uint64_t>(row * kColumns + column)));
  const auto one = linear_sum_assignment(cost, kRows, kColumns), other = linear_sum_assignment(turned, kColumns, kRows);
  expect_one_to_one(one, kRows, kColumns);
  expect_one_to_one(other, kColumns, kRows);
  EXPECT_NEAR(total_cost(cost, kColumns, one), total_cost(turned, kRows, other), 1e-9);
}

TEST(Assignment, TakesExtremes) {
  EXPECT_TRUE(linear_sum_assignment({}, 0, 5).empty());
  EXPECT_TRUE(linear_sum_assignment({}, 5, 0).empty());
  const std::vector<double> far = {1e300, -1e300, -1e300, 1e300};
  EXPECT_EQ(linear_sum_assignment(far, 2, 2), (std::vector<AssignedPair>{{0, 1}, {1, 0}}));
}

TEST(Assignment, RefusesWhatIsNoNumber) {
  for (const double bad : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::max()}) {
    const std::vector<double> cost = {1, 2, 3, 4, bad, 6};
    try {
      linear_sum_assignment(cost, 2, 3);
      FAIL() << bad;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("row 1, column 1"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(linear_sum_assignment(std::vector<double>(5), 2, 3), Error);
}

}  // namespace
}  // namespace attend
