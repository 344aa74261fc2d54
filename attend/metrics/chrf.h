// chrF (Popović 2015) and chrF++ (Popović 2017): the F score of the character n-grams that a translation shares with
// its best reference; chrF++ (word order 2) adds single words and pairs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attend/metrics/metric.h"

namespace attend::metrics {

struct ChrfOptions {
  int char_order = 6, word_order = 0;
  int beta = 2;  // recall counts beta times as much as precision
  bool lowercase = false;
  bool whitespace = false;     // white space is a character too
  bool eps_smoothing = false;  // an order without n-grams counts as almost 0, instead of not at all
};

class Chrf : public Metric {
 public:
  explicit Chrf(const ChrfOptions& options = {});

  double score() const;
  Report report() const override;

 protected:
  void add_segment(std::u32string_view hypothesis, std::span<const std::u32string> references) override;
  void forget() override;

 private:
  struct Counts {
    std::int64_t hypothesis = 0, reference = 0, matched = 0;
  };
  double f_score(std::span<const Counts> orders) const;

  ChrfOptions options_;
  std::vector<Counts> totals_;  // of each order, characters first
};

}  // namespace attend::metrics
