#include "attend/decode/beam_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "attend/base/error.h"

namespace attend::decode {

namespace searching {  // which a search keeps from step to step

struct Beam {
  std::vector<std::int32_t> tokens;
  double sum = 0;          // of log-probabilities
  std::int32_t node = -1;  // of the tree, when there is one
};

// One source sentence: the beginnings still open, best first, and what has ended.
struct BeamSentence {
  std::size_t index;
  std::vector<Beam> open;
  std::vector<Hypothesis> ended;
  bool finished = false;  // it has its results, and the model still computes its rows
};

}  // namespace searching

namespace {

using searching::Beam;
using searching::BeamSentence;

struct Candidate {
  std::int64_t beam;
  std::int32_t token;
  double sum;
};

double normalised(double sum, std::size_t length, const BeamOptions& options) {
  return normalised(sum, length, options.penalty, options.alpha);
}

// The `count` best continuations of a sentence; equal sums go to the earlier beam, then the smaller token, so that the
// result does not depend on how sentences were batched.
std::vector<Candidate> best_candidates(const BeamSentence& sentence, const nn::StepModel::Scores& scores,
                                       std::size_t first_row, std::size_t count) {
  std::vector<Candidate> best;
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.sum != b.sum ? a.sum > b.sum : a.beam != b.beam ? a.beam < b.beam : a.token < b.token;
  };
  const std::size_t each = scores.ids.size() / scores.log_sums.size();
  for (std::size_t beam = 0; beam < sentence.open.size(); ++beam) {
    const std::size_t row = first_row + beam;
    const double base = sentence.open[beam].sum - static_cast<double>(scores.log_sums[row]);
    for (std::size_t i = row * each; i < (row + 1) * each; ++i) {
      const Candidate candidate{static_cast<std::int64_t>(beam), scores.ids[i],
                                base + static_cast<double>(scores.logits[i])};
      if (best.size() == count && !better(candidate, best.back())) break;  // the rest of the row is no better
      best.insert(std::upper_bound(best.begin(), best.end(), candidate, better), candidate);
      if (best.size() > count) best.pop_back();
    }
  }
  return best;
}

// Writes down that a candidate was kept; returns its node.
std::int32_t note(const Beam& parent, const Candidate& candidate, const BeamOptions& options) {
  if (!options.tree) return -1;
  const std::size_t length = parent.tokens.size() + 1;
  options.tree->push_back({.parent = parent.node,
                           .token = candidate.token,
                           .step = static_cast<std::int32_t>(length) - 1,
                           .score = static_cast<float>(normalised(candidate.sum, length, options)),
                           .ended = candidate.token == options.end});
  return static_cast<std::int32_t>(options.tree->size()) - 1;
}

void keep_best(std::vector<Hypothesis>& ended, Hypothesis hypothesis, std::size_t count) {
  const auto place = std::upper_bound(ended.begin(), ended.end(), hypothesis,
                                      [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  ended.insert(place, std::move(hypothesis));
  if (ended.size() > count) ended.pop_back();
}

// Splits the candidates into what ends and what goes on; true when nothing open can still change the results.
bool advance(BeamSentence& sentence, const std::vector<Candidate>& candidates, std::vector<std::int32_t>& parents,
             const BeamOptions& options) {
  const auto beams = static_cast<std::size_t>(options.beams);
  std::vector<Beam> next;
  for (std::size_t rank = 0; rank < candidates.size() && next.size() < beams; ++rank) {
    const Candidate& candidate = candidates[rank];
    const Beam& parent = sentence.open[static_cast<std::size_t>(candidate.beam)];
    if (candidate.token == options.end) {
      // An end that is not among the best `beams` continuations is not taken.
      if (rank < beams) {
        note(parent, candidate, options);
        keep_best(
            sentence.ended,
            {parent.tokens, static_cast<float>(normalised(candidate.sum, parent.tokens.size() + 1, options)), true},
            beams);
      }
      continue;
    }
    next.push_back({parent.tokens, candidate.sum, note(parent, candidate, options)});
    next.back().tokens.push_back(candidate.token);
    parents.push_back(static_cast<std::int32_t>(candidate.beam));
  }
  sentence.open = std::move(next);
  const auto results = static_cast<std::size_t>(options.results);
  if (sentence.open.empty() || (beams == 1 && !sentence.ended.empty())) return true;
  const auto longest = static_cast<std::size_t>(options.max_lengths[sentence.index]);
  if (sentence.open.front().tokens.size() >= longest) {
    for (Beam& beam : sentence.open) {
      const auto score = static_cast<float>(normalised(beam.sum, beam.tokens.size(), options));
      keep_best(sentence.ended, {std::move(beam.tokens), score, false}, beams);
    }
    return true;
  }
  if (sentence.ended.size() < results) return false;
  // The best an open beginning can still reach: its sum never rises, so only the length term can help it.
  const double reachable =
      std::max(normalised(sentence.open.front().sum, sentence.open.front().tokens.size() + 1, options),
               normalised(sentence.open.front().sum, longest + 1, options));
  return reachable <= static_cast<double>(sentence.ended[results - 1].score);
}

}  // namespace

struct BeamSearch::State {
  nn::StepModel& model;
  const BeamOptions& options;
  Ended ended;
  std::int64_t wanted = 0;
  std::vector<BeamSentence> running = {};  // finished ones, too, until their rows are dropped
  std::size_t open = 0;                    // how many of them are not finished
  std::vector<std::int32_t> tokens = {};   // the newest of every row
  std::vector<bool> dropped = {};          // by sentence
};

BeamSearch::BeamSearch(nn::StepModel& model, const BeamOptions& options, Ended ended)
    : state_(new State{model, options, std::move(ended)}) {
  for (std::int64_t longest : options.max_lengths)
    check(longest >= 1, "beam search: a maximum length of {}; it must be at least 1", longest);
  check(options.beams >= 1 && options.results >= 1 && options.results <= options.beams,
        "beam search: {} results from {} beams", options.results, options.beams);
  check(!options.tree || options.max_lengths.size() == 1, "beam search: a tree is of one sentence, not of {}",
        options.max_lengths.size());
  // Half of what can be chosen may be ends; a single beam is then at its end.
  state_->wanted = std::min(options.beams == 1 ? 1 : 2 * options.beams, model.suppress(options.suppressed));
  check(state_->wanted > 0, "beam search: every token is suppressed");
  for (std::size_t i = 0; i < options.max_lengths.size(); ++i) state_->running.push_back({i, {Beam{}}, {}});
  state_->open = state_->running.size();
  state_->tokens.assign(state_->running.size() * static_cast<std::size_t>(options.beams), options.start);
  state_->dropped.resize(options.max_lengths.size());
}

BeamSearch::~BeamSearch() = default;

bool BeamSearch::done() const { return state_->open == 0; }

void BeamSearch::drop(std::size_t sentence) { state_->dropped.at(sentence) = true; }

void BeamSearch::step() {
  auto& [model, options, ended, wanted, running, open, tokens, dropped] = *state_;
  const auto beams = static_cast<std::size_t>(options.beams);
  const nn::StepModel::Scores scores = model.step(tokens, wanted);
  check(scores.ids.size() == tokens.size() * static_cast<std::size_t>(wanted) &&
            scores.logits.size() == scores.ids.size() && scores.log_sums.size() == tokens.size(),
        "beam search: {} candidates for {} rows of {}", scores.ids.size(), tokens.size(), wanted);
  std::vector<std::vector<std::int32_t>> parents(running.size());
  open = 0;
  for (std::size_t s = 0; s < running.size(); ++s) {
    BeamSentence& sentence = running[s];
    if (sentence.finished) continue;
    if (dropped[sentence.index]) {
      sentence.finished = true;
    } else if (advance(sentence, best_candidates(sentence, scores, s * beams, 2 * beams), parents[s], options)) {
      sentence.finished = true;
      sentence.ended.resize(std::min(sentence.ended.size(), static_cast<std::size_t>(options.results)));
      ended(sentence.index, std::move(sentence.ended));
    } else {
      ++open;
    }
  }
  if (open == 0) return;
  // How many finished sentences stay. Where dropping is costly, sentences are a power of two after it, so that few
  // different steps exist.
  std::size_t idle = 0;
  if (!model.drops_rows_cheaply()) idle = std::min(std::bit_ceil(open), running.size()) - open;
  const auto each = static_cast<std::size_t>(wanted);
  std::vector<BeamSentence> next;
  std::vector<std::int32_t> from;
  tokens.clear();
  for (std::size_t s = 0; s < running.size(); ++s) {
    BeamSentence& sentence = running[s];
    if (sentence.finished && idle == 0) continue;
    idle -= sentence.finished;
    for (std::size_t beam = 0; beam < beams; ++beam) {
      const std::size_t row = s * beams + beam;
      if (sentence.finished) {  // goes on with its likeliest token, which a GPU may have computed ahead
        from.push_back(static_cast<std::int32_t>(row));
        tokens.push_back(scores.ids[row * each]);
        continue;
      }
      // Every sentence keeps its full set of rows; the ones without a beginning repeat the first.
      const std::size_t used = beam < sentence.open.size() ? beam : 0;
      from.push_back(static_cast<std::int32_t>(s * beams) + parents[s][used]);
      tokens.push_back(sentence.open[used].tokens.back());
    }
    next.push_back(std::move(sentence));
  }
  running = std::move(next);
  model.reorder(from);
}

std::vector<std::vector<Hypothesis>> beam_search(nn::StepModel& model, const BeamOptions& options) {
  std::vector<std::vector<Hypothesis>> results(options.max_lengths.size());
  BeamSearch search(model, options,
                    [&](std::size_t sentence, std::vector<Hypothesis> found) { results[sentence] = std::move(found); });
  while (!search.done()) search.step();
  return results;
}

}  // namespace attend::decode
