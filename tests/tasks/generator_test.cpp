// Generation with a small random GPT-2 in a Hugging Face folder: greedy text is what the whole model says token by
// token, streaming and stop strings, seeds, perplexity of long texts, and mistakes.
#include "attend/tasks/generator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/cli/program.h"
#include "attend/models/gpt2.h"
#include "attend/text/learn/bpe_trainer.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGeneratorText =
    "the cat sat on the mat and the dog sat on the log; the cat saw the dog and the dog the cat\n";

class Generation : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = fs::temp_directory_path() / ("attend_generator_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    text::BpeTrainer trainer({.vocabulary_size = 290, .special_tokens = {"<|endoftext|>"}, .threads = 1});
    trainer.add_text(kGeneratorText);
    write_file(folder_ / "tokenizer.json", text::to_tokenizer_json(trainer.train()));
    models::GPT2LanguageModel model(
        {.vocabulary = 296, .max_length = 24, .width = 32, .layers = 2, .heads = 2, .start = 0, .end = 0});
    nn::Parameters parameters(cpu(), model, {.seed = 5, .trained = false});
    // Large weights, so that the next token depends on the text.
    for (const auto& entry : parameters.entries()) {
      std::vector<float> values = parameters.read(entry);
      if (entry.parameter->shape.rank() > 1)
        for (float& value : values) value *= 12;
      parameters.write(entry, values);
    }
    checkpoint::save_hugging_face(folder_, parameters, model.config());
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  tasks::Generator generator_{folder_, cpu(), DType::f32};
  static inline fs::path folder_;
};

TEST_F(Generation, GreedyIsTheLikeliestTokenOfTheWholeModelEachTime) {
  std::vector<std::int32_t> ids = generator_.tokenizer().encode_ids("the cat");
  const std::size_t prompt = ids.size();
  for (int i = 0; i < 8; ++i) {
    Pass pass(cpu());
    const Tensor tensor = make_tensor(cpu(), {1, static_cast<std::int64_t>(ids.size())}, DType::i32);
    upload(tensor, ids);
    const std::vector<float> logits = download(generator_.model().logits(nn::Sequences{tensor}.in(pass)));
    const auto last = logits.end() - 296;
    const auto best =
        static_cast<std::int32_t>(std::max_element(last, last + generator_.tokenizer().id_limit()) - last);
    if (best == 0) break;
    ids.push_back(best);
  }
  const auto result = generator_.generate("the cat", {.max_tokens = 8, .top_k = 1});
  ASSERT_EQ(result.size(), 1u);
  EXPECT_EQ(result[0].text, generator_.tokenizer().decode(std::span(ids).subspan(prompt)));
}

TEST_F(Generation, StreamsWhatItReturnsAndStopsBeforeStopStrings) {
  std::string streamed;
  const tasks::GenerateOptions plain{
      .max_tokens = 15, .top_k = 20, .seed = 3, .on_text = [&](std::string_view piece) { streamed += piece; }};
  const std::string text = generator_.generate("the", plain)[0].text;
  EXPECT_EQ(streamed, text);
  ASSERT_GT(text.size(), 4u);
  tasks::GenerateOptions stopping = plain;
  stopping.stops = {text.substr(2, 2)};
  streamed.clear();
  const tasks::Generated stopped = generator_.generate("the", stopping)[0];
  EXPECT_EQ(stopped.text, text.substr(0, text.find(stopping.stops[0])));
  EXPECT_EQ(streamed, stopped.text);
  EXPECT_TRUE(stopped.finished);
}

TEST_F(Generation, TheSeedDecides) {
  const auto with_seed = [&](std::uint64_t seed) {
    return generator_.generate("the", {.max_tokens = 20, .seed = seed})[0].text;
  };
  EXPECT_EQ(with_seed(1), with_seed(1));
  EXPECT_NE(with_seed(1), with_seed(2));
  EXPECT_EQ(generator_.generate("the dog", {.max_tokens = 5, .samples = 3}).size(), 3u);
  EXPECT_EQ(generator_.generate("the dog", {.max_tokens = 5, .beams = 4, .samples = 2}).size(), 2u);
}

