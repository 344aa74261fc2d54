// A walk through one head for one token, step by step with its real numbers, as data: each step has its formula, its
// shape, its values and the line of code that computes it. The page draws it without knowing the model.
#pragma once

#include <string>
#include <vector>

#include "attend/base/json_fwd.h"

namespace attend::view {

struct TraceStep {
  std::string name;                    // "q·k"
  std::string formula;                 // what a lecture writes
  std::string file;                    // of attend, that computes it
  int line = 0;                        // in that file, from 1
  std::string note;                    // one sentence
  std::vector<std::string> rows = {};  // a label for each row: tokens; empty for a single vector
  std::size_t columns = 0;
  std::vector<float> values = {};  // [rows or 1, columns]; -infinity is what a mask hides
};

struct Trace {
  std::vector<std::string> queries, keys;  // the tokens of both sides
  std::size_t token = 0, head = 0, heads = 0, head_width = 0, width = 0;
  std::vector<TraceStep> steps = {};

  // Throws Error when there is none of that name.
  const TraceStep& at(const std::string& name) const;
};

// Numbers with five significant digits; hidden ones are null.
Json to_json(const Trace& trace);
// The same rounding for whoever writes numbers beside it.
Json significant(float value);

}  // namespace attend::view
