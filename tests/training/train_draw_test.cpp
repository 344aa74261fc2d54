// attend train --task draw and attend draw as a user meets them: a folder per class in, drawings out.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/image/decode.h"
#include "tests/cli/run_attend.h"
#include "tests/training/folder_bytes.h"
#include "tests/training/toy_pictures.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

class TrainDraw : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_train_draw");
    write_toy_pictures(folder_ / "pictures");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  Outcome train(const std::string& out, std::initializer_list<const char*> more) const {
    return run_attend(toy_draw_training(folder_ / "pictures", folder_ / out, more));
  }
  Outcome draw(std::vector<std::string> more) const {
    std::vector<std::string> args = {"draw", "--model", path("sagan")};
    args.insert(args.end(), more.begin(), more.end());
    return run_attend(args);
  }
  // The objects of the log that have this key.
  std::vector<Json> log_of(const std::string& out, const char* key) const {
    std::vector<Json> lines;
    std::istringstream log(read_file(folder_ / out / "log.jsonl"));
    for (std::string line; std::getline(log, line);) {
      Json json = parse_json(line, "log.jsonl");
      if (json.contains(key)) lines.push_back(std::move(json));
    }
    return lines;
  }

  fs::path folder_;
};

TEST_F(TrainDraw, LossesOfBothAreLoggedAndTheFolderDraws) {
  const Outcome trained = train(
      "sagan", {"--steps", "6", "--validate-every", "3", "--log-every", "3", "--learning-rate", "0.02", "--ema", "0"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.out.find("attend draw --model"), std::string::npos) << trained.out;
  const std::vector<Json> losses = log_of("sagan", "losses");
  ASSERT_EQ(losses.size(), 2u);
  for (const Json& line : losses)
    for (const char* who : {"discriminator", "generator"}) {
      EXPECT_TRUE(std::isfinite(line["losses"][who].get<double>())) << who;
      EXPECT_NE(line["losses"][who].get<double>(), 0) << who;
    }
  EXPECT_EQ(log_of("sagan", "validation").size(), 2u);

  // The same twice; another seed, another class and the end of a walk are others.
  const auto drawn = [&](const std::string& name, std::vector<std::string> more) {
    more.insert(more.end(), {"--count", "2", "--out", path(name)});
    const Outcome result = draw(more);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.code == 0 ? read_file(path(name)) : std::string();
  };
  const std::string first = drawn("a.png", {"--class", "north-west"});
  EXPECT_TRUE(first == drawn("b.png", {"--class", "north-west", "--seed", "1"}));
  EXPECT_TRUE(first != drawn("c.png", {"--class", "north-west", "--seed", "2"}));
  EXPECT_TRUE(first != drawn("d.png", {"--class", "south-east"}));
  EXPECT_TRUE(first != drawn("e.png", {"--class", "north-west", "--walk", "5"}));
  EXPECT_TRUE(first != drawn("f.png", {"--class", "north-west", "--walk-class", "south-east"}));
  EXPECT_TRUE(first != drawn("g.png", {}));
  const image::Image grid = image::read_image(path("a.png"));
  EXPECT_EQ(grid.width, 2 * 64 + 3 * 4);
  EXPECT_EQ(grid.height, 64 + 2 * 4);
  const Outcome shown =
      draw({"--class", "north-west", "--show-attention", path("where.svg"), "--svg", path("grid.svg")});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(read_file(path("where.svg")).find("<svg"), std::string::npos);
  EXPECT_NE(read_file(path("grid.svg")).find("<svg"), std::string::npos);

  EXPECT_EQ(draw({"--class", "north-west"}).code, 1);
  const Outcome unknown = draw({"--class", "horse", "--out", path("h.png")});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_NE(unknown.err.find("no class 'horse'; there are north-east, north-west"), std::string::npos) << unknown.err;
  EXPECT_EQ(draw({"--walk", "3", "--out", path("h.png")}).code, 1);
  EXPECT_FALSE(fs::exists(path("h.png")));
  // Another command says who can use it.
  const Outcome classified = run_attend({"classify", "--model", path("sagan"), path("a.png")});
  EXPECT_EQ(classified.code, 1);
  EXPECT_NE(classified.err.find("use attend draw"), std::string::npos) << classified.err;
}

TEST_F(TrainDraw, AJudgeSaysHowFarDrawingsAre) {
  ASSERT_EQ(run_attend(toy_picture_training(folder_ / "pictures", folder_ / "judge", {"--steps", "4"})).code, 0);
  const std::string judge = path("judge");
  const Outcome trained =
      train("sagan", {"--steps", "4", "--validate-every", "2", "--drawings", "20", "--judge", judge.c_str()});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const std::vector<Json> verdicts = log_of("sagan", "validation");
  ASSERT_EQ(verdicts.size(), 2u);
  for (const Json& line : verdicts) {
    EXPECT_GT(line["validation"]["frechet_distance"].get<double>(), 0);
    EXPECT_LE(line["validation"]["recognised"].get<double>(), 1);
  }
}

TEST_F(TrainDraw, WithoutAttentionThereIsNoneToShow) {
  ASSERT_EQ(train("sagan", {"--steps", "2", "--attention-stage", "0"}).code, 0);
  const Outcome shown = draw({"--show-attention", path("where.png")});
  EXPECT_EQ(shown.code, 1);
  EXPECT_NE(shown.err.find("no attention"), std::string::npos) << shown.err;
}

TEST_F(TrainDraw, WhatMakesNoSenseIsRefused) {
  const auto refused = [&](std::initializer_list<const char*> more, const char* why) {
    const Outcome result = train("refused", more);
    EXPECT_EQ(result.code, 1);
    EXPECT_NE(result.err.find(why), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(path("refused/model.safetensors")));
  };
  refused({"--mixup", "0.3"}, "mixup");
  refused({"--mean", "0.4"}, "between -1 and 1");
  refused({"--image-size", "32"}, "'image_size' is 32");
  refused({"--attention-stage", "2"}, "attention_stage");
  refused({"--discriminator-turns", "0"}, "discriminator_turns");
  refused({"--judge", "nowhere"}, "nowhere");
}

}  // namespace
}  // namespace attend::test
