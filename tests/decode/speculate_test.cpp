// Speculative decoding: the text is that of decoding token by token, whatever is guessed, and guesses are tried only
// where they pay.
#include "attend/decode/speculate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>

#include "attend/base/error.h"
#include "attend/base/random.h"
#include "attend/decode/draft_model.h"
#include "attend/decode/prompt_lookup.h"
#include "attend/decode/sample.h"
#include "attend/decode/speculation_pace.h"
#include "attend/models/gpt2.h"
#include "attend/nn/causal_decoder.h"
#include "attend/nn/causal_text.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using Ids = std::vector<std::int32_t>;
using decode::SampleOptions;
using decode::Speculated;

constexpr std::int64_t kGuessedTokens = 61, kLongestGuessed = 160;

models::GPT2Config guessed_config(std::int64_t layers, const std::string& positions = "learned") {
  models::GPT2Config config;
  config.vocabulary = kGuessedTokens, config.max_length = kLongestGuessed;
  config.width = 32, config.layers = layers, config.heads = 4;
  config.init_deviation = 0.25f, config.positions = positions;
  return config;
}

// A model, and the same with weights in another form.
struct Small {
  Small(Backend& backend, const models::GPT2Config& config, std::uint64_t seed, DType dtype = DType::f32)
      : model(config), parameters(backend, model, {.dtype = dtype, .seed = seed, .trained = false}) {}
  Small(Backend& backend, const Small& other, nn::WeightForm form)
      : model(other.model.body().config()),
        parameters(backend, model, {.trained = false, .initialized = false, .weights = form}) {
    for (std::size_t i = 0; i < parameters.entries().size(); ++i)
      parameters.write(parameters.entries()[i], other.parameters.read(other.parameters.entries()[i]));
  }
  models::GPT2LanguageModel model;
  nn::Parameters parameters;
};

Ids guessed_ids(std::size_t count, std::uint32_t stream) {
  Ids ids;
  for (std::size_t i = 0; i < count; ++i)
    ids.push_back(static_cast<std::int32_t>(random_word(9, stream, i) % kGuessedTokens));
  return ids;
}

// Guesses that are mostly right: the true text, with every seventh token changed.
class Oracle : public decode::Drafter {
 public:
  Oracle(Ids text, std::size_t wrong) : text_(std::move(text)), wrong_(wrong) {}
  decode::Guess guess(std::span<const std::int32_t> text, std::size_t most) override {
    decode::Guess guess;
    for (std::size_t i = text.size(); i < text_.size() && guess.tokens.size() < most; ++i)
      guess.tokens.push_back(i % wrong_ == 0 ? (text_[i] + 1) % static_cast<std::int32_t>(kGuessedTokens) : text_[i]);
    return guess;
  }
  std::span<const double> kinds() const override { return kShares; }
  bool is_free() const override { return true; }

 private:
  static constexpr double kShares[] = {0.9};
  Ids text_;
  std::size_t wrong_;
};

// A clock that counts: a step costs the same whatever it reads.
std::function<double()> counting_clock() {
  return [now = std::make_shared<double>(0)] { return *now += 1; };
}

class Speculating : public OnDevice {
 protected:
  static SampleOptions options(const Ids& prompt, std::int64_t tokens) {
    return {
        .top_k = 1, .prompt = prompt, .start = prompt.back(), .end = -1, .suppressed = {3}, .max_lengths = {tokens}};
  }
  decode::Hypothesis plain(const models::GPT2LanguageModel& model, const SampleOptions& options) {
    Pass pass(backend());
    const auto decoder = model.start(pass, nn::row_of(backend(), options.prompt), 1, options.max_lengths[0]);
    return decode::sample(*decoder, options).front().front();
  }
  Speculated ahead(const models::GPT2LanguageModel& model, decode::Drafter& drafter, const SampleOptions& options) {
    const auto text = model.text(backend(), kLongestGuessed);
    return decode::speculate(*text, drafter, options, {.clock = counting_clock()});
  }
};

