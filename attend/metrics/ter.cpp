#include "attend/metrics/ter.h"

#include <algorithm>
#include <limits>
#include <string>

#include "attend/metrics/ngrams.h"
#include "attend/metrics/unicode.h"

namespace attend::metrics {

namespace {

std::u32string joined(std::span<const std::u32string_view> words) {
  std::u32string text;
  for (const std::u32string_view word : words) {
    if (!text.empty()) text.push_back(U' ');
    text.append(word);
  }
  return text;
}

std::string yes_or_no(bool yes) { return yes ? "yes" : "no"; }

}  // namespace

void Ter::forget() {
  edits_ = 0;
  reference_length_ = 0;
}

void Ter::add_segment(std::u32string_view hypothesis, std::span<const std::u32string> references) {
  const std::u32string text = tokenize_tercom(options_, strip_right(hypothesis));
  std::vector<std::u32string> reference_texts;
  for (const std::u32string& reference : references) {
    std::u32string tokens = tokenize_tercom(options_, strip_right(reference));
    // sacreBLEU tokenizes references twice; normalizing is the one step that a second time may change.
    if (options_.normalized) tokens = tokenize_tercom(options_, joined(split_words(tokens)));
    reference_texts.push_back(std::move(tokens));
  }

  WordNumbers number;
  const Units words = number(split_words(text));
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), length = 0;
  for (const std::u32string& reference : reference_texts) {
    const Units reference_words = number(split_words(reference));
    least = std::min(least, translation_edits(words, reference_words));
    length += static_cast<std::int64_t>(reference_words.size());
  }
  edits_ += least;
  reference_length_ += static_cast<double>(length) / static_cast<double>(references.size());
}

double Ter::score() const {
  if (reference_length_ > 0) return 100 * (static_cast<double>(edits_) / reference_length_);
  return edits_ > 0 ? 100 : 0;
}

Report Ter::report() const {
  return {.name = "TER",
          .score = score(),
          .signature = {{"nrefs", references_text()},
                        {"case", options_.case_sensitive ? "mixed" : "lc"},
                        {"tok", "tercom"},
                        {"norm", yes_or_no(options_.normalized)},
                        {"punct", yes_or_no(!options_.no_punctuation)},
                        {"asian", yes_or_no(options_.asian)},
                        {"version", std::string(kSacreBleuVersion)}}};
}

}  // namespace attend::metrics
