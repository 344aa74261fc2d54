// What a classifier's logits mean: "problem_type" of config.json, and the scores that transformers' pipelines make of
// logits under it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "attend/base/json_fwd.h"

namespace attend::models {

enum class ProblemType : std::uint8_t {
  single_label,  // softmax: the scores of all labels sum to 1
  multi_label,   // sigmoid: each label is judged alone
  regression     // the logits themselves
};
constexpr std::string_view name_of(ProblemType problem) {
  constexpr std::string_view kNames[] = {"single_label_classification", "multi_label_classification", "regression"};
  return kNames[static_cast<int>(problem)];
}

// A config without one: a single label of a model with several, and of a model with one label its sigmoid, as in
// transformers' pipelines. Throws Error naming what and the values there are.
ProblemType problem_type_of(const Json& config, std::size_t labels, std::string_view what);

// Nothing where a config without one says the same.
void write_problem_type(Json& config, ProblemType problem, std::size_t labels);

// In place, of one text's or image's logits.
void logits_to_scores(std::span<float> logits, ProblemType problem);

}  // namespace attend::models
