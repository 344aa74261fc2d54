// What a run shows of itself while it trains (train::Task::examples): fixed inputs through the model as it is now.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/image/preprocessor.h"
#include "attend/models/bert_heads.h"
#include "attend/models/image_model.h"
#include "attend/models/language_model.h"
#include "attend/models/seq2seq.h"
#include "attend/text/tokenizer.h"
#include "attend/train/loop/example.h"
#include "attend/view/collector.h"

namespace attend::train {

// What a probe saw.
std::vector<train::Example::Attention> attention_in(const view::Collector& collector);

// A pair as training sees it: attention is that of the reference, so that its image keeps its shape from step to
// step; the text is what the model writes by itself.
struct PairExample {
  const models::Seq2Seq& model;
  const text::Tokenizer& tokenizer;
  Backend& backend;
  std::int32_t start = 0;                     // what a translation begins with
  std::vector<std::int32_t> suppressed = {};  // tokens never written
};
train::Example pair_example(const PairExample& parts, std::vector<std::int32_t> source,
                            std::vector<std::int32_t> target);

// A text in which tokens are hidden: what the model guesses, and what they were.
struct MaskedExample {
  std::vector<std::int32_t> ids;     // of one text
  std::vector<std::int32_t> places;  // of the hidden tokens
  std::vector<std::int32_t> labels;  // what they were
};
train::Example masked_example(const models::MaskedLanguageModel& model, const text::Tokenizer& tokenizer,
                              Backend& backend, const MaskedExample& example);

// A token of BERT's family as it is shown: "##ing", " of", "[CLS]".
std::string token_name(const text::Tokenizer& tokenizer, std::int32_t id);

// A text with the attention in it, and how the model goes on from its first half.
train::Example text_example(const models::LanguageModel& model, const text::Tokenizer& tokenizer, Backend& backend,
                            const std::vector<std::int32_t>& ids);

// An image with the attention over it, its likeliest labels, and the right one.
struct ImageExample {
  const models::ImageModel& model;
  Backend& backend;
  DType dtype;  // what the model computes in
  const image::Normalization& normalization;
};
train::Example image_example(const ImageExample& parts, const image::Image& prepared, std::int32_t label);

}  // namespace attend::train
