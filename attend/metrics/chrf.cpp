#include "attend/metrics/chrf.h"

#include <fmt/core.h>

#include <string>

#include "attend/base/error.h"
#include "attend/metrics/ngrams.h"
#include "attend/metrics/rewrite.h"
#include "attend/metrics/unicode.h"

namespace attend::metrics {

namespace {

bool is_ascii_punctuation(char32_t c) {
  return (c >= U'!' && c <= U'/') || (c >= U':' && c <= U'@') || (c >= U'[' && c <= U'`') || (c >= U'{' && c <= U'~');
}

// Words with one punctuation mark split off: the last character, else the first ("(hi)" is "(hi" and ")").
std::vector<std::u32string_view> words_of(std::u32string_view line) {
  std::vector<std::u32string_view> words;
  for (const std::u32string_view word : split_words(line)) {
    std::size_t cut = 0;
    if (word.size() > 1 && is_ascii_punctuation(word.back())) {
      cut = word.size() - 1;
    } else if (word.size() > 1 && is_ascii_punctuation(word.front())) {
      cut = 1;
    }
    if (cut > 0) words.push_back(word.substr(0, cut));
    words.push_back(word.substr(cut));
  }
  return words;
}

}  // namespace

Chrf::Chrf(const ChrfOptions& options) : options_(options) {
  check(options.char_order >= 0 && options.word_order >= 0 && options.char_order + options.word_order >= 1,
        "chrf: orders must not be negative and not both 0: {} characters, {} words", options.char_order,
        options.word_order);
  check(options.beta >= 0, "chrf: beta must not be negative: {}", options.beta);
  forget();
}

void Chrf::forget() { totals_.assign(options_.char_order + options_.word_order, {}); }

void Chrf::add_segment(std::u32string_view hypothesis, std::span<const std::u32string> references) {
  std::vector<std::u32string> lines;
  const auto prepare = [&](std::u32string_view line) {
    lines.push_back(options_.lowercase ? lower(line) : std::u32string(line));
  };
  prepare(hypothesis);
  for (const std::u32string& reference : references) prepare(reference);

  std::vector<Units> characters, words;
  WordNumbers number;
  for (const std::u32string& line : lines) {
    const std::u32string kept = options_.whitespace ? line : remove(line, is_space);
    characters.emplace_back(kept.begin(), kept.end());
    if (options_.word_order > 0) words.push_back(number(words_of(line)));
  }

  std::vector<std::vector<Counts>> counts(references.size(), std::vector<Counts>(totals_.size()));
  const auto count = [&](std::vector<Units> sequences, int first, int orders) {
    Ngrams ngrams(std::move(sequences));
    for (int order = first; order < first + orders; ++order) {
      if (order > first) ngrams.next_order();
      for (std::size_t r = 0; r < references.size(); ++r) {
        const auto in_reference = static_cast<std::int64_t>(ngrams.grams(r + 1).size());
        if (in_reference == 0) continue;  // a reference too short for this order: its n-grams count on neither side
        const std::size_t against[] = {r + 1};
        counts[r][order] = {.hypothesis = static_cast<std::int64_t>(ngrams.grams(0).size()),
                            .reference = in_reference,
                            .matched = ngrams.matches(0, against)};
      }
    }
  };
  if (options_.char_order > 0) count(std::move(characters), 0, options_.char_order);
  if (options_.word_order > 0) count(std::move(words), options_.char_order, options_.word_order);

  std::size_t best = 0;
  double best_score = -1;
  for (std::size_t r = 0; r < references.size(); ++r) {
    const double score = f_score(counts[r]);
    if (score > best_score) best = r, best_score = score;
  }
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    totals_[i].hypothesis += counts[best][i].hypothesis;
    totals_[i].reference += counts[best][i].reference;
    totals_[i].matched += counts[best][i].matched;
  }
}

double Chrf::f_score(std::span<const Counts> orders) const {
  constexpr double kEps = 1e-16;
  const double factor = static_cast<double>(options_.beta) * options_.beta;
  const auto f = [&](double precision, double recall, double nothing) {
    const double weight = factor * precision + recall;
    return weight > 0 ? (1 + factor) * precision * recall / weight : nothing;
  };
  double smoothed = 0, precisions = 0, recalls = 0;
  int used = 0;
  for (const Counts& order : orders) {
    const auto matched = static_cast<double>(order.matched);
    const double precision = order.hypothesis > 0 ? matched / static_cast<double>(order.hypothesis) : kEps;
    const double recall = order.reference > 0 ? matched / static_cast<double>(order.reference) : kEps;
    smoothed += f(precision, recall, kEps);
    if (order.hypothesis == 0 || order.reference == 0) continue;
    precisions += precision;
    recalls += recall;
    ++used;
  }
  if (options_.eps_smoothing) return 100 * smoothed / static_cast<double>(orders.size());
  return used == 0 ? 0 : 100 * f(precisions / used, recalls / used, 0);
}

double Chrf::score() const { return f_score(totals_); }

Report Chrf::report() const {
  return {.name = fmt::format("chrF{}{}", options_.beta, std::string(options_.word_order, '+')),
          .score = score(),
          .signature = {{"nrefs", references_text()},
                        {"case", options_.lowercase ? "lc" : "mixed"},
                        {"eff", options_.eps_smoothing ? "no" : "yes"},
                        {"nc", fmt::format("{}", options_.char_order)},
                        {"nw", fmt::format("{}", options_.word_order)},
                        {"space", options_.whitespace ? "yes" : "no"},
                        {"version", std::string(kSacreBleuVersion)}}};
}

}  // namespace attend::metrics
