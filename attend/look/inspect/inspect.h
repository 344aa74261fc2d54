// A model at work with everything that can be seen of it: candidates of every step, all attention maps, and what
// changes when a head, a layer, a word or the positions are taken away. What `attend look` shows, in one form for
// every model: a translator (inspect_translation.cpp), a language model (inspect_language.cpp), an encoder
// (inspect_encoder.cpp).
//
// No part of the models knows about this. A head is scaled by scaling what W_O reads of it, a layer is switched off by
// letting its sublayers add zero, a masked token is left out while the others keep their positions (in a Transformer
// that is the same as masking it everywhere), and without positions every token of the source stands at place 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/decode/beam_search.h"
#include "attend/look/inspect/anatomy.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/attention_window.h"
#include "attend/text/aligned_text.h"
#include "attend/view/trace.h"

namespace attend::look {

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
  bool scaling = true;                    // scores are divided by the root of the head width
  std::int64_t window = -1;               // self-attention sees so many other tokens at most; -1: all the model lets it
};

struct InspectOptions {
  std::int64_t beams = 4;    // of a translation
  std::int64_t tokens = 12;  // how many a language model writes
  Ablation ablation = {};
  // Written before the model may choose; from there on it takes the likeliest. Without: beam search, of a translation.
  // Of a masked language model: what the first masks hide.
  std::optional<std::vector<std::int32_t>> prefix = {};
  std::size_t candidates = 8;
};

struct Candidate {
  std::int32_t id = 0;
  std::string text;
  float probability = 0;
  text::Span span = {};  // an answer: characters of the text
};

struct InspectedStep {
  std::int32_t chosen = 0;
  float probability = 0;
  std::vector<Candidate> candidates = {};  // likeliest first
  std::int64_t place = -1;                 // which source token it is about: a mask, a tagged word; -1: none
  text::Span span = {};                    // a tagged word, an answer: characters of the text
};

// Weights of all heads, [H, rows, columns]; those of masked tokens are 0.
struct SeenAttention {
  AttentionPlace place;
  std::int64_t heads = 0;
  std::size_t rows = 0, columns = 0;
  std::vector<float> weights = {};
  bool causal = false;  // self-attention alone: who is barred from whom
  AttentionWindow window = {};
  std::vector<std::int32_t> marked = {};  // rows and columns that are global besides the window's first ones
};

// A beginning that a search kept for a while.
struct BeamPiece {
  decode::BeamNode node;
  std::string text;  // of its newest token
};

struct Inspection {
  // What was read: a sentence with its end token, a prompt, a text with what the tokenizer puts around it.
  std::vector<std::int32_t> source_ids;
  // What was written: a translation (with the end token when it is finished), what follows the prompt, what the masks
  // hide, labels, 0 for an answer.
  std::vector<std::int32_t> target_ids;
  std::vector<std::string> source, target;  // the text of each
  std::string text;                         // the answer, for a person
  float score = 0;                          // normalised log-probability of a translation, the mean one of others
  bool finished = true;
  std::vector<InspectedStep> steps;      // one for each of target_ids
  std::vector<SeenAttention> attention;  // in the order of the anatomy
  std::vector<BeamPiece> beam;           // of a translation's search, by step
};

// What a page needs to know before the first sentence.
struct ModelCard {
  std::string kind;  // translation, language-model, masked-lm, classification, tagging, answering, encoder
  Json config = {};
  std::int64_t vocabulary = 0, parameters = 0;
  std::int64_t max_tokens = 0;  // longest text it takes, without what is put around it
  std::string positions = {};   // sinusoidal, sinusoidal-halves, learned; empty: it has none
  std::string mask = {};        // the token to be guessed, of a masked language model
  std::string start = {};       // what a translator's decoder reads first
  std::string example = {};     // a text to begin with
};

struct TraceRequest {
  std::string text;
  std::vector<std::int32_t> target = {};  // Inspection::target_ids; an encoder does not read it
  AttentionPlace place = {};
  std::int64_t head = 0, token = 0;
};

// Rows of what is added to the tokens for their places.
struct PositionTable {
  std::size_t width = 0;
  std::vector<float> values = {};  // [rows, width]
};

// Where a walk ends: what the last vector of a token says about every word (or label) that may come next.
struct Output {
  std::vector<Candidate> words = {};  // the likeliest, with their probabilities
  std::vector<float> logits = {};     // of all that may come, the largest first; empty: this token decides no word
  float log_sum = 0;                  // log p = logit - log_sum
  std::string line = {};              // which computes them (source_lines.h)
};

// What an encoder makes of its tokens.
struct StatesRequest {
  std::string text;
  std::vector<std::int64_t> order = {};  // token order[i] stands at place i; empty: as they come
  bool positions = true;                 // false: every token stands at place 0
};
struct EncoderStates {
  std::vector<std::string> tokens;  // by place
  std::size_t width = 0;
  std::vector<float> values = {};   // [tokens, width]
  std::vector<float> summary = {};  // the one vector that a recurrent decoder starts from
};

// Ablation changes the model's weights for the time of a call: one call at a time.
class Inspector {
 public:
  virtual ~Inspector() = default;
  const ModelCard& card() const { return card_; }
  const Anatomy& anatomy() const { return anatomy_; }

  // Throw Error for an empty or over-long text, and for places, tokens and ids that are not there.
  virtual Inspection inspect(const std::string& text, const InspectOptions& options) = 0;
  Inspection inspect(const std::string& text) { return inspect(text, {}); }
  // Step by step through one head, from the vector of a token to the next layer.
  virtual view::Trace trace(const TraceRequest& request) = 0;
  // What follows the token of a walk: the request's place and head do not matter, but its stack.
  virtual Output output(const TraceRequest&) { return {}; }
  // Throw Error where there is no encoder, or nothing that translates.
  virtual EncoderStates states(const StatesRequest& request);
  virtual std::vector<std::string> answers(std::span<const std::string> lines);
  // At most so many rows; empty for a model without positions.
  virtual PositionTable positions(std::int64_t rows) const = 0;

 protected:
  ModelCard card_;
  Anatomy anatomy_;
};

}  // namespace attend::look
