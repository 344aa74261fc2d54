// What a classifier answers about one text or image, from its logits and the problem it was trained for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/models/problem_type.h"
#include "attend/tasks/classifier.h"

namespace attend::tasks {

// The top_k labels (0: all), highest score first. A regression of one value has no labels but a number; one of several
// values names each by its label.
Classified label_scores(std::vector<float> logits, const std::vector<std::string>& labels, models::ProblemType problem,
                        std::int64_t top_k);

}  // namespace attend::tasks
