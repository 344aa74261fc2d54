#include "attend/metrics/bleu.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>

#include "attend/base/error.h"
#include "attend/metrics/ngrams.h"
#include "attend/metrics/unicode.h"

namespace attend::metrics {

namespace {

constexpr double kLogOfZero = -9999999999;

constexpr std::pair<Smoothing, std::string_view> kSmoothingNames[] = {{Smoothing::kNone, "none"},
                                                                      {Smoothing::kFloor, "floor"},
                                                                      {Smoothing::kAddK, "add-k"},
                                                                      {Smoothing::kExponential, "exp"}};

double smooth_value(const BleuOptions& options) {
  return options.smooth_value.value_or(options.smoothing == Smoothing::kFloor ? 0.1 : 1);
}

// "exp", "floor[0.10]".
std::string smoothing_text(const BleuOptions& options) {
  std::string text;
  for (const auto& [smoothing, name] : kSmoothingNames)
    if (smoothing == options.smoothing) text = name;
  if (options.smoothing == Smoothing::kFloor || options.smoothing == Smoothing::kAddK)
    text += fmt::format("[{:.2f}]", smooth_value(options));
  return text;
}

// In percent; what is left at 0 had no n-grams at all. used is how many orders the mean takes.
std::vector<double> precisions_of(const BleuScore& score, const BleuOptions& options, int& used) {
  std::vector<double> precisions(options.max_order);
  double halving = 1;
  used = options.max_order;
  for (int i = 0; i < options.max_order; ++i) {
    const double more = options.smoothing == Smoothing::kAddK && i > 0 ? smooth_value(options) : 0;
    const double correct = static_cast<double>(score.correct[i]) + more;
    const double total = static_cast<double>(score.total[i]) + more;
    if (total == 0) break;
    if (options.effective_order) used = i + 1;
    if (correct > 0) {
      precisions[i] = 100 * correct / total;
    } else if (options.smoothing == Smoothing::kExponential) {
      halving *= 2;
      precisions[i] = 100 / (halving * total);
    } else if (options.smoothing == Smoothing::kFloor) {
      precisions[i] = 100 * smooth_value(options) / total;
    }
  }
  return precisions;
}

// The reference whose length is nearest, the shorter of two.
std::int64_t closest_length(std::int64_t length, std::span<const Units> references) {
  std::int64_t closest = -1;
  for (const Units& reference : references) {
    const auto candidate = static_cast<std::int64_t>(reference.size());
    const std::int64_t distance = std::abs(candidate - length), best = std::abs(closest - length);
    if (closest < 0 || distance < best || (distance == best && candidate < closest)) closest = candidate;
  }
  return closest;
}

}  // namespace

Smoothing smoothing_named(std::string_view name) {
  for (const auto& [smoothing, known] : kSmoothingNames)
    if (known == name) return smoothing;
  fail("unknown smoothing \"{}\": it must be exp, floor, add-k or none", name);
}

Bleu::Bleu(const BleuOptions& options) : options_(options) {
  check(options.max_order >= 1, "bleu: the longest n-gram must have at least 1 word, not {}", options.max_order);
  check(!(smooth_value(options) < 0) && std::isfinite(smooth_value(options)),
        "bleu: the smoothing value must not be negative: {}", smooth_value(options));
  forget();
}

void Bleu::forget() {
  hypothesis_length_ = reference_length_ = 0;
  correct_.assign(options_.max_order, 0);
  total_.assign(options_.max_order, 0);
}

void Bleu::add_segment(std::u32string_view hypothesis, std::span<const std::u32string> references) {
  std::vector<std::u32string> texts;
  const auto prepare = [&](std::u32string_view line) {
    texts.push_back(tokenize(options_.tokenizer, strip_right(options_.lowercase ? lower(line) : std::u32string(line))));
  };
  prepare(hypothesis);
  for (const std::u32string& reference : references) prepare(reference);

  WordNumbers number;
  std::vector<Units> sequences;
  for (const std::u32string& text : texts) sequences.push_back(number(split_words(text)));
  const auto length = static_cast<std::int64_t>(sequences[0].size());
  hypothesis_length_ += length;
  reference_length_ += closest_length(length, std::span(sequences).subspan(1));

  std::vector<std::size_t> against(references.size());
  std::iota(against.begin(), against.end(), std::size_t{1});
  Ngrams ngrams(std::move(sequences));
  for (int i = 0; i < options_.max_order; ++i) {
    if (i > 0) ngrams.next_order();
    if (ngrams.grams(0).empty()) break;
    correct_[i] += ngrams.matches(0, against);
    total_[i] += static_cast<std::int64_t>(ngrams.grams(0).size());
  }
}

BleuScore Bleu::score() const {
  BleuScore score{.precisions = std::vector<double>(options_.max_order),
                  .correct = correct_,
                  .total = total_,
                  .hypothesis_length = hypothesis_length_,
                  .reference_length = reference_length_};
  if (hypothesis_length_ < reference_length_) {
    const double ratio = static_cast<double>(reference_length_) / static_cast<double>(hypothesis_length_);
    score.brevity_penalty = hypothesis_length_ > 0 ? std::exp(1 - ratio) : 0;
  }
  if (std::ranges::all_of(correct_, [](std::int64_t n) { return n == 0; })) return score;
  int used = 0;
  score.precisions = precisions_of(score, options_, used);
  double logs = 0;
  for (int i = 0; i < used; ++i) logs += score.precisions[i] == 0 ? kLogOfZero : std::log(score.precisions[i]);
  score.score = score.brevity_penalty * std::exp(logs / used);
  return score;
}

Report Bleu::report() const {
  const BleuScore result = score();
  std::string precisions;
  for (const double precision : result.precisions)
    precisions += fmt::format("{}{:.1f}", precisions.empty() ? "" : "/", precision);
  const double ratio = result.reference_length == 0 ? 0
                                                    : static_cast<double>(result.hypothesis_length) /
                                                          static_cast<double>(result.reference_length);
  return {.name = "BLEU",
          .score = result.score,
          .signature = {{"nrefs", references_text()},
                        {"case", options_.lowercase ? "lc" : "mixed"},
                        {"eff", options_.effective_order ? "yes" : "no"},
                        {"tok", std::string(tokenizer_name(options_.tokenizer))},
                        {"smooth", smoothing_text(options_)},
                        {"version", std::string(kSacreBleuVersion)}},
          .details = fmt::format("{} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})", precisions,
                                 result.brevity_penalty, ratio, result.hypothesis_length, result.reference_length)};
}

BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                      const BleuOptions& options) {
  check(hypotheses.size() == references.size(), "bleu: {} hypotheses but {} references", hypotheses.size(),
        references.size());
  Bleu bleu(options);
  for (std::size_t i = 0; i < hypotheses.size(); ++i) bleu.add(hypotheses[i], {references[i]});
  return bleu.score();
}

}  // namespace attend::metrics
