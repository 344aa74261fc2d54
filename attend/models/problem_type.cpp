// How logits become scores, by the problem_type of config.json.
#include "attend/models/problem_type.h"

#include <cmath>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/ranking.h"

namespace attend::models {

ProblemType problem_type_of(const Json& config, std::size_t labels, std::string_view what) {
  const auto found = config.find("problem_type");
  if (found == config.end() || found->is_null())
    return labels == 1 ? ProblemType::multi_label : ProblemType::single_label;
  for (ProblemType problem : {ProblemType::single_label, ProblemType::multi_label, ProblemType::regression})
    if (*found == name_of(problem)) return problem;
  fail("{}: 'problem_type' is {}; there are {}, {} and {}", what, found->dump(), name_of(ProblemType::single_label),
       name_of(ProblemType::multi_label), name_of(ProblemType::regression));
}

void write_problem_type(Json& config, ProblemType problem, std::size_t labels) {
  const Json written = {{"problem_type", std::string(name_of(problem))}};
  if (problem != problem_type_of(Json::object(), labels, "")) config.update(written);
}

void logits_to_scores(std::span<float> logits, ProblemType problem) {
  if (problem == ProblemType::single_label) softmax(logits);
  if (problem != ProblemType::multi_label) return;
  for (float& logit : logits) logit = 1 / (1 + std::exp(-logit));
}

}  // namespace attend::models
