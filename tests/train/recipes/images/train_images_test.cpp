// attend train --task classify-images as a user meets it: a folder per class in, a model for attend classify and attend
// evaluate out; resumed, fine-tuned at another resolution, with every kind of augmentation.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors.h"
#include "tests/cli/run_attend.h"
#include "tests/train/recipes/folder_bytes.h"
#include "tests/train/recipes/images/toy_images.h"
#include "tests/train/recipes/slower.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

class TrainImages : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = scratch_folder("attend_train_images");
    write_toy_images(folder_ / "images");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<std::string> training(const std::string& out, std::initializer_list<const char*> more) const {
    return toy_image_training(folder_ / "images", folder_ / out, more);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  double accuracy(const std::string& out) const {
    const Outcome result = run_attend({"evaluate", "--model", path(out), path("images/valid"), "--json"});
    EXPECT_EQ(result.code, 0) << result.err;
    return result.code == 0 ? parse_json(result.out, "output").at("accuracy").get<double>() : 0;
  }

  fs::path folder_;
};

TEST_F(TrainImages, CornersAreLearned) {
  const Outcome trained = run_attend(
      training("vit", {"--steps", steps_to_learn(120).c_str(), "--validate-every", steps_to_learn(60).c_str()}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_NE(trained.out.find("attend classify --model"), std::string::npos) << trained.out;
  EXPECT_NE(trained.err.find("64 images of 4 labels"), std::string::npos) << trained.err;
  EXPECT_GT(accuracy("vit"), kLearns ? 0.95 : -1);
  const Outcome labelled = run_attend({"classify", "--model", path("vit"), path("images/valid/south-west")});
  ASSERT_EQ(labelled.code, 0) << labelled.err;
  if (kLearns) {
    EXPECT_NE(labelled.out.find("\tsouth-west\t"), std::string::npos) << labelled.out;
  }
  // As transformers reads it.
  const checkpoint::Safetensors file = checkpoint::Safetensors::open(path("vit/model.safetensors"));
  EXPECT_EQ(file["vit.embeddings.patch_embeddings.projection.weight"].shape, (Shape{16, 3, 4, 4}));
  const Json config = read_json(path("vit/config.json"));
  EXPECT_EQ(config["architectures"][0], "ViTForImageClassification");
  EXPECT_EQ(config["id2label"]["1"], "north-west");
  EXPECT_EQ(read_json(path("vit/preprocessor_config.json"))["image_mean"][0].get<double>(), 0.5);
}

TEST_F(TrainImages, EveryAugmentationAndAConvolutionalStem) {
  const Outcome trained = run_attend(training("stem", {"--steps",
                                                       "30",
                                                       "--model",
                                                       "vit_conv",
                                                       "--mixup",
                                                       "0.4",
                                                       "--cutmix",
                                                       "1",
                                                       "--erasing",
                                                       "0.2",
                                                       "--rand-augment-operations",
                                                       "2",
                                                       "--drop-path",
                                                       "0.1",
                                                       "--ema",
                                                       "0.9",
                                                       "--label-smoothing",
                                                       "0.1",
                                                       "--dropout",
                                                       "0.1",
                                                       "--validate-every",
                                                       "30"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_GE(accuracy("stem"), 0.0);
  const checkpoint::Safetensors file = checkpoint::Safetensors::open(path("stem/model.safetensors"));
  EXPECT_NE(file.find("vit_conv.embeddings.stem.norms.0.running_mean"), nullptr);
}

// airbench's network and optimiser; the first layer whitens patches of the training images, and stays.
TEST_F(TrainImages, AWhiteningNetworkLearnsWithSgd) {
  const Outcome trained =
      run_attend({"train",
                  "--task",
                  "classify-images",
                  "--model",
                  "resnet9",
                  "--config",
                  R"({"stem":"whitening","hidden_sizes":[8,16],"depths":[2,3],"hidden_act":"gelu"})",
                  "--train",
                  path("images/train"),
                  "--valid",
                  path("images/valid"),
                  "--out",
                  path("airbench"),
                  "--image-size",
                  "16",
                  "--batch",
                  "16",
                  "--steps",
                  steps_to_learn(80),
                  "--validate-every",
                  steps_to_learn(80),
                  "--optimizer",
                  "sgd",
                  "--momentum",
                  "0.85",
                  "--clip-norm",
                  "0",
                  "--learning-rate",
                  "0.1",
                  "--schedule",
                  "linear",
                  "--freeze",
                  "resnet9.whitening.weight",
                  "--dirac",
                  "--whitening-floor",
                  "0.01",
                  "--crop",
                  "shift",
                  "--crop-padding",
                  "1",
                  "--border",
                  "reflected",
                  "--no-flip",
                  "--cutout",
                  "3",
                  "--mean",
                  "0.5",
                  "--std",
                  "0.5"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_GT(accuracy("airbench"), kLearns ? 0.95 : -1);
  const std::vector<float> filters =
      checkpoint::Safetensors::open(path("airbench/model.safetensors")).floats("resnet9.whitening.weight");
  ASSERT_EQ(filters.size(), 24u * 12u);
  for (std::size_t i = 0; i < 144; ++i) EXPECT_EQ(filters[i], -filters[144 + i]);
  const Outcome flipped =
      run_attend({"evaluate", "--model", path("airbench"), path("images/valid"), "--json", "--test-time-flip"});
  ASSERT_EQ(flipped.code, 0) << flipped.err;
  // A corner and its mirror image are two labels, so that their mean cannot know which.
  EXPECT_LT(parse_json(flipped.out, "output").at("accuracy").get<double>(), kLearns ? 0.9 : 2);
  const Outcome shifted =
      run_attend({"evaluate", "--model", path("airbench"), path("images/valid"), "--json", "--test-time-shift", "1"});
  ASSERT_EQ(shifted.code, 0) << shifted.err;
  EXPECT_GT(parse_json(shifted.out, "output").at("accuracy").get<double>(), kLearns ? 0.9 : -1);
  const Outcome other = run_attend(training("none", {"--dirac"}));
  EXPECT_NE(other.err.find("'dirac' is for resnet9"), std::string::npos) << other.err;
  const Outcome whole = run_attend(training("none", {"--from", path("airbench").c_str(), "--drop-path", "0.1"}));
  EXPECT_NE(whole.err.find("'drop_path' is 0.1, but a resnet9 has no stochastic depth"), std::string::npos)
      << whole.err;
  const Outcome refused = run_attend(training("none", {"--momentum", "0.9"}));
  EXPECT_NE(refused.err.find("'momentum' is for sgd; set 'optimizer'"), std::string::npos) << refused.err;
  const Outcome unknown = run_attend(training("none", {"--optimizer", "sdg", "--momentum", "0.9"}));
  EXPECT_NE(unknown.err.find("'optimizer' is 'sdg', but must be one of adamw, sgd"), std::string::npos) << unknown.err;
}

TEST_F(TrainImages, FineTuningTakesOverAllButTheHeadAndStretchesPositions) {
  ASSERT_EQ(run_attend(training("small", {"--steps", steps_to_learn(120).c_str(), "--validate-every",
                                          steps_to_learn(60).c_str()}))
                .code,
            0);
  const std::string small = path("small");
  const Outcome tuned = run_attend({"train",
                                    "--task",
                                    "classify-images",
                                    "--from",
                                    small,
                                    "--train",
                                    path("images/train"),
                                    "--valid",
                                    path("images/valid"),
                                    "--out",
                                    path("large"),
                                    "--image-size",
                                    "32",
                                    "--no-flip",
                                    "--crop",
                                    "none",
                                    "--mean",
                                    "0.5",
                                    "--std",
                                    "0.5",
                                    "--steps",
                                    "40",
                                    "--batch",
                                    "16",
                                    "--learning-rate",
                                    "1e-3"});
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_EQ(tuned.err.find("position_embeddings"), std::string::npos) << tuned.err;  // they are stretched, not ignored
  const checkpoint::Safetensors file = checkpoint::Safetensors::open(path("large/model.safetensors"));
  EXPECT_EQ(file["vit.embeddings.position_embeddings"].shape, (Shape{1, 65, 16}));
  EXPECT_EQ(read_json(path("large/config.json"))["image_size"], 32);
  EXPECT_EQ(read_json(path("large/config.json"))["hidden_size"], 16);
}

// Trained, saved, loaded and looked at with self-attention behind a stage.
TEST_F(TrainImages, AResNetTakesSelfAttention) {
  const Outcome trained = run_attend(
      {"train",
       "--task",
       "classify-images",
       "--model",
       "resnet",
       "--self-attention",
       "2",
       "--config",
       R"({"layer_type": "basic", "depths": [1, 1], "hidden_sizes": [8, 16], "embedding_size": 8, "stem": "small"})",
       "--train",
       path("images/train"),
       "--valid",
       path("images/valid"),
       "--out",
       path("resnet"),
       "--image-size",
       "16",
       "--no-flip",
       "--crop",
       "none",
       "--batch",
       "16",
       "--steps",
       "60",
       "--learning-rate",
       "3e-3"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(read_json(path("resnet/config.json"))["self_attention_stage"], 2);
  const checkpoint::Safetensors file = checkpoint::Safetensors::open(path("resnet/model.safetensors"));
  EXPECT_EQ(file["resnet.encoder.self_attention.f.weight"].shape, (Shape{2, 16, 1, 1}));
  EXPECT_NE(file.floats("resnet.encoder.self_attention.gamma").at(0), 0);
  EXPECT_GT(accuracy("resnet"), 0.9);
  const Outcome resumed =
      run_attend({"train", "--resume", "--out", path("resnet"), "--steps", "64", "--allow-changes"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  const Outcome info = run_attend({"info", path("resnet")});
  EXPECT_NE(info.out.find("1 layers with attention"), std::string::npos) << info.out;
  const Outcome looked = run_attend({"look", "--model", path("resnet"), "--image",
                                     path("images/valid/south-west/20.png"), "--png", path("looked.png")});
  EXPECT_EQ(looked.code, 0) << looked.err;
  EXPECT_TRUE(fs::exists(path("looked.png")));
}

TEST_F(TrainImages, ABrokenImageIsNamedOrLeftOut) {
  write_file(folder_ / "images" / "train" / "north-east" / "broken.png", "no image");
  const Outcome stopped = run_attend(training("stopped", {"--steps", "10"}));
  EXPECT_EQ(stopped.code, 1);
  EXPECT_NE(stopped.err.find("broken.png"), std::string::npos) << stopped.err;
  const Outcome skipped = run_attend(training("skipped", {"--steps", "10", "--broken", "skip"}));
  EXPECT_EQ(skipped.code, 0) << skipped.err;
  EXPECT_NE(skipped.err.find("broken.png"), std::string::npos) << skipped.err;
}

TEST_F(TrainImages, WhatMakesNoSenseIsSaid) {
  const auto expect = [&](std::initializer_list<const char*> more, const std::string& part) {
    const Outcome outcome = run_attend(training("bad", more));
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    EXPECT_FALSE(fs::exists(folder_ / "bad" / "model.safetensors"));
  };
  expect({"--model", "resnet", "--steps", "5"}, "'width' is for vit");
  expect({"--self-attention", "1", "--steps", "5"}, "'self_attention' is for resnet");
  expect({"--crop", "sideways", "--steps", "5"}, "crop");
  expect({"--patch-size", "40", "--steps", "5"}, "patch_size");
  expect({"--config", R"({"hidden_siz": 8})", "--steps", "5"}, "config: unknown key 'hidden_siz'; did you mean");
  expect({"--valid", "/nowhere", "--steps", "5"}, "/nowhere");
}

}  // namespace
}  // namespace attend::test
