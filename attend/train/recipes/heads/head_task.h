// Tuning a head as something to train (train::Task): labelled texts in a new order every epoch, batches that always
// have the same number of texts, and validation by the measure of the head.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attend/data/permutation.h"
#include "attend/data/prefetch.h"
#include "attend/tasks/head.h"
#include "attend/train/loop/trainer.h"
#include "attend/train/recipes/heads/head_batches.h"
#include "attend/train/recipes/heads/head_evaluator.h"

namespace attend::train {

struct HeadTaskOptions {
  std::int64_t batch = 32;
  std::uint64_t seed = 1;
  bool select_by_loss = false;  // which weights are best; else by the evaluator's score
};

class HeadTask : public train::Task {
 public:
  // All must outlive the task.
  struct Parts {
    const tasks::Head& head;
    const tasks::EncoderReader& reader;
    Backend& backend;
    tasks::TargetKind kind;
    const std::vector<HeadExample>&training, &validation;
    const std::vector<data::LabelledText>& validation_texts;
  };
  HeadTask(const Parts& parts, const HeadTaskOptions& options);

  std::uint64_t next_batch() override;
  std::int64_t batch_items() const override { return tokens_; }
  std::vector<double> batch_weights() const override { return {targets_}; }
  train::Loss loss(Pass& pass) override { return parts_.head.loss(batch_.in(pass)); }
  void take_shard(const data::Shard& shard) override;
  Json position() const override;
  void seek(const Json& position) override;
  std::vector<train::Example> examples(const train::ExampleLimits& limits) override;
  std::vector<train::ScoredExample> scored_examples() override;
  train::Validation validate(world::World& world) override {
    return evaluate(parts_.validation, parts_.validation_texts, world);
  }
  // The same for other texts, from which the examples were made.
  train::Validation evaluate(const std::vector<HeadExample>& examples, const std::vector<data::LabelledText>& texts,
                             world::World& world = world::alone());

 private:
  using Prefetch = data::Prefetch<HostHeadBatch, std::uint64_t>;
  void start_prefetch();
  HostHeadBatch make(std::uint64_t batch);
  // What the head says of a text of the validation file and what it should, for a person.
  struct Prediction {
    std::string said, should;
  };
  Prediction prediction_of(const HeadExample& example, const Tensor& found) const;
  std::string tagged(const HeadExample& example, const std::function<std::string(std::size_t word)>& tag) const;

  Parts parts_;
  HeadTaskOptions options_;
  HeadBatches training_batches_, validation_batches_;
  tasks::HeadBatch batch_;
  std::int64_t tokens_ = 0;
  double targets_ = 0;  // of the batch
  data::Shard shard_;
  std::uint64_t made_ = 0, taken_ = 0;        // batches
  std::unique_ptr<data::Permutation> order_;  // of epoch_; the prefetching thread's
  std::uint64_t epoch_ = 0;
  std::unique_ptr<Prefetch> prefetch_;  // last: it uses what is above
};

}  // namespace attend::train
