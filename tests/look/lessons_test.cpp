// What the page teaches with, against the library: the end of a walk against candidates and draws, orders of tokens
// against the encoder, curves against the translator; and the shelf of models.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/data/synthetic/text_makers.h"
#include "attend/look/api/api.h"
#include "attend/look/api/lessons.h"
#include "attend/look/api/model_registry.h"
#include "attend/look/inspect/candidates.h"
#include "attend/look/inspect/translation.h"
#include "attend/tensor/sampling_params.h"
#include "tests/tensor/tensors.h"

namespace attend::look {
namespace {

using test::cpu;

constexpr const char* kSentence = "I am a student of music.";

class Lessons : public ::testing::Test {
 protected:
  TranslationInspector& inspector(const char* folder) {
    if (!inspector_) inspector_ = std::make_unique<TranslationInspector>(tasks::load_translator(folder, cpu()), cpu());
    return *inspector_;
  }

 private:
  std::unique_ptr<TranslationInspector> inspector_;
};

TEST_F(Lessons, AWalkEndsInTheCandidatesOfItsStep) {
  TranslationInspector& look = inspector("models/en-fr");
  const Inspection seen = look.inspect(kSentence);
  for (std::size_t step = 0; step < seen.steps.size(); ++step) {
    const Output end =
        look.output({.text = kSentence, .target = seen.target_ids, .token = static_cast<std::int64_t>(step)});
    const std::vector<Candidate>& candidates = seen.steps[step].candidates;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      EXPECT_EQ(end.words[i].id, candidates[i].id);
      EXPECT_FLOAT_EQ(end.words[i].probability, candidates[i].probability);
      EXPECT_NEAR(std::exp(end.logits[i] - end.log_sum), candidates[i].probability, 1e-6);
    }
    double sum = 0;
    for (const float logit : end.logits) sum += std::exp(static_cast<double>(logit - end.log_sum));
    EXPECT_NEAR(sum, 1, 1e-3);  // all but what is never written
  }
  EXPECT_TRUE(
      look.output({.text = kSentence, .target = seen.target_ids, .place = {"encoder", "self", 0}}).logits.empty());
  EXPECT_THROW(look.output({.text = kSentence, .target = seen.target_ids, .token = 99}), Error);
  EXPECT_THROW(look.output({.text = kSentence, .target = {-1}}), Error);
}

// The page computes p = exp(logit / T) over the k likeliest itself. That is the distribution a draw has: where u passes
// the sum of the first i probabilities, the token changes.
TEST_F(Lessons, ThePagesProbabilitiesAreThoseOfADraw) {
  TranslationInspector& look = inspector("models/en-fr");
  const Inspection seen = look.inspect(kSentence);
  const Output end = look.output({.text = kSentence, .target = seen.target_ids, .token = 1});
  constexpr int kCount = 5;
  const SamplingParams draw{.temperature = 0.7f, .top_k = kCount};
  const std::span<const float> logits = std::span(end.logits).first(kCount + 3);
  std::vector<float> weights;
  for (const float logit : logits) weights.push_back(std::exp((logit - logits[0]) / draw.temperature));
  double total = 0, before = 0;
  for (std::size_t i = 0; i < kCount; ++i) total += static_cast<double>(weights[i]);
  for (std::size_t i = 0; i + 1 < kCount; ++i) {
    before += static_cast<double>(weights[i]) / total;
    EXPECT_EQ(drawn_token(logits, weights, draw, before - 1e-9), static_cast<std::int32_t>(i));
    EXPECT_EQ(drawn_token(logits, weights, draw, before + 1e-9), static_cast<std::int32_t>(i + 1));
  }
}

TEST_F(Lessons, OrderIsAMatterOfPositions) {
  TranslationInspector& look = inspector("models/dates");
  const std::string text = "12/08/1956";
  const Json backwards = compare_orders(look, {.text = text});
  const auto number = [](const Json& json, const char* side, const char* name) {
    return json.at(side).at(name).get<double>();
  };
  EXPECT_LT(number(backwards, "without", "difference"), 1e-4 * number(backwards, "without", "largest"));
  EXPECT_GT(number(backwards, "with", "difference"), 0.1 * number(backwards, "with", "largest"));
  std::vector<std::int64_t> same;
  for (std::size_t i = 0; i < backwards.at("tokens").size(); ++i) same.push_back(static_cast<std::int64_t>(i));
  EXPECT_EQ(number(compare_orders(look, {.text = text, .order = same}), "with", "difference"), 0);
  EXPECT_THROW(compare_orders(look, {.text = text, .order = {0, 0}}), Error);
  EXPECT_THROW(compare_orders(look, {.text = text, .order = {0}}), Error);
  EXPECT_THROW(compare_orders(look, {.text = text, .order = {-1}}), Error);
}

TEST_F(Lessons, ARecurrentNetworkHandsOverOneVector) {
  const EncoderStates states = inspector("models/reverse-rnn-plain").states({.text = "rose lamp sea"});
  EXPECT_EQ(states.summary.size(), 128u);
  EXPECT_EQ(states.values.size(), states.tokens.size() * states.width);
}

TEST_F(Lessons, ACurveCountsWhatTheTranslatorGetsRight) {
  TranslationInspector& look = inspector("models/reverse-rnn-plain");
  constexpr std::int64_t kCount = 40;
  const Json curve = exact_by_length(look, "reverse", kCount);
  std::int64_t right = 0, lines = 0;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const data::TextPair pair =
        data::make_text({.kind = data::TextKind::reverse}, data::TextSet::test, static_cast<std::uint64_t>(i));
    const std::vector<std::string> line = {pair.source};
    right += look.loaded().translator.translate(line, {.beams = 1})[0].text() == pair.target ? 1 : 0;
  }
  EXPECT_EQ(curve.at("right").get<std::int64_t>(), right);
  for (const Json& length : curve.at("lengths")) lines += length.at("count").get<std::int64_t>();
  EXPECT_EQ(lines, kCount);
  EXPECT_THROW(exact_by_length(look, "klingon", 10), Error);
  EXPECT_THROW(exact_by_length(look, "reverse", 100000), Error);
}

