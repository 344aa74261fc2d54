// Captured steps and kernels of whole steps choose the tokens that the layers choose, on every device and for every
// form of the weights; and a step that chooses otherwise is found.
#include "tests/decode/same_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "attend/models/gpt2.h"
#include "attend/nn/parameters.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using Model = models::GPT2LanguageModel;

models::GPT2Config spread_config(std::int64_t width, std::int64_t heads) {
  models::GPT2Config config;
  config.vocabulary = 211, config.max_length = 48, config.width = width, config.heads = heads, config.layers = 2;
  config.init_deviation = 0.2f;  // choices are clear
  return config;
}

// A model whose logits have the other sign where nobody watches.
class Contrary : public nn::CausalModel {
 public:
  explicit Contrary(const nn::CausalModel& model) : model_(model) {}
  Sizes sizes() const override { return model_.sizes(); }
  Tensor states(const nn::Sequences& texts, const nn::ForwardOptions& reading) const override {
    return model_.states(texts, reading);
  }
  Tensor logits(const Tensor& states) const override {
    const Tensor logits = model_.logits(states);
    if (!states.pass()->probe()) logits.backend().scale(logits, -1, {logits});
    return logits;
  }

 private:
  const nn::CausalModel& model_;
};

class SameTokensOf : public OnDevice {
 protected:
  void expect_same(const Model& model, const SameTokensOptions& options, const std::string& which, double ties = 0.02) {
    const SameTokens same = same_tokens_of(model.body(), backend(), options);
    EXPECT_EQ(same.steps, options.steps) << which;
    EXPECT_TRUE(same.within(ties)) << which << ": " << same.ties << " ties and " << same.wrong << " wrong of "
                                   << same.steps << " steps, the widest gap " << same.widest;
  }
};

TEST_P(SameTokensOf, EveryFormOfTheWeights) {
  Model plain(spread_config(32, 4));
  const nn::Parameters from(backend(), plain, {.seed = 3, .trained = false});
  expect_same(plain, {.steps = 90, .rows = 3, .prompt = 5, .tokens = 20}, "f32");
  if (!backend().on_host()) return;
  for (const nn::WeightForm form : {nn::WeightForm::f32, nn::WeightForm::bf16, nn::WeightForm::int8}) {
    Model packed(spread_config(32, 4));
    nn::Parameters to(backend(), packed, {.trained = false, .initialized = false, .weights = form});
    for (std::size_t i = 0; i < to.entries().size(); ++i) to.write(to.entries()[i], from.read(from.entries()[i]));
    expect_same(packed, {.steps = 90, .rows = 3, .prompt = 5, .tokens = 20},
                "form " + std::to_string(static_cast<int>(form)));
  }
}

// The shapes for which a GPU has kernels of a whole step, and numbers of rows around their tiles. bf16 has 8 bits: the
// two largest of 211 logits around 8 are often the same number, and then either is right (a gap of 0). At least 240
// steps are compared, so that one tie is not already a share.
TEST_P(SameTokensOf, RowsOfAWholeStep) {
  Model model(spread_config(256, 4));
  const nn::Parameters parameters(
      backend(), model, {.dtype = backend().on_host() ? DType::f32 : DType::bf16, .seed = 3, .trained = false});
  const std::vector<std::int64_t> on_host = {1, 3}, on_gpu = {1, 2, 3, 8, 17, 64, 65, 128};
  for (const std::int64_t rows : backend().on_host() ? on_host : on_gpu)
    expect_same(
        model,
        {.steps = std::max<std::int64_t>(20, 240 / rows) * rows, .rows = rows, .prompt = 5, .tokens = 20, .gap = 0.5f},
        std::to_string(rows) + " rows", backend().on_host() ? 0.02 : 0.05);
}

TEST_P(SameTokensOf, OtherChoicesAreFound) {
  Model model(spread_config(32, 4));
  const nn::Parameters parameters(backend(), model, {.seed = 3, .trained = false});
  const Contrary contrary(model.body());
  const SameTokens same =
      same_tokens_of(contrary, backend(), {.steps = 12, .rows = 2, .prompt = 3, .tokens = 6, .gap = 0.01f});
  EXPECT_EQ(same.steps, 12);
  EXPECT_EQ(same.wrong, 12);
  EXPECT_GT(same.widest, 0.01f);
  EXPECT_FALSE(same.within(0.5));
  // Under a gap as wide as all logits every difference is a tie, and ties are counted.
  const SameTokens ties =
      same_tokens_of(contrary, backend(), {.steps = 12, .rows = 2, .prompt = 3, .tokens = 6, .gap = 1e9f});
  EXPECT_EQ(ties.wrong, 0);
  EXPECT_EQ(ties.ties, 12);
  EXPECT_FALSE(ties.within(0.5));
}

TEST_P(SameTokensOf, TextsMustFitTheModel) {
  Model model(spread_config(32, 4));
  const nn::Parameters parameters(backend(), model, {.seed = 3, .trained = false});
  EXPECT_THROW(same_tokens_of(model.body(), backend(), {.steps = 1, .prompt = 40, .tokens = 9}), Error);
}

INSTANTIATE_TEST_SUITE_P(Devices, SameTokensOf, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
