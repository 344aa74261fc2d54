// One training run, whatever is trained: from settings and files to a model folder. What differs from task to task is a
// recipe's: a function that makes a Training of settings (trainings.h lists them), and a TrainingJob.
//
//   Training training = language_training(settings, "recipe.json");   // settings checked, nothing opened
//   run_training(training, *backend, options);
//
// run_training() does, in this order:
//   1. finds the folder to start from, opens the run's, and compares settings and files with what was there
//      (train::RunFolder)
//   2. training.prepare: a TrainingJob reads the files, makes the model, and stages what the folder shall hold besides
//   the
//      weights: config.json, a tokenizer, settings for images
//   3. gives the model memory and random weights (nn::Parameters)
//   4. job.start(): weights of another folder, what the model keeps on the device
//   5. stages recipe.json; says what is trained
//   6. job.task(), and trains it, with an optimiser a part (train::train)
//   7. job.finish(): what is evaluated or saved besides
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/nn/parameters.h"
#include "attend/train/loop/trainer.h"
#include "attend/train/recipes/memory_estimate.h"
#include "attend/train/recipes/run_settings.h"

namespace attend::train {

// What a recipe finds when its files are to be read.
struct RunContext {
  train::RunFolder& folder;
  Backend& backend;
  DType dtype;                 // what the model computes in
  std::filesystem::path from;  // the folder of a model to go on from; of a resumed run its own; empty: there is none
  const TrainOptions& options;
};

// Parameters with an optimiser of their own.
struct TrainedPart {
  std::vector<nn::Parameters::Entry> parameters;
  std::string name = {};   // in the run's state, where there are several
  std::int64_t turns = 1;  // per step, where there are several
  float rate = 1;          // times the learning rate
  bool averaged = true;    // has a moving average, where the settings ask for one
};

struct JobFacts {
  std::string name;        // of the model, for people: "gpt2"
  std::int64_t width = 0;  // of the model, for the paper's learning rate
  // Almost always one; several take turns (a GAN's generator and discriminator).
  std::vector<TrainedPart> parts;
  // As prepare() found them; where the data decides some (steps of an epoch), with those decided.
  RunSettings settings;
  Json recipe;              // all of them, for recipe.json
  std::string more = {};    // behind the line that says what is trained
  std::string sample = {};  // a file to try the model on, where it reads images
  std::int64_t tokens = 0;  // that go through the model in a batch, or patches, to estimate the time; 0: unknown
  StepSizes sizes = {};     // to estimate the memory
  std::int64_t length = 0;  // of a text of a batch, to count operations; 0: what the model was made for
};

// A recipe whose files are read: its data, and a model that has no memory before facts() was asked for its parts.
class TrainingJob {
 public:
  virtual ~TrainingJob() = default;
  virtual JobFacts facts() = 0;  // called once
  // The weights, one Parameters a part, are there and random; of a resumed run the state replaces them later.
  virtual void start(const std::vector<nn::Parameters*>& /*weights*/) {}
  virtual std::unique_ptr<train::Task> task() = 0;  // which may use all that is in this; called once
  // The model is trained, the folder has it, the weights are the best. Not called for a run that was interrupted.
  virtual void finish(train::Task& /*task*/) {}
};

// One whose finish() needs the functions of its own task.
template <class OwnTask>
class JobOf : public TrainingJob {
 public:
  virtual std::unique_ptr<OwnTask> make_task() = 0;
  virtual void finish_task(OwnTask& task) = 0;

  std::unique_ptr<train::Task> task() final { return make_task(); }
  void finish(train::Task& task) final { finish_task(static_cast<OwnTask&>(task)); }  // the one that task() made
};

struct Training {
  RunSettings settings;
  Json recipe;                         // all settings, as recipe.json holds them
  std::vector<train::DataFile> files;  // what is learned from: a resumed run must find the same
  std::string from = {};               // a model folder to go on from, its path or a shipped model's name
  std::function<std::unique_ptr<TrainingJob>(const RunContext& run)> prepare;
};

struct TrainingOutcome : train::TrainingResult {
  std::string sample = {};            // as in JobFacts
  train::BestAndWorst examples = {};  // of the validation data, where TrainOptions::examples asked for them
  std::string flops_text = {};        // what was counted, for a person; empty: nothing was
};

// Throws Error, with everything in the folder as it was, when something is wrong before the first step.
TrainingOutcome run_training(const Training& training, Backend& backend, const TrainOptions& options);

// What the finished model was evaluated to be on images or texts of their own: said, and written as test.json.
void report_test(const RunContext& run, const std::string& path, const train::Validation& verdict);

// Images that could not be read, and so were not learned from.
void report_broken(const RunContext& run, const std::vector<std::string>& files);

// What the runs that the settings name found on their tests (report_test()); nothing where there is none yet.
std::string compared_runs(const RunSettings& settings);

// Those of the settings that name a file, or a folder: {{"train", recipe.train}, ..}.
std::vector<train::DataFile> files_or_folders(const std::vector<train::DataFile>& named);

// As files of a model folder are written.
void stage_json(train::RunFolder& folder, const std::string& name, const Json& json);

}  // namespace attend::train
