// Scores of logits under each problem type, held against numbers that torch's softmax and sigmoid give.
#include "attend/tasks/label_scores.h"

#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend {
namespace {

using models::ProblemType;

const std::vector<std::string> kThree = {"a", "b", "c"};

TEST(LabelScores, DependOnTheProblem) {
  const std::vector<float> logits = {1, -2, 0.5f};
  const tasks::Classified one = tasks::label_scores(logits, kThree, ProblemType::single_label, 2);
  ASSERT_EQ(one.labels.size(), 2u);
  EXPECT_EQ(one.labels[0].label, "a");
  EXPECT_NEAR(one.labels[0].probability, 0.603749f, 1e-6);
  EXPECT_EQ(one.labels[1].label, "c");
  const tasks::Classified each = tasks::label_scores(logits, kThree, ProblemType::multi_label, 0);
  ASSERT_EQ(each.labels.size(), 3u);
  EXPECT_NEAR(each.labels[0].probability, 0.731059f, 1e-6);
  EXPECT_NEAR(each.labels[1].probability, 0.622459f, 1e-6);
  EXPECT_NEAR(each.labels[2].probability, 0.119203f, 1e-6);
  const tasks::Classified values = tasks::label_scores(logits, kThree, ProblemType::regression, 0);
  EXPECT_EQ(values.labels[2].label, "b");
  EXPECT_EQ(values.labels[2].probability, -2);
  const tasks::Classified value = tasks::label_scores({-2}, {"score"}, ProblemType::regression, 1);
  EXPECT_TRUE(value.labels.empty());
  EXPECT_EQ(value.number, -2);
  EXPECT_THROW(tasks::label_scores({1, 2}, kThree, ProblemType::single_label, 1), Error);
}

TEST(LabelScores, ExtremeLogitsStayNumbers) {
  for (const tasks::ClassLabel& label :
       tasks::label_scores({1000, -1000, 0}, kThree, ProblemType::multi_label, 0).labels) {
    EXPECT_GE(label.probability, 0);
    EXPECT_LE(label.probability, 1);
  }
}

TEST(ProblemTypes, AreReadFromConfigs) {
  const auto read = [](const char* text, std::size_t labels) {
    return models::problem_type_of(parse_json(text, "c.json"), labels, "c.json");
  };
  EXPECT_EQ(read("{}", 2), ProblemType::single_label);
  EXPECT_EQ(read("{}", 1), ProblemType::multi_label);  // a sigmoid
  EXPECT_EQ(read(R"({"problem_type": null})", 3), ProblemType::single_label);
  EXPECT_EQ(read(R"({"problem_type": "multi_label_classification"})", 3), ProblemType::multi_label);
  EXPECT_EQ(read(R"({"problem_type": "regression"})", 1), ProblemType::regression);
  EXPECT_THROW(read(R"({"problem_type": "ranking"})", 3), Error);
  EXPECT_THROW(read(R"({"problem_type": 3})", 3), Error);
}

}  // namespace
}  // namespace attend
