// Which label was taken for which: the table, and what follows from it for every label.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attend/base/json.h"

namespace attend::metrics {

class Confusion {
 public:
  explicit Confusion(std::vector<std::string> labels);
  // By their numbers among the labels.
  void add(std::int32_t truth, std::int32_t predicted);
  void add(std::span<const std::int32_t> truth, std::span<const std::int32_t> predicted);

  std::int64_t count() const { return count_; }
  std::int64_t at(std::size_t truth, std::size_t predicted) const { return table_[truth * labels_.size() + predicted]; }
  double accuracy() const;
  // Shares of 1; 0 where there is nothing to share.
  double precision(std::size_t label) const;  // of what was called so
  double recall(std::size_t label) const;     // of what is so
  double f1(std::size_t label) const;

  Json json() const;
  // One row for each label: how many there are, precision, recall, F1, then what they were taken for, columns numbered
  // as the rows are; of many labels only the mistakes made most often.
  std::string text() const;

 private:
  std::int64_t row_sum(std::size_t label) const;
  std::int64_t column_sum(std::size_t label) const;
  std::string mistakes() const;

  std::vector<std::string> labels_;
  std::vector<std::int64_t> table_;  // [truth, predicted]
  std::int64_t count_ = 0;
};

}  // namespace attend::metrics
