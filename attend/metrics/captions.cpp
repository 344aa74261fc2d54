#include "attend/metrics/captions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "attend/base/error.h"
#include "attend/metrics/ngrams.h"

namespace attend::metrics {

namespace {

constexpr int kLongestNgram = 4;
constexpr double kRougeBeta = 1.2;   // how much more recall counts than precision
constexpr double kCiderSigma = 6.0;  // of the Gaussian that punishes a different length
constexpr double kCiderScale = 10.0;
constexpr double kBleuTiny = 1e-15, kBleuSmall = 1e-9;

// Where the sequences of an image are in the list of all: its hypothesis, then its references.
struct Rows {
  std::size_t hypothesis, references, end;
};

struct GramCount {
  std::uint32_t gram;
  std::int64_t count;
};
using GramCounts = std::vector<GramCount>;  // by gram

GramCounts counts_of(std::span<const std::uint32_t> grams) {
  std::vector<std::uint32_t> sorted(grams.begin(), grams.end());
  std::sort(sorted.begin(), sorted.end());
  GramCounts counts;
  for (const std::uint32_t gram : sorted) {
    if (counts.empty() || counts.back().gram != gram) counts.push_back({gram, 0});
    ++counts.back().count;
  }
  return counts;
}

std::int64_t count_in(const GramCounts& counts, std::uint32_t gram) {
  const auto at = std::lower_bound(counts.begin(), counts.end(), gram,
                                   [](const GramCount& item, std::uint32_t wanted) { return item.gram < wanted; });
  return at != counts.end() && at->gram == gram ? at->count : 0;
}

// ---- BLEU: the counts of the whole corpus.
struct CorpusBleu {
  std::array<double, kLongestNgram> correct = {}, guessed = {};
  double length = 0, reference_length = 0;

  std::array<double, kLongestNgram> scores() const {
    std::array<double, kLongestNgram> scores;
    const double ratio = (length + kBleuTiny) / (reference_length + kBleuSmall);
    double product = 1;
    for (int n = 0; n < kLongestNgram; ++n) {
      product *= (correct[n] + kBleuTiny) / (guessed[n] + kBleuSmall);
      scores[n] = std::pow(product, 1.0 / (n + 1)) * (ratio < 1 ? std::exp(1 - 1 / ratio) : 1);
    }
    return scores;
  }
};

// The reference whose length is nearest; of two the shorter one.
std::size_t closest_length(const Captioned& image) {
  const std::size_t length = image.hypothesis.size();
  std::pair<std::size_t, std::size_t> best = {SIZE_MAX, 0};
  for (const Words& reference : image.references) {
    const std::size_t other = reference.size();
    best = std::min(best, {other > length ? other - length : length - other, other});
  }
  return best.second;
}

std::int64_t clipped_matches(const GramCounts& hypothesis, std::span<const GramCounts> references) {
  std::int64_t matches = 0;
  for (const auto& [gram, count] : hypothesis) {
    std::int64_t most = 0;
    for (const GramCounts& reference : references) most = std::max(most, count_in(reference, gram));
    matches += std::min(count, most);
  }
  return matches;
}

// ---- ROUGE-L. A sentence without words counts as one empty word, as "".split(" ") of COCO's code has it.
std::size_t longest_common(const Words& a, const Words& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (const std::string& word : a) {
    std::size_t diagonal = 0;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = word == b[j - 1] ? diagonal + 1 : std::max(above, row[j - 1]);
      diagonal = above;
    }
  }
  return row.back();
}

double rouge_l(const Captioned& image) {
  static const Words kEmpty = {""};
  const auto or_empty = [](const Words& words) -> const Words& { return words.empty() ? kEmpty : words; };
  const Words& hypothesis = or_empty(image.hypothesis);
  double precision = 0, recall = 0;
  for (const Words& words : image.references) {
    const Words& reference = or_empty(words);
    const auto common = static_cast<double>(longest_common(hypothesis, reference));
    precision = std::max(precision, common / static_cast<double>(hypothesis.size()));
    recall = std::max(recall, common / static_cast<double>(reference.size()));
  }
  if (precision == 0 || recall == 0) return 0;
  constexpr double kSquare = kRougeBeta * kRougeBeta;
  return (1 + kSquare) * precision * recall / (recall + kSquare * precision);
}

// ---- CIDEr-D, one order of n-grams at a time.
class CiderOrder {
 public:
  CiderOrder(std::span<const Rows> rows, std::span<const GramCounts> counts) : counts_(counts) {
    std::unordered_set<std::uint32_t> seen;
    for (const Rows& image : rows) {
      seen.clear();
      for (std::size_t r = image.references; r < image.end; ++r)
        for (const GramCount& item : counts[r]) seen.insert(item.gram);
      for (const std::uint32_t gram : seen) ++images_with_[gram];
    }
    log_images_ = std::log(static_cast<double>(rows.size()));
  }

