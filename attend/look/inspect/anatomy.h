// The sublayers of a model, in which order they are put together, and where their last weights are among the
// parameters: what walking through a layer step by step (layer_probe.h) and switching parts of it off (weights.h) need
// to know, so that both work for every model. All of it comes from the model's own visit().
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attend/base/json_fwd.h"
#include "attend/models/bert.h"
#include "attend/models/gpt2.h"
#include "attend/models/image_model.h"
#include "attend/models/seq2seq.h"
#include "attend/nn/attention_score.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/activation.h"
#include "attend/tensor/attention_window.h"

namespace attend::look {

// One attention of a model: stack "encoder" or "decoder", kind "self" or "cross".
struct AttentionPlace {
  std::string stack = "decoder", kind = "cross";
  std::int64_t layer = 0;
  bool operator==(const AttentionPlace&) const = default;
};

struct Anatomy {
  struct Attention {
    AttentionPlace place;
    std::int64_t heads = 0;
    std::string label = {};  // under which a probe sees it
    std::string output =
        {};  // its projection W_O: the name goes on with ".weight" and ".bias"; a recurrent network's: none
    AttentionWindow window = {};
    std::string query =
        {};  // the projection whose first outputs are the queries, up to "weight" and "bias"; may be none
    nn::Score score = nn::Score::scaled_dot;
  };
  struct FeedForward {
    std::string stack;
    std::int64_t layer = 0;
    std::string label, contract;  // as label and output above
  };

  std::vector<Attention> attention = {};  // encoder, decoder self, cross; by layer
  std::vector<FeedForward> feed_forward = {};
  std::vector<models::AttentionPlace> places = {};  // of attention between places of an image, by layer
  std::string family =
      {};  // "transformer", "gpt2", "bert", "vit", "rnn": whose lines of code compute it (source_lines.h)
  std::int64_t width = 0;
  bool pre_norm = false, input_major = false;  // input_major: weights are [in, out]
  bool relative = false;                       // a bias by distance is added to the scores of self-attention
  Activation activation = Activation::relu;

  bool has_layers() const { return !feed_forward.empty(); }
  // True if every attention divides its scores by the root of the head width, and its queries are known.
  bool scaled() const {
    return has_layers() && std::ranges::all_of(attention, [](const Attention& one) {
             return one.score == nn::Score::scaled_dot && !one.query.empty();
           });
  }
  // Throw Error for what is not there.
  const Attention& at(const AttentionPlace& place, std::int64_t head = 0) const;
  const FeedForward& feed_forward_of(const std::string& stack, std::int64_t layer) const;
};

// A Transformer, or a recurrent network, whose only attention is the decoder's cross-attention 0.
Anatomy anatomy_of(const models::Seq2Seq& model);
// prefix: under which name the parameters of the model are, "transformer" or nothing.
Anatomy anatomy_of(const models::GPT2Config& config, const std::string& prefix);
Anatomy anatomy_of(const models::BertConfig& config, const std::string& prefix);
// A model that looks at images: an attention for each of its places, all of one stack. Where their last projections
// are is told by the names of Hugging Face's and timm's files; a model with other names has attention alone.
Anatomy anatomy_of(std::span<const models::AttentionPlace> places, std::span<const nn::Parameters::Entry> entries);

// Of the model that a config.json describes, which messages call `what`; parameters under no prefix.
Anatomy anatomy_of(const Json& config, const std::string& what);

}  // namespace attend::look