// On a GPU the kernels of one and of several tokens round differently, so only the CPU promises the same bits.
TEST_P(Speculating, WritesTheTextOfDecodingTokenByToken) {
  const bool same_bits = backend().on_host();
  for (const char* positions : {"learned", "rotary", "sinusoidal"})
    for (const nn::WeightForm form : {nn::WeightForm::f32, nn::WeightForm::bf16, nn::WeightForm::int8}) {
      const Small plain_weights(backend(), guessed_config(3, positions), 4, same_bits ? DType::f32 : DType::bf16);
      const Small packed(backend(), plain_weights, same_bits ? form : nn::WeightForm::plain);
      const Small& small = same_bits ? packed : plain_weights;
      for (std::uint32_t n = 0; n < 6; ++n) {
        SampleOptions how = options(guessed_ids(1 + 7 * n, n), 60);
        if (n % 3 == 1) how.top_k = 20, how.temperature = 0.7f, how.top_p = 0.95f, how.seed = n;
        if (n % 3 == 2) how.top_k = 0, how.repetition_penalty = 1.3f, how.seed = n;
        const decode::Hypothesis expected = plain(small.model, how);
        Ids whole = how.prompt;
        whole.insert(whole.end(), expected.tokens.begin(), expected.tokens.end());
        Oracle oracle(whole, 7);
        decode::PromptLookup lookup;
        for (decode::Drafter* drafter :
             {static_cast<decode::Drafter*>(&oracle), static_cast<decode::Drafter*>(&lookup)}) {
          const Speculated found = ahead(small.model, *drafter, how);
          EXPECT_LE(found.right, found.guessed);
          EXPECT_EQ(found.steps + found.right, 60) << "every step writes one token and those that were guessed";
          EXPECT_TRUE(found.guessed > 0 || drafter != &oracle) << "guesses are tried";
          if (!same_bits) continue;
          EXPECT_TRUE(found.steps < 36 || drafter != &oracle) << "and they are right";
          EXPECT_EQ(found.hypothesis.tokens, expected.tokens) << positions << " " << n;
          EXPECT_EQ(found.hypothesis.score, expected.score);
        }
      }
    }
}

// Logits behind several tokens at once, on any device, are those of a forward pass over the whole text, also after
// tokens were taken back.
TEST_P(Speculating, SeveralTokensAtOnceHaveTheScoresOfTheWholeText) {
  const Small small(backend(), guessed_config(2), 6);
  const Ids ids = guessed_ids(40, 3);
  Pass pass(backend());
  const std::vector<float> whole = download(small.model.logits({.ids = pass.input(nn::row_of(backend(), ids))}));
  nn::CausalText text(small.model.body(), backend(), 64);
  text.read(std::span(ids).first(5), {});
  for (const auto& [begin, count] : {std::pair(5, 4), {7, 1}, {8, 8}, {10, 2}, {12, 4}, {16, 8}, {24, 16}, {30, 4}}) {
    if (begin < text.length()) text.keep(begin);
    ASSERT_EQ(text.length(), begin);
    const auto scores =
        text.read(std::span(ids).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count)), {});
    ASSERT_EQ(scores.logits.size(), static_cast<std::size_t>(count * kGuessedTokens));
    const auto expected =
        std::span(whole).subspan(static_cast<std::size_t>(begin * kGuessedTokens), scores.logits.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(scores.logits[i], expected[i], 2e-4f * (1 + std::abs(expected[i]))) << begin << " " << i;
  }
  EXPECT_THROW(text.keep(0), Error);
  EXPECT_THROW(text.read(ids, {}), Error);  // no room
}

