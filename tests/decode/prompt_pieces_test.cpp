// Long prompts that are read piece by piece, and begin where an earlier prompt with the same first tokens was read to:
// the texts are those of prompts that are read at once, whoever was there before.
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "attend/decode/sampler.h"
#include "attend/decode/text_rows.h"
#include "attend/models/gpt2.h"
#include "attend/nn/causal_batch.h"
#include "attend/nn/parameters.h"
#include "attend/nn/prompt_cache.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using Ids = std::vector<std::int32_t>;

models::GPT2Config pieces_config() {
  models::GPT2Config config;
  config.vocabulary = 37, config.max_length = 70, config.width = 32, config.layers = 2, config.heads = 4;
  config.init_deviation = 0.3f;
  return config;
}

Ids numbers(std::size_t count, std::int32_t step) {
  Ids ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>(i) * step % 37);
  return ids;
}

Ids joined(Ids first, const Ids& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class PromptPieces : public OnDevice {
 protected:
  static constexpr std::int64_t kRows = 3, kPiece = 8;
  void SetUp() override {
    OnDevice::SetUp();
    if (!IsSkipped()) parameters_.emplace(backend(), model_, nn::ParametersOptions{.seed = 3, .trained = false});
  }
  std::unique_ptr<nn::CausalBatch> batch(const nn::PromptPieces& pieces) {
    return std::make_unique<nn::CausalBatch>(model_.body(), backend(), kRows, 70, pieces);
  }
  // The logits behind a prompt in a row, and behind each of three more tokens.
  static std::vector<float> logits(nn::BatchModel& batch, std::int64_t row, const Ids& prompt) {
    const nn::BatchModel::Prompt entering{row, prompt};
    const auto entered = batch.enter({&entering, 1}, {}).logits;
    std::vector<float> all(entered.begin(), entered.end());
    for (std::int32_t token = 1; token <= 3; ++token) {
      const auto next =
          batch.step({.tokens = Ids(kRows, token)}).logits.subspan(static_cast<std::size_t>(row) * 37, 37);
      all.insert(all.end(), next.begin(), next.end());
    }
    batch.leave(row);
    return all;
  }
  void expect_same(const std::vector<float>& found, const std::vector<float>& expected, float off) {
    ASSERT_EQ(found.size(), expected.size());
    if (backend().on_host()) off = std::min(off, 1e-4f);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], off) << "logit " << i;
  }

  models::GPT2LanguageModel model_{pieces_config()};
  std::optional<nn::Parameters> parameters_;
};

TEST_P(PromptPieces, HaveTheLogitsOfPromptsReadAtOnce) {
  const auto whole = batch({}), pieces = batch({kPiece, 2});
  for (const std::size_t length : {1, 7, 8, 9, 16, 17, 40, 63})
    expect_same(logits(*pieces, 1, numbers(length, 5)), logits(*whole, 1, numbers(length, 5)), 1e-2f);
}

// Bit for bit on the host: a piece is read the same way with and without what was kept.
TEST_P(PromptPieces, DoNotDependOnWhatIsKept) {
  const Ids shared = numbers(20, 5);
  const std::vector<Ids> prompts = {joined(shared, numbers(13, 3)),
                                    joined(shared, numbers(9, 7)),
                                    shared,
                                    joined(shared, numbers(13, 3)),
                                    numbers(30, 11),
                                    joined(shared, numbers(40, 2))};
  const auto used = batch({kPiece, 2});
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto fresh = batch({kPiece, 2});
    while (!used->prepared(prompts[i]).ready) used->read_piece(prompts[i]);
    const std::vector<float> expected = logits(*fresh, 0, prompts[i]),
                             found = logits(*used, static_cast<std::int64_t>(i) % kRows, prompts[i]);
    if (backend().on_host())
      EXPECT_EQ(found, expected) << "prompt " << i;
    else
      expect_same(found, expected, 1e-2f);
  }
}

