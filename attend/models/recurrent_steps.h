// Step-by-step decoding with a recurrent caption decoder (Vinyals et al. 2015; Xu et al. 2015). It holds the state of
// every row, [B·group, H], and what the rows read of each image.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "attend/nn/step_model.h"
#include "attend/nn/step_rows.h"
#include "attend/ops/embedding.h"
#include "attend/tensor/pass.h"

namespace attend::models {

// The state of a recurrent layer, [rows, H].
struct RecurrentState {
  Tensor hidden, cell;
};

// Model provides a Memory of the images, whose parts() have one entry per image, and
// step(tokens i32 [B, group], memory, state&) -> logits [rows, V].
template <class Model>
class RecurrentSteps : public nn::StepModel {
 public:
  // `state` has one row per image; with groups it is repeated for each row.
  RecurrentSteps(const Model& model, Pass& pass, typename Model::Memory memory, RecurrentState state,
                 std::int64_t group)
      : model_(model), rows_(pass, state.hidden.dim(0), group), memory_(std::move(memory)), state_(std::move(state)) {
    if (group == 1) return;
    std::vector<std::int32_t> images;
    for (std::int64_t row = 0; row < rows_.count(); ++row) images.push_back(static_cast<std::int32_t>(row / group));
    move(images);
  }

  std::int64_t vocabulary() const override { return model_.vocabulary(); }
  std::int64_t suppress(std::span<const std::int32_t> ids) override { return rows_.suppress(ids, vocabulary()); }
  Scores step(std::span<const std::int32_t> tokens, const Wanted& wanted) override {
    rows_.start(tokens);
    const Tensor newest = rows_.ints(tokens).reshape({rows_.count() / rows_.group(), rows_.group()});
    return rows_.scores(model_.step(newest, memory_, state_), wanted);
  }
  void reorder(std::span<const std::int32_t> from) override {
    const std::int64_t before = rows_.count();
    if (!rows_.move(from)) return;
    move(from);
    if (rows_.count() == before) return;
    // Drops the images whose captions are finished.
    const Tensor kept = rows_.ints(rows_.sources(from));
    for (Tensor* part : memory_.parts())
      if (part->defined()) *part = ops::gather(*part, kept);
  }

 private:
  // Row i continues from the state of row from[i].
  void move(std::span<const std::int32_t> from) {
    const Tensor order = rows_.ints(from);
    state_ = {ops::gather(state_.hidden, order), ops::gather(state_.cell, order)};
  }

  const Model& model_;
  nn::StepRows rows_;
  typename Model::Memory memory_;
  RecurrentState state_;
};

}  // namespace attend::models
