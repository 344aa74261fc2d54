// Steps that a device launches ahead of the host, without a GPU: on a CPU that says it is a device. Its stream is the
// order of calls, so each launch is done before the next one begins.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "attend/cpu/cpu_backend.h"
#include "attend/decode/sample.h"
#include "attend/decode/sampler.h"
#include "attend/decode/text_rows.h"
#include "attend/models/gpt2.h"
#include "attend/nn/causal_batch.h"
#include "attend/nn/causal_decoder.h"
#include "attend/nn/parameters.h"

namespace attend::test {
namespace {

using Ids = std::vector<std::int32_t>;

class SoCalledDevice : public CpuBackend {
 public:
  bool on_host() const override { return false; }
  void to_device_async(void* to, const void* from, std::size_t bytes) override {
    ++sent;
    CpuBackend::to_device_async(to, from, bytes);
  }
  int sent = 0;
};

models::GPT2Config ahead_config() {
  models::GPT2Config config;
  config.vocabulary = 37, config.max_length = 200, config.width = 32, config.layers = 2, config.heads = 4;
  config.init_deviation = 0.3f;
  return config;
}

class Ahead : public testing::Test {
 protected:
  Ids alone(const decode::RowText& text, std::size_t prompt) {
    const Ids ids(text.prompt.begin(), text.prompt.begin() + static_cast<std::ptrdiff_t>(prompt));
    const Tensor on = make_tensor(host_, {1, static_cast<std::int64_t>(prompt)}, DType::i32);
    upload(on, ids);
    Pass pass(host_);
    nn::CausalDecoder decoder(on_host_.body(), pass, on, 1);
    decode::SampleOptions options = *text.options;
    options.seed = text.seed, options.prompt = ids, options.max_lengths = {text.max_length};
    return decode::sample(decoder, options)[0][0].tokens;
  }

  CpuBackend host_;
  SoCalledDevice device_;
  models::GPT2LanguageModel on_host_{ahead_config()}, model_{ahead_config()};
  nn::Parameters of_host_{host_, on_host_, {.seed = 3, .trained = false}};
  nn::Parameters parameters_{device_, model_, {.seed = 3, .trained = false}};
};

// One to three texts in eight rows: the others are empty, and start over now and then.
TEST_F(Ahead, RowsThatStayEmptyDisturbNobody) {
  const decode::SampleOptions greedy{.top_k = 1}, drawn{.temperature = 1.2f, .top_p = 0.95f};
  for (const decode::SampleOptions* draw : {&greedy, &drawn}) {
    nn::CausalBatch batch(model_.body(), device_, 8, 200);
    decode::TextRows rows(batch, {});
    decode::Sampler drawer(*draw, batch.vocabulary(), batch.suppress({}));
    int steps = 0;
    device_.sent = 0;
    for (std::int32_t round = 0; round < 6; ++round) {
      std::vector<std::shared_ptr<decode::RowText>> texts;
      for (std::int32_t i = 0; i < 1 + round % 3; ++i) {
        auto text = std::make_shared<decode::RowText>();
        text->prompt = {round, 4, i}, text->max_length = 150 - 30 * i, text->seed = 100 + static_cast<unsigned>(round);
        text->options = draw, text->drawer = &drawer;
        texts.push_back(std::move(text));
      }
      std::size_t next = 0;
      for (int step = 0; next < texts.size() || !rows.idle(); ++step, ++steps) {
        if (next < texts.size() && step % 25 == 0) rows.add(texts[next++]);
        rows.advance();
        ASSERT_LT(step, 1000);
      }
      for (const auto& text : texts)
        EXPECT_EQ(text->writing.hypothesis.tokens, alone(*text, 3)) << "round " << round << ", " << text->prompt[2];
    }
    EXPECT_GT(device_.sent, steps / 60);  // empty rows have started over
    EXPECT_LT(device_.sent, steps / 5);   // and most steps were launched ahead
  }
}

}  // namespace
}  // namespace attend::test