// Three rows for seven prompts, greedy and drawn, with samples and stop strings: in order, and each as alone.
TEST_F(Generation, ManyPromptsAreWrittenAsEachAlone) {
  const std::vector<std::string> prompts = {"the cat", "",      "the dog sat on the mat and", "the", "log",
                                            "the cat", "sat on"};
  for (const tasks::GenerateOptions& options :
       {tasks::GenerateOptions{.max_tokens = 12, .top_k = 1},
        {.max_tokens = 9, .top_k = 20, .samples = 2, .seed = 7},
        {.max_tokens = 15, .top_p = 0.9f, .repetition_penalty = 1.2f, .stops = {"e", "og"}}}) {
    std::size_t next = 0;
    generator_.generate_many(
        prompts, options, {.batch = 3, .on_done = [&](std::size_t prompt, const std::vector<tasks::Generated>& texts) {
                             EXPECT_EQ(prompt, next++);
                             tasks::GenerateOptions alone = options;
                             alone.seed += prompt;
                             const auto expected = generator_.generate(prompts[prompt], alone);
                             ASSERT_EQ(texts.size(), expected.size());
                             for (std::size_t i = 0; i < texts.size(); ++i) {
                               EXPECT_EQ(texts[i].text, expected[i].text) << prompts[prompt];
                               EXPECT_EQ(texts[i].tokens, expected[i].tokens);
                               EXPECT_EQ(texts[i].finished, expected[i].finished);
                             }
                           }});
    EXPECT_EQ(next, prompts.size());
  }
  EXPECT_THROW(generator_.generate_many(prompts, {.beams = 2}, {}), Error);
  EXPECT_THROW(generator_.generate_many(prompts, {}, {.batch = 0}), Error);
}

// Guesses from the text, from a draft that is the model itself, and from one with other weights.
TEST_F(Generation, GuessingAheadWritesTheSameText) {
  const tasks::Generator rounded(folder_, cpu(), {DType::f32, nn::WeightForm::int8});
  for (const char* prompt : {"the cat", "the dog sat on the", "sat", ""})
    for (tasks::GenerateOptions options :
         {tasks::GenerateOptions{.max_tokens = 30, .top_k = 1},
          {.max_tokens = 30, .temperature = 0.8f, .top_k = 20, .seed = 7},
          {.max_tokens = 15, .top_p = 0.9f, .repetition_penalty = 1.2f, .stops = {"e", "og"}}}) {
      const tasks::Generated expected = generator_.generate(prompt, options)[0];
      const auto expect_same = [&](const tasks::Generated& found) {
        EXPECT_EQ(found.text, expected.text) << prompt;
        EXPECT_EQ(found.tokens, expected.tokens);
        EXPECT_EQ(found.finished, expected.finished);
        EXPECT_GE(found.steps, 1);
      };
      for (const tasks::Generator* draft : std::initializer_list<const tasks::Generator*>{&generator_, &rounded})
        expect_same(generator_.generate(prompt, options, draft)[0]);
      options.speculate = 7;
      expect_same(generator_.generate(prompt, options)[0]);
    }
}

TEST_F(Generation, GuessingAheadNeedsTheSameTokensAndOneText) {
  const tasks::Generator other("models/shakespeare", cpu(), DType::f32);
  EXPECT_THROW(generator_.generate("the", {.max_tokens = 5}, &other), Error);
  EXPECT_THROW(generator_.generate("the", {.samples = 2, .speculate = 3}), Error);
  EXPECT_THROW(generator_.generate("the", {.beams = 2, .speculate = 3}), Error);
  EXPECT_THROW(generator_.generate("the", {.speculate = 16}), Error);
  EXPECT_THROW(generator_.generate_many(std::vector<std::string>{"the"}, {.speculate = 3}, {}), Error);
}

