// Attention on somebody's own numbers, for the command line and for the page: built-in examples, a request as text, and
// every step as JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attend/base/json_fwd.h"
#include "attend/view/worked_attention.h"

namespace attend::view {

// Matrices as a person types them (named_matrix.h).
struct WorkedExample {
  std::string_view name, q, k, v;
};
std::span<const WorkedExample> worked_examples();
// Throws Error naming all when there is none of that name.
const WorkedExample& worked_example(std::string_view name);

// Throws Error for a name that is none.
Score score_named(std::string_view name);

// {"queries", "keys", "columns", "scores", "scaled", "weights", "output"}: names, and matrices as rows of numbers.
Json to_json(const WorkedAttention& worked);
// The same with "q", "k", "v": {"values", "rows", "columns"} as they were read, and "steps": [{"formula", "matrix",
// "hides"}], where matrix names one of those above; "visible" has the places that a mask leaves.
Json page_json(const WorkedAttention& worked);

}  // namespace attend::view
