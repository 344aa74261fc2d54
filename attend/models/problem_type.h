// How a classifier's logits [labels] become scores: "problem_type" of config.json, as transformers' pipelines read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "attend/base/json_fwd.h"

namespace attend::models {

enum class ProblemType : std::uint8_t {
  single_label,  // softmax: the scores of all labels sum to 1
  multi_label,   // sigmoid: each label has its own probability
  regression     // the logits themselves
};
constexpr std::string_view name_of(ProblemType problem) {
  constexpr std::string_view kNames[] = {"single_label_classification", "multi_label_classification", "regression"};
  return kNames[static_cast<int>(problem)];
}

// Without the key, a model with several labels has one label per input, and a model with one label gets a sigmoid, as
// in transformers' pipelines. Throws Error with `what` and the known values.
ProblemType problem_type_of(const Json& config, std::size_t labels, std::string_view what);

// Writes the key only if its default would mean something else.
void write_problem_type(Json& config, ProblemType problem, std::size_t labels);

// Turns the logits of one text or image into scores, in place.
void logits_to_scores(std::span<float> logits, ProblemType problem);

}  // namespace attend::models
