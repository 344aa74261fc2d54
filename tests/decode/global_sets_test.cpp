// A Longformer that answers questions: every token of the question is global, as in transformers, and nothing else is;
// packed, padded and alone it is the same model.
#include <gtest/gtest.h>

#include <algorithm>

#include "attend/base/random.h"
#include "attend/models/bert_heads.h"
#include "attend/nn/parameters.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using TokenIds = std::vector<std::int32_t>;
constexpr std::int32_t kBehindText = 2, kFirstWord = 3, kKnownWords = 40;
constexpr std::int64_t kEachSide = 2, kWidthOfIt = 32;  // tokens on each side

models::BertConfig answering_config(std::int64_t layers) {
  models::BertConfig config{.family = models::BertFamily::longformer,
                            .vocabulary = kFirstWord + kKnownWords,
                            .max_length = 80,
                            .types = 1,
                            .width = kWidthOfIt,
                            .layers = layers,
                            .heads = 4,
                            .hidden = 48,
                            .init_deviation = 0.3f,
                            .start = 0,
                            .end = kBehindText,
                            .pad = 1};
  config.window = {.attention_window = {2 * kEachSide}};
  return config;
}

// <s> question </s> </s> context </s>
TokenIds question_and_context(std::size_t question, std::size_t context, std::uint32_t stream) {
  TokenIds text = {0};
  const auto words = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      text.push_back(kFirstWord + static_cast<std::int32_t>(random_word(3, stream, text.size()) % kKnownWords));
  };
  words(question);
  text.insert(text.end(), {kBehindText, kBehindText});
  words(context);
  text.push_back(kBehindText);
  return text;
}

class GlobalSets : public OnDevice {
 protected:
  Tensor ints(const TokenIds& values, const Shape& shape) {
    Tensor tensor = make_tensor(backend(), shape, DType::i32);
    upload(tensor, values);
    return tensor;
  }
  models::BertInput alone(const TokenIds& text) {
    const auto length = static_cast<std::int64_t>(text.size());
    return {
        {.ids = ints(text, {1, length}), .positions = ints(models::roberta_positions(text, length, 1), {1, length})}};
  }
  std::vector<float> states(const models::QuestionAnswerer& model, const models::BertInput& input) {
    Pass pass(backend());
    return download(model.body().states(input.in(pass)));
  }
};

TEST_P(GlobalSets, AQuestionReachesAllAndSeesAll) {
  models::QuestionAnswerer model(answering_config(1));
  nn::Parameters parameters(backend(), model, {.seed = 5});
  constexpr std::size_t kQuestion = 4, kChanged = 3, kOther = 20;  // of its tokens 1 to 4; of the context's 7 to 36
  const TokenIds text = question_and_context(kQuestion, 30, 1);
  const std::vector<float> before = states(model, alone(text));
  const auto changes = [&](std::size_t place) {
    TokenIds other = text;
    other[place] = kFirstWord + (other[place] - kFirstWord + 1) % kKnownWords;
    const std::vector<float> after = states(model, alone(other));
    std::vector<bool> changed;
    for (std::size_t t = 0; t < text.size(); ++t) {
      const auto at = static_cast<std::ptrdiff_t>(t * kWidthOfIt);
      changed.push_back(!std::equal(before.begin() + at, before.begin() + at + kWidthOfIt, after.begin() + at));
    }
    return changed;
  };
  EXPECT_EQ(changes(kChanged), std::vector<bool>(text.size(), true));  // one layer, and everyone has heard of it
  const std::vector<bool> near = changes(kOther);
  for (std::size_t t = 0; t < text.size(); ++t)
    EXPECT_EQ(near[t], t <= kQuestion || (t + kEachSide >= kOther && t <= kOther + kEachSide)) << "token " << t;
  // The separator behind the question is not one of them.
  const std::vector<bool> behind = changes(kQuestion + 2);
  EXPECT_FALSE(behind.back());
}

