// The candidates of a step: the likeliest tokens, or labels, with their probabilities.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attend/look/inspect/inspect.h"

namespace attend::look {

// The likeliest ids by their logits, first of equals first. allowed(id) says which may be; name(id) what they are
// called.
inline constexpr std::size_t kOutputWords = 64;  // of an Output, by name
struct CandidateOptions {
  std::size_t count = 8;
  float log_sum = 0;  // log p = logit - log_sum
  std::function<bool(std::int32_t)> allowed = {};
  std::function<std::string(std::int32_t)> name = {};
};
std::vector<Candidate> candidates_of(std::span<const float> logits, const CandidateOptions& options);
// The same with the logits of all that are allowed, and the name of the line that computes them.
Output output_of(std::span<const float> logits, const CandidateOptions& options, std::string line);
// "97 %", "99.7 %", "over 99.9 %": never a certainty that is none.
std::string percent_of(float probability);
float log_sum_of(std::span<const float> logits);

}  // namespace attend::look
