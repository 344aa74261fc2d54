// Labels of images as something to train (train::Task).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "attend/data/images/image_batches.h"
#include "attend/models/image_model.h"
#include "attend/train/loop/trainer.h"
#include "attend/train/recipes/images/image_teacher.h"
#include "attend/train/recipes/images/test_time_views.h"

namespace attend::train {

struct ImageTaskOptions {
  float label_smoothing = 0;
  bool mixed = false;    // batches may be mixed with themselves,
  double mix_until = 1;  // up to this share of the run
  bool select_by_loss = false;
  TestTimeOptions test_time = {};
};

// How good a model's labels of images are.
class ImageEvaluator {
 public:
  ImageEvaluator(const models::ImageModel& model, Backend& backend, DType dtype, const TestTimeOptions& options)
      : model_(model), backend_(backend), dtype_(dtype), options_(options) {}

  struct Verdict {
    std::int64_t images = 0;
    double loss = 0, top1 = 0, top5 = 0;  // the mean; shares of 1
    std::vector<std::int32_t> predicted, truth;
    std::vector<float> sure;  // the probability of each predicted
    Json json() const;
  };
  // By all processes of the world.
  Verdict operator()(data::ValidationImages& images, world::World& world = world::alone()) const;

 private:
  // Of one image.
  struct Evaluated {
    double loss = 0;
    std::int32_t predicted = 0, truth = 0;
    float sure = 0;
    std::int32_t among5 = 0;
  };
  std::vector<float> logits(Pass& pass, const std::vector<float>& values) const;
  std::vector<Evaluated> evaluated(Pass& pass, const data::HostImageBatch& batch) const;

  const models::ImageModel& model_;
  Backend& backend_;
  DType dtype_;
  TestTimeOptions options_;
};

class ImageTask : public train::Task {
 public:
  // All must outlive the task.
  struct Parts {
    const models::ImageModel& model;
    Backend& backend;
    DType dtype;  // what the model computes in
    data::ImageBatches& training;
    data::ValidationImages& validation;
    std::int64_t batch;
    std::vector<std::string> names = {};  // of the images to validate with
    ImageTeacher* teacher = nullptr;      // of a distillation
  };
  ImageTask(const Parts& parts, const ImageTaskOptions& options);

  void progress(double share) override { parts_.training.mix(share <= options_.mix_until); }
  std::uint64_t next_batch() override;
  std::int64_t batch_items() const override { return parts_.batch; }
  std::string items() const override { return "images"; }
  train::Loss loss(Pass& pass) override;
  void take_shard(const data::Shard& shard) override { parts_.training.take_shard(shard); }
  Json position() const override;
  void seek(const Json& position) override;
  train::Validation validate(world::World& world) override { return evaluate(parts_.validation, world); }
  train::Validation evaluate(data::ValidationImages& images, world::World& world = world::alone()) const;
  // Images of the validation set.
  std::vector<train::Example> examples(const train::ExampleLimits& limits) override;
  std::vector<train::ScoredExample> scored_examples() override;

 private:
  ImageEvaluator evaluator() const { return {parts_.model, parts_.backend, parts_.dtype, options_.test_time}; }

  Parts parts_;
  ImageTaskOptions options_;
  std::optional<std::vector<data::ValidationImages::Shown>> shown_;  // read once
  Tensor pixels_, labels_, others_, share_, rest_;  // of the batch; f32 [1] each, how much labels and others count
};

}  // namespace attend::train
