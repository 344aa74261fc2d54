// attend train --task draw and attend draw as a user meets them: a folder per class in, drawings out.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/image/decode.h"
#include "attend/image/encode.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/images/toy_images.h"
#include "tests/train/recipes/slower.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

class TrainDraw : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_train_draw");
    write_toy_images(folder_ / "images");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  Outcome train(const std::string& out, std::initializer_list<const char*> more) const {
    return run_attend(toy_draw_training(folder_ / "images", folder_ / out, more));
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
  const Outcome info = run_attend({"info", path("sagan")});
  EXPECT_NE(info.out.find("drawings    16 x 16, of 4 classes, from 8 numbers of noise; attention between 8 x 8"),
            std::string::npos)
      << info.out;
  // Another command says who can use it.
  const Outcome classified = run_attend({"classify", "--model", path("sagan"), path("a.png")});
  EXPECT_EQ(classified.code, 1);
  EXPECT_NE(classified.err.find("use attend draw"), std::string::npos) << classified.err;
}

// Images of one colour each, on noise; which colour is the class. An average of the weights, over more steps than
// there are, is what draws.
TEST_F(TrainDraw, TheClassDecidesWhatIsDrawn) {
  constexpr int kSide = 8;
  constexpr std::array<int, 3> kColours[] = {{220, 40, 40}, {40, 200, 60}, {40, 60, 220}};
  constexpr const char* kNames[] = {"blue", "green", "red"};
  unsigned seed = 1;
  for (int each = 0; each < 3; ++each)
    for (int i = 0; i < 40; ++i) {
      image::Image image(kSide, kSide);
      for (std::size_t j = 0; j < image.pixels.size(); ++j) {
        seed = seed * 1664525u + 1013904223u;
        image.pixels[j] = static_cast<std::uint8_t>(kColours[2 - each][j % 3] + static_cast<int>(seed >> 27) - 16);
      }
      write_file(folder_ / "colours" / (i < 32 ? "train" : "valid") / kNames[each] / (std::to_string(i) + ".png"),
                 image::encode_png(image));
    }
  const Outcome trained = run_attend(
      {"train",
       "--task",
       "draw",
       "--train",
       path("colours/train"),
       "--valid",
       path("colours/valid"),
       "--out",
       path("sagan"),
       "--image-size",
       "8",
       "--batch",
       "16",
       "--attention-stage",
       "0",
       "--learning-rate",
       "2e-3",
       "--discriminator-rate",
       "4e-3",
       "--steps",
       steps_to_learn(600),
       "--threads",
       "1",
       "--config",
       R"({"noise_size": 8, "generator_widths": [16, 16], "discriminator_widths": [16, 16], "discriminator_halvings": 1})"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  for (int each = 0; each < 3; ++each) {
    const Outcome drawn = draw({"--class", kNames[each], "--count", "4", "--out", path("colour.png")});
    ASSERT_EQ(drawn.code, 0) << drawn.err;
    const image::Image grid = image::read_image(path("colour.png"));
    std::array<double, 3> sums{};  // the white between drawings is the same in all
    for (std::size_t j = 0; j < grid.pixels.size(); ++j) sums[j % 3] += grid.pixels[j];
    const auto most = std::max_element(sums.begin(), sums.end()) - sums.begin();
    if (kLearns) {
      EXPECT_EQ(most, 2 - each) << kNames[each] << ' ' << sums[0] << ' ' << sums[1] << ' ' << sums[2];
    }
  }
}

// What a shipped folder has: the generator alone, in bf16.
TEST_F(TrainDraw, AGeneratorDrawsWithoutItsDiscriminator) {
  ASSERT_EQ(train("whole", {"--steps", "2"}).code, 0);
  const Outcome converted =
      run_attend({"convert", path("whole"), "--without", "discriminator", "--dtype", "f32", "--out", path("sagan")});
  ASSERT_EQ(converted.code, 0) << converted.err;
  EXPECT_LT(fs::file_size(path("sagan/model.safetensors")), fs::file_size(path("whole/model.safetensors")));
  ASSERT_EQ(draw({"--out", path("alone.png")}).code, 0);
  ASSERT_EQ(run_attend({"draw", "--model", path("whole"), "--out", path("whole.png")}).code, 0);
  EXPECT_TRUE(read_file(path("alone.png")) == read_file(path("whole.png")));
  const Outcome none = run_attend({"convert", path("whole"), "--without", "decoder", "--out", path("none")});
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("begins with 'decoder.'"), std::string::npos) << none.err;
}

TEST_F(TrainDraw, AJudgeSaysHowFarDrawingsAre) {
  ASSERT_EQ(run_attend(toy_image_training(folder_ / "images", folder_ / "evaluate", {"--steps", "4"})).code, 0);
  const std::string evaluate = path("evaluate");
  const Outcome trained = train(
      "sagan", {"--steps", "4", "--validate-every", "2", "--drawings", "20", "--feature-model", evaluate.c_str()});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const std::vector<Json> verdicts = log_of("sagan", "validation");
  ASSERT_EQ(verdicts.size(), 2u);
  for (const Json& line : verdicts) {
    EXPECT_GT(line["validation"]["frechet_distance"].get<double>(), 0);
    EXPECT_LE(line["validation"]["recognised"].get<double>(), 1);
    double mean = 0;
    for (const auto& [name, one] : line["validation"]["classes"].items()) {
      EXPECT_GT(one["variety"].get<double>(), 0) << name;
      mean += one["recognised"].get<double>() / 4;
    }
    EXPECT_NEAR(mean, line["validation"]["recognised"].get<double>(), 1e-9);
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
  refused({"--cutout", "3"}, "cutout");
  refused({"--mean", "0.4"}, "between -1 and 1");
  refused({"--image-size", "32"}, "'image_size' is 32");
  refused({"--attention-stage", "2"}, "attention_stage");
  refused({"--discriminator-turns", "0"}, "discriminator_turns");
  refused({"--diff-augment", "cutout,mirror"}, "color, translation or cutout");
  refused({"--feature-model", "nowhere"}, "nowhere");
}

}  // namespace
}  // namespace attend::test
