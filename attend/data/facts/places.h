// Places in a data set where something is wrong: counted, and the first few kept to be shown.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/data/facts/facts.h"

namespace attend::data {

inline constexpr std::size_t kSamples = 3;  // examples that are shown

class Places {
 public:
  void add(const std::string& place) {
    constexpr std::size_t kShown = 3;
    ++count_;
    if (places_.size() < kShown) places_.push_back(place);
  }
  // A finding where there are any; text has {} for their number.
  void report(std::vector<Finding>& findings, std::string_view text) const {
    if (count_ > 0) findings.push_back({fmt::format(fmt::runtime(text), count_), places_});
  }

 private:
  std::int64_t count_ = 0;
  std::vector<std::string> places_;
};

}  // namespace attend::data
