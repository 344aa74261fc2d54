// With exact prompts (BackendOptions) a text has the same bits however it is cut into a prompt and tokens after it, and
// whoever shares the batch.
#include <gtest/gtest.h>

#include "attend/tasks/generator.h"
#include "tests/invariance/answers.h"

namespace attend::test {
namespace {

class Prompts : public testing::TestWithParam<Form> {};

constexpr std::int64_t kRows = 4;

// The logits behind all of ids, of which the first `cut` are a prompt, in row `row` of a batch; the rows before it have
// other texts.
Answer logits_behind(const tasks::Generator& model, std::span<const std::int32_t> ids, std::size_t cut,
                     std::size_t row) {
  const auto rows = model.model().batch(model.backend(), kRows, static_cast<std::int64_t>(ids.size()) + 4);
  nn::BatchModel& batch = *rows;
  std::vector<nn::BatchModel::Prompt> newcomers;
  for (std::size_t i = 0; i < row; ++i) newcomers.push_back({static_cast<std::int64_t>(i), ids.subspan(0, i + 1)});
  newcomers.push_back({static_cast<std::int64_t>(row), ids.first(cut)});
  const auto vocabulary = static_cast<std::size_t>(batch.vocabulary());
  const auto of_row = [&](const nn::StepModel::Scores& scores) {
    const auto own = scores.logits.subspan(row * vocabulary, vocabulary);
    return Answer(own.begin(), own.end());
  };
  Answer logits = of_row(batch.enter(newcomers, {}));
  for (std::size_t i = cut; i < ids.size(); ++i)
    logits = of_row(batch.step({.tokens = std::vector<std::int32_t>(kRows, ids[i])}));
  return logits;
}

TEST_P(Prompts, HoweverTheyAreCut) {
  if (GetParam().format.dtype == DType::bf16) GTEST_SKIP() << "in bf16 a step rounds its sums elsewhere";
  const auto backend =
      open_backend("cpu", {.threads = 2, .fast_products = GetParam().fast_products, .exact_prompts = true});
  const tasks::Generator model("models/shakespeare", *backend, GetParam().format);
  std::vector<std::int32_t> ids =
      model.read_prompt("ROMEO: But soft, what light through yonder window breaks? It is the east.");
  const Answer whole = logits_behind(model, ids, ids.size(), 0);
  for (const std::size_t cut : {std::size_t{1}, std::size_t{2}, std::size_t{9}, ids.size() / 2, ids.size() - 1})
    for (const std::size_t row : {0, 2})
      EXPECT_TRUE(same_bits(logits_behind(model, ids, cut, row), whole)) << "cut at " << cut << ", row " << row;
}

INSTANTIATE_TEST_SUITE_P(Forms, Prompts, testing::ValuesIn(forms()), [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace attend::test
