// Training, with the settings of `attend train`: from files to a model folder.
//
//   attend::Json settings = attend::Json::object();
//   settings["task"] = "language-model", settings["text"] = "train.txt", settings["valid_text"] = "valid.txt";
//   settings["out"] = "model";
//   attend::run_training(settings, {.messages = &std::cerr});
#pragma once

#include <cstdint>
#include <iosfwd>

#include "attend/base/json.h"

namespace attend {

struct TrainingOptions {
  bool resume = false;               // continue the run in the folder
  bool overwrite = false;            // start again although there is one
  bool allow_changes = false;        // resume although settings or data have changed
  std::ostream* messages = nullptr;  // progress, for people; null: none
};

struct TrainingSummary {
  std::int64_t steps = 0;
  int interrupted = 0;  // the signal, Ctrl-C's or another: the state is saved, and resume continues
  bool stopped_early = false;
  double seconds = 0;
};

// settings: the keys of a recipe. "task" is translation (the default), language-model, masked-lm, classify, tag,
// answer, classify-images, describe, detect or draw; "device" and "threads" say where it is computed. Throws Error
// naming a setting that is unknown, missing or makes no sense, with everything in the folder as it was.
TrainingSummary run_training(const Json& settings, const TrainingOptions& options = {});

}  // namespace attend
