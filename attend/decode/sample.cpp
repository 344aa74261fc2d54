#include "attend/decode/sample.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "attend/base/error.h"
#include "attend/base/random.h"

namespace attend::decode {

namespace {

struct Row {
  Hypothesis hypothesis;
  double sum = 0;  // of log-probabilities
  bool done = false;
};

struct SampledSentence {
  std::size_t index;
  std::vector<Row> rows;
};

// [0, 1) with 53 bits, so that no token of a large vocabulary is out of reach.
double uniform(std::uint64_t seed, std::uint32_t number, std::uint64_t draw) {
  const Random4 words = philox(seed, number, draw);
  const std::uint64_t bits = static_cast<std::uint64_t>(words.word[0]) << 32 | words.word[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// What may come next: ids and their logits, the likeliest first where only some count.
struct Candidates {
  std::vector<std::int32_t> ids;
  std::vector<double> logits;
};

// What every draw of one search shares.
class Drawer {
 public:
  Drawer(const SampleOptions& options, std::int64_t vocabulary)
      : options_(options), banned_(static_cast<std::size_t>(vocabulary)) {
    for (std::int32_t id : options.banned)
      if (id >= 0 && id < vocabulary) banned_[static_cast<std::size_t>(id)] = true;
    const std::int64_t barred = std::ranges::count(banned_, true);
    check(barred < vocabulary, "sample: every token is banned");
    // More than a few are as well taken from all.
    constexpr std::int64_t kFew = 64;
    const std::int64_t likeliest = options.top_k + barred;
    if (options.top_k > 0 && options.repetition_penalty == 1 && likeliest <= std::min(kFew, vocabulary))
      wanted_ = likeliest;
  }

  // How many of the likeliest of each row to ask the model for; 0: all.
  std::int64_t wanted() const { return wanted_; }

  struct Drawn {
    std::int32_t token;
    double logit;  // before any penalty
  };
  // The token at u of the way through the probabilities of a row, for a text that has these tokens already.
  Drawn operator()(const nn::StepModel::Scores& scores, std::size_t row, std::span<const std::int32_t> written,
                   double u) {
    const std::size_t each = scores.logits.size() / scores.log_sums.size();
    const std::span<const float> logits = scores.logits.subspan(row * each, each);
    scores.ids.empty() ? choose_from_all(logits, written) : take(logits, scores.ids.subspan(row * each, each));
    weights_.clear();
    const double largest = *std::ranges::max_element(candidates_.logits);
    for (double logit : candidates_.logits)
      weights_.push_back(std::exp((logit - largest) / static_cast<double>(options_.temperature)));
    cut_tail();
    double left = u * std::accumulate(weights_.begin(), weights_.end(), 0.0);
    std::size_t drawn = 0;
    while (drawn + 1 < weights_.size() && (left -= weights_[drawn]) >= 0) ++drawn;
    const std::int32_t token = candidates_.ids[drawn];
    return {token, scores.ids.empty() ? static_cast<double>(logits[static_cast<std::size_t>(token)])
                                      : candidates_.logits[drawn]};
  }

 private:
  // The model has sorted them.
  void take(std::span<const float> logits, std::span<const std::int32_t> ids) {
    candidates_.ids.clear(), candidates_.logits.clear();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (banned_[static_cast<std::size_t>(ids[i])]) continue;
      if (static_cast<std::int64_t>(candidates_.ids.size()) == options_.top_k) break;
      candidates_.ids.push_back(ids[i]), candidates_.logits.push_back(static_cast<double>(logits[i]));
    }
  }

  // The likeliest first where only some of them count; equal ones go to the smaller id.
  void choose_from_all(std::span<const float> logits, std::span<const std::int32_t> written) {
    if (options_.repetition_penalty != 1) logits = penalised(logits, written);
    std::vector<std::int32_t>& ids = candidates_.ids;
    ids.clear();
    for (std::size_t id = 0; id < logits.size(); ++id)
      if (!banned_[id]) ids.push_back(static_cast<std::int32_t>(id));
    const bool some = options_.top_k > 0 && options_.top_k < static_cast<std::int64_t>(ids.size());
    if (some || options_.top_p < 1 || options_.min_p > 0) {
      const auto end = some ? ids.begin() + options_.top_k : ids.end();
      std::partial_sort(ids.begin(), end, ids.end(), [&](std::int32_t a, std::int32_t b) {
        const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
        return x != y ? x > y : a < b;
      });
      ids.erase(end, ids.end());
    }
    candidates_.logits.clear();
    for (std::int32_t id : ids) candidates_.logits.push_back(static_cast<double>(logits[static_cast<std::size_t>(id)]));
  }

  std::span<const float> penalised(std::span<const float> logits, std::span<const std::int32_t> written) {
    changed_.assign(logits.begin(), logits.end());
    const auto change = [&](std::int32_t id) {
      const float logit = logits[static_cast<std::size_t>(id)];
      changed_[static_cast<std::size_t>(id)] =
          logit > 0 ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
    };
    for (std::int32_t id : options_.prompt) change(id);
    for (std::int32_t id : written) change(id);
    return changed_;
  }

  // Weights are sorted, the first is 1: drops what top_p and min_p leave out.
  void cut_tail() {
    if (options_.top_p < 1) {
      const double wanted =
          static_cast<double>(options_.top_p) * std::accumulate(weights_.begin(), weights_.end(), 0.0);
      double sum = 0;
      std::size_t kept = 0;
      while (kept < weights_.size() && sum < wanted) sum += weights_[kept++];
      weights_.resize(std::max<std::size_t>(kept, 1));
    }
    if (options_.min_p > 0)
      while (weights_.size() > 1 && weights_.back() < static_cast<double>(options_.min_p)) weights_.pop_back();
  }

  const SampleOptions& options_;
  std::vector<bool> banned_;
  std::int64_t wanted_ = 0;
  Candidates candidates_;
  std::vector<float> changed_;
  std::vector<double> weights_;
};

template <class Stop>
void write(Row& row, std::int32_t token, double log_probability, std::int64_t longest, const SampleOptions& options,
           Stop stop) {
  row.sum += log_probability;
  std::vector<std::int32_t>& written = row.hypothesis.tokens;
  row.hypothesis.finished = token == options.end;
  if (token != options.end) {
    written.push_back(token);
    row.hypothesis.finished = stop(written);
  }
  row.done = row.hypothesis.finished || static_cast<std::int64_t>(written.size()) >= longest;
  if (!row.done) return;
  const std::size_t length = written.size() + (row.hypothesis.finished ? 1 : 0);
  row.hypothesis.score = static_cast<float>(normalised(row.sum, length, options.penalty, options.alpha));
}

// One more token for the rows of a sentence that are not done; true when all are.
bool advance(SampledSentence& sentence, const nn::StepModel::Scores& scores, std::size_t first_row,
             std::uint64_t position, Drawer& drawer, const SampleOptions& options) {
  const std::size_t index = sentence.index;
  const std::uint32_t number = options.numbers.empty() ? static_cast<std::uint32_t>(index) : options.numbers[index];
  bool all = true;
  for (std::size_t r = 0; r < sentence.rows.size(); ++r) {
    Row& row = sentence.rows[r];
    if (!row.done) {
      const double u = uniform(options.seed, number, position | static_cast<std::uint64_t>(r) << 32);
      const auto [token, logit] = drawer(scores, first_row + r, row.hypothesis.tokens, u);
      const double log_probability = logit - static_cast<double>(scores.log_sums[first_row + r]);
      const auto stop = [&](std::span<const std::int32_t> written) {
        return options.stop && options.stop(index, r, written);
      };
      write(row, token, log_probability, options.max_lengths[index], options, stop);
    }
    all = all && row.done;
  }
  return all;
}

std::vector<Hypothesis> sorted_results(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.hypothesis.score > b.hypothesis.score; });
  std::vector<Hypothesis> results;
  for (Row& row : rows) results.push_back(std::move(row.hypothesis));
  return results;
}

void check_options(const SampleOptions& options) {
  check(options.samples >= 1, "sample: {} samples of each sentence; at least 1", options.samples);
  check(options.temperature > 0 && std::isfinite(options.temperature),
        "sample: the temperature must be above 0, not {}", options.temperature);
  check(options.top_p > 0 && options.top_p <= 1 && options.min_p >= 0 && options.min_p <= 1,
        "sample: top-p must be above 0 and at most 1, min-p 0 to 1, not {} and {}", options.top_p, options.min_p);
  check(options.repetition_penalty > 0, "sample: the repetition penalty must be above 0, not {}",
        options.repetition_penalty);
  check(options.top_k >= 0, "sample: top-k must not be negative, as {} is", options.top_k);
  check(options.numbers.empty() || options.numbers.size() == options.max_lengths.size(),
        "sample: {} numbers for {} sentences", options.numbers.size(), options.max_lengths.size());
  for (std::int64_t longest : options.max_lengths)
    check(longest >= 1, "sample: a maximum length of {}; it must be at least 1", longest);
}

}  // namespace

