// The metrics on sentences small enough to work out by hand, and on those that invite trouble. Figures with many digits
// are sacreBLEU 2.6's.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/metrics/bleu.h"
#include "attend/metrics/chrf.h"
#include "attend/metrics/ter.h"

namespace attend::metrics {
namespace {

template <class M>
auto score_of(M metric, std::string_view hypothesis, std::initializer_list<std::string_view> references) {
  metric.add(hypothesis, references);
  return metric.score();
}

TEST(Bleu, PapinenisExampleIsClipped) {
  const BleuScore score =
      score_of(Bleu(), "the the the the the the the", {"the cat is on the mat", "there is a cat on the mat"});
  EXPECT_EQ(score.correct[0], 2);
  EXPECT_EQ(score.total[0], 7);
  EXPECT_EQ(score.correct[1], 0);
  EXPECT_EQ(score.reference_length, 7);
}

TEST(Bleu, TheNearestReferenceGivesTheLengthAndTheShorterWins) {
  EXPECT_EQ(score_of(Bleu(), "a b c d", {"a b", "a b c d e f", "a b c"}).reference_length, 3);
  EXPECT_EQ(score_of(Bleu(), "a b c d", {"a b c d e", "a b c"}).reference_length, 3);
}

TEST(Bleu, SmoothingMethods) {
  const auto smoothed = [](Smoothing smoothing, std::optional<double> value = {}) {
    return score_of(Bleu({.smoothing = smoothing, .smooth_value = value}), "a b c d e", {"a b x d y"}).score;
  };
  EXPECT_EQ(smoothed(Smoothing::kNone), 0);
  // Precisions 3/5, 1/4, 0/3, 0/2.
  EXPECT_NEAR(smoothed(Smoothing::kExponential), 100 * std::pow(0.6 * 0.25 * (1 / 6.) * (1 / 8.), 0.25), 1e-9);
  EXPECT_NEAR(smoothed(Smoothing::kFloor), 100 * std::pow(0.6 * 0.25 * (0.1 / 3) * (0.1 / 2), 0.25), 1e-9);
  EXPECT_NEAR(smoothed(Smoothing::kFloor, 0.5), 100 * std::pow(0.6 * 0.25 * (0.5 / 3) * (0.5 / 2), 0.25), 1e-9);
  EXPECT_NEAR(smoothed(Smoothing::kAddK), 100 * std::pow(0.6 * (2 / 5.) * (1 / 4.) * (1 / 3.), 0.25), 1e-9);
}

TEST(Bleu, ShortSentencesNeedTheEffectiveOrder) {
  EXPECT_EQ(score_of(Bleu(), "a b", {"a b"}).score, 0);
  EXPECT_NEAR(score_of(Bleu({.effective_order = true}), "a b", {"a b"}).score, 100, 1e-9);
}

TEST(Bleu, EmptyTextScoresZero) {
  EXPECT_EQ(Bleu().score().score, 0);
  EXPECT_EQ(score_of(Bleu(), "", {"a b"}).score, 0);
  EXPECT_EQ(score_of(Bleu(), "", {"a b"}).brevity_penalty, 0);
  EXPECT_EQ(score_of(Bleu(), "a b", {""}).score, 0);
  EXPECT_EQ(score_of(Bleu(), "", {""}).score, 0);
}

TEST(Bleu, ReportIsSacreBleusLine) {
  Bleu bleu({.lowercase = true, .smoothing = Smoothing::kFloor});
  bleu.add("The cat sat on the mat.", {"the cat sat on a mat.", "A cat is on the mat."});
  EXPECT_EQ(report_line(bleu.report(), 2),
            "BLEU|nrefs:2|case:lc|eff:no|tok:13a|smooth:floor[0.10]|version:2.6.0 = 76.52 85.7/100.0/80.0/50.0 "
            "(BP = 1.000 ratio = 1.000 hyp_len = 7 ref_len = 7)");
  bleu.add("x", {"x"});
  EXPECT_EQ(bleu.report().signature[0].second, "var");
  bleu.clear();
  bleu.add("x", {"x"});
  EXPECT_EQ(bleu.report().signature[0].second, "1");
}

TEST(Bleu, CorpusBleuWantsAsManyReferences) {
  const std::vector<std::string> two = {"a b c d", "e f g h"}, one = {"a b c d"};
  EXPECT_NEAR(corpus_bleu(two, two).score, 100, 1e-9);
  EXPECT_THROW(corpus_bleu(two, one), Error);
}

TEST(Metric, RefusesWhatItCannotScore) {
  EXPECT_THROW(score_of(Bleu(), "a", {}), Error);
  EXPECT_THROW(score_of(Chrf(), "\xFF", {"a"}), Error);
  EXPECT_THROW(score_of(Ter(), "a", {"a", "\xFF"}), Error);
  EXPECT_THROW(Bleu({.max_order = 0}), Error);
  EXPECT_THROW(Bleu({.smooth_value = -1}), Error);
  EXPECT_THROW(Chrf({.char_order = 0}), Error);
  EXPECT_THROW(Chrf({.char_order = -1}), Error);
}

TEST(Chrf, CharactersWordsAndCase) {
  EXPECT_NEAR(score_of(Chrf(), "a b c", {"abc"}), 100, 1e-9);
  EXPECT_LT(score_of(Chrf({.whitespace = true}), "a b c", {"abc"}), 100);
  EXPECT_LT(score_of(Chrf({.word_order = 2}), "a b c", {"abc"}), 100);
  EXPECT_LT(score_of(Chrf(), "ABC", {"abc"}), 1);
  EXPECT_NEAR(score_of(Chrf({.lowercase = true}), "ÀBC", {"àbc"}), 100, 1e-9);
  // Precision 3/3, recall 3/4 in single characters.
  EXPECT_NEAR(score_of(Chrf({.char_order = 1}), "abc", {"abcd"}), 100 * 5 * 0.75 / 4.75, 1e-9);
  EXPECT_NEAR(score_of(Chrf({.char_order = 1, .beta = 1}), "abc", {"abcd"}), 100 * 2 * 0.75 / 1.75, 1e-9);
  EXPECT_NEAR(score_of(Chrf(), "abc", {"xyz", "abc"}), 100, 1e-9);
  EXPECT_EQ(score_of(Chrf(), "", {""}), 0);
  EXPECT_EQ(score_of(Chrf(), "a", {""}), 0);
}

TEST(Chrf, ReportNamesTheVariant) {
  Chrf chrf({.word_order = 2});
  chrf.add("(hi)", {"(hi)"});
  EXPECT_EQ(report_line(chrf.report(), 1),
            "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|version:2.6.0 = 100.0");
}

TEST(Ter, CountsEditsAndMoves) {
  EXPECT_NEAR(score_of(Ter(), "a b c d", {"a b c d"}), 0, 1e-9);
  EXPECT_NEAR(score_of(Ter(), "A B C D", {"a b c d"}), 0, 1e-9);
  EXPECT_NEAR(score_of(Ter({.case_sensitive = true}), "A B C D", {"a b c d"}), 100, 1e-9);
  EXPECT_NEAR(score_of(Ter(), "a x c", {"a b c d"}), 50, 1e-9);
  EXPECT_NEAR(score_of(Ter(), "c d e a b", {"a b c d e"}), 20, 1e-9);  // one block moves
  EXPECT_NEAR(score_of(Ter(), "b a d c", {"a b c d"}), 50, 1e-9);
  EXPECT_NEAR(score_of(Ter(), "", {"a b"}), 100, 1e-9);
  EXPECT_NEAR(score_of(Ter(), "a b", {""}), 100, 1e-9);
  EXPECT_NEAR(score_of(Ter(), "", {""}), 0, 1e-9);
  EXPECT_NEAR(score_of(Ter(), "a b", {"a b", "a b c d"}), 0, 1e-9);
  EXPECT_NEAR(score_of(Ter(), "a", {"x y", "a b c d"}), 200 / 3., 1e-9);  // fewest edits over the mean length
}

TEST(Ter, ReportIsSacreBleusLine) {
  Ter ter({.normalized = true});
  ter.add("a b", {"a c"});
  EXPECT_EQ(report_line(ter.report(), 1),
            "TER|nrefs:1|case:lc|tok:tercom|norm:yes|punct:yes|asian:no|version:2.6.0 = 50.0");
}

// Lines of 100,000 words, the worst of them with every word out of place: seconds, and not a stack or a square matrix.
TEST(Metric, VeryLongLinesFinish) {
  std::string ordered, shuffled, same;
  for (int i = 0; i < 100000; ++i) {
    ordered += "w" + std::to_string(i % 4999) + " ";
    shuffled += "w" + std::to_string(i * 7919LL % 100003 % 4999) + " ";
    same += "a ";
  }
  EXPECT_GT(score_of(Bleu(), shuffled, {ordered}).correct[0], 90000);
  EXPECT_GT(score_of(Chrf(), shuffled, {ordered}), 50);
  EXPECT_NEAR(score_of(Ter(), same, {same + "b"}), 100 / 100001., 1e-9);
  EXPECT_GT(score_of(Ter(), shuffled, {ordered}), 50);
  EXPECT_NEAR(score_of(Ter(), "a", {same}), 99.999, 1e-9);
}

}  // namespace
}  // namespace attend::metrics
