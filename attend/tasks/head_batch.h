// Texts for a model with a head, on the device: packed one after another.
#pragma once

#include <cstdint>
#include <span>

#include "attend/tasks/encoder_model.h"

namespace attend::tasks {

// What a text's targets are: its label, a number, a label per token (kIgnored: none), or the tokens an answer begins
// and ends with. Answers are looked for in padded texts (models::QuestionAnswerer).
enum class TargetKind : std::uint8_t { label, number, tags, span };
inline constexpr std::int32_t kIgnored = -100;

struct HeadBatch {
  models::BertInput input;
  // label: i32 [batch]; number: f32 [batch]; tags: i32 [rows]; span: i32 [2, batch].
  Tensor targets = {};
  Tensor last = {};  // i32 [batch]: the row of each text's last token; of packed texts

  HeadBatch in(Pass& pass) const {
    const auto under = [&](const Tensor& x) { return x.defined() ? pass.input(x) : x; };
    return {input.in(pass), under(targets), under(last)};
  }
};

// Texts to be read once, as they are.
HeadBatch pack_once(const EncoderReader& reader, std::span<const EncoderText* const> texts, Backend& backend);

}  // namespace attend::tasks