std::vector<std::vector<Hypothesis>> sample(nn::StepModel& model, const SampleOptions& options) {
  check_options(options);
  Drawer drawer(options, model.vocabulary());
  const auto samples = static_cast<std::size_t>(options.samples);
  std::vector<std::vector<Hypothesis>> results(options.max_lengths.size());
  std::vector<SampledSentence> running;
  for (std::size_t i = 0; i < results.size(); ++i) running.push_back({i, std::vector<Row>(samples)});
  std::vector<std::int32_t> tokens(running.size() * samples, options.start);

  for (std::uint64_t position = 0; !running.empty(); ++position) {
    const nn::StepModel::Scores scores = model.step(tokens, drawer.wanted());
    std::vector<SampledSentence> next;
    std::vector<std::int32_t> from;
    tokens.clear();
    for (std::size_t s = 0; s < running.size(); ++s) {
      SampledSentence& sentence = running[s];
      if (advance(sentence, scores, s * samples, position, drawer, options)) {
        results[sentence.index] = sorted_results(sentence.rows);
        continue;
      }
      // Rows that are done wait for the others of their sentence.
      for (std::size_t r = 0; r < samples; ++r) {
        from.push_back(static_cast<std::int32_t>(s * samples + r));
        tokens.push_back(sentence.rows[r].done ? options.end : sentence.rows[r].hypothesis.tokens.back());
      }
      next.push_back(std::move(sentence));
    }
    running = std::move(next);
    if (!running.empty()) model.reorder(from);
  }
  return results;
}

}  // namespace attend::decode
