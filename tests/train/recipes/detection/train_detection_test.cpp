// attend train --task detect as a user meets it: COCO's files in, a DETR for attend detect out; from scratch, from a
// DETR, with the backbone of a classifier.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/detection/toy_scenes.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/images/toy_images.h"
#include "tests/train/recipes/slower.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

class TrainDetection : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_train_detection");
    write_toy_scenes(folder_ / "scenes");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<std::string> training(const std::string& out, std::initializer_list<const char*> more) const {
    return toy_detect_training(folder_ / "scenes", folder_ / out, more);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<Json> log(const std::string& out) const {
    std::vector<Json> lines;
    std::istringstream text(read_file(folder_ / out / "log.jsonl"));
    for (std::string line; std::getline(text, line);) lines.push_back(parse_json(line, "log.jsonl"));
    return lines;
  }
  void expect_error(const std::vector<std::string>& words, const std::string& part) const {
    const Outcome result = run_attend(words);
    EXPECT_EQ(result.code, 1);
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  }

  fs::path folder_;
};

TEST_F(TrainDetection, TheLossFallsAndBoxesAreScored) {
  const Outcome trained = run_attend(toy_detr(training(
      "detr", {"--steps", steps_to_learn(240).c_str(), "--validate-every", steps_to_learn(120).c_str(), "--log-every",
               steps_to_learn(40).c_str(), "--clip-norm", "1", "--no-flip", "--crop-chance", "0"})));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.out.find("attend detect --model"), std::string::npos) << trained.out;
  EXPECT_NE(trained.err.find("24 images with objects of 13 classes"), std::string::npos) << trained.err;
  std::vector<Json> steps, validations;
  for (const Json& line : log("detr")) (line.contains("validation") ? validations : steps).push_back(line);
  ASSERT_EQ(steps.size(), 6u);
  const double first = steps.front().at("loss").get<double>(), last = steps.back().at("loss").get<double>();
  EXPECT_LT(last, (kLearns ? 0.7 : 1.0) * first);
  for (const char* part : {"class", "l1", "giou"})
    EXPECT_GT(steps.back().at("losses").at(part).get<double>(), 0) << part;
  ASSERT_EQ(validations.size(), 2u);
  const Json& scores = validations.back().at("validation");
  EXPECT_EQ(scores.at("images").get<int>(), 6);
  EXPECT_GT(scores.at("loss").get<double>(), 0);
  for (const char* score : {"ap", "ap50"}) {
    EXPECT_GE(scores.at(score).get<double>(), 0);
    EXPECT_LE(scores.at(score).get<double>(), 1);
  }
  // As transformers reads it.
  const Json config = read_json(path("detr/config.json"));
  EXPECT_EQ(config["architectures"][0], "DetrForObjectDetection");
  EXPECT_EQ(config["id2label"]["0"], "disc");
  EXPECT_EQ(read_json(path("detr/preprocessor_config.json"))["image_processor_type"], "DetrImageProcessor");
  const checkpoint::Safetensors file = checkpoint::Safetensors::open(path("detr/model.safetensors"));
  EXPECT_EQ(file["class_labels_classifier.weight"].shape, (Shape{14, 16}));

  // What attend detect and attend score make of the folder is what the run said of it.
  const Outcome found = run_attend({"detect", "--model", path("detr"), path("scenes/valid"), "--threshold", "0",
                                    "--images", path("scenes/instances_valid.json"), "--json", path("found.json")});
  ASSERT_EQ(found.code, 0) << found.err;
  const Outcome scored = run_attend({"score", "--metric", "coco", "--ground-truth", path("scenes/instances_valid.json"),
                                     "--predictions", path("found.json"), "--json"});
  ASSERT_EQ(scored.code, 0) << scored.err;
  double best = -1, ap50 = -1, loss = 0;
  for (const Json& line : validations) {
    const Json& found = line.at("validation");
    const double ap = found.at("ap").get<double>(), lost = found.at("loss").get<double>();
    if (ap > best || (ap == best && lost < loss)) best = ap, ap50 = found.at("ap50").get<double>(), loss = lost;
  }
  const Json stats = parse_json(scored.out, "output").at("stats");
  EXPECT_NEAR(stats[0].get<double>(), best, 1e-3);
  EXPECT_NEAR(stats[1].get<double>(), ap50, 1e-3);
  const Outcome evaluated =
      run_attend({"evaluate", "--model", path("detr"), "--json", path("scenes/instances_valid.json")});
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_NEAR(parse_json(evaluated.out, "output").at("ap").get<double>(), best, 1e-3);
}

TEST_F(TrainDetection, ADetrForOtherThingsGetsANewClassifier) {
  ASSERT_EQ(run_attend(toy_detr(training("first", {"--steps", "2"}))).code, 0);
  const std::string first = path("first");
  const Outcome same = run_attend(training("same", {"--steps", "2", "--from", first.c_str()}));
  ASSERT_EQ(same.code, 0) << same.err;
  EXPECT_EQ(same.err.find("new:"), std::string::npos) << same.err;
  for (const char* name : {"scenes/instances_train.json", "scenes/instances_valid.json"}) {
    std::string text = read_file(path(name));
    for (std::size_t at = text.find("\"disc\""); at != std::string::npos; at = text.find("\"disc\"", at + 1))
      text.replace(at, 6, "\"moon\"");
    write_file(path(name), text);
  }
  const Outcome other = run_attend(training("other", {"--steps", "2", "--from", first.c_str()}));
  ASSERT_EQ(other.code, 0) << other.err;
  EXPECT_EQ(read_json(path("other/config.json"))["id2label"]["0"], "moon");
  expect_error(training("wide", {"--steps", "2", "--from", first.c_str(), "--width", "32"}), "decided by the model");
}

