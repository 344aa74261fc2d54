// What the translation metrics share: segments go in, a score with its signature comes out. Scores and signatures are
// those of sacreBLEU 2.6, so that a figure can be compared with a published one.
//
//   Bleu bleu({.lowercase = true});
//   for (...) bleu.add(hypothesis, {reference});
//   print(report_line(bleu.report(), 1));   // BLEU|nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:2.6.0
//   = 32.1 60.5/…
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attend::metrics {

// The release that these scores agree with.
constexpr std::string_view kSacreBleuVersion = "2.6.0";

struct Report {
  std::string name;  // BLEU, chrF2++, TER
  double score = 0;  // 0 to 100; TER may be more
  std::vector<std::pair<std::string, std::string>> signature;
  std::string details = {};  // what BLEU writes after its score
};

class Metric {
 public:
  virtual ~Metric() = default;

  // One segment: text in UTF-8 and at least one reference. Throws Error when it is not UTF-8.
  void add(std::string_view hypothesis, std::span<const std::string_view> references);
  void add(std::string_view hypothesis, std::initializer_list<std::string_view> references) {
    add(hypothesis, std::span(references.begin(), references.size()));
  }
  // The score of everything added since the last clear().
  virtual Report report() const = 0;
  // Forgets what was added: a sentence's score is clear(), add(), report().
  void clear();

 protected:
  virtual void add_segment(std::u32string_view hypothesis, std::span<const std::u32string> references) = 0;
  virtual void forget() = 0;
  // "2", or "var" where segments have different numbers of references.
  std::string references_text() const;

 private:
  std::size_t least_references_ = 0, most_references_ = 0;
};

// NAME|SIGNATURE = SCORE DETAILS, with so many digits after the point.
std::string report_line(const Report& report, int digits);
std::string signature_text(const Report& report);

}  // namespace attend::metrics
