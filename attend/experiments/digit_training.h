// Small encoder-decoders that learn to reverse digits, to compare attention scores (Luong et al. 2015, section 3.1) and
// what the division by √d is good for (Vaswani et al. 2017, footnote 4).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/experiments/learn.h"
#include "attend/models/seq2seq.h"
#include "attend/view/figure.h"

namespace attend::experiments {

struct DigitTraining {
  std::int64_t min_length = 3, max_length = 8;
  std::int64_t rows = 32, tested = 200;  // strings in a batch, and unseen strings at the end
  std::uint64_t seed = 1;
  LearnOptions learn = {};
};

struct DigitResult {
  std::string model = {}, score = {};
  std::int64_t parameters = 0;
  LearningCurve curve = {};
  double right = 0;  // share of the unseen strings that greedy decoding reverses without a mistake
};

// Trains the model from random weights. It needs a vocabulary of kDigitVocabulary.
DigitResult train_on_digits(models::Seq2Seq& model, Backend& backend, const DigitTraining& training);

struct ScoreOptions {
  // "transformer" and "rnn", with each of these scores.
  std::vector<std::string> models = {"transformer", "rnn"};
  std::vector<std::string> scores = {"scaled-dot", "dot", "general", "additive", "cosine"};
  DigitTraining training = {};
};
// Throws Error for a model or a score that there is not.
std::vector<DigitResult> run_scores(const ScoreOptions& options, Backend& backend);
view::Figure scores_figure(const std::vector<DigitResult>& results);

struct ScalingTraining {
  std::int64_t width = 128;  // of the model and of its only head, so it is also d
  DigitTraining training = {};
};
// The same Transformer with the division by √d, and without.
std::vector<DigitResult> train_scaling(const ScalingTraining& options, Backend& backend);
view::Figure scaling_training_figure(const std::vector<DigitResult>& results);

}  // namespace attend::experiments
