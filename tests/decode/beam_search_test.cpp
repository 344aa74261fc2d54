// Beam search against every sequence there is, and against a beam search that never stops early.
#include "attend/decode/beam_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "tests/decode/table_model.h"

namespace attend::test {
namespace {

using decode::BeamOptions;
using decode::Hypothesis;
using decode::LengthPenalty;

constexpr std::int64_t kVocabulary = 4, kLongest = 4;
constexpr std::int32_t kStart = 1, kEnd = 2;

double log_probability(const LogitFunction& logit, const Tokens& prefix, std::int32_t token) {
  double sum = 0;
  for (std::int32_t t = 0; t < kVocabulary; ++t) sum += std::exp(static_cast<double>(logit(0, prefix, t)));
  return static_cast<double>(logit(0, prefix, token)) - std::log(sum);
}

// The formulas of the two papers once more, written out.
double by_hand(double sum, std::size_t length, LengthPenalty penalty, float alpha) {
  const auto n = static_cast<double>(length), a = static_cast<double>(alpha);
  return penalty == LengthPenalty::wu ? sum * std::pow(6.0, a) / std::pow(5.0 + n, a) : sum / std::pow(n, a);
}

// All sequences without the start token, up to kLongest tokens.
void enumerate(const LogitFunction& logit, Tokens& prefix, double sum, const BeamOptions& options,
               std::vector<Hypothesis>& all) {
  if (static_cast<std::int64_t>(prefix.size()) == kLongest) {
    all.push_back({prefix, static_cast<float>(by_hand(sum, prefix.size(), options.penalty, options.alpha)), false});
    return;
  }
  for (std::int32_t token = 0; token < kVocabulary; ++token) {
    if (token == kStart) continue;
    const double next = sum + log_probability(logit, prefix, token);
    if (token == kEnd) {
      all.push_back(
          {prefix, static_cast<float>(by_hand(next, prefix.size() + 1, options.penalty, options.alpha)), true});
    } else {
      prefix.push_back(token);
      enumerate(logit, prefix, next, options, all);
      prefix.pop_back();
    }
  }
}

std::vector<Hypothesis> every_sequence(const LogitFunction& logit, const BeamOptions& options) {
  std::vector<Hypothesis> all;
  Tokens prefix;
  enumerate(logit, prefix, 0, options, all);
  std::sort(all.begin(), all.end(), [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  return all;
}

// One sentence, all steps to the maximum length, everything kept sorted at the end.
std::vector<Hypothesis> without_early_stopping(const LogitFunction& logit, const BeamOptions& options) {
  struct Open {
    Tokens tokens;
    double sum;
  };
  const auto beams = static_cast<std::size_t>(options.beams);
  std::vector<Open> open = {{{}, 0}};
  std::vector<Hypothesis> ended;
  for (std::int64_t step = 1; step <= options.max_lengths[0] && !open.empty(); ++step) {
    std::vector<Open> next;
    for (const Open& beam : open)
      for (std::int32_t token = 0; token < kVocabulary; ++token) {
        if (token == kStart) continue;
        next.push_back({beam.tokens, beam.sum + log_probability(logit, beam.tokens, token)});
        next.back().tokens.push_back(token);
      }
    std::stable_sort(next.begin(), next.end(), [](const Open& a, const Open& b) { return a.sum > b.sum; });
    open.clear();
    for (std::size_t rank = 0; rank < next.size() && open.size() < beams; ++rank) {
      Open& candidate = next[rank];
      if (candidate.tokens.back() != kEnd) {
        open.push_back(candidate);
      } else if (rank < beams) {
        const double score = by_hand(candidate.sum, candidate.tokens.size(), options.penalty, options.alpha);
        candidate.tokens.pop_back();
        ended.push_back({candidate.tokens, static_cast<float>(score), true});
      }
    }
  }
  for (const Open& beam : open)
    ended.push_back({beam.tokens,
                     static_cast<float>(by_hand(beam.sum, beam.tokens.size(), options.penalty, options.alpha)), false});
  std::stable_sort(ended.begin(), ended.end(),
                   [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  ended.resize(std::min(ended.size(), static_cast<std::size_t>(options.results)));
  return ended;
}

void expect_same(const std::vector<Hypothesis>& found, const std::vector<Hypothesis>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].tokens, expected[i].tokens) << "rank " << i;
    EXPECT_NEAR(found[i].score, expected[i].score, 1e-5) << "rank " << i;
    EXPECT_EQ(found[i].finished, expected[i].finished) << "rank " << i;
  }
}

BeamOptions options_of(LengthPenalty penalty, float alpha, std::int64_t beams, std::int64_t results) {
  return {.beams = beams,
          .penalty = penalty,
          .alpha = alpha,
          .start = kStart,
          .end = kEnd,
          .suppressed = {kStart},
          .max_lengths = {kLongest},
          .results = results};
}

TEST(BeamSearch, ABeamOfEverythingFindsTheBest) {
  for (LengthPenalty penalty : {LengthPenalty::wu, LengthPenalty::power})
    for (float alpha : {0.0f, 0.6f, 1.0f, 2.0f})
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const LogitFunction logit = random_logits(seed, 3);
        const BeamOptions options = options_of(penalty, alpha, 81, 7);
        TableModel model(kVocabulary, 1, 81, logit);
        std::vector<Hypothesis> best = every_sequence(logit, options);
        best.resize(7);
        expect_same(beam_search(model, options)[0], best);
      }
}

// The tree of a search: parents come a step before, scores are the paths' own, and the result is one of its ends.
TEST(BeamSearch, KeepsATreeOfWhatItKept) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const LogitFunction logit = random_logits(seed, 3);
    BeamOptions options = options_of(LengthPenalty::wu, 0.6f, 3, 1);
    std::vector<decode::BeamNode> tree;
    TableModel plain(kVocabulary, 1, 3, logit), watched(kVocabulary, 1, 3, logit);
    const Hypothesis best = beam_search(plain, options)[0][0];
    options.tree = &tree;
    expect_same(beam_search(watched, options)[0], {best});
    bool found = false;
    for (const decode::BeamNode& node : tree) {
      Tokens tokens = {node.token};
      for (std::int32_t at = node.parent; at >= 0; at = tree[static_cast<std::size_t>(at)].parent)
        tokens.insert(tokens.begin(), tree[static_cast<std::size_t>(at)].token);
      ASSERT_EQ(static_cast<std::int32_t>(tokens.size()), node.step + 1);
      double sum = 0;
      for (std::size_t i = 0; i < tokens.size(); ++i)
        sum +=
            log_probability(logit, Tokens(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(i)), tokens[i]);
      EXPECT_NEAR(node.score, by_hand(sum, tokens.size(), options.penalty, options.alpha), 1e-5);
      if (node.ended) tokens.pop_back();
      found = found || (tokens == best.tokens && node.ended == best.finished);
    }
    EXPECT_TRUE(found);
  }
}