TEST_F(TrainDetection, TheBackboneOfAClassifierIsTakenOver) {
  write_toy_images(folder_ / "images");
  const Outcome classifier = run_attend({"train", "--task", "classify-images", "--model", "resnet", "--train",
                                         path("images/train"), "--valid", path("images/valid"), "--out", path("resnet"),
                                         "--image-size", "16", "--batch", "8", "--steps", "3", "--config",
                                         R"({"stem": "small", "layer_type": "basic", "embedding_size": 8,)"
                                         R"( "depths": [1, 1], "hidden_sizes": [8, 16]})"});
  ASSERT_EQ(classifier.code, 0) << classifier.err;
  const std::string resnet = path("resnet");
  const Outcome trained =
      run_attend(training("detr", {"--steps", "3", "--backbone", resnet.c_str(), "--backbone-rate", "0", "--width",
                                   "16", "--heads", "2", "--encoder-layers", "1", "--decoder-layers", "1"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.err.find("backbone of " + resnet), std::string::npos) << trained.err;
  const checkpoint::Safetensors before = checkpoint::Safetensors::open(path("resnet/model.safetensors"));
  const checkpoint::Safetensors after = checkpoint::Safetensors::open(path("detr/model.safetensors"));
  int compared = 0;
  for (const checkpoint::StoredTensor& tensor : before.tensors()) {
    if (!tensor.name.starts_with("resnet.")) continue;
    const std::string name = "model.backbone.conv_encoder.model" + tensor.name.substr(6);
    EXPECT_TRUE(std::ranges::equal(tensor.bytes, after[name].bytes)) << name;
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

// Things are pasted the same way again when a run goes on.
TEST_F(TrainDetection, ARunWithPastedThingsEndsWithTheSameWeights) {
  const auto run = [&](const char* out, const char* steps, const char* chance, const char* more) {
    std::vector<std::string> words =
        toy_detr(training(out, {"--steps", steps, "--copy-paste", "2", "--copy-paste-chance", chance, "--schedule",
                                "inverse-square-root", "--warmup", "5", "--save-every", "4"}));
    if (*more) words.emplace_back(more);
    const Outcome outcome = run_attend(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  };
  const auto weights = [&](const char* out) {
    return checkpoint::Safetensors::open(path(out) + "/state.safetensors").floats("master");
  };
  run("whole", "8", "0.5", ""), run("parts", "4", "0.5", ""), run("parts", "8", "0.5", "--resume");
  EXPECT_TRUE(weights("whole") == weights("parts"));
  run("none", "8", "0", "");
  EXPECT_FALSE(weights("whole") == weights("none"));
}

TEST_F(TrainDetection, WhatCannotBeIsSaidBeforeTheFirstStep) {
  expect_error(training("x", {"--from", "a", "--backbone", "b"}), "exclude each other");
  expect_error(training("x", {"--crop-chance", "2"}), "crop_chance is from 0 to 1, not 2");
  expect_error(training("x", {"--norms", "warm"}), "norms");
  expect_error(training("x", {"--config", R"({"num_querys": 5})"}),
               "config: unknown key 'num_querys'; did you mean 'num_queries'?");
  expect_error(training("x", {"--config", R"({"backbone_config": {"depth": [2, 2]}})"}),
               "config: backbone_config: unknown key 'depth'; did you mean 'depths'?");
  expect_error(training("x", {"--config", R"({"backbone_config": 3})"}), "'backbone_config' must be an object, not 3");
  expect_error(training("x", {"--copy-paste", "-1"}), "copy_paste is from 0 to 100, not -1");
  Json blind = read_json(path("scenes/instances_train.json"));
  for (Json& object : blind["annotations"]) object.erase("segmentation");
  write_file(path("scenes/instances_train2.json"), blind.dump());
  const std::string train = path("scenes/instances_train2.json"), images = path("scenes/train");
  expect_error(toy_detr(training("x", {"--train", train.c_str(), "--images", images.c_str(), "--valid", train.c_str(),
                                       "--steps", "2", "--copy-paste", "2"})),
               "none of the objects has a mask");
  std::string text = read_file(path("scenes/instances_valid.json"));
  text.replace(text.find("\"square\""), 8, "\"sphere\"");
  write_file(path("scenes/instances_valid.json"), text);
  expect_error(toy_detr(training("x", {"--steps", "2"})), "'sphere' is none of the 13 classes");
  Json empty = read_json(path("scenes/instances_train.json"));
  empty["annotations"] = Json::array();
  write_file(path("scenes/instances_train.json"), empty.dump());
  expect_error(training("x", {"--steps", "2", "--valid", path("scenes/instances_train.json").c_str()}),
               "not one box to learn from");
  EXPECT_FALSE(fs::exists(path("x")));
}

}  // namespace
}  // namespace attend::test
