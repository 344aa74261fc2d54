// Attention between words: both texts as columns and a curve for each weight, as thick as the weight.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attend/view/figure.h"

namespace attend::view {

struct WordsFigure {
  std::string title = {}, note = {};     // the note is smaller, under the title
  std::vector<std::string> words, onto;  // rows attend to columns
  std::string words_name = {}, onto_name = {};
  std::span<const float> weights = {};  // [words, onto]
};
// What was read stands on the left. Throws Error when sizes do not fit.
Figure words_figure(const WordsFigure& from);

// One step of an answer: what may come next, with probabilities.
struct StepBars {
  std::string chosen;
  std::vector<std::pair<std::string, float>> candidates = {};
};
Figure steps_figure(const std::string& title, std::span<const StepBars> steps);

// Rows of vectors, in colour by sign: position vectors of a model. values: [rows, width].
Figure vectors_figure(const std::string& title, std::span<const float> values, std::size_t width);

}  // namespace attend::view
