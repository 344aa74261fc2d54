// Labelled texts on their way to the device while a head of BERT is tuned: packed one after another, in few distinct
// shapes, batches of one shape always to the same place, which is what a captured step needs (as device_batch.h for
// translation).
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "attend/tasks/head_batch.h"
#include "attend/train/recipes/list_memory.h"

namespace attend::train {

struct HeadExample {
  tasks::EncoderText text = {};
  std::vector<std::int32_t> targets = {};  // of a number its bits
  std::size_t source = 0;                  // which labelled text it is from: of answers several may be windows of one
  std::vector<std::int32_t> words = {};    // tags: the first token of each word; -1: it has none
};

struct HostHeadBatch {
  tasks::PackedTexts texts;           // padded: [batch, longest], and no offsets
  std::vector<std::int32_t> lengths;  // padded: [batch]
  std::vector<std::int32_t> targets, last;
  ops::GlobalLists globals;  // front 0: none
  std::int64_t tokens = 0;   // without what fills up
  std::uint64_t key = 0;     // the same for batches of the same shape
};

// Texts behind the batch's own are filling.
HostHeadBatch make_head_batch(const tasks::EncoderReader& reader, tasks::TargetKind kind,
                              std::span<const HeadExample* const> examples);

class HeadBatches {
 public:
  HeadBatches(Backend& backend, const tasks::EncoderReader& reader, tasks::TargetKind kind)
      : backend_(backend), reader_(reader), kind_(kind) {}
  // Copies the batch to the place of its key.
  const tasks::HeadBatch& put(const HostHeadBatch& batch);

 private:
  struct Place {
    ListMemory memory;
    tasks::HeadBatch batch;
  };
  Place make(const HostHeadBatch& batch) const;

  Backend& backend_;
  const tasks::EncoderReader& reader_;
  tasks::TargetKind kind_;
  std::unordered_map<std::uint64_t, Place> places_;
  std::vector<std::int32_t> staged_;
};

}  // namespace attend::train
