// Models that translate together: at every step the mean of their probabilities, and as one model where they are equal.
#include "attend/tasks/ensemble.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/nn/step_model.h"

namespace attend::tasks {
namespace {

const std::vector<std::filesystem::path> kTwo = {"models/reverse-transformer", "models/reverse-rnn-attention"};

TEST(TranslatorEnsemble, AveragesTheProbabilitiesOfEveryStep) {
  const auto backend = open_backend("cpu");
  const auto first = load_translator(kTwo[0], *backend), second = load_translator(kTwo[1], *backend);
  const std::vector<std::int32_t> source = *first->translator.tokens_of("tree lamp stone boat");
  const nn::Sequences sources{.ids = nn::row_of(*backend, source)};
  const Ensemble ensemble({first->model.get(), second->model.get()});
  Pass a(*backend), b(*backend), both(*backend);
  const auto steps_a = first->model->start(a, sources, 1), steps_b = second->model->start(b, sources, 1),
             steps = ensemble.start(both, sources, 1);
  std::vector<std::int32_t> token = {first->translator.start()};
  for (int step = 0; step < 3; ++step) {
    const nn::StepModel::Scores x = steps_a->step(token), y = steps_b->step(token), mean = steps->step(token);
    ASSERT_EQ(mean.logits.size(), x.logits.size());
    double sum = 0;
    for (std::size_t i = 0; i < x.logits.size(); ++i) {
      const double p = std::exp(x.logits[i] - x.log_sums[0]), q = std::exp(y.logits[i] - y.log_sums[0]),
                   got = std::exp(mean.logits[i] - mean.log_sums[0]);
      EXPECT_NEAR(got, (p + q) / 2, 1e-6);
      sum += got;
    }
    EXPECT_NEAR(sum, 1, 1e-4);
    token = {static_cast<std::int32_t>(20 + step)};
  }
}

TEST(TranslatorEnsemble, OfOneModelTwiceIsThatModel) {
  const auto backend = open_backend("cpu");
  const LoadedTranslators one({kTwo[0]}, *backend, {}), twice({kTwo[0], kTwo[0]}, *backend, {});
  const std::vector<std::string> lines = {"tree lamp stone boat", "moon rose", "apple music fish door hill"};
  for (const std::int64_t beams : {1, 4}) {
    const auto want = one.translator().translate(lines, {.beams = beams, .n_best = 1}),
               got = twice.translator().translate(lines, {.beams = beams, .n_best = 1});
    for (std::size_t i = 0; i < lines.size(); ++i) {
      EXPECT_EQ(got[i].text(), want[i].text());
      EXPECT_NEAR(got[i].translations.at(0).score, want[i].translations.at(0).score, 1e-4);
    }
  }
}

TEST(TranslatorEnsemble, ATransformerAndAnRnnTranslateTogether) {
  const auto backend = open_backend("cpu");
  const LoadedTranslators both(kTwo, *backend, {});
  const std::vector<std::string> lines = {"tree lamp stone boat"};
  EXPECT_EQ(both.translator().translate(lines)[0].text(), "boat stone lamp tree");
  EXPECT_TRUE(both.model().alignment_label().empty());
}

TEST(TranslatorEnsemble, NeedsOneTokenizer) {
  const auto backend = open_backend("cpu");
  try {
    const LoadedTranslators wrong({"models/dates", "models/reverse-transformer"}, *backend, {});
    FAIL() << "two tokenizers";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'models/dates' has 264 tokens and 'models/reverse-transformer' 376"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace attend::tasks
