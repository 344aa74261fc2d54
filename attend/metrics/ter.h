// TER (Snover et al. 2006): the edits that turn a translation into its nearest reference, in percent of the reference's
// words. An edit inserts, deletes or substitutes a word or moves a block of words. Less is better.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "attend/metrics/metric.h"
#include "attend/metrics/tokenizers.h"

namespace attend::metrics {

using TerOptions = TercomOptions;

class Ter : public Metric {
 public:
  explicit Ter(const TerOptions& options = {}) : options_(options) {}

  double score() const;
  Report report() const override;

 protected:
  void add_segment(std::u32string_view hypothesis, std::span<const std::u32string> references) override;
  void forget() override;

 private:
  TerOptions options_;
  std::int64_t edits_ = 0;
  double reference_length_ = 0;  // the mean of a segment's references
};

// The edits between two sequences of words, given as numbers.
std::int64_t translation_edits(std::span<const std::uint32_t> hypothesis, std::span<const std::uint32_t> reference);

}  // namespace attend::metrics
