// Guessing hidden tokens as something to train (train::Task): blocks of a text, and validation on another text.
#pragma once

#include <cstdint>
#include <memory>

#include "attend/data/prefetch.h"
#include "attend/data/text/masked_blocks.h"
#include "attend/models/bert_heads.h"
#include "attend/text/tokenizer.h"
#include "attend/train/loop/trainer.h"

namespace attend::train {

class MaskedTask : public train::Task {
 public:
  // All must outlive the task.
  MaskedTask(const models::MaskedLanguageModel& model, Backend& backend, const data::MaskedText& training,
             const data::MaskedText& validation, const data::MaskingOptions& masking, std::int64_t batch,
             const text::Tokenizer& tokenizer);

  std::uint64_t next_batch() override;
  std::int64_t batch_items() const override { return ids_.size(); }
  std::vector<double> batch_weights() const override { return {hidden_}; }
  train::Loss loss(Pass& pass) override;
  void take_shard(const data::Shard& shard) override;
  Json position() const override;
  void seek(const Json& position) override;
  // The mean loss over hidden tokens, and how many are guessed right.
  train::Validation validate(world::World& world) override;
  std::vector<train::Example> examples(const train::ExampleLimits& limits) override;

 private:
  using Prefetch = data::Prefetch<data::MaskedBlocks, std::uint64_t>;
  void start_prefetch();
  void put(const data::MaskedBlocks& blocks);
  models::BertInput input(Pass& pass) const;

  const models::MaskedLanguageModel& model_;
  const data::MaskedText &training_, &validation_;
  const text::Tokenizer& tokenizer_;
  std::int64_t batch_;
  Tensor ids_, positions_;  // i32 [batch, block]; positions are RoBERTa's
  Tensor places_, labels_;  // i32 [batch · hidden tokens a block]
  double hidden_ = 0;       // tokens of the batch
  data::Shard shard_;
  std::uint64_t made_ = 0, taken_ = 0;  // batches
  std::unique_ptr<Prefetch> prefetch_;  // last: it uses made_
};

}  // namespace attend::train
