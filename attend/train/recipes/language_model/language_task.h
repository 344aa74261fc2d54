// A language model as something to train (train::Task): windows of a text, what follows each place in them, and
// validation on another text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "attend/data/prefetch.h"
#include "attend/data/text/token_lines.h"
#include "attend/data/text/token_stream.h"
#include "attend/models/language_model.h"
#include "attend/text/tokenizer.h"
#include "attend/train/loop/trainer.h"

namespace attend::train {

struct LanguageTaskOptions {
  std::int64_t batch = 64, block = 256;
  std::uint64_t seed = 1;
  data::LineTokens lines = {};  // of streams whose lines are texts of their own; without, windows begin anywhere
  // For examples() and for losses per character; must outlive the task.
  const text::Tokenizer* tokenizer = nullptr;
};

class LanguageTask : public train::Task {
 public:
  // All must outlive the task.
  LanguageTask(const models::LanguageModel& model, Backend& backend, const data::TokenStream& training,
               const data::TokenStream& validation, const LanguageTaskOptions& options);

  std::uint64_t next_batch() override;
  std::int64_t batch_items() const override { return options_.batch * options_.block; }
  train::Loss loss(Pass& pass) override;
  void take_shard(const data::Shard& shard) override;
  Json position() const override;
  void seek(const Json& position) override;
  train::Validation validate(world::World& world) override;
  std::vector<train::Example> examples(const train::ExampleLimits& limits) override;

 private:
  using Prefetch = data::Prefetch<data::TokenWindows, std::uint64_t>;
  void start_prefetch();
  void put(const data::TokenWindows& windows);
  double characters_per_token() const;  // of the validation text; 1 where that is not known

  const models::LanguageModel& model_;
  const data::TokenStream &training_, &validation_;
  LanguageTaskOptions options_;
  std::optional<data::TokenLines> training_lines_, validation_lines_;
  Tensor ids_, labels_;  // i32 [batch, block]
  data::Shard shard_;
  std::uint64_t made_ = 0, taken_ = 0;  // batches
  std::unique_ptr<Prefetch> prefetch_;  // last: it uses made_
};

}  // namespace attend::train
