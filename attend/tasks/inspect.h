// A translation with everything that can be seen of it: candidates of every step, all attention maps, and what changes
// when a head, a layer, a word or the positions are taken away. What `attend look` shows.
//
// No part of the model knows about this. A head is scaled by scaling its columns of W_O, a layer is switched off by
// letting its sublayers add zero, a masked source token is left out while the others keep their positions (in a
// Transformer that is the same as masking it everywhere), and without positions every source token stands at place 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attend/tasks/translator.h"
#include "attend/view/trace.h"

namespace attend::tasks {

// One attention of a model: stack "encoder" or "decoder", kind "self" or "cross".
struct AttentionPlace {
  std::string stack = "decoder", kind = "cross";
  std::int64_t layer = 0;
};

struct Ablation {
  struct Head {
    AttentionPlace place;
    std::int64_t head = 0;
    float scale = 0;
  };
  struct Layer {
    std::string stack;
    std::int64_t layer = 0;
  };
  std::vector<Head> heads = {};
  std::vector<Layer> layers = {};
  std::vector<std::int64_t> masked = {};  // source tokens, from 0
  bool positions = true;                  // of the source
};

struct InspectOptions {
  std::int64_t beams = 4;
  float alpha = 0.6f;
  Ablation ablation = {};
  // Written before the model may choose; from there on it takes the likeliest. Without: beam search.
  std::optional<std::vector<std::int32_t>> prefix = {};
  std::size_t candidates = 8;
};

struct Candidate {
  std::int32_t id = 0;
  std::string text;
  float probability = 0;
};

struct InspectedStep {
  std::int32_t chosen = 0;
  float probability = 0;
  std::vector<Candidate> candidates;  // likeliest first
};

// Weights of all heads, [H, rows, columns]; columns of masked tokens are 0.
struct SeenAttention {
  AttentionPlace place;
  std::int64_t heads = 0;
  std::size_t rows = 0, columns = 0;
  std::vector<float> weights = {};
};

struct Inspection {
  std::vector<std::int32_t> source_ids, target_ids;  // both with the end token (the target when it is finished)
  std::vector<std::string> source, target;           // their pieces of text
  std::string text;
  float score = 0;  // normalised log-probability
  bool finished = true;
  std::vector<InspectedStep> steps;      // one for each of target_ids
  std::vector<SeenAttention> attention;  // encoder, decoder self, cross; by layer
};

class Inspector {
 public:
  // Both must outlive it. Ablation changes the model's weights for the time of a call: one call at a time.
  Inspector(LoadedTranslator& loaded, Backend& backend);

  const LoadedTranslator& loaded() const { return loaded_; }
  // The attentions there are, with their heads: those of a Transformer, or the one of an RNN.
  std::vector<std::pair<AttentionPlace, std::int64_t>> places() const;
  // Longest text it takes, in tokens without the end.
  std::int64_t max_tokens() const { return loaded_.model->max_length() - 1; }

  // Throws Error for an empty or over-long text, and for places, tokens and ids that are not there.
  Inspection inspect(const std::string& text, const InspectOptions& options = {});
  // Step by step through one head, from the vector of a token to the next layer (inspect_trace.cpp). The target is only
  // read for the decoder; it is what `inspect` gave as target_ids.
  view::Trace trace(const std::string& text, const std::vector<std::int32_t>& target, const AttentionPlace& place,
                    std::int64_t head, std::int64_t token);

 private:
  struct Source {
    std::vector<std::int32_t> ids;
    std::vector<std::size_t> kept;  // which of the whole sentence they are
    nn::Sequences sequences;
  };
  std::vector<std::int32_t> encode(const std::string& text) const;
  Source prepare(const std::vector<std::int32_t>& ids, const Ablation& ablation) const;
  void search(const Source& source, const InspectOptions& options, Inspection& result) const;
  // Feeds what is forced and goes on greedily unless that is the end; fills the steps.
  void walk(const Source& source, std::vector<std::int32_t> forced, const InspectOptions& options,
            Inspection& result) const;
  void look(const Source& source, Inspection& result) const;
  InspectedStep step_of(std::span<const float> logits, float log_sum, std::size_t candidates) const;

  LoadedTranslator& loaded_;
  Backend& backend_;
  std::int32_t start_, end_;
  std::vector<char> banned_;  // by id
};

// "decoder.layers.0.multihead_attn" and back. An RNN's only attention is the decoder's cross-attention 0.
std::string parameter_prefix(const AttentionPlace& place);

}  // namespace attend::tasks
