#include "attend/tasks/label_scores.h"

#include "attend/base/error.h"
#include "attend/base/ranking.h"

namespace attend::tasks {

Classified label_scores(std::vector<float> logits, const std::vector<std::string>& labels, models::ProblemType problem,
                        std::int64_t top_k) {
  check(logits.size() == labels.size(), "classify: {} logits for {} labels", logits.size(), labels.size());
  Classified result;
  if (problem == models::ProblemType::regression && logits.size() == 1) {
    result.number = logits[0];
    return result;
  }
  models::logits_to_scores(logits, problem);
  for (std::size_t label : largest(logits, top_k > 0 ? top_k : static_cast<std::int64_t>(labels.size())))
    result.labels.push_back({labels[label], logits[label]});
  return result;
}

}  // namespace attend::tasks
