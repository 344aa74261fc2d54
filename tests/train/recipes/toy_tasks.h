// Every task of attend train on data of its own, in two steps and a fraction of a second: the words of the command, and
// shapes of new models.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/data/synthetic/scenes_folder.h"
#include "attend/tasks/labelled_tasks.h"
#include "tests/train/recipes/heads/toy_labels.h"
#include "tests/train/recipes/images/toy_images.h"
#include "tests/train/recipes/translation/toy_corpus.h"

namespace attend::test {

using Words = std::vector<std::string>;

// Shapes of new models.
inline const Words kTransformer = {"--width",      "16", "--heads",           "2",  "--decoder-heads",  "1",
                                   "--hidden",     "16", "--encoder-layers",  "1",  "--decoder-layers", "1",
                                   "--max-length", "32", "--vocabulary-size", "280"};
inline const Words kRnn = {"--width", "16", "--hidden", "16", "--max-length", "32", "--vocabulary-size", "280"};
inline const Words kGpt = {"--width", "16", "--layers", "1", "--heads", "2"};
inline const Words kTextRnn = {"--model", "rnn", "--width", "16", "--layers", "2"};
inline const Words kBert = {"--width", "16", "--layers", "1", "--heads", "2", "--max-length", "48"};
inline const Words kVit = {"--width", "16", "--layers", "1", "--heads", "2", "--patch-size", "8"};
inline const Words kResnet = {"--model", "resnet", "--config",
                              R"({"stem": "small", "layer_type": "basic", "embedding_size": 8, "depths": [1, 1],)"
                              R"( "hidden_sizes": [8, 16]})"};
inline const Words kSwin = {
    "--model", "swin", "--config",
    R"({"patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 2})"};
inline const Words kMvit = {
    "--model", "mvit", "--config",
    R"({"patch_kernel": 3, "patch_stride": 2, "patch_padding": 1, "embed_dim": 16, "depths": [1, 1],)"
    R"( "num_heads": 1, "stride_q": [1, 2], "stride_kv_adaptive": 2})"};
inline const Words kMvitV1 = {
    "--model", "mvit_v1", "--config",
    R"({"patch_kernel": 3, "patch_stride": 2, "patch_padding": 1, "embed_dim": 16, "depths": [1, 1],)"
    R"( "num_heads": 1, "stride_q": [1, 2], "stride_kv_adaptive": 2})"};
inline const Words kHybrid = {
    "--model",
    "vit_hybrid",
    "--width",
    "16",
    "--layers",
    "1",
    "--heads",
    "2",
    "--config",
    R"({"backbone_config": {"stem": "small", "layer_type": "basic", "embedding_size": 8, "depths": [1, 1],)"
    R"( "hidden_sizes": [8, 16]}})"};
inline const Words kDetr = {"--width",          "16", "--heads",          "2", "--hidden",  "16",
                            "--encoder-layers", "1",  "--decoder-layers", "1", "--queries", "4"};
inline const Words kDetrBackbone = {"--config",
                                    R"({"backbone_config": {"stem": "small", "embedding_size": 8, "depths": [1, 1],)"
                                    R"( "hidden_sizes": [8, 16]}})"};

inline const Words kShowTell = {"--decoder", "show-tell", "--decoder-config", R"({"width": 16, "hidden": 16})"};
inline const Words kWriter = {"--decoder", "transformer", "--decoder-config",
                              R"({"width": 16, "heads": 2, "hidden": 16, "layers": 1})"};

inline Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The data of a task, made in the folder where it is not there yet, and the words that name it.
inline Words toy_data(const std::filesystem::path& folder, const std::string& task) {
  const auto path = [&](const std::string& name) { return (folder / name).string(); };
  const auto missing = [&](const std::string& name) { return !std::filesystem::exists(folder / name); };
  if ((task == "translation" || task == "language-model") && missing("train.en"))
    write_toy_corpus(folder, {.pairs = 60, .seed = 2});
  if (task == "translation")
    return {"--source",       path("train.en"), "--target",       path("train.fr"), "--valid-source",
            path("valid.en"), "--valid-target", path("valid.fr"), "--tokens",       "64"};
  if (task == "language-model")
    return {"--text", path("train.en"), "--valid-text", path("valid.en"), "--block", "8", "--batch", "4"};
  if (task == "classify-images" || task == "draw") {
    if (missing("images")) write_toy_images(folder / "images");
    return {"--train", path("images/train"), "--valid", path("images/valid"), "--image-size", "16", "--batch", "4"};
  }
  if (task == "describe" || task == "detect") {
    if (missing("scenes"))
      data::write_scenes(folder / "scenes", {.scene = {.size = 32, .objects = 1}, .count = 8, .unseen = 4});
    const std::string kind = task == "detect" ? "instances" : "captions";
    return {"--train",      path("scenes/" + kind + "_train.json"),
            "--valid",      path("scenes/" + kind + "_valid.json"),
            "--image-size", "16",
            "--batch",      "4"};
  }
  if (missing("train.txt")) write_toy_labels(folder, 40);
  if (task == "masked-lm")
    return {"--text", path("train.txt"), "--valid-text", path("valid.txt"), "--block", "8", "--batch", "4"};
  const data::Labelling labelling = tasks::labelled_task(task)->labelling;
  const std::string kind = labelling == data::Labelling::words     ? "conll"
                           : labelling == data::Labelling::answers ? "jsonl"
                                                                   : "tsv";
  return {"--train", path("train." + kind), "--valid", path("valid." + kind), "--batch", "4"};
}

// attend train's words for two steps; the shape of a new model goes behind them.
inline Words toy_task(const std::filesystem::path& folder, const std::string& task, const std::filesystem::path& out) {
  Words words =
      Words{"train", "--task", task, "--out", out.string(), "--steps", "2", "--threads", "1"} + toy_data(folder, task);
  if (task == "draw")
    words = words + Words{"--attention-stage", "1", "--config",
                          R"({"noise_size": 8, "generator_widths": [8, 8, 8], "discriminator_widths": [8, 8],)"
                          R"( "discriminator_halvings": 2})"};
  if (task == "describe") words = words + Words{"--score-images", "2", "--least-count", "1"};
  return words;
}

}  // namespace attend::test
