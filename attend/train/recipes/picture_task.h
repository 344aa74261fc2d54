// Labels of pictures as something to train (train::Task).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "attend/data/images/picture_batches.h"
#include "attend/models/picture_model.h"
#include "attend/train/loop/trainer.h"

namespace attend::train {

struct PictureTaskOptions {
  float label_smoothing = 0;
  bool mixed = false;  // batches may be mixed with themselves
  bool select_by_loss = false;
};

// How good a model's labels of pictures are.
class PictureJudge {
 public:
  PictureJudge(const models::PictureModel& model, Backend& backend, DType dtype)
      : model_(model), backend_(backend), dtype_(dtype) {}

  struct Verdict {
    std::int64_t pictures = 0;
    double loss = 0, top1 = 0, top5 = 0;  // the mean; shares of 1
    std::vector<std::int32_t> predicted, truth;
    std::vector<float> sure;  // the probability of each predicted
    Json json() const;
  };
  // By all processes of the world.
  Verdict operator()(data::ValidationPictures& pictures, world::World& world = world::alone()) const;

 private:
  // Of one picture.
  struct Judged {
    double loss = 0;
    std::int32_t predicted = 0, truth = 0;
    float sure = 0;
    std::int32_t among5 = 0;
  };
  std::vector<Judged> judged(Pass& pass, const data::HostPictureBatch& batch) const;

  const models::PictureModel& model_;
  Backend& backend_;
  DType dtype_;
};

class PictureTask : public train::Task {
 public:
  // All must outlive the task.
  struct Parts {
    const models::PictureModel& model;
    Backend& backend;
    DType dtype;  // what the model computes in
    data::PictureBatches& training;
    data::ValidationPictures& validation;
    std::int64_t batch;
  };
  PictureTask(const Parts& parts, const PictureTaskOptions& options);

  std::uint64_t next_batch() override;
  std::int64_t batch_items() const override { return parts_.batch; }
  std::string items() const override { return "pictures"; }
  train::Loss loss(Pass& pass) override;
  void take_shard(const data::Shard& shard) override { parts_.training.take_shard(shard); }
  Json position() const override;
  void seek(const Json& position) override;
  train::Validation validate(world::World& world) override { return judge(parts_.validation, world); }
  train::Validation judge(data::ValidationPictures& pictures, world::World& world = world::alone()) const;
  // Pictures of the validation set.
  std::vector<train::Example> examples(const train::ExampleLimits& limits) override;

 private:
  Parts parts_;
  PictureTaskOptions options_;
  std::optional<std::vector<data::ValidationPictures::Shown>> shown_;  // read once
  Tensor pixels_, labels_, others_, share_, rest_;  // of the batch; f32 [1] each, how much labels and others count
};

}  // namespace attend::train
