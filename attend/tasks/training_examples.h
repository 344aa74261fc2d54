// What a run shows of itself while it trains (train::Task::examples): fixed inputs through the model as it is now, in
// the form of an inspection (docs/look.md), its weights packed: [heads, rows, columns] of bytes, 255 for 1, in base64.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/models/gpt2.h"
#include "attend/models/seq2seq.h"
#include "attend/tasks/anatomy.h"
#include "attend/text/tokenizer.h"
#include "attend/view/collector.h"

namespace attend::tasks {

// What was seen of each place of the model, for one text (or pair) in a batch of its own.
Json packed_attention(const Anatomy& anatomy, const view::Collector& collector);

// A pair as training sees it: attention is that of the reference, so that its picture keeps its shape from step to
// step; the text is what the model writes by itself.
struct PairExample {
  const models::Seq2Seq& model;
  const Tokenizer& tokenizer;
  Backend& backend;
  std::vector<std::int32_t> banned = {};  // tokens never written
};
Json pair_example(const PairExample& parts, std::vector<std::int32_t> source, std::vector<std::int32_t> target);

// A text with the attention in it, and how the model goes on from its first half.
Json text_example(const models::GPT2LanguageModel& model, const Tokenizer& tokenizer, Backend& backend,
                  const std::vector<std::int32_t>& ids);

}  // namespace attend::tasks
