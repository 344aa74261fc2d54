// Labelled texts on their way to the device while a head of BERT is tuned: packed one after another, in few distinct
// shapes, batches of one shape always to the same place, which is what a captured step needs (as device_batch.h for
// translation).
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "attend/tasks/encoder_model.h"
#include "attend/tasks/train/list_memory.h"

namespace attend::tasks {

// What a text's targets are: its label, a number, a label a token (kIgnored: none), or the tokens an answer begins and
// ends with. Answers are looked for in padded texts (models::QuestionAnswerer).
enum class TargetKind : std::uint8_t { label, number, tags, span };
inline constexpr std::int32_t kIgnored = -100;

struct HeadExample {
  EncoderText text = {};
  std::vector<std::int32_t> targets = {};  // of a number its bits
  std::size_t source = 0;                  // which labelled text it is from: of answers several may be windows of one
  std::vector<std::int32_t> words = {};    // tags: the first token of each word; -1: it has none
};

struct HostHeadBatch {
  PackedTexts texts;                  // padded: [batch, longest], and no offsets
  std::vector<std::int32_t> lengths;  // padded: [batch]
  std::vector<std::int32_t> targets, last;
  std::int64_t tokens = 0;  // without what fills up
  std::uint64_t key = 0;    // the same for batches of the same shape
};

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

// Texts behind the batch's own are filling.
HostHeadBatch make_head_batch(const EncoderReader& reader, TargetKind kind,
                              std::span<const HeadExample* const> examples);

class HeadBatches {
 public:
  HeadBatches(Backend& backend, const EncoderReader& reader, TargetKind kind)
      : backend_(backend), reader_(reader), kind_(kind) {}
  // Copies the batch to the place of its key.
  const HeadBatch& put(const HostHeadBatch& batch);

 private:
  struct Place {
    ListMemory memory;
    HeadBatch batch;
  };
  Place make(const HostHeadBatch& batch) const;

  Backend& backend_;
  const EncoderReader& reader_;
  TargetKind kind_;
  std::unordered_map<std::uint64_t, Place> places_;
  std::vector<std::int32_t> staged_;
};

}  // namespace attend::tasks
