// A run logs what it computes: operations counted by the model's own passes, per step and in all.
#include "attend/train/recipes/flops.h"

#include <gtest/gtest.h>

#include <sstream>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/catalogue/catalogue.h"
#include "attend/tasks/cost.h"
#include "attend/train/loop/trainer.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/translation/toy_corpus.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

class RunFlops : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_flops");
    write_toy_corpus(folder_, {.pairs = 40, .seed = 3});
  }
  void TearDown() override { fs::remove_all(folder_); }

  Outcome train(const std::vector<std::string>& more) const {
    std::vector<std::string> words = toy_language_training(folder_, folder_ / "model");
    words.insert(words.end(), {"--validate-every", "2", "--save-every", "2", "--log-every", "1"});
    words.insert(words.end(), more.begin(), more.end());
    return run_attend(words);
  }
  // Lines of the log that have operations.
  std::vector<Json> logged(const char* run) const {
    std::vector<Json> lines;
    std::istringstream text(read_file(folder_ / run / "log.jsonl"));
    for (std::string line; std::getline(text, line);)
      if (const Json json = parse_json(line, "log.jsonl"); json.contains("flops")) lines.push_back(json);
    return lines;
  }

  fs::path folder_;
};

TEST_F(RunFlops, AreThoseOfTheCountedModel) {
  const Outcome outcome = train({"--steps", "4"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const tasks::Cost cost = tasks::cost_of(catalogue::read_config(folder_ / "model"));
  const double each = 2 * cost.training.multiply_adds / static_cast<double>(cost.units);
  const std::vector<Json> lines = logged("model");
  ASSERT_EQ(lines.size(), 4u);
  const Json recipe = read_json(folder_ / "model/recipe.json");
  const double tokens = recipe["batch"].get<double>() * recipe["block"].get<double>();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_NEAR(lines[i]["flops_per_step"].get<double>(), each * tokens, 1e-6 * each * tokens);
    EXPECT_NEAR(lines[i]["flops"].get<double>(), static_cast<double>(i + 1) * each * tokens, 1e-5 * each * tokens);
  }
  EXPECT_NE(outcome.out.find("FLOPs in 4 steps"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("time x devices x rate"), std::string::npos) << outcome.out;
}

TEST_F(RunFlops, GoOnWhereARunWasStopped) {
  ASSERT_EQ(train({"--steps", "2"}).code, 0);
  const double before = logged("model").back()["flops"].get<double>();
  const Outcome outcome = train({"--steps", "4", "--resume", "--allow-changes"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_DOUBLE_EQ(logged("model").back()["flops"].get<double>(), 2 * before);
}

TEST(FlopsText, SaysBoth) {
  train::TrainingResult result;
  EXPECT_EQ(train::flops_text(result, 1, 1e9), "");  // nothing was counted
  result.steps = 1000, result.flops = 4e15, result.seconds = 7200;
  EXPECT_EQ(train::flops_text(result, 8, 9.5e12),
            "Counted: 4.00 TFLOPs per step, 4.00 PFLOPs in 1,000 steps; time x devices x rate, as Vaswani et al. 2017 "
            "report it: 2.000 h x 8 x 9.50 TFLOPs/s = 547.20 PFLOPs.\n");
  EXPECT_EQ(train::flops_text(result, 1, 0), "Counted: 4.00 TFLOPs per step, 4.00 PFLOPs in 1,000 steps.\n");
  EXPECT_EQ(train::counted_flops("no/such/config.json", "tokens", 0), 0);
}

}  // namespace
}  // namespace attend::test
