// Continuous batching for causal models (Yu et al. 2022): texts begin and end at different times. Rows have fixed room
// and their own positions, so that every step is the same captured graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attend/nn/batch_model.h"
#include "attend/nn/causal_model.h"
#include "attend/nn/prompt_cache.h"
#include "attend/nn/step_rows.h"
#include "attend/nn/step_runner.h"
#include "attend/tensor/pass.h"

namespace attend::nn {

class CausalBatch : public BatchModel {
 public:
  // `room` is the length of the longest text in tokens, including its prompt.
  CausalBatch(const CausalModel& model, Backend& backend, std::int64_t rows, std::int64_t room,
              const PromptPieces& pieces = {});

  std::int64_t vocabulary() const override { return sizes_.vocabulary; }
  std::int64_t rows() const override { return rows_.count(); }
  std::int64_t suppress(std::span<const std::int32_t> ids) override;
  Prepared prepared(std::span<const std::int32_t> prompt) override;
  void read_piece(std::span<const std::int32_t> prompt) override;
  StepModel::Scores enter(std::span<const Prompt> prompts, const StepModel::Wanted& wanted) override;
  void leave(std::int64_t row) override { lengths_.at(static_cast<std::size_t>(row)) = kEmpty; }
  StepModel::Scores step(const Step& step) override;
  bool missed(std::int64_t row) const override { return runner_.missed(row); }

 private:
  static constexpr std::int32_t kEmpty = -1;
  std::int64_t capacity() const { return whole_capacity(caches_, room_); }
  // How many rows a step computes: up to the last one with a text, rounded up so that few different steps exist.
  std::size_t rows_in_use() const;
  // All return logits [prompts, V]. The second reads prompts one by one if the model takes no packed texts, the third
  // those of several pieces by themselves.
  Tensor read_prompts(std::span<const Prompt> prompts);
  Tensor read_each(std::span<const Prompt> prompts);
  Tensor read_all(std::span<const Prompt> prompts);
  // Reads all pieces into a row of the caches but those that are kept. Logits [1, V].
  Tensor read_pieces(const Prompt& prompt);
  // Reads tokens of a text into a row behind `length` earlier ones. States [tokens, C] of all of them.
  Tensor read_behind(std::int64_t row, std::span<const std::int32_t> tokens, std::int64_t length);
  void copy_row(std::int64_t from, std::int64_t to, std::int64_t positions);
  std::vector<Tensor> send(std::span<const std::vector<std::int32_t>* const> lists);

  const CausalModel& model_;
  CausalModel::Sizes sizes_;
  std::int64_t room_;
  Pass pass_;
  StepRows rows_;
  StepRunner runner_;
  std::vector<CacheRing> rings_;
  std::vector<KvCache> caches_;
  std::unique_ptr<CausalStep> single_;  // null if there is none
  std::vector<std::int32_t> lengths_;   // length of each text, which is where its next token goes
  std::vector<std::int64_t> entered_;   // rows that no step has seen yet
  std::unique_ptr<PromptCache>
      kept_;                        // of the rows of the caches behind those of texts; null: prompts are read at once
  std::vector<std::int32_t> sent_;  // lists about prompts on their way to the device
  bool sending_ = false;            // they may still be
  std::size_t shown_ = 0;           // rows of the caches that a step sees
};

}  // namespace attend::nn