TEST(Percent, IsNeverMoreThanItIs) {
  EXPECT_EQ(percent_of(0.9965f), "99.7 %");
  EXPECT_EQ(percent_of(0.99999f), "over 99.9 %");
  EXPECT_EQ(percent_of(1), "100 %");
  EXPECT_EQ(percent_of(0.5f), "50 %");
  EXPECT_EQ(percent_of(1e-6f), "under 0.1 %");
  EXPECT_EQ(percent_of(0), "0.0 %");
}

class Dates : public ModelRegistry::Opened {
 public:
  Dates()
      : inspector_(tasks::load_translator("models/dates", cpu()), cpu()),
        api_({.inspector = &inspector_}, {.name = "dates"}) {}
  Api& api() override { return api_; }

 private:
  TranslationInspector inspector_;
  Api api_;
};

TEST(ModelRegistries, OpenAModelWhenItIsLookedAt) {
  Dates first;
  int opened = 0;
  ModelRegistry shelf(first.api(), "mine", {{"dates", "dates to ISO"}, {"broken", ""}}, [&](const ModelEntry& model) {
    check(model.name == "dates", "it is broken");
    ++opened;
    return std::make_unique<Dates>();
  });
  const auto ask = [&](const std::string& path, const char* host = "localhost:1") {
    return shelf.handle({.method = "POST",
                         .path = path,
                         .host = host,
                         .content_type = "application/json",
                         .body = R"({"text": "3 March 1987"})"});
  };
  const http::Response list =
      shelf.handle({.method = "GET", .path = "/api/models", .host = "localhost", .content_type = {}, .body = {}});
  EXPECT_EQ(parse_json(list.body, "list").at("models").size(), 2u);
  EXPECT_EQ(opened, 0);
  EXPECT_EQ(parse_json(ask("/models/dates/api/inspect").body, "answer").at("text").text(), "1987-03-03");
  EXPECT_EQ(ask("/models/dates/api/inspect").body, ask("/api/inspect").body);
  EXPECT_EQ(ask("/models/mine/api/inspect").body, ask("/api/inspect").body);
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(ask("/models/broken/api/inspect").status, 400);
  EXPECT_EQ(ask("/models/other/api/inspect").status, 404);
  EXPECT_EQ(ask("/models/../api/inspect").status, 404);
  EXPECT_EQ(ask("/models/dates").status, 404);
  EXPECT_EQ(ask("/models/dates/api/inspect", "evil.example").status, 403);
  EXPECT_EQ(
      shelf.handle({.method = "GET", .path = "/api/models", .host = "evil.example", .content_type = {}, .body = {}})
          .status,
      403);
}

// Without a model: the numbers of the slide, and what a person may mistype.
TEST(WorkedNumbers, AreThoseOfTheCommand) {
  const Json slide = Api::worked({{"example", "slide"}});
  EXPECT_EQ(slide["scores"].dump(), "[[112.0,96.0]]");
  EXPECT_EQ(slide["scaled"].dump(), "[[14.0,12.0]]");
  EXPECT_NEAR(slide["weights"][0][0].get<double>(), 0.8808, 1e-4);
  EXPECT_EQ(slide["q"]["values"][0].size(), 64u);
  EXPECT_EQ(slide["steps"].size(), 4u);
  const Json typed = Api::worked({{"q", "a 1 0; b 0 1"}, {"k", "1 0\n0 1"}, {"v", "x; 1; 2"}, {"mask", "causal"}});
  EXPECT_EQ(typed["output"][0].dump(), "[1.0]");
  EXPECT_EQ(typed["visible"].dump(), "[[true,false],[true,true]]");
  const auto refused = [](const Json& request) {
    try {
      Api::worked(request);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused({{"q", "1 2; 3"}, {"k", "1 2"}, {"v", "1"}}), "q: row 2 has 1 numbers, row 1 has 2");
  EXPECT_EQ(refused({{"q", "1 2"}, {"k", "1 2"}}), "v: there are no numbers");
  EXPECT_NE(refused({{"q", "1 nan"}, {"k", "1 2"}, {"v", "1"}}).find("only finite numbers"), std::string::npos);
  EXPECT_NE(refused({{"q", "1*1e9"}, {"k", "1"}, {"v", "1"}}).find("repeats a number"), std::string::npos);
  EXPECT_NE(refused({{"q", "1*9000 1*9000"}, {"k", "1"}, {"v", "1"}}).find("more than 16384 numbers"),
            std::string::npos);
  std::string many;
  for (int i = 0; i < 200; ++i) many += "1;";
  EXPECT_NE(refused({{"q", many}, {"k", many}, {"v", many}}).find("too many for this page"), std::string::npos);
  for (const char* name : {"example", "score", "mask"})
    EXPECT_NE(refused({{"q", "1"}, {"k", "1"}, {"v", "1"}, {name, "none of these"}}), "") << name;
}

}  // namespace
}  // namespace attend::look
