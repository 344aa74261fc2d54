// Sampling: the same draws whatever the batch, and the frequencies that were asked for.
#include "attend/decode/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "attend/base/error.h"
#include "tests/decode/table_model.h"

namespace attend::test {
namespace {

using decode::Hypothesis;
using decode::SampleOptions;

SampleOptions options_of(std::vector<std::int64_t> max_lengths) {
  return {.start = 1, .end = 2, .suppressed = {0, 1}, .max_lengths = std::move(max_lengths)};
}

TEST(Sample, DoesNotDependOnTheBatch) {
  const LogitFunction logit = random_logits(5, 3);
  SampleOptions options = options_of({8, 3, 12, 8});
  options.samples = 3, options.numbers = {40, 41, 42, 43};
  TableModel model(6, 4, 3, logit);
  const auto together = sample(model, options);
  for (std::size_t i = 0; i < 4; ++i) {
    SampleOptions one = options_of({options.max_lengths[i]});
    one.samples = 3, one.numbers = {options.numbers[i]};
    TableModel alone(6, 1, 3,
                     [&](std::size_t, const Tokens& prefix, std::int32_t token) { return logit(i, prefix, token); });
    const auto single = sample(alone, one)[0];
    ASSERT_EQ(single.size(), 3u);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(single[rank].tokens, together[i][rank].tokens);
      EXPECT_EQ(single[rank].score, together[i][rank].score);
      EXPECT_GE(single[rank > 0 ? rank - 1 : 0].score, single[rank].score);
      for (std::int32_t token : single[rank].tokens) EXPECT_GT(token, 2);
    }
  }
}

TEST(Sample, TheSeedDecides) {
  const auto with_seed = [](std::uint64_t seed) {
    SampleOptions options = options_of({20});
    options.seed = seed;
    TableModel model(50, 1, 1, random_logits(2, 1));
    return sample(model, options)[0][0].tokens;
  };
  EXPECT_EQ(with_seed(1), with_seed(1));
  EXPECT_NE(with_seed(1), with_seed(2));
}

// The first token of many sentences: their share is softmax(logits / temperature) of those that may be drawn.
TEST(Sample, FrequenciesAreTheProbabilities) {
  const std::vector<float> logits = {9, 9, -2, 0.0f, 1.0f, 2.0f, 0.5f};
  const std::size_t count = 20000;
  for (const auto& [temperature, top_k] : std::map<float, std::int64_t>{{1.0f, 0}, {0.5f, 3}}) {
    SampleOptions options = options_of(std::vector<std::int64_t>(count, 1));
    options.temperature = temperature, options.top_k = top_k;
    TableModel model(7, count, 1, [&](std::size_t, const Tokens&, std::int32_t token) {
      return logits[static_cast<std::size_t>(token)];
    });
    std::map<std::int32_t, double> share;
    for (const auto& found : sample(model, options))
      share[found[0].finished ? 2 : found[0].tokens[0]] += 1.0 / static_cast<double>(count);
    const std::vector<std::int32_t> possible = top_k ? std::vector<std::int32_t>{4, 5, 6} : std::vector{2, 3, 4, 5, 6};
    double sum = 0;
    const auto weight = [&logits, temperature = temperature](std::int32_t id) {
      return std::exp(static_cast<double>(logits[static_cast<std::size_t>(id)] / temperature));
    };
    for (std::int32_t id : possible) sum += weight(id);
    EXPECT_LE(share.size(), possible.size());
    for (std::int32_t id : possible) EXPECT_NEAR(share[id], weight(id) / sum, 0.015) << id;
  }
}

TEST(Sample, OneCandidateIsGreedy) {
  const LogitFunction logit = random_logits(8, 4);
  SampleOptions options = options_of({10});
  options.top_k = 1;
  TableModel model(6, 1, 1, logit);
  Tokens greedy;
  while (greedy.size() < 10) {
    std::int32_t best = 2;
    for (std::int32_t token = 3; token < 6; ++token)
      if (logit(0, greedy, token) > logit(0, greedy, best)) best = token;
    if (best == 2) break;
    greedy.push_back(best);
  }
  EXPECT_EQ(sample(model, options)[0][0].tokens, greedy);
}

TEST(Sample, RefusesWhatCannotBe) {
  TableModel model(6, 1, 1, random_logits(8, 4));
  SampleOptions options = options_of({10});
  options.temperature = 0;
  EXPECT_THROW(sample(model, options), Error);
  options.temperature = 1, options.top_k = -1;
  EXPECT_THROW(sample(model, options), Error);
  options.top_k = 0, options.suppressed = {0, 1, 2, 3, 4, 5};
  EXPECT_THROW(sample(model, options), Error);
}

// How often each first token is drawn, out of many.
std::map<std::int32_t, double> shares(const std::vector<float>& logits, SampleOptions options) {
  const std::size_t count = 20000;
  options.max_lengths.assign(count, 1);
  TableModel model(
      static_cast<std::int64_t>(logits.size()), count, 1,
      [&](std::size_t, const Tokens&, std::int32_t token) { return logits[static_cast<std::size_t>(token)]; });
  std::map<std::int32_t, double> share;
  for (const auto& found : sample(model, options))
    share[found[0].finished ? options.end : found[0].tokens[0]] += 1.0 / static_cast<double>(count);
  return share;
}

TEST(Sample, TopPKeepsTheSmallestSetThatHoldsIt) {
  // Probabilities 0.5, 0.3, 0.15, 0.05 of tokens 3 to 6.
  const std::vector<float> logits = {0, 0, -99, std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)};
  SampleOptions options = options_of({});
  options.top_p = 0.79f;  // 0.5 is not enough, 0.8 is
  auto share = shares(logits, options);
  EXPECT_NEAR(share[3], 0.5 / 0.8, 0.02);
  EXPECT_NEAR(share[4], 0.3 / 0.8, 0.02);
  EXPECT_EQ(share[5] + share[6], 0);
  options.top_p = 0.4f;  // never none
  EXPECT_NEAR(shares(logits, options)[3], 1, 1e-9);
}