TEST(BeamSearch, StoppingEarlyNeverChangesTheResults) {
  int steps = 0, most = 0;
  for (LengthPenalty penalty : {LengthPenalty::wu, LengthPenalty::power})
    for (float alpha : {0.0f, 0.6f, 1.0f})
      for (std::int64_t beams : {2, 3, 4})
        for (std::int64_t results : {std::int64_t{1}, beams})
          for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            const LogitFunction logit = random_logits(seed, 6);
            BeamOptions options = options_of(penalty, alpha, beams, results);
            options.max_lengths = {12};
            TableModel model(kVocabulary, 1, static_cast<std::size_t>(beams), logit);
            expect_same(beam_search(model, options)[0], without_early_stopping(logit, options));
            steps += model.steps(), most += 12;
          }
  EXPECT_LT(steps, most * 3 / 4) << "it hardly ever stopped early";
}

TEST(BeamSearch, ABeamOfOneTakesTheLikeliestToken) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const LogitFunction logit = random_logits(seed, 4);
    const BeamOptions options = options_of(LengthPenalty::wu, 0.6f, 1, 1);
    TableModel model(kVocabulary, 1, 1, logit);
    Tokens greedy;
    double sum = 0;
    bool finished = false;
    while (!finished && static_cast<std::int64_t>(greedy.size()) < kLongest) {
      std::int32_t best = 0;
      for (std::int32_t token : {2, 3})
        if (logit(0, greedy, token) > logit(0, greedy, best)) best = token;
      sum += log_probability(logit, greedy, best);
      finished = best == kEnd;
      if (!finished) greedy.push_back(best);
    }
    const float score = static_cast<float>(by_hand(sum, greedy.size() + finished, options.penalty, options.alpha));
    expect_same(beam_search(model, options)[0], {{greedy, score, finished}});
    EXPECT_EQ(model.steps(), static_cast<int>(greedy.size()) + finished) << "greedy search stops at the end";
  }
}

