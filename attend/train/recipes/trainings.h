// Everything that can be trained (pipeline.h), one folder each: translation/train_translation.cpp, .. settings holds
// keys of the task's recipe; what (a path) opens messages about them. Throws Error naming a setting that is unknown,
// missing or makes no sense, and opens no file but those of a folder to start from.
#pragma once

#include <string_view>

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

}  // namespace attend::train
