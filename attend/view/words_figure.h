// Attention between words: both texts as columns and a curve for each weight, as thick as the weight. One head, or all
// heads of a layer at once, each in a colour, as Tensor2Tensor draws them (Vaswani et al. 2018).
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
  std::span<const float> weights = {};  // [heads, words, onto]
  std::size_t heads = 1;
  std::ptrdiff_t word = -1;  // the only one whose weights are drawn; -1: all of them
};
// What was read stands on the left. With several heads each word of it has a square for each: how much it gets of that
// head's weight, from the chosen word or in the mean. Throws Error when sizes do not fit.
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
