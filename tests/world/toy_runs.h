// Small runs of every task, in a folder of their own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/train/recipes/detection/toy_scenes.h"
#include "tests/train/recipes/heads/toy_labels.h"
#include "tests/train/recipes/images/toy_images.h"
#include "tests/train/recipes/translation/toy_corpus.h"

namespace attend::test {

class ToyRuns {
 public:
  using Words = std::vector<std::string>;
  ToyRuns() = default;
  explicit ToyRuns(const std::filesystem::path& folder) : folder_(folder) {
    write_toy_corpus(folder_, {.pairs = 300, .seed = 1});
    write_toy_labels(folder_, 60);
  }

  // Heads go on from the model in "start", which is whoever asks to make.
  Words words(const std::string& task, const std::string& out) const {
    namespace fs = std::filesystem;
    if (task == "language-model") return toy_language_training(folder_, folder_ / out);
    if (task == "masked-lm") return toy_masked_training(folder_, folder_ / out);
    if ((task == "classify-images" || task == "resnet" || task == "draw") && !fs::exists(folder_ / "images"))
      write_toy_images(folder_ / "images");
    if (task == "classify-images")
      return toy_image_training(folder_ / "images", folder_ / out, {"--model", "vit", "--workers", "1"});
    if (task == "resnet") return resnet(out);
    if (task == "draw") return toy_draw_training(folder_ / "images", folder_ / out, {"--workers", "1"});
    if ((task == "detect" || task == "describe") && !fs::exists(folder_ / "scenes"))
      write_toy_scenes(folder_ / "scenes");
    if (task == "describe") return describe(out);
    if (task == "detect") return toy_detr(toy_detect_training(folder_ / "scenes", folder_ / out, {"--workers", "1"}));
    if (task == "classify" || task == "tag")
      return toy_head_training(folder_, task, task == "tag" ? ".conll" : ".tsv", folder_ / "start", folder_ / out);
    return toy_training(folder_, folder_ / out, task);
  }
  static Words with(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

 private:
  // Labels by a few convolutions with batch norms.
  Words resnet(const std::string& out) const {
    const std::filesystem::path images = folder_ / "images";
    return {
        "train",
        "--task",
        "classify-images",
        "--out",
        (folder_ / out).string(),
        "--train",
        (images / "train").string(),
        "--valid",
        (images / "valid").string(),
        "--image-size",
        "16",
        "--no-flip",
        "--crop",
        "none",
        "--workers",
        "1",
        "--model",
        "resnet",
        "--config",
        R"({"depths": [1, 1], "hidden_sizes": [8, 16], "embedding_size": 8, "layer_type": "basic", "stem": "small"})"};
  }
  Words describe(const std::string& out) const {
    Words words = {"train", "--task", "describe", "--out", (folder_ / out).string(), "--model", "vit"};
    for (const char* part : {"train", "valid"})
      words = with(words, {"--" + std::string(part),
                           (folder_ / "scenes" / ("captions_" + std::string(part) + ".json")).string()});
    return with(words, {"--image-size", "16", "--patch-size", "4", "--width", "16", "--heads", "2", "--layers", "1",
                        "--batch", "4", "--workers", "1", "--decoder", "transformer", "--decoder-config",
                        R"({"width": 16, "heads": 2, "hidden": 32, "layers": 1, "dropout": 0})"});
  }
  std::filesystem::path folder_;
};

}  // namespace attend::test
