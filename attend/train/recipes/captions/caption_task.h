// Writing about images as something to train (train::Task): batches of images, each with one of its captions, the
// model's loss on them, and validation by loss and by BLEU and CIDEr of greedy descriptions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attend/data/images/image_batches.h"
#include "attend/metrics/captions.h"
#include "attend/models/captioner.h"
#include "attend/tasks/describer.h"
#include "attend/text/tokenizer.h"
#include "attend/train/loop/trainer.h"

namespace attend::train {

// The captions of images, by the images' numbers.
struct CaptionIds {
  std::vector<std::vector<std::vector<std::int32_t>>> ids = {};  // without start and end
};
CaptionIds encode_captions(const std::vector<std::vector<std::string>>& captions, const text::Tokenizer& tokenizer,
                           std::int64_t max_length);

// Images that descriptions are evaluated on. All must outlive it.
struct EvaluatedCaptions {
  data::ValidationImages& images;
  const CaptionIds& captions;
  const std::vector<std::vector<std::string>>& references;
};

struct CaptionTaskOptions {
  float label_smoothing = 0;
  std::uint64_t seed = 1;
  std::int64_t score_images = 500;
  std::string select = "cider";
};

class CaptionTask : public train::Task {
 public:
  // All must outlive the task.
  struct Parts {
    const models::Captioner& model;
    const text::Tokenizer& tokenizer;
    Backend& backend;
    DType dtype;  // what the model computes in
    data::ImageBatches& training;
    const CaptionIds& captions;
    EvaluatedCaptions validation;
    std::int64_t batch;
  };
  CaptionTask(const Parts& parts, const CaptionTaskOptions& options);

  std::uint64_t next_batch() override;
  std::int64_t batch_items() const override { return parts_.batch; }
  std::string items() const override { return "images"; }
  // Words, and images for what is asked of the attention.
  std::vector<double> batch_weights() const override { return {words_, static_cast<double>(parts_.batch)}; }
  void weigh(std::span<const double> own, std::span<const double> all) override;
  train::Loss loss(Pass& pass) override;
  void take_shard(const data::Shard& shard) override { parts_.training.take_shard(shard); }
  Json position() const override;
  void seek(const Json& position) override;
  train::Validation validate(world::World& world) override;

  // What descriptions of the first so many images are worth, found with so many beams.
  metrics::CaptionScores evaluate(const EvaluatedCaptions& evaluated, std::int64_t images, std::int64_t beams,
                                  world::World& world = world::alone()) const;
  double loss_on(const EvaluatedCaptions& evaluated, world::World& world = world::alone()) const;
  // Images of the validation set with the sentences it writes, greedily, and where each word looked.
  std::vector<train::Example> examples(const train::ExampleLimits& limits) override;

 private:
  // Captions on the device, by their length: a captured step finds each shape in its own place.
  const models::CaptionBatch& put(std::span<const std::vector<std::int32_t>* const> rows);
  Tensor pixels_of(Pass& pass, const Tensor& pixels) const;
  // The loss of a batch of images over all their captions, times their tokens, and those.
  std::pair<double, double> sums_of(Pass& pass, const data::HostImageBatch& batch, const CaptionIds& captions) const;

  Parts parts_;
  CaptionTaskOptions options_;
  tasks::Describer describer_;
  std::optional<std::vector<data::ValidationImages::Shown>> shown_;  // read once
  Tensor pixels_, attention_share_;
  std::map<std::int64_t, models::CaptionBatch> places_;
  std::int64_t length_ = 0;  // of the batch in place
  double words_ = 0;         // likewise, with their ends
};

}  // namespace attend::train
