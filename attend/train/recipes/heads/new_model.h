// The model of a run on labelled texts that starts from random weights instead of a folder: its sizes and its
// tokenizer, which is learned from the training texts.
#pragma once

#include <string_view>

#include "attend/catalogue/catalogue.h"
#include "attend/data/text/labelled_text.h"
#include "attend/train/recipes/heads/head_recipe.h"
#include "attend/train/recipes/pipeline.h"

namespace attend::train {

// Throws Error naming a size that makes no sense; what opens the message.
void check_new_model(const HeadRecipe& recipe, std::string_view what);

// Puts a tokenizer into the run's folder and returns the config of the body that 'model' and the sizes name.
catalogue::ModelConfig new_model(const HeadRecipe& recipe, const data::LabelledFile& training, const RunContext& run);

}  // namespace attend::train
