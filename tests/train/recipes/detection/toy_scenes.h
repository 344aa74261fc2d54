// Scenes that a tiny DETR makes something of in seconds: train/ and valid/ with COCO's files.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "attend/data/synthetic/scenes_folder.h"

namespace attend::test {

inline void write_toy_scenes(const std::filesystem::path& folder) {
  data::write_scenes(folder, {.scene = {.size = 32, .objects = 2}, .count = 24, .unseen = 6});
}

// attend train's words; more goes behind them.
inline std::vector<std::string> toy_detect_training(const std::filesystem::path& folder,
                                                    const std::filesystem::path& out,
                                                    std::initializer_list<const char*> more = {}) {
  std::vector<std::string> args = {"train",
                                   "--task",
                                   "detect",
                                   "--train",
                                   (folder / "instances_train.json").string(),
                                   "--valid",
                                   (folder / "instances_valid.json").string(),
                                   "--out",
                                   out.string(),
                                   "--batch",
                                   "4",
                                   "--image-size",
                                   "32",
                                   "--learning-rate",
                                   "2e-3"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

// The shape of a new model; from a folder it has its own.
inline std::vector<std::string> toy_detr(std::vector<std::string> args) {
  for (const char* word : {"--width", "16", "--heads", "2", "--hidden", "32", "--encoder-layers", "1",
                           "--decoder-layers", "2", "--queries", "4", "--config",
                           R"({"backbone_config": {"stem": "small", "embedding_size": 8, "depths": [1, 1, 1],)"
                           R"( "hidden_sizes": [8, 8, 16]}})"})
    args.emplace_back(word);
  return args;
}

}  // namespace attend::test
