// The candidates of a step: the likeliest tokens, or labels, with their probabilities.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attend/inspect/inspect.h"

namespace attend::tasks {

// The likeliest ids by their logits, first of equals first. allowed(id) says which may be; name(id) what they are
// called.
struct CandidateOptions {
  std::size_t count = 8;
  float log_sum = 0;  // log p = logit - log_sum
  std::function<bool(std::int32_t)> allowed = {};
  std::function<std::string(std::int32_t)> name = {};
};
std::vector<Candidate> candidates_of(std::span<const float> logits, const CandidateOptions& options);
float log_sum_of(std::span<const float> logits);

}  // namespace attend::tasks
