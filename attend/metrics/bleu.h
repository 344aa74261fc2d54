// BLEU (Papineni et al. 2002): how many of the words, pairs, triples and quadruples of a translation stand in its
// references, as a geometric mean, less a penalty for being short.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attend/metrics/metric.h"
#include "attend/metrics/tokenizers.h"

namespace attend::metrics {

// What an order without a match counts as (Chen and Cherry 2014).
enum class Smoothing {
  kNone,         // nothing: the score is 0
  kFloor,        // so many matches, 0.1 if not given
  kAddK,         // every order above 1 gets k more matches and n-grams, 1 if not given
  kExponential,  // half a match, then a quarter, ..: mteval's, the default
};

// "none", "floor", "add-k", "exp".
Smoothing smoothing_named(std::string_view name);

struct BleuOptions {
  Tokenizer tokenizer = Tokenizer::kMteval13a;
  bool lowercase = false;
  Smoothing smoothing = Smoothing::kExponential;
  std::optional<double> smooth_value = {};  // of floor and add-k
  int max_order = 4;
  bool effective_order = false;  // leave out orders longer than the sentence: for the score of one sentence
};

struct BleuScore {
  double score = 0;                // 0 to 100
  std::vector<double> precisions;  // of each order, in percent
  std::vector<std::int64_t> correct, total;
  double brevity_penalty = 1;
  std::int64_t hypothesis_length = 0, reference_length = 0;  // words; the reference closest in length counts
};

class Bleu : public Metric {
 public:
  explicit Bleu(const BleuOptions& options = {});

  BleuScore score() const;
  Report report() const override;

 protected:
  void add_segment(std::u32string_view hypothesis, std::span<const std::u32string> references) override;
  void forget() override;

 private:
  BleuOptions options_;
  std::int64_t hypothesis_length_ = 0, reference_length_ = 0;
  std::vector<std::int64_t> correct_, total_;  // of each order
};

// BLEU of a corpus with one reference a segment: what training reports.
BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                      const BleuOptions& options = {});

}  // namespace attend::metrics