TEST_F(Generation, PerplexityCountsEveryTokenOnce) {
  std::string text;
  for (int i = 0; i < 3; ++i) text += kGeneratorText;
  const std::vector<std::int32_t> ids = generator_.tokenizer().encode_ids(text);
  ASSERT_GT(ids.size(), 60u);
  const tasks::Perplexity found = generator_.perplexity(text);
  EXPECT_EQ(found.tokens, static_cast<std::int64_t>(ids.size()) - 1);
  // By hand: windows of 24 that move by 12; the first counts 23 tokens, the others those that are new.
  double nats = 0;
  for (std::size_t begin = 0, counted = 1; counted < ids.size(); begin += 12) {
    const std::size_t end = std::min(begin + 24, ids.size());
    Pass pass(cpu());
    const Tensor tensor = make_tensor(cpu(), {1, static_cast<std::int64_t>(end - begin)}, DType::i32);
    upload(tensor, std::span(ids).subspan(begin, end - begin));
    const std::vector<float> logits = download(generator_.model().logits(nn::Sequences{tensor}.in(pass)));
    for (; counted < end; ++counted) {
      const float* row = logits.data() + (counted - begin - 1) * 296;
      double sum = 0;
      for (int v = 0; v < 296; ++v) sum += std::exp(static_cast<double>(row[v]));
      nats += std::log(sum) - static_cast<double>(row[ids[counted]]);
    }
  }
  EXPECT_NEAR(found.nats, nats / static_cast<double>(ids.size() - 1), 1e-4);
}

// A prompt is read to its last byte, as Hugging Face's tokenizers read it: a text goes on behind its space.
TEST_F(Generation, SpaceBelongsToAPrompt) {
  const std::vector<std::int32_t> bare = generator_.read_prompt("the cat"), spaced = generator_.read_prompt("the cat ");
  EXPECT_EQ(spaced.size(), bare.size() + 1);
  EXPECT_EQ(generator_.tokenizer().decode(spaced), "the cat ");
}

TEST_F(Generation, ATemperatureOfZeroIsGreedy) {
  const auto text = [&](const tasks::GenerateOptions& options) {
    return generator_.generate("the cat", options).at(0).text;
  };
  const std::string greedy = text({.max_tokens = 12, .top_k = 1});
  EXPECT_EQ(text({.max_tokens = 12, .temperature = 0}), greedy);
  EXPECT_EQ(text({.max_tokens = 12, .temperature = 0, .seed = 9}), greedy);
}

TEST_F(Generation, Mistakes) {
  std::string long_prompt;
  for (int i = 0; i < 30; ++i) long_prompt += "cat dog ";
  EXPECT_THROW(generator_.generate(long_prompt, {}), Error);
  EXPECT_THROW(generator_.generate("the", {.max_tokens = 0}), Error);
  EXPECT_THROW(generator_.generate("the", {.top_p = 0}), Error);
  EXPECT_THROW(generator_.perplexity("t"), Error);
  EXPECT_THROW(tasks::Generator(folder_ / "nothing", cpu(), DType::f32), Error);
}

TEST_F(Generation, Commands) {
  const auto attend = [&](std::vector<std::string> args, const std::string& input) {
    std::istringstream in(input);
    std::ostringstream out, err;
    EXPECT_EQ(cli::run_program(args, {.in = in, .out = out, .err = err}), 0) << err.str();
    return out.str();
  };
  const std::string text = attend({"generate", "--model", folder_.string(), "--max-tokens", "6", "the cat"}, "");
  EXPECT_TRUE(text.starts_with("the cat")) << text;
  EXPECT_EQ(attend({"generate", "--model", folder_.string(), "--max-tokens", "6"}, "the cat\n"), text);
  const std::string json = attend({"generate", "--model", folder_.string(), "--json", "--samples", "2", "the"}, "");
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 2);
  const std::string many =
      attend({"generate", "--model", folder_.string(), "--prompts", "-", "--batch", "2", "--max-tokens", "6"},
             "the cat\nlog\nthe");
  EXPECT_TRUE(many.starts_with(text.substr(0, text.size() - 1) + "\n\nlog")) << many;
  EXPECT_TRUE(attend({"perplexity", "--model", folder_.string()}, kGeneratorText).starts_with("perplexity "));
}

}  // namespace
}  // namespace attend::test
