// Translation as something to train (train::Task): batches of pairs, the model's loss on them, and validation by loss
// and by BLEU of greedy translations.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attend/data/prefetch.h"
#include "attend/data/text/pair_batches.h"
#include "attend/models/seq2seq.h"
#include "attend/tasks/translator.h"
#include "attend/text/tokenizer.h"
#include "attend/train/loop/trainer.h"
#include "attend/train/recipes/translation/device_batch.h"

namespace attend::train {

struct TranslationTaskOptions {
  std::int64_t tokens = 4096;
  std::uint64_t seed = 1;
  float label_smoothing = 0.1f, r_drop = 0;
  std::optional<std::int32_t> start = {};  // what a translation begins with, if it is not <s>
  bool select_by_bleu = true;
};

// What validation compares with: some sentences and their translations, as text.
struct ValidationText {
  std::vector<std::string> source, target;
};

// How well a finished translator does: BLEU, chrF, and the share that is right to the last letter.
train::Validation evaluate_translator(const tasks::Translator& translator, const ValidationText& text);

class TranslationTask : public train::Task {
 public:
  // All must outlive the task.
  struct Parts {
    const models::Seq2Seq& model;
    const text::Tokenizer& tokenizer;
    Backend& backend;
    const data::ParallelCorpus &training, &validation;
    const ValidationText& sample;  // for BLEU; may be empty
  };
  TranslationTask(const Parts& parts, const TranslationTaskOptions& options);

  std::uint64_t next_batch() override;
  std::int64_t batch_items() const override { return tokens_; }
  std::vector<double> batch_weights() const override { return {static_cast<double>(labels_)}; }
  train::Loss loss(Pass& pass) override;
  void take_shard(const data::Shard& shard) override;
  Json position() const override;
  void seek(const Json& position) override;
  train::Validation validate(world::World& world) override;
  std::vector<train::Example> examples(const train::ExampleLimits& limits) override;
  std::vector<train::ScoredExample> scored_examples() override;  // by chrF; 1 where every letter is right

 private:
  using Prefetch = data::Prefetch<data::HostPairBatch, data::Position>;
  data::PairBatchOptions batch_options(bool shuffle) const;
  void start_prefetch();
  double validation_loss(world::World& world);
  std::vector<std::string> greedy_translations(world::World& world) const;

  Parts parts_;
  TranslationTaskOptions options_;
  tasks::Translator translator_;
  DeviceBatches training_batches_, validation_batches_;
  data::PairBatches batches_;
  data::Position position_;
  models::PairBatch batch_;
  std::int64_t tokens_ = 0, labels_ = 0;
  data::Shard shard_;
  std::unique_ptr<Prefetch> prefetch_;  // last: it uses batches_
};

}  // namespace attend::train
