// The interface of models that predict the next token, for training, generation and evaluation: GPT-2 (gpt2.h) and the
// recurrent network (text_rnn.h).
//
//   ids [B, T] -> states [B, T, C] -> logits [B, T, V]
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attend/base/json_fwd.h"
#include "attend/nn/batch_model.h"
#include "attend/nn/parameters.h"
#include "attend/nn/sequences.h"
#include "attend/nn/step_model.h"
#include "attend/nn/text_model.h"
#include "attend/ops/softmax.h"

namespace attend::models {

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  struct Facts {
    std::int64_t vocabulary = 0, max_length = 0;
    std::int64_t width = 0, layers = 0;
    std::int64_t hidden = 0, heads = 0;  // width inside a layer: feed-forward or gates; 0 heads: no attention
    std::int64_t start = -1, end = -1;   // token ids; -1 means none
    std::int64_t row_bytes = 0;          // memory of a text of the longest length while it is decoded
  };
  virtual Facts facts() const = 0;
  virtual Json config() const = 0;
  virtual std::vector<nn::Parameters::Entry> parameters() = 0;

  virtual Tensor states(const nn::Sequences& texts) const = 0;  // ids -> [.., C]
  // Scores of the next token at every position, [.., V].
  virtual Tensor logits(const nn::Sequences& texts) const = 0;
  // labels are i32 like the ids: the next token of each position; -100 is ignored.
  virtual ops::Loss loss(const nn::Sequences& texts, const Tensor& labels) const = 0;

  // Continues each of the prompts, i32 [B, T], in `group` rows. The first step returns the scores after the prompts and
  // ignores its tokens. `tokens` says how many more there will be. The pass must outlive the result.
  virtual std::unique_ptr<nn::StepModel> start(Pass& pass, const Tensor& prompts, std::int64_t group,
                                               std::int64_t tokens) const = 0;
  // One text of up to `room` tokens for speculative decoding; null for a model that cannot take tokens back.
  virtual std::unique_ptr<nn::TextModel> text(Backend& /*backend*/, std::int64_t /*room*/) const { return nullptr; }
  // Rows that texts of up to `room` tokens enter and leave.
  virtual std::unique_ptr<nn::BatchModel> batch(Backend& backend, std::int64_t rows, std::int64_t room,
                                                const nn::PromptPieces& pieces = {}) const = 0;
};

}  // namespace attend::models
