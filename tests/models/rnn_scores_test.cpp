// The recurrent decoder with every attention score: all at once and step by step, against plain loops in double.
#include <gtest/gtest.h>

#include <random>

#include "attend/models/rnn_seq2seq.h"
#include "attend/nn/step_model.h"
#include "tests/models/rnn_reference.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using Ids = std::vector<std::int32_t>;

TEST(RnnScores, AreThoseOfPlainLoops) {
  for (const char* score : {"additive", "general", "dot", "scaled-dot", "cosine"})
    for (const bool bias : {true, false}) {
      SCOPED_TRACE(std::string(score) + (bias ? "" : " without bias"));
      models::RnnConfig config{.vocabulary = 11, .width = 6, .hidden = 5, .dropout = 0, .max_length = 20};
      config.score.attention_score = score, config.score.attention_bias = bias;
      models::RnnSeq2Seq model(config);
      nn::Parameters parameters(cpu(), model, {});
      std::mt19937 random(7);
      for (const auto& entry : parameters.entries()) {
        std::vector<float> values(static_cast<std::size_t>(entry.parameter->shape.size()));
        for (float& value : values) value = std::uniform_real_distribution<float>(0.1f, 0.6f)(random);
        for (std::size_t i = 0; i < values.size(); i += 2) values[i] = -values[i];
        if (entry.name.ends_with("score_scale")) values = {0.4f};
        parameters.write(entry, values);
        EXPECT_FALSE(!bias && entry.name == "decoder.attention.key.bias");
      }
      const RnnReference reference(config, parameters);
      const Ids source = {3, 1, 4, 1, 5}, target = {1, 7, 2, 9};
      const auto expected = reference.run(source, target);

      const nn::Sequences read{nn::row_of(cpu(), source)};
      Pass pass(cpu());
      const std::vector<float> all =
          download(model.logits(model.decode(read.in(pass), nn::Sequences{nn::row_of(cpu(), target)}.in(pass))));
      Pass steps(cpu());
      const auto decoder = model.start(steps, read, 1);
      for (std::size_t t = 0; t < target.size(); ++t) {
        const nn::StepModel::Scores scores = decoder->step(std::span(&target[t], 1));
        for (std::size_t v = 0; v < 11; ++v) {
          ASSERT_NEAR(all[t * 11 + v], expected.logits[t][v], 2e-5) << t << " " << v;
          ASSERT_NEAR(scores.logits[v], expected.logits[t][v], 2e-5) << t << " " << v;
        }
      }
    }
}

}  // namespace
}  // namespace attend::test