TEST_P(Speculating, ADraftModelGuesses) {
  if (!backend().on_host()) GTEST_SKIP() << "only the CPU promises the same bits";
  const Small large(backend(), guessed_config(3), 4);
  for (const std::uint64_t seed : {4, 5}) {  // the model itself, and another
    const Small draft(backend(), guessed_config(3), seed);
    for (const bool greedy : {true, false}) {
      SampleOptions how = options(guessed_ids(9, 1), 80);
      if (!greedy) how.top_k = 0, how.seed = 11;
      const auto small = draft.model.text(backend(), kLongestGuessed);
      decode::DraftModel drafter(*small, how);
      const Speculated found = ahead(large.model, drafter, how);
      EXPECT_EQ(found.hypothesis.tokens, plain(large.model, how).tokens);
      if (seed == 4) {
        EXPECT_EQ(found.right, found.guessed) << "a model agrees with itself";
      }
      EXPECT_EQ(found.steps + found.right, 80);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Speculating, every_device(), name_of_device);

// A Markov chain: the next token depends on the newest alone, so the distribution of every position is exactly known.
class Chain : public nn::TextModel {
 public:
  Chain(std::uint64_t seed, float spread) : seed_(seed), spread_(spread) {}
  static constexpr std::size_t kStates = 4;
  std::int64_t vocabulary() const override { return kStates; }
  std::int64_t room() const override { return 1000; }
  std::int64_t length() const override { return length_; }
  std::int64_t suppress(std::span<const std::int32_t>) override { return kStates; }
  float logit(std::int32_t from, std::size_t to) const {
    return spread_ * to_unit(random_word(seed_, static_cast<std::uint32_t>(from), to));
  }
  std::vector<double> next(std::int32_t from) const {
    std::vector<double> p;
    double sum = 0;
    for (std::size_t to = 0; to < kStates; ++to) sum += p.emplace_back(std::exp(static_cast<double>(logit(from, to))));
    for (double& x : p) x /= sum;
    return p;
  }
  nn::StepModel::Scores read(std::span<const std::int32_t> tokens, const nn::StepModel::Wanted&) override {
    const std::size_t rows = length_ == 0 ? 1 : tokens.size();
    length_ += static_cast<std::int64_t>(tokens.size());
    logits_.clear(), log_sums_.assign(rows, 0);
    for (const std::int32_t token : tokens.last(rows))
      for (std::size_t to = 0; to < kStates; ++to) logits_.push_back(logit(token, to));
    return {logits_, log_sums_};
  }
  void keep(std::int64_t length) override { length_ = length; }

 private:
  std::uint64_t seed_;
  float spread_;
  std::int64_t length_ = 0;
  std::vector<float> logits_, log_sums_;
};

// The shares of the pairs of tokens at two positions, of many samples with guesses, against their probabilities.
double chi_square(const std::function<Speculated(const SampleOptions&)>& sample, const Chain& chain, int samples) {
  constexpr std::size_t kPosition = 9, kStates = Chain::kStates;
  std::vector<double> at(kStates), counts(kStates * kStates);
  at[1] = 1;  // the prompt
  for (std::size_t i = 0; i <= kPosition; ++i) {
    std::vector<double> after(kStates);
    for (std::size_t from = 0; from < kStates; ++from)
      for (std::size_t to = 0; to < kStates; ++to)
        after[to] += at[from] * chain.next(static_cast<std::int32_t>(from))[to];
    at = after;
  }
  for (int i = 0; i < samples; ++i) {
    const Speculated found =
        sample({.prompt = {1}, .seed = static_cast<std::uint64_t>(i), .start = 1, .end = -1, .max_lengths = {12}});
    const auto id = [&](std::size_t place) { return static_cast<std::size_t>(found.hypothesis.tokens.at(place)); };
    ++counts[id(kPosition) * kStates + id(kPosition + 1)];
  }
  double sum = 0;
  for (std::size_t from = 0; from < kStates; ++from)
    for (std::size_t to = 0; to < kStates; ++to) {
      const double expected = samples * at[from] * chain.next(static_cast<std::int32_t>(from))[to];
      sum += std::pow(counts[from * kStates + to] - expected, 2) / expected;
    }
  return sum;
}

// 15 degrees of freedom: a right distribution is above 37.7 once in a thousand times.
TEST(SpeculatingSamples, HaveTheDistributionOfTheModel) {
  constexpr int kSamples = 20000;
  constexpr double kLimit = 37.7;
  const Chain chain(3, 2.5f);
  std::int64_t guessed = 0, right = 0;
  const auto counted = [&](Speculated found) {
    guessed += found.guessed, right += found.right;
    return found;
  };
  const auto by_lookup = [&](const SampleOptions& options) {
    Chain model = chain;
    decode::PromptLookup lookup;
    return counted(decode::speculate(model, lookup, options, {.clock = counting_clock()}));
  };
  EXPECT_LT(chi_square(by_lookup, chain, kSamples), kLimit);
  EXPECT_GT(guessed, kSamples);
  EXPECT_LT(right, guessed);
  guessed = right = 0;
  const auto by_draft = [&](const SampleOptions& options) {
    Chain model = chain, small(4, 2.5f);  // another distribution
    decode::DraftModel drafter(small, options);
    return counted(decode::speculate(model, drafter, options, {.clock = counting_clock()}));
  };
  EXPECT_LT(chi_square(by_draft, chain, kSamples), kLimit);
  EXPECT_GT(guessed, kSamples);
  EXPECT_LT(right, guessed);
  // The test sees a difference: samples of the draft itself are far off.
  const auto of_draft = [&](const SampleOptions& options) {
    Chain small(4, 2.5f);
    decode::PromptLookup lookup;
    return decode::speculate(small, lookup, options);
  };
  EXPECT_GT(chi_square(of_draft, chain, 2000), 10 * kLimit);
}

TEST(PromptLookup, GuessesWhatFollowedTheLongestMatch) {
  decode::PromptLookup lookup;
  const auto guess = [&](const Ids& text, std::size_t most) { return lookup.guess(text, most).tokens; };
  EXPECT_EQ(guess({1, 2, 3, 9, 2, 3, 8, 1, 2, 3}, 2), (Ids{9, 2}));  // three tokens match at the beginning
  EXPECT_EQ(guess({5, 3, 9, 7, 3, 8, 4, 3}, 3), (Ids{8, 4, 3}));     // one matches twice: the latest
  EXPECT_EQ(guess({1, 2, 1, 2, 1, 2}, 5), (Ids{1, 2, 1, 2, 1}));     // goes on behind the end
  EXPECT_EQ(guess({7, 7}, 3), (Ids{7, 7, 7}));
  EXPECT_TRUE(guess({1, 2, 3}, 4).empty());
  EXPECT_TRUE(guess({1}, 4).empty());
  EXPECT_EQ(lookup.guess(Ids{1, 2, 3, 9, 1, 2, 3}, 2).kind, 2u);
}

// Costs as a machine might have them: a step of n tokens takes `step` · (1 + each · (n - 1)).
decode::SpeculationPace paced(double share, double each, std::size_t most = 15) {
  const double kinds[] = {0.5};
  decode::SpeculationPace pace(kinds, most);
  for (int i = 0; i < 10; ++i)
    for (const std::size_t tokens : {1, 2, 4, 8, 16})
      pace.step_took(tokens, 1 + each * static_cast<double>(tokens - 1));
  for (int i = 0; i < 1000; ++i)
    pace.compared(0, 1, random_word(1, 2, static_cast<std::uint64_t>(i)) % 1000 < share * 1000);
  return pace;
}

TEST(SpeculationPace, GuessesAsManyTokensAsPay) {
  EXPECT_EQ(paced(0.95, 0.01).tokens(0, 15), 15u);
  EXPECT_EQ(paced(0.95, 0.01).tokens(0, 9), 7u);
  EXPECT_EQ(paced(0.95, 0.01, 3).tokens(0, 15), 3u);
  EXPECT_EQ(paced(0.1, 0.5).tokens(0, 15), 0u);   // a token costs half a step and is right once in ten times
  EXPECT_EQ(paced(0.95, 1.0).tokens(0, 15), 0u);  // no step is saved where tokens cost as much as steps
  EXPECT_LE(paced(0.5, 0.1).tokens(0, 15), 3u);
  const double kinds[] = {0.9};
  EXPECT_EQ(decode::SpeculationPace(kinds, 15).tokens(0, 15), 0u);  // nothing is measured yet
}

// Guesses that are always wrong cost 1.4 steps each: they may take 3 % of the time, the last of them included. Right
// ones grow at once.
TEST(SpeculationPace, CostlyGuessesLoseLittleAndGrowWhileTheyAreRight) {
  decode::SpeculationPace wrong = paced(0.02, 0.4);
  int tries = 0;
  for (int step = 0; step < 1000; ++step) {
    const std::size_t guessed = wrong.tokens_of_costly(15);
    ASSERT_LE(guessed, 1u);
    tries += static_cast<int>(guessed);
    wrong.guess_took(guessed, 1);
    wrong.wrote(guessed, 1, guessed > 0 ? 2.4 : 1);
  }
  EXPECT_GE(tries, 19);
  EXPECT_LE(tries, 23);
  decode::SpeculationPace right = paced(0.98, 0.02);
  std::vector<std::size_t> lengths;
  for (int step = 0; step < 5; ++step) {
    lengths.push_back(right.tokens_of_costly(15));
    right.wrote(lengths.back(), lengths.back() + 1, 1.5);
  }
  EXPECT_EQ(lengths, (std::vector<std::size_t>{1, 3, 7, 15, 15}));
}

}  // namespace
}  // namespace attend::test
