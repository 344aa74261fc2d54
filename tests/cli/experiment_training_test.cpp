// attend experiment scores, longer and scaling --train, and the score and position flags of attend train.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/toy_tasks.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

class TrainingExperiments : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("attend_experiment_training_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(TrainingExperiments, ScoresPrintsATableAndDraws) {
  const std::string svg = (folder_ / "scores.svg").string();
  const Outcome table = run_attend({"experiment", "scores", "--steps", "4", "--scores", "dot,cosine", "--svg", svg});
  EXPECT_EQ(table.code, 0) << table.err;
  for (const char* word : {"transformer", "rnn", "cosine", "Reverse 3 to 8 digits: 4 steps"})
    EXPECT_NE(table.out.find(word), std::string::npos) << table.out;
  EXPECT_NE(read_file(svg).find("<svg"), std::string::npos);
  const Outcome json = run_attend({"experiment", "scores", "--steps", "4", "--models", "rnn", "--json"});
  EXPECT_EQ(parse_json(json.out, "scores").size(), 5u);
}

TEST_F(TrainingExperiments, ScalingTrainsBothWays) {
  const Outcome outcome = run_attend({"experiment", "scaling", "--train", "--steps", "4", "--dimensions", "16"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("not divided"), std::string::npos) << outcome.out;
}

TEST_F(TrainingExperiments, LongerPrintsATable) {
  const Outcome outcome = run_attend(
      {"experiment", "longer", "--steps", "4", "--length", "6", "--offset", "2", "--positions", "rotary,none"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const char* word : {"rotary", "none", "8 to 13"})
    EXPECT_NE(outcome.out.find(word), std::string::npos) << outcome.out;
}

TEST_F(TrainingExperiments, WrongNamesAreNamed) {
  const auto said = [](const std::vector<std::string>& words) {
    const Outcome outcome = run_attend(words);
    EXPECT_EQ(outcome.code, 1);
    return outcome.err;
  };
  EXPECT_NE(said({"experiment", "scores", "--scores", "dott"}).find("unknown attention_score 'dott'"),
            std::string::npos);
  EXPECT_NE(said({"experiment", "scores", "--models", "cnn"}).find("unknown model 'cnn'"), std::string::npos);
  EXPECT_NE(said({"experiment", "scores", "--scores", "dot,,cosine"}).find("empty name"), std::string::npos);
  EXPECT_NE(said({"experiment", "longer", "--positions", "circular"}).find("unknown positions 'circular'"),
            std::string::npos);
  EXPECT_NE(said({"experiment", "scaling", "--train", "--dimensions", "20"}).find("multiple of 8"), std::string::npos);
}

// Two steps of training, and the folder translates and generates.
TEST_F(TrainingExperiments, TrainedOptionsAreLoadedAgain) {
  const std::string out = (folder_ / "model").string();
  const Words all = {"--steps", "2", "--out", out, "--overwrite"};
  const auto trained = [&](const std::string& task, const Words& shape, const Words& options) {
    const Outcome outcome =
        run_attend(Words{"train", "--task", task} + toy_data(folder_, task) + shape + options + all);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return read_file(fs::path(out) / "config.json");
  };
  const auto runs = [&](const char* command) {
    const Outcome outcome = run_attend({command, "--model", out}, "red\n");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  };
  for (const char* score : {"general", "additive", "cosine"}) {
    const std::string config = trained("translation", kTransformer, {"--attention-score", score});
    EXPECT_NE(config.find(score), std::string::npos) << config;
    runs("translate");
  }
  trained("translation", kTransformer, {"--attention-scale", "none", "--no-attention-bias"});
  runs("translate");
  trained("translation", kTransformer, {"--position-combination", "concatenate"});
  runs("translate");
  for (const char* positions : {"rotary", "relative"}) {
    trained("translation", kTransformer, {"--positions", positions});
    runs("translate");
    trained("language-model", kGpt, {"--positions", positions});
    runs("generate");
  }
  trained("translation", Words{"--model", "rnn-attention"} + kRnn, {"--attention-score", "dot"});
  runs("translate");
}

TEST_F(TrainingExperiments, TrainRefusesUnknownOptions) {
  const auto said = [&](const std::string& task, const Words& options) {
    const Outcome outcome = run_attend(Words{"train", "--task", task, "--out", (folder_ / "no").string()} +
                                       toy_data(folder_, task) + options);
    EXPECT_EQ(outcome.code, 1);
    return outcome.err;
  };
  EXPECT_NE(said("translation", {"--attention-score", "dott"}).find("unknown attention_score 'dott'"),
            std::string::npos);
  EXPECT_NE(said("translation", {"--position-width", "8"}).find("it needs concatenate"), std::string::npos);
  EXPECT_NE(said("language-model", {"--positions", "circular"}).find("unknown positions 'circular'"),
            std::string::npos);
}

}  // namespace
}  // namespace attend::test
