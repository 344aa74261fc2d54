// Every score that sacreBLEU 2.6 gave to the fixture's corpora, to 1e-6.
#include <gtest/gtest.h>

#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/metrics/bleu.h"
#include "attend/metrics/chrf.h"
#include "attend/metrics/ter.h"
#include "tests/base/fixtures.h"

namespace attend::metrics {
namespace {

constexpr double kTolerance = 1e-6;

struct Corpus {
  std::vector<std::string> hypotheses;
  std::vector<std::vector<std::string>> references;  // [reference][segment]

  void add_to(Metric& metric, std::size_t use) const {
    for (std::size_t i = 0; i < hypotheses.size(); ++i) {
      std::vector<std::string_view> segment;
      for (std::size_t r = 0; r < use; ++r) segment.push_back(references[r][i]);
      metric.add(hypotheses[i], segment);
    }
  }
};

// Calls run(corpus, scores) for each case of the file.
template <class Run>
void for_each_case(Run run) {
  const std::optional<Json> file = test::fixture_json("text", "sacrebleu.cases.json");
  if (!file) GTEST_SKIP() << test::kNoFixture;
  ASSERT_EQ(file->at("version"), kSacreBleuVersion);
  int number = 0;
  for (const Json& item : file->at("cases")) {
    SCOPED_TRACE(testing::Message() << "case " << number++);
    run(Corpus{item.at("hypotheses").get<std::vector<std::string>>(),
               item.at("references").get<std::vector<std::vector<std::string>>>()},
        item.at("scores"));
  }
  EXPECT_TRUE(number == 8 || (test::fixtures_given() && number > 0)) << number;
}

// "bleu 13a lowercase=False refs=1"
struct BleuKey {
  std::string tokenizer;
  bool lowercase = false;
  std::size_t references = 1;
};
std::optional<BleuKey> bleu_key(const std::string& key) {
  static const std::regex kForm("bleu ([a-z0-9]+) lowercase=(True|False) refs=([0-9]+)");
  std::smatch parts;
  if (!std::regex_match(key, parts, kForm)) return std::nullopt;
  return BleuKey{parts[1], parts[2] == "True", std::stoul(parts[3])};
}

TEST(SacreBleu, BleuOfEveryTokenizerAgrees) {
  std::set<std::string> tokenizers;
  int compared = 0;
  for_each_case([&](const Corpus& corpus, const Json& scores) {
    for (const auto& [name, expected] : scores.items()) {
      const std::optional<BleuKey> key = bleu_key(name);
      EXPECT_TRUE(key || !name.starts_with("bleu")) << name;
      if (!key) continue;
      SCOPED_TRACE(name);
      ASSERT_LE(key->references, corpus.references.size());
      Bleu bleu({.tokenizer = tokenizer_named(key->tokenizer), .lowercase = key->lowercase});
      corpus.add_to(bleu, key->references);
      const BleuScore score = bleu.score();
      EXPECT_NEAR(score.score, expected.at("score").get<double>(), kTolerance);
      tokenizers.insert(key->tokenizer);
      ++compared;
      if (!expected.contains("bp")) continue;
      EXPECT_NEAR(score.brevity_penalty, expected.at("bp").get<double>(), kTolerance);
      EXPECT_EQ(score.hypothesis_length, expected.at("sys_len").get<std::int64_t>());
      EXPECT_EQ(score.reference_length, expected.at("ref_len").get<std::int64_t>());
      for (int i = 0; i < 4; ++i)
        EXPECT_NEAR(score.precisions[i], expected.at("precisions")[i].get<double>(), kTolerance);
    }
  });
  if (test::fixtures_given()) return;
  EXPECT_EQ(tokenizers, (std::set<std::string>{"13a", "char", "intl", "none"}));
  EXPECT_EQ(compared, 8 * 16);
}

TEST(SacreBleu, ChrfAgrees) {
  for_each_case([](const Corpus& corpus, const Json& scores) {
    Chrf chrf, chrf_with_words({.word_order = 2});
    corpus.add_to(chrf, 1);
    corpus.add_to(chrf_with_words, 1);
    EXPECT_NEAR(chrf.score(), scores.at("chrf2").get<double>(), kTolerance);
    EXPECT_NEAR(chrf_with_words.score(), scores.at("chrf2++").get<double>(), kTolerance);
  });
}

TEST(SacreBleu, TerAgrees) {
  for_each_case([](const Corpus& corpus, const Json& scores) {
    Ter ter;
    corpus.add_to(ter, 1);
    EXPECT_NEAR(ter.score(), scores.at("ter").get<double>(), kTolerance);
  });
}

TEST(SacreBleu, SentenceBleuAgrees) {
  for_each_case([](const Corpus& corpus, const Json& scores) {
    const Json& expected = scores.at("sentence_bleu_exp");
    ASSERT_EQ(expected.size(), corpus.hypotheses.size());
    Bleu bleu({.effective_order = true});
    for (std::size_t i = 0; i < expected.size(); ++i) {
      bleu.clear();
      bleu.add(corpus.hypotheses[i], {corpus.references[0][i]});
      EXPECT_NEAR(bleu.score().score, expected[i].get<double>(), kTolerance) << i;
    }
  });
}

}  // namespace
}  // namespace attend::metrics
