// What a run that learns to find things in images, or to write about them, shows of itself while it trains
// (train::Task::examples): fixed images through the model as it is now.
#pragma once

#include <string>

#include "attend/data/images/detection_batches.h"
#include "attend/image/preprocessor.h"
#include "attend/models/captioner.h"
#include "attend/models/detr.h"
#include "attend/tasks/describer.h"
#include "attend/train/loop/example.h"

namespace attend::train {

// The boxes it believes in and those that were matched to an object, with where their queries look; and the objects,
// with whom they were matched to.
struct DetectionExample {
  const models::Detr& model;
  Backend& backend;
  DType dtype;  // what the model computes in
};
train::Example detection_example(const DetectionExample& parts, const data::ValidationDetections::Shown& shown);

// A sentence, greedily, word by word with where it looked, and what a person wrote.
struct CaptionExample {
  const models::Captioner& model;
  const tasks::Describer& describer;
  const text::Tokenizer& tokenizer;
  Backend& backend;
  DType dtype;
  const image::Normalization& normalization;
};
train::Example caption_example(const CaptionExample& parts, const image::Image& prepared, const std::string& reference);

}  // namespace attend::train
