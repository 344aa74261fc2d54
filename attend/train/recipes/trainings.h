// Everything that can be trained (pipeline.h), one folder each: translation/train_translation.cpp, .. settings holds
// keys of the task's recipe; what (a path) opens messages about them. Throws Error naming a setting that is unknown,
// missing or makes no sense, and opens no file but those of a folder to start from.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/train/recipes/pipeline.h"

namespace attend::train {

Training translation_training(const Json& settings, std::string_view what);
Training language_training(const Json& settings, std::string_view what);
Training masked_training(const Json& settings, std::string_view what);
Training head_training(const Json& settings, std::string_view what);  // classify, tag, answer
Training image_training(const Json& settings, std::string_view what);
Training caption_training(const Json& settings, std::string_view what);
Training detect_training(const Json& settings, std::string_view what);
Training draw_training(const Json& settings, std::string_view what);

// A task of attend train, of the C++ API and of Python, by its name in a recipe.
struct TrainedTask {
  std::string_view name;
  std::string_view use;     // the command for the model it makes: {model}, {image}: one that it was validated with
  std::string_view learns;  // one line of attend train --help
  std::vector<std::string_view> needs;
  Training (*training)(const Json& settings, std::string_view what);
};

// The first is what a recipe without a task means.
std::span<const TrainedTask> trained_tasks();

}  // namespace attend::train