TEST(Sample, MinPIsAShareOfTheLikeliest) {
  const std::vector<float> logits = {0, 0, -99, std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)};
  SampleOptions options = options_of({});
  options.min_p = 0.25f;  // of 0.5: 0.125
  auto share = shares(logits, options);
  EXPECT_NEAR(share[5], 0.15 / 0.95, 0.02);
  EXPECT_EQ(share[6], 0);
}

TEST(Sample, RepetitionIsPenalised) {
  // Greedy, the same logits every time: a positive one is divided, a negative one multiplied, once, by the penalty.
  const std::vector<float> logits = {0, 0, -99, 3.0f, 2.0f, -0.5f, -0.9f};
  SampleOptions options = options_of({6});
  options.top_k = 1, options.repetition_penalty = 2;
  const LogitFunction logit = [&](std::size_t, const Tokens&, std::int32_t token) {
    return logits[static_cast<std::size_t>(token)];
  };
  TableModel model(7, 1, 1, logit);
  EXPECT_EQ(sample(model, options)[0][0].tokens, (Tokens{3, 4, 3, 3, 3, 3}));  // 3 -> 1.5, 4 -> 1
  options.prompt = {3};
  TableModel again(7, 1, 1, logit);
  EXPECT_EQ(sample(again, options)[0][0].tokens, (Tokens{4, 3, 3, 3, 3, 3}));
}

TEST(Sample, StopEndsATextThere) {
  SampleOptions options = options_of({10});
  options.stop = [](std::size_t, std::size_t, std::span<const std::int32_t> written) { return written.size() == 4; };
  TableModel model(50, 1, 1, random_logits(2, 1));
  const Hypothesis found = sample(model, options)[0][0];
  EXPECT_LE(found.tokens.size(), 4u);
  EXPECT_TRUE(found.finished);
}

}  // namespace
}  // namespace attend::test