// Sentences of different lengths leave at different times; each must come out as if it were alone.
TEST(BeamSearch, SentencesDoNotSeeEachOther) {
  const LogitFunction logit = random_logits(3, 5);
  const std::vector<std::int64_t> longest = {3, 9, 1, 6, 12};
  BeamOptions options = options_of(LengthPenalty::wu, 0.6f, 3, 3);
  options.max_lengths = longest;
  TableModel model(kVocabulary, longest.size(), 3, logit), keeping(kVocabulary, longest.size(), 3, logit);
  const auto together = beam_search(model, options);
  keeping.make_drops_costly();
  const auto kept = beam_search(keeping, options);
  EXPECT_EQ(keeping.steps(), model.steps());
  EXPECT_EQ(model.drops(), 4);    // 5 sentences, then 4, 3, 2, 1
  EXPECT_EQ(keeping.drops(), 3);  // 5, then 4, 2, 1
  for (std::size_t i = 0; i < longest.size(); ++i) {
    options.max_lengths = {longest[i]};
    TableModel alone(kVocabulary, 1, 3,
                     [&](std::size_t, const Tokens& prefix, std::int32_t token) { return logit(i, prefix, token); });
    const auto single = beam_search(alone, options)[0];
    ASSERT_EQ(together[i].size(), single.size());
    for (std::size_t rank = 0; rank < single.size(); ++rank) {
      EXPECT_EQ(together[i][rank].tokens, single[rank].tokens);
      EXPECT_EQ(together[i][rank].score, single[rank].score);
      EXPECT_EQ(kept[i].at(rank).tokens, single[rank].tokens);
      EXPECT_EQ(kept[i].at(rank).score, single[rank].score);
      EXPECT_LE(static_cast<std::int64_t>(single[rank].tokens.size()), longest[i]);
      EXPECT_GE(single[rank > 0 ? rank - 1 : 0].score, single[rank].score);
    }
  }
}

// With nothing to choose by, the smaller token and the earlier beam win, whatever the batch; large vocabularies go
// through the test of whole blocks.
TEST(BeamSearch, EqualScoresGoToTheSmallerToken) {
  const std::int64_t vocabulary = 200;
  const LogitFunction flat = [](std::size_t, const Tokens&, std::int32_t) { return 0.5f; };
  BeamOptions options = options_of(LengthPenalty::wu, 0.6f, 2, 2);
  options.suppressed = {0, 1, 2};
  options.max_lengths = {2, 2};
  TableModel model(vocabulary, 2, 2, flat);
  for (const auto& found : beam_search(model, options)) {
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].tokens, (Tokens{3, 3}));
    EXPECT_EQ(found[1].tokens, (Tokens{3, 4}));
  }
}

// The likeliest token may stand anywhere, also behind the last whole block.
TEST(BeamSearch, LooksAtEveryToken) {
  const std::int64_t vocabulary = 150;
  for (std::int32_t wanted : {3, 63, 64, 127, 128, 149}) {
    TableModel model(vocabulary, 1, 2, [=](std::size_t, const Tokens& prefix, std::int32_t token) {
      return token == (prefix.empty() ? wanted : kEnd) ? 9.0f : 0.01f * static_cast<float>(token % 7);
    });
    BeamOptions options = options_of(LengthPenalty::wu, 0.6f, 2, 1);
    EXPECT_EQ(beam_search(model, options)[0][0].tokens, Tokens{wanted});
  }
}

TEST(BeamSearch, RefusesWhatCannotBe) {
  TableModel model(kVocabulary, 1, 2, random_logits(1, 1));
  EXPECT_THROW(beam_search(model, options_of(LengthPenalty::wu, 0.6f, 2, 3)), Error);
  BeamOptions options = options_of(LengthPenalty::wu, 0.6f, 2, 1);
  options.max_lengths = {0};
  EXPECT_THROW(beam_search(model, options), Error);
}

}  // namespace
}  // namespace attend::test
