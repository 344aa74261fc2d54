// The ablation that takes away the division by √d: weights edited so that a model computes what the same model computes
// with the dot score, and back again.
#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "attend/look/inspect/anatomy.h"
#include "attend/look/inspect/weights.h"
#include "attend/models/transformer.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

models::TransformerConfig config_of(const char* scale, bool bias) {
  models::TransformerConfig config{.vocabulary = 19,
                                   .width = 32,
                                   .heads = 2,
                                   .hidden = 24,
                                   .encoder_layers = 1,
                                   .decoder_layers = 1,
                                   .max_length = 24,
                                   .dropout = 0};
  config.attention.attention_scale = scale, config.attention.attention_bias = bias;
  return config;
}

std::vector<float> logits_of(const models::Transformer& model) {
  Pass pass(cpu());
  const nn::Sequences text = nn::Sequences{nn::row_of(cpu(), std::vector<std::int32_t>{3, 4, 5, 6, 7})}.in(pass);
  return download(model.logits(model.decode(text, text)));
}

TEST(Scaling, WithoutItIsTheDotScore) {
  for (const bool bias : {true, false}) {
    models::Transformer scaled(config_of("sqrt", bias)), plain(config_of("none", bias));
    nn::Parameters of_scaled(cpu(), scaled, {.seed = 3}), of_plain(cpu(), plain, {.seed = 3});
    scaled.place(cpu(), DType::f32), plain.place(cpu(), DType::f32);
    const look::Anatomy anatomy = look::anatomy_of(scaled);
    EXPECT_TRUE(anatomy.scaled());
    EXPECT_FALSE(look::anatomy_of(plain).scaled());
    const std::vector<float> before = logits_of(scaled), expected = logits_of(plain);
    {
      const look::WeightEdits edits(of_scaled, {.scaling = false}, anatomy);
      const std::vector<float> edited = logits_of(scaled);
      for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(edited[i], expected[i], 1e-4) << i;
    }
    EXPECT_EQ(logits_of(scaled), before);
    EXPECT_THROW(look::WeightEdits(of_plain, {.scaling = false}, look::anatomy_of(plain)), Error);
  }
}

}  // namespace
}  // namespace attend::test
