// The whole program as a test runs it: words in, exit code and text out.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "attend/cli/program.h"

namespace attend::test {

struct Outcome {
  int code;
  std::string out, err;
};

inline Outcome run_attend(const std::vector<std::string>& words, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out, err;
  const int code = cli::run_program(words, {.in = in, .out = out, .err = err});
  return {code, out.str(), err.str()};
}

}  // namespace attend::test
