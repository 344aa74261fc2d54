// What a model answers for a text does not depend on the texts beside it: bit by bit, for every form of weights, on the
// kernel set that ATTEND_CPU names (cmake/tests.cmake runs this once for each).
#include <gtest/gtest.h>

#include "attend/tasks/classifier.h"
#include "attend/tasks/embedder.h"
#include "attend/tasks/generator.h"
#include "attend/tasks/translator.h"
#include "tests/invariance/answers.h"

namespace attend::test {
namespace {

class Texts : public FormTest {};

// Of all lengths: one token, a few more than a tile, a text beyond a block of keys.
std::vector<std::string> lines() {
  std::vector<std::string> result = {
      "a",  "the film is good",           "not a bad film at all , and yet i left before its end",
      "no", "what a wonderful day it is", "he says that it was she who did it"};
  std::string longer;
  for (int i = 0; i < 5; ++i) longer += "the house of the old man who was here before ";
  result.push_back(longer);
  for (int i = 0; i < 3; ++i) result.push_back("line number " + std::to_string(i * 37) + " of many");
  return result;
}

std::vector<std::string> some_lines(std::size_t first, std::size_t count) {
  const std::vector<std::string> all = lines();
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

TEST_P(Texts, Embeddings) {
  const tasks::Embedder model("models/bert", *backend_, format());
  expect_batches_do_not_show(
      lines().size(), [&](std::size_t first, std::size_t count) { return model.embed(some_lines(first, count)); });
}

TEST_P(Texts, Labels) {
  const tasks::Classifier model("models/bert-sst2", *backend_, format());
  expect_batches_do_not_show(lines().size(), [&](std::size_t first, std::size_t count) {
    return labels_of(model.classify(some_lines(first, count), {.top_k = 0}));
  });
}

// Beams and greedy search, a Transformer and an RNN.
TEST_P(Texts, Translations) {
  for (const char* folder : {"models/en-fr", "models/reverse-rnn-attention", "models/reverse-rnn-plain"})
    for (const std::int64_t beams : {1, 4}) {
      SCOPED_TRACE(std::string(folder) + ", beams " + std::to_string(beams));
      const auto model = tasks::load_translator(folder, *backend_, format());
      expect_batches_do_not_show(6, [&](std::size_t first, std::size_t count) {
        std::vector<Answer> answers;
        for (const tasks::TranslatedLine& line :
             model->translator.translate(some_lines(first, count), {.beams = beams, .n_best = beams})) {
          answers.emplace_back();
          for (const tasks::Translation& one : line.translations)
            append(answers.back(), one.text), answers.back().push_back(one.score);
        }
        return answers;
      });
    }
}

TEST_P(Texts, GeneratedTexts) {
  const tasks::Generator model("models/shakespeare", *backend_, format());
  for (const std::int64_t top_k : {1, 0}) {
    const tasks::GenerateOptions options{.max_tokens = 16, .top_k = top_k};
    const std::vector<std::string> prompts = lines();
    std::vector<std::string> together(prompts.size());
    model.generate_many(prompts, options,
                        {.on_done = [&](std::size_t prompt, const std::vector<tasks::Generated>& texts) {
                          together[prompt] = texts.at(0).text;
                        }});
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      tasks::GenerateOptions own = options;
      own.seed = options.seed + i;
      EXPECT_EQ(model.generate(prompts[i], own).at(0).text, together[i]) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Texts, testing::ValuesIn(forms()), [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace attend::test
