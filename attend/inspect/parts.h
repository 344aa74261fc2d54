// What the inspectors share: texts and tokens, candidates, and attention maps from what a probe saw.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attend/inspect/inspect.h"
#include "attend/view/collector.h"

namespace attend::tasks {

// Throws Error for what is not UTF-8 and for nothing but white space.
void check_text(const std::string& text);

// Which tokens of `count` remain when these are masked. Throws Error when one is not there, or none remains.
std::vector<std::size_t> kept_tokens(std::size_t count, std::span<const std::int64_t> masked);

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

// One attention, spread over the whole text: rows and columns say where in it the tokens stand that the model read.
struct Spread {
  std::span<const std::size_t> rows, columns;  // of what was read
  std::size_t all_rows = 0, all_columns = 0;
};
SeenAttention spread(const Anatomy::Attention& attention, const view::Collector& collector, const Spread& over);

std::vector<std::size_t> all_of(std::size_t count);

}  // namespace attend::tasks
