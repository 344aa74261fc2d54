// The output layer with the choice of the token (Backend::likeliest): what top_k says of the logits.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attend/ops/linear.h"
#include "attend/tensor/backend.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

struct Answers {
  std::vector<float> values, log_sums;
  std::vector<std::int32_t> ids;
};

class LikeliestTokens : public OnDevice {
 protected:
  // Numbers of small integers have exact products and many ties; the others are fractions of all sizes. Tables are
  // millions of them, so they come from a linear congruential generator.
  Tensor numbers(const Shape& shape, std::uint64_t seed, bool integers) {
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (float& value : values) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      const auto word = static_cast<std::uint32_t>(seed >> 33);
      value = integers ? static_cast<float>(word % 64 == 0) - static_cast<float>(word % 67 == 0)
                       : static_cast<float>(word % 4001) / 2000 - 1;
    }
    return tensor_of(backend(), shape, values, DType::bf16);
  }
  Answers expected(const Tensor& states, const Tensor& table, const Tensor& suppressed) {
    Pass pass(backend());
    const Tensor logits = ops::linear(pass.input(states), pass.input(table));
    const Tensor values = like(logits, {states.rows(), 1}, DType::f32), ids = like(values, values.shape(), DType::i32),
                 sums = like(values, {states.rows()});
    backend().top_k(logits, suppressed, values, ids, sums);
    return {download(values), download(sums), download_ints(ids)};
  }
  // Empty where the device has no kernel for it.
  Answers actual(const Tensor& states, const Tensor& table, const Tensor& suppressed) {
    const Tensor values =
        tensor_of(backend(), {states.rows(), 1}, std::vector<float>(static_cast<std::size_t>(states.rows()), NAN));
    const Tensor sums =
        tensor_of(backend(), {states.rows()}, std::vector<float>(static_cast<std::size_t>(states.rows()), NAN));
    const Tensor ids = make_tensor(backend(), {states.rows(), 1}, DType::i32);
    upload(ids, std::vector<std::int32_t>(static_cast<std::size_t>(states.rows()), -1));
    if (!backend().likeliest({states, table, suppressed, values, ids, sums})) return {};
    return {download(values), download(sums), download_ints(ids)};
  }
};

TEST_P(LikeliestTokens, AreThoseOfTheLogits) {
  // 20,001 rows are more tiles than the blocks of a GPU take at once, and the last tile is not full.
  for (const auto& [vocabulary, width] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1000, 256}, {1000, 1024}, {20001, 768}})
    for (const bool integers : {true, false}) {
      const Tensor table = numbers({vocabulary, width}, 2, integers);
      for (const std::int64_t rows : {1, 3, 16, 17, 40, 64, 65, 128}) {
        const Tensor states = numbers({rows, width}, 1, integers);
        Tensor suppressed;
        if (rows % 2 == 0) {
          suppressed = make_tensor(backend(), {vocabulary}, DType::u8);
          std::vector<std::uint8_t> some(static_cast<std::size_t>(vocabulary));
          for (std::size_t i = 0; i < some.size(); ++i) some[i] = i % 3 == 0;
          backend().to_device(suppressed.raw(), some.data(), some.size());
        }
        const Answers found = actual(states, table, suppressed);
        if (found.ids.empty()) GTEST_SKIP() << "no such kernel on this device";
        const Answers truth = expected(states, table, suppressed);
        for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
          const std::string where = std::to_string(vocabulary) + " tokens, row " + std::to_string(row) + " of " +
                                    std::to_string(rows) + (integers ? ", integers" : "");
          ASSERT_GE(found.ids[row], 0) << where;
          ASSERT_LT(found.ids[row], vocabulary) << where;
          if (suppressed.defined()) {
            EXPECT_NE(found.ids[row] % 3, 0) << where;
          }
          if (integers) {
            EXPECT_EQ(found.ids[row], truth.ids[row]) << where;
            EXPECT_EQ(found.values[row], truth.values[row]) << where;
          }
          // Sums in another order may round to a neighbour among numbers of bf16.
          EXPECT_NEAR(found.values[row], truth.values[row], std::abs(truth.values[row]) / 100) << where;
          EXPECT_NEAR(found.log_sums[row], truth.log_sums[row], 1e-2) << where;
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Devices, LikeliestTokens, testing::Values("cuda"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace attend::test