TEST_P(PromptPieces, BeginBehindTheLongestKeptPrompt) {
  const auto rows = batch({kPiece, 2});
  const Ids first = numbers(30, 5), other = joined(numbers(20, 5), numbers(20, 3)), stranger = numbers(20, 11);
  const auto read = [&](const Ids& prompt) {
    int pieces = 0;
    for (; !rows->prepared(prompt).ready; ++pieces) rows->read_piece(prompt);
    return pieces;
  };
  EXPECT_EQ(rows->prepared(first).known, 0);
  EXPECT_EQ(read(first), 3);  // 24 of 30 tokens
  EXPECT_EQ(rows->prepared(first).known, 24);
  EXPECT_EQ(rows->prepared(other).known, 16);  // of 20 that are the same
  EXPECT_EQ(read(other), 2);                   // up to 32 of 40
  EXPECT_EQ(read(first), 0);
  EXPECT_EQ(read(stranger), 2);  // in place of `other`, which was not used for longest
  EXPECT_EQ(rows->prepared(first).known, 24);
  EXPECT_EQ(rows->prepared(other).known, 16);
  EXPECT_EQ(read(numbers(8, 11)), 0);  // it has nothing but a last piece
}

// While a long prompt is read, those who are under way get a token between any two pieces.
TEST_P(PromptPieces, LeaveOthersTheirSteps) {
  const auto model = batch({kPiece, 2});
  const decode::SampleOptions greedy{.top_k = 1, .end = -1};
  decode::Sampler drawer(greedy, 37, 37);
  decode::TextRows rows(*model, {});
  const auto add = [&](const Ids& prompt, std::int64_t length) {
    auto text = std::make_shared<decode::RowText>();
    text->prompt = prompt, text->max_length = length, text->options = &greedy, text->drawer = &drawer;
    rows.add(text);
    return text;
  };
  const auto writing = add(numbers(3, 5), 40);
  rows.advance();
  const auto late = add(numbers(40, 7), 4), third = add(numbers(5, 3), 4);
  for (std::int64_t pieces = 0; late->writing.hypothesis.tokens.empty(); pieces = rows.reading().pieces) {
    ASSERT_FALSE(rows.idle());
    rows.advance();
    if (rows.reading().pieces == pieces) continue;
    EXPECT_EQ(rows.reading().pieces, pieces + 1);
    const std::size_t before = writing->writing.hypothesis.tokens.size();
    rows.advance();
    EXPECT_EQ(writing->writing.hypothesis.tokens.size(), before + 1);
  }
  EXPECT_EQ(rows.reading().pieces, 4);                     // 32 of 40 tokens
  EXPECT_GE(third->writing.hypothesis.tokens.size(), 2u);  // a short prompt did not wait for the long one
  const auto again = add(joined(numbers(30, 7), numbers(9, 2)), 2);
  while (!rows.idle()) rows.advance();
  EXPECT_EQ(rows.reading().known, 24);
  EXPECT_EQ(rows.reading().tokens, 3 + 40 + 5 + 39);
  EXPECT_EQ(again->writing.hypothesis.tokens.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Devices, PromptPieces, every_device(), name_of_device);

TEST(PromptCache, ForgetsWhatWasNotUsedForLongest) {
  nn::PromptCache cache(2, 4);
  const Ids a = {1, 1, 1, 1, 2, 2, 2, 2}, b = {3, 3, 3, 3}, c = {4, 4, 4, 4};
  EXPECT_EQ(cache.kept_of(0), 0);
  EXPECT_EQ(cache.kept_of(4), 0);
  EXPECT_EQ(cache.kept_of(9), 8);
  cache.hold(cache.row_behind({}, a), a);
  cache.hold(cache.row_behind({}, b), b);
  EXPECT_EQ(cache.find(Ids{1, 1, 1, 1, 2, 2, 2, 9}).tokens, 4);
  EXPECT_EQ(cache.find(a).tokens, 8);
  cache.hold(cache.row_behind({}, c), c);
  EXPECT_EQ(cache.find(b).tokens, 0);
  EXPECT_EQ(cache.find(a).tokens, 8);
  // One that goes on where a kept prompt ends takes its row; one that leaves it earlier takes another.
  const nn::PromptCache::Match whole = cache.find(a), part = {whole.row, 4};
  EXPECT_EQ(cache.row_behind(whole, a), whole.row);
  EXPECT_NE(cache.row_behind(part, a), whole.row);
}

}  // namespace
}  // namespace attend::test