TEST_P(GlobalSets, PackedPaddedAndAloneAreTheSame) {
  models::QuestionAnswerer model(answering_config(3));
  nn::Parameters parameters(backend(), model, {.seed = 6});
  const std::vector<TokenIds> texts = {question_and_context(3, 30, 1), question_and_context(9, 12, 2),
                                       question_and_context(1, 3, 3), question_and_context(0, 21, 4)};
  constexpr std::int64_t kLongest = 37;
  TokenIds packed, offsets = {0}, positions, padded, lengths;
  std::vector<std::vector<float>> single;
  for (const TokenIds& text : texts) {
    single.push_back(states(model, alone(text)));
    const TokenIds places = models::roberta_positions(text, static_cast<std::int64_t>(text.size()), 1);
    packed.insert(packed.end(), text.begin(), text.end()),
        positions.insert(positions.end(), places.begin(), places.end());
    offsets.push_back(static_cast<std::int32_t>(packed.size()));
    padded.insert(padded.end(), text.begin(), text.end());
    padded.resize(single.size() * kLongest, 1);
    lengths.push_back(static_cast<std::int32_t>(text.size()));
  }
  const auto rows = static_cast<std::int64_t>(packed.size());
  const std::vector<float> in_a_row = states(model, {{.ids = ints(packed, {rows}),
                                                      .offsets = ints(offsets, {5}),
                                                      .positions = ints(positions, {rows}),
                                                      .longest = kLongest}});
  models::BertInput beside{{.ids = ints(padded, {4, kLongest}),
                            .lengths = ints(lengths, {4}),
                            .positions = ints(models::roberta_positions(padded, kLongest, 1), {4, kLongest})}};
  const std::vector<float> side_by_side = states(model, beside);
  // And with the sets said, as lists of one size for many batches are.
  std::vector<TokenIds> sets;
  for (const TokenIds& text : texts) sets.push_back(models::GlobalRule(model.body().config())(text));
  beside.globals = std::make_shared<const ops::GlobalPositions>(
      backend(), ops::global_lists(ops::AttentionLayout::padded(4, kLongest, lengths), sets,
                                   {.multiple = 16, .always_copies = true}));
  const std::vector<float> said = states(model, beside);
  for (std::size_t b = 0; b < texts.size(); ++b)
    for (std::size_t i = 0; i < single[b].size(); ++i) {
      const float wanted = single[b][i];
      ASSERT_NEAR(in_a_row[static_cast<std::size_t>(offsets[b]) * kWidthOfIt + i], wanted, 2e-4) << b << " " << i;
      ASSERT_NEAR(side_by_side[b * kLongest * kWidthOfIt + i], wanted, 2e-4) << b << " " << i;
      ASSERT_NEAR(said[b * kLongest * kWidthOfIt + i], wanted, 2e-4) << b << " " << i;
    }
}

TEST(GlobalRule, IsThatOfTransformers) {
  models::BertConfig config = answering_config(1);
  const auto set = [&](const TokenIds& ids) { return models::GlobalRule(config)(ids); };
  EXPECT_EQ(set({0, 7, 8, 2, 2, 9, 2}), TokenIds());  // no head that answers
  config.architecture = "LongformerForQuestionAnswering";
  EXPECT_EQ(set({0, 7, 8, 2, 2, 9, 2}), (TokenIds{0, 1, 2}));
  EXPECT_EQ(set({0, 7, 8}), TokenIds());  // where does the question end?
  config.window.global_tokens = 5;
  EXPECT_EQ(set({0, 7, 8, 2, 2, 9, 2}), (TokenIds{0, 1, 2, 3, 4}));
  config.family = models::BertFamily::roberta, config.window.global_tokens = 0;
  EXPECT_EQ(set({0, 7, 8, 2, 2, 9, 2}), TokenIds());
}

INSTANTIATE_TEST_SUITE_P(Devices, GlobalSets, testing::Values("cpu", "cuda"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace attend::test
