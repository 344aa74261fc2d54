// One text of a causal model, for speculative decoding. New tokens are the rows of a step. They write and read one row
// of the caches, each up to its own position, so a step of n tokens reads the weights once. Taking tokens back only
// changes the length.
//   tokens [n] -> logits [n, V]
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "attend/nn/causal_model.h"
#include "attend/nn/step_rows.h"
#include "attend/nn/step_runner.h"
#include "attend/nn/text_model.h"
#include "attend/tensor/pass.h"

namespace attend::nn {

class CausalText : public TextModel {
 public:
  // False for a cache that rolls, which has forgotten what a rejected token replaced, and on a GPU for a model whose
  // attention has a bias.
  static bool supports(const CausalModel& model, const Backend& backend);
  // `room` is the length of the longest text in tokens, including its prompt.
  CausalText(const CausalModel& model, Backend& backend, std::int64_t room);

  std::int64_t vocabulary() const override { return sizes_.vocabulary; }
  std::int64_t room() const override { return room_; }
  std::int64_t length() const override { return length_; }
  std::int64_t suppress(std::span<const std::int32_t> ids) override;
  StepModel::Scores read(std::span<const std::int32_t> tokens, const StepModel::Wanted& wanted) override;
  void skip(std::span<const std::int32_t> tokens) override;
  void keep(std::int64_t length) override;

 private:
  // Steps of one number of tokens, which are planned and captured on their own.
  struct Steps {
    Steps(const Pass& pass, std::int64_t tokens);
    StepRunner runner;
    Tensor query_offsets, key_offsets;  // on a GPU, of several tokens (CachePlaces)
  };
  void check_room(std::int64_t tokens) const;
  Tensor prompt_states(std::span<const std::int32_t> tokens);  // [1, T, C]
  StepModel::Scores read_prompt(std::span<const std::int32_t> tokens, const StepModel::Wanted& wanted);
  Steps& steps_of(std::size_t tokens);

  const CausalModel& model_;
  CausalModel::Sizes sizes_;
  std::int64_t room_, length_ = 0;
  Pass pass_;
  StepRows rows_;
  std::vector<KvCache> caches_;
  std::unique_ptr<CausalStep> single_;   // null if there is none
  std::map<std::size_t, Steps> steps_;   // by their number of tokens
  std::vector<std::int32_t> positions_;  // of the tokens of a step
};

}  // namespace attend::nn
