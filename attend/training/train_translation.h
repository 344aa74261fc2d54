// From two text files to a model folder: learns the tokens, prepares the pairs, trains.
//   config.json  model.safetensors  tokenizer.json  recipe.json    what a model is
//   state.safetensors  checkpoints/  log.jsonl  *.pairs             what resuming needs
#pragma once

#include "attend/train/trainer.h"
#include "attend/training/translation_recipe.h"

namespace attend::tasks {

train::TrainingResult train_translation(const ResolvedRecipe& resolved, Backend& backend, const TrainOptions& options);

}  // namespace attend::tasks
