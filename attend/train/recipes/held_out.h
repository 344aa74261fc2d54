// Validation data that a user did not give: a share of the training data, always the same of the same seed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/train/loop/run_folder.h"

namespace attend::train {

struct HeldOutSettings {
  float valid_share = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("valid_share", valid_share, "Share of the training data to hold out when no validation data is given.");
  }
  // A setting newer than many runs, which are resumed all the same.
  void leave_out_of(Json& recipe) const {
    if (valid_share == 0) recipe.erase("valid_share");
  }
  void check(std::string_view what) const;
};

// Which of these texts are held out: texts that come once, as far as there are enough, so that none is learned as well.
std::vector<bool> held_out(const std::vector<std::string_view>& texts, double share, std::uint64_t seed);

// Two text files, or a table of pairs, as the four files of a run: written to the run's folder, read from there.
struct PairFiles {
  std::string source, target, valid_source, valid_target;
};
struct PairSplit {
  std::string source, target;               // two files, or
  std::string pairs;                        // a table with
  std::string first_column, second_column;  // these columns; "": as they are recognised
  double share = 0;
  std::uint64_t seed = 1;
};
PairFiles split_pairs(const PairSplit& split, RunFolder& folder);

// The last share of the text, by lines, and what is in front of it.
struct TextSplit {
  std::vector<std::string> text, valid_text;
};
TextSplit split_text(const std::vector<std::string>& text, double share, RunFolder& folder);

}  // namespace attend::train
