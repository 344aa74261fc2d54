// Drawing as something to train (train::Task): the discriminator and the generator take turns.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attend/data/images/image_batches.h"
#include "attend/data/prefetch.h"
#include "attend/models/sagan.h"
#include "attend/train/loop/trainer.h"
#include "attend/train/recipes/drawing/diff_augment.h"
#include "attend/train/recipes/drawing/frechet_evaluator.h"

namespace attend::train {

class DrawTask : public train::Task {
 public:
  // Number of a learner.
  enum Player : std::size_t { discriminator, generator };

  // All must outlive the task.
  struct Parts {
    const models::Sagan& model;
    Backend& backend;
    DType dtype;  // what the model computes in
    data::ImageBatches& training;
    data::ValidationImages& validation;
    const FrechetEvaluator* evaluator = nullptr;
    std::int64_t batch = 64, drawings = 5000, discriminator_turns = 1;
    std::uint64_t seed = 1;
    DiffAugmentOptions diff_augment = {};
    bool averaged = false;  // what is evaluated is an average of the weights
  };
  explicit DrawTask(const Parts& parts);

  void begin_turn(std::size_t learner) override { player_ = static_cast<Player>(learner); }
  // The generator learns from noise alone, of the classes of the batch that the discriminator had last.
  std::uint64_t next_batch() override;
  std::int64_t batch_items() const override { return player_ == discriminator ? parts_.batch : 0; }
  std::string items() const override { return "images"; }
  std::vector<double> batch_weights() const override { return {static_cast<double>(parts_.batch)}; }
  train::Loss loss(Pass& pass) override;
  void take_shard(const data::Shard& shard) override;
  Json position() const override;
  void seek(const Json& position) override;
  train::Validation validate(world::World& world) override;
  // Drawings of fixed noise, of one class after another.
  std::vector<train::Example> examples(const train::ExampleLimits& limits) override;

 private:
  // Of a batch, and how its images change.
  struct Drawn {
    std::vector<float> noise;
    DiffAugment::Draws changes;
  };
  using Noise = data::Prefetch<Drawn, std::uint64_t>;  // with the number of the row behind it

  Tensor read(Pass& pass, const Tensor& outside) const;
  void make_noise_from(std::uint64_t row);
  void settle() const;
  // Both losses, each the mean of the same few batches of the validation set.
  std::vector<double> validation_losses(world::World& world) const;

  Parts parts_;
  Player player_ = discriminator;
  data::Shard shard_;
  std::uint64_t drawn_ = 0;          // rows of noise so far
  Tensor pixels_, classes_, noise_;  // of the batch
  DiffAugment augment_;
  std::unique_ptr<Noise> rows_;
};

}  // namespace attend::train
