// Measures of labels, names and answers on examples small enough to work out by hand.
#include "attend/metrics/classification.h"

#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "attend/metrics/answers.h"

namespace attend::metrics {
namespace {

using Ints = std::vector<std::int32_t>;
using Words = std::vector<std::string>;

TEST(Classification, AccuracyAndMacroF1) {
  // The example of scikit-learn's documentation of f1_score: macro 0.2666.
  const Ints truth = {0, 1, 2, 0, 1, 2}, predicted = {0, 2, 1, 0, 0, 1};
  EXPECT_NEAR(macro_f1(predicted, truth), 0.26666666, 1e-8);
  EXPECT_NEAR(accuracy(predicted, truth), 2.0 / 6, 1e-12);
  // A label that is only predicted counts with an F1 of 0.
  EXPECT_NEAR(macro_f1(Ints{0, 0, 3}, Ints{0, 0, 0}), 0.4, 1e-12);
  EXPECT_EQ(macro_f1(Ints{}, Ints{}), 0);
  EXPECT_THROW(accuracy(Ints{1}, Ints{}), Error);
}

TEST(Classification, Pearson) {
  const std::vector<double> x = {1, 2, 3, 4, 5}, y = {2, 1, 4, 3, 5}, flat = {7, 7, 7, 7, 7};
  EXPECT_NEAR(pearson(x, y), 0.8, 1e-12);  // covariance 8, both variances 10
  EXPECT_NEAR(pearson(x, x), 1, 1e-12);
  EXPECT_EQ(pearson(x, flat), 0);
}

TEST(Entities, AreCountedWholeAsSeqevalDoes) {
  // The example of seqeval's page: F1 0.50, of two names and two predictions one is right.
  EntityScore score;
  score.add(Words{"O", "O", "B-MISC", "I-MISC", "I-MISC", "I-MISC", "O"},
            Words{"O", "O", "O", "B-MISC", "I-MISC", "I-MISC", "O"});
  score.add(Words{"B-PER", "I-PER", "O"}, Words{"B-PER", "I-PER", "O"});
  EXPECT_DOUBLE_EQ(score.f1(), 0.5);
  EXPECT_DOUBLE_EQ(score.precision(), 0.5);
  EXPECT_DOUBLE_EQ(score.recall(), 0.5);
}

TEST(Entities, BeginWithBAndWithAnotherKind) {
  const std::vector<Entity> found = entities_of(Words{"I-A", "I-A", "B-A", "I-B", "O", "I-B", "NN", "I-B"});
  const std::vector<Entity> expected = {{"A", 0, 2}, {"A", 2, 3}, {"B", 3, 4}, {"B", 5, 6}, {"B", 7, 8}};
  EXPECT_EQ(found, expected);
  EXPECT_EQ(EntityScore().f1(), 0);
}

TEST(Answers, AreComparedAsSquadDoes) {
  EXPECT_EQ(normalized_answer("  The  Cat's, (an) ANSWER! "), "cats answer");
  EXPECT_EQ(exact_match("the Norman dynasty.", Words{"Rollo", "Norman Dynasty"}), 1);
  EXPECT_EQ(exact_match("Normans", Words{"Norman"}), 0);
  EXPECT_NEAR(answer_f1("in the 10th century", Words{"10th and 11th centuries", "the 10th century"}), 0.8, 1e-12);
  EXPECT_EQ(answer_f1("x", Words{"y"}), 0);
  EXPECT_NEAR(answer_f1("b b a1", Words{"b c d"}), 1.0 / 3, 1e-12);  // one b in common: 2·1 / (3 + 3)
}

}  // namespace
}  // namespace attend::metrics
