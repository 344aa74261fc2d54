// From two text files to a model folder: learns the tokens, prepares the pairs, trains.
//   config.json  model.safetensors  tokenizer.json  recipe.json    what a model is
//   state.safetensors  checkpoints/  log.jsonl  *.pairs             what resuming needs
#pragma once

#include <iosfwd>

#include "attend/base/terminal.h"
#include "attend/tasks/translation_recipe.h"
#include "attend/train/trainer.h"

namespace attend::tasks {

struct TrainTranslationOptions {
  bool resume = false;     // go on with the run in the folder
  bool overwrite = false;  // start anew although there is one
  std::ostream& messages;
  Terminal terminal = {};
};

train::TrainingResult train_translation(const ResolvedRecipe& resolved, Backend& backend,
                                        const TrainTranslationOptions& options);

}  // namespace attend::tasks