  // The cosine of two rows, with the hypothesis's weights clipped to the reference's.
  double similarity(std::size_t hypothesis, std::size_t reference) const {
    double product = 0;
    for (const auto& [gram, count] : counts_[hypothesis]) {
      const double weight = weight_of(gram);
      const double theirs = weight * static_cast<double>(count_in(counts_[reference], gram));
      product += std::min(weight * static_cast<double>(count), theirs) * theirs;
    }
    const double norms = norm(hypothesis) * norm(reference);
    return norms == 0 ? product : product / norms;
  }

 private:
  double weight_of(std::uint32_t gram) const {
    const auto found = images_with_.find(gram);
    return log_images_ - (found == images_with_.end() ? 0 : std::log(static_cast<double>(found->second)));
  }

  double norm(std::size_t row) const {
    double sum = 0;
    for (const auto& [gram, count] : counts_[row]) {
      const double value = weight_of(gram) * static_cast<double>(count);
      sum += value * value;
    }
    return std::sqrt(sum);
  }

  std::span<const GramCounts> counts_;
  std::unordered_map<std::uint32_t, std::int64_t> images_with_;
  double log_images_ = 0;
};

// Its length of a sentence is its number of pairs of words.
double length_penalty(const Words& hypothesis, const Words& reference) {
  const auto pairs = [](const Words& words) { return words.empty() ? 0.0 : static_cast<double>(words.size() - 1); };
  const double difference = pairs(hypothesis) - pairs(reference);
  return std::exp(-difference * difference / (2 * kCiderSigma * kCiderSigma));
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// All sentences as numbers of words; equal words have equal numbers.
std::vector<Units> number_words(std::span<const Captioned> images, std::vector<Rows>& rows) {
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  std::vector<Units> sequences;
  const auto add = [&](const Words& words) {
    Units& units = sequences.emplace_back();
    for (const std::string& word : words)
      units.push_back(numbers.try_emplace(word, static_cast<std::uint32_t>(numbers.size())).first->second);
  };
  for (const Captioned& image : images) {
    check(!image.references.empty(), "captions: an image needs at least one reference");
    rows.push_back({sequences.size(), sequences.size() + 1, sequences.size() + 1 + image.references.size()});
    add(image.hypothesis);
    for (const Words& reference : image.references) add(reference);
  }
  return sequences;
}

}  // namespace

CaptionScores caption_scores(std::span<const Captioned> images) {
  check(!images.empty(), "captions: there are none to score");
  CaptionScores scores;
  CorpusBleu bleu;
  scores.cider_of.resize(images.size());
  for (const Captioned& image : images) {
    scores.rouge_l_of.push_back(rouge_l(image));
    bleu.length += static_cast<double>(image.hypothesis.size());
  }
  std::vector<Rows> rows;
  Ngrams ngrams(number_words(images, rows));
  std::vector<GramCounts> counts(rows.back().end);
  for (int n = 0; n < kLongestNgram; ++n) {
    if (n > 0) ngrams.next_order();
    for (std::size_t row = 0; row < counts.size(); ++row) counts[row] = counts_of(ngrams.grams(row));
    const CiderOrder order(rows, counts);
    for (std::size_t i = 0; i < images.size(); ++i) {
      const auto& [hypothesis, references, end] = rows[i];
      bleu.guessed[n] += static_cast<double>(ngrams.grams(hypothesis).size());
      bleu.correct[n] += static_cast<double>(
          clipped_matches(counts[hypothesis], std::span(counts).subspan(references, end - references)));
      double sum = 0;
      for (std::size_t r = references; r < end; ++r)
        sum += order.similarity(hypothesis, r) *
               length_penalty(images[i].hypothesis, images[i].references[r - references]);
      scores.cider_of[i] += sum * kCiderScale / (kLongestNgram * static_cast<double>(end - references));
    }
  }
  for (const Captioned& image : images) bleu.reference_length += static_cast<double>(closest_length(image));
  scores.bleu = bleu.scores();
  scores.rouge_l = mean_of(scores.rouge_l_of);
  scores.cider = mean_of(scores.cider_of);
  return scores;
}

}  // namespace attend::metrics
