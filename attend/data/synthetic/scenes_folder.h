// A folder of scenes in COCO's form:
//   train/000000000001.png ..   instances_train.json   captions_train.json
//   valid/..                    instances_valid.json   captions_valid.json   scenes.json (how it was made)
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/data/synthetic/scenes.h"

namespace attend::data {

enum class SceneFormat : std::uint8_t { png, jpeg };

struct SceneFolderOptions {
  SceneOptions scene = {};
  std::int64_t count = 20000;  // images to learn from
  std::int64_t unseen = 1000;  // to validate with; what they are does not depend on count
  SceneFormat format = SceneFormat::png;
  int threads = 0;  // 0: all cores; the files are the same
  // Called with the images done so far, on the caller's thread. What it throws ends the work and leaves nothing.
  std::function<void(std::int64_t done)> on_progress = {};
};

inline constexpr std::int64_t kMostScenes = 10'000'000;  // of a set

struct SceneFolderSummary {
  std::int64_t images = 0, objects = 0, captions = 0, bytes = 0;  // bytes: of the images
};

// The folder is there as a whole or not at all. Throws Error when there is one already that holds anything.
SceneFolderSummary write_scenes(const std::filesystem::path& folder, const SceneFolderOptions& options);

}  // namespace attend::data
