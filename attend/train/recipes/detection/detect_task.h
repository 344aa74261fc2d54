// Finding things in images as something to train (train::Task): DETR's loss, with its matcher on the host between the
// captured halves of a step.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "attend/data/images/detection_batches.h"
#include "attend/metrics/detection.h"
#include "attend/models/detr_loss.h"
#include "attend/train/loop/trainer.h"

namespace attend::train {

// What is to be found in the images of a batch, as the loss wants it.
std::vector<models::DetrObjects> objects_in(const data::HostDetectionBatch& batch);

// How well a model finds things: COCO's scores, and the loss of its last layer.
class DetectionEvaluator {
 public:
  DetectionEvaluator(const models::Detr& model, Backend& backend, DType dtype)
      : model_(model), backend_(backend), dtype_(dtype) {}

  struct Verdict {
    std::int64_t images = 0;
    double loss = 0, classes = 0, l1 = 0, giou = 0;  // means over the images
    metrics::DetectionScores scores = {};
    Json json() const;
  };
  // By all processes of the world.
  Verdict operator()(data::ValidationDetections& images, world::World& world = world::alone()) const;

 private:
  models::DetrOutput answers(Pass& pass, const data::HostDetectionBatch& batch) const;
  // Of a batch: its images, and the loss and its parts, each times those.
  using Sums = std::array<double, 5>;
  Sums sums_of(const models::DetrOutput& output, const data::HostDetectionBatch& batch) const;

  const models::Detr& model_;
  Backend& backend_;
  DType dtype_;
};

class DetectTask : public train::Task {
 public:
  // All must outlive the task.
  struct Parts {
    const models::Detr& model;
    Backend& backend;
    DType dtype;  // what the model computes in
    data::DetectionBatches& training;
    data::ValidationDetections& validation;
    std::int64_t batch, image_size;
  };
  struct Options {
    bool auxiliary = true;  // all layers of the decoder learn
    bool select_by_loss = false;
  };
  DetectTask(const Parts& parts, const Options& options);

  std::uint64_t next_batch() override;
  std::int64_t batch_items() const override { return parts_.batch; }
  std::string items() const override { return "images"; }
  bool needs_host() const override { return true; }
  void forward(Pass& pass) override;
  void on_host() override { criterion_.match(objects_, of_each_); }
  // Classes are a weighted mean over queries, boxes one over objects: each over those of all processes.
  std::vector<double> batch_weights() const override;
  void weigh(std::span<const double> own, std::span<const double> all) override;
  train::Loss loss(Pass& pass) override;
  void take_shard(const data::Shard& shard) override { parts_.training.take_shard(shard); }
  Json position() const override;
  void seek(const Json& position) override;
  train::Validation validate(world::World& world) override { return evaluate(parts_.validation, world); }
  train::Validation evaluate(data::ValidationDetections& images, world::World& world = world::alone()) const;
  // Images of the validation set, with what is found in them and which query is matched to what.
  std::vector<train::Example> examples(const train::ExampleLimits& limits) override;

 private:
  Extent2 padded() const { return {parts_.image_size, parts_.image_size}; }

  Parts parts_;
  Options options_;
  std::optional<std::vector<data::ValidationDetections::Shown>> shown_;  // read once
  models::DetrCriterion criterion_;
  Tensor pixels_;                  // of the batch
  models::PositionLayout places_;  // likewise
  std::vector<models::DetrObjects> objects_;
  double of_each_ = 0;         // how much an object's box counts
  models::DetrOutput output_;  // between forward() and loss()
};

}  // namespace attend::train
