// What attend evaluate asks of each kind of model: one function a kind, all with the same answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/catalogue/catalogue.h"
#include "attend/cli/support/device_flags.h"
#include "attend/cli/support/streams.h"
#include "attend/data/text/labelled_text.h"

namespace attend::cli {

struct EvaluateOptions : DeviceFlags {
  std::string model, images;
  std::vector<std::string> data;
  std::int64_t batch = 64, beams = 0, worst = 5;
  double masked = 0.15;
  bool json = false, test_time_flip = false;
  std::int64_t test_time_shift = 0;
  data::LabelledOptions texts;
};

// One of those that were got wrong; the larger the badness, the more.
struct WorstExample {
  double badness = 0;
  Json json;
  std::string text;  // for people, of one or several lines
};

struct Evaluation {
  Json json = {};
  std::string text = {};   // the figures in a line or two
  std::string table = {};  // of every class, where there are classes
  std::vector<WorstExample> worst = {};
};

// All that such a function is given. The model is the folder's, of the right kind.
struct EvaluatedModel {
  const EvaluateOptions& options;
  const catalogue::ModelConfig& config;
  Backend& backend;
  const Streams& streams;
  // Throws Error saying what files this kind of model needs, unless as many were given.
  void expect_files(std::size_t least, std::size_t most, std::string_view which) const;
};

Evaluation evaluate_translation(const EvaluatedModel& model);
Evaluation evaluate_language_model(const EvaluatedModel& model);
Evaluation evaluate_masked(const EvaluatedModel& model);
Evaluation evaluate_texts(const EvaluatedModel& model);  // labels, tags, answers
Evaluation evaluate_images(const EvaluatedModel& model);
Evaluation evaluate_detection(const EvaluatedModel& model);
Evaluation evaluate_captions(const EvaluatedModel& model);

}  // namespace attend::cli
