// "Attention Is All You Need" (Vaswani et al. 2017): the encoder-decoder of figure 1.
//   source ids [B, S] -> embed -> [B, S, C] -> encoder -> memory [B, S, C]
//   target ids [B, T] -> embed -> [B, T, C] -> decoder, which reads the memory -> [B, T, C] -> logits [B, T, V]
// Packed batches have no padding: their tensors are [rows, C] where these comments say [B, S, C] or [B, T, C].
// Parameters carry the names of torch.nn.Transformer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/models/attention_settings.h"
#include "attend/models/attention_windows.h"
#include "attend/models/position_settings.h"
#include "attend/models/seq2seq.h"
#include "attend/nn/attention.h"
#include "attend/nn/causal_model.h"
#include "attend/nn/feed_forward.h"
#include "attend/nn/layers.h"
#include "attend/nn/memory_decoder.h"
#include "attend/nn/parameter.h"
#include "attend/nn/relative_positions.h"
#include "attend/nn/residual.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/causal_step.h"

namespace attend::models {

struct TransformerConfig {
  std::int64_t vocabulary = 0;  // 0 builds the stacks without embeddings, as torch.nn.Transformer does
  std::int64_t width = 512, heads = 8, hidden = 2048;
  std::int64_t encoder_layers = 6, decoder_layers = 6;
  std::int64_t max_length = 256;
  float dropout = 0.1f, attention_dropout = 0;
  bool pre_norm = false;    // the paper uses post-norm
  bool final_norm = false;  // adds a norm after each stack, as torch.nn.Transformer does; pre-norm needs it
  std::string positions = "sinusoidal";
  std::string activation = "relu";
  bool shared_embeddings = true;
  // These settings cover Marian's models (OPUS-MT), which differ from the paper here.
  bool scaled_embeddings = true, output_bias = false;
  std::int64_t decoder_heads = 0, decoder_hidden = 0;
  std::string start_token = "<s>";
  std::string directions = {};
  WindowSettings window = {};  // limits self-attention in both stacks
  AttentionSettings attention = {};
  PositionCombination combination = {};

  // A decoder setting of 0 means that the decoder uses the encoder's value.
  std::int64_t heads_of_decoder() const { return decoder_heads != 0 ? decoder_heads : heads; }
  std::int64_t hidden_of_decoder() const { return decoder_hidden != 0 ? decoder_hidden : hidden; }

  template <class Visitor>
  void visit(Visitor&& v) {
    v("vocabulary", vocabulary, "Number of tokens.");
    v("width", width, "Model width (d_model).");
    v("heads", heads, "Attention heads; must divide the width.");
    v("hidden", hidden, "Width of the feed-forward layers (d_ff).");
    v("encoder_layers", encoder_layers, "Number of encoder layers.");
    v("decoder_layers", decoder_layers, "Number of decoder layers.");
    v("max_length", max_length, "Maximum sentence length, in tokens.");
    v("dropout", dropout, "Dropout on embeddings and sublayer outputs.");
    v("attention_dropout", attention_dropout, "Dropout on attention weights.");
    v("pre_norm", pre_norm, "Apply layer norm before each sublayer; the paper applies it after.");
    v("final_norm", final_norm, "Apply a layer norm after each stack. --pre-norm implies it.");
    v("positions", positions,
      "Position encoding: sinusoidal, sinusoidal-halves, learned, rotary, relative (a bias by distance, as T5 has) or "
      "none.");
    combination.visit(v);
    v("activation", activation, "Activation of the feed-forward layers: relu, gelu, gelu_tanh or silu.");
    v("shared_embeddings", shared_embeddings,
      "Share one embedding table between source, target and output (section 3.4 of the paper).");
    v("scaled_embeddings", scaled_embeddings, "Multiply embeddings by sqrt(width) (section 3.4 of the paper).");
    v("output_bias", output_bias, "Add a bias to the logits.");
    v("decoder_heads", decoder_heads, "Attention heads of the decoder; 0 means the same as --heads.");
    v("decoder_hidden", decoder_hidden, "Feed-forward width of the decoder; 0 means the same as --hidden.");
    v("start_token", start_token, "Token that starts a translation.");
    v("directions", directions,
      "Languages, such as en-fr, or \"en-fr fr-en\" for a model of both ways: attend serve offers them. By default "
      "those in the name of the folder.");
    window.visit(v);
    attention.visit(v);
  }
  // Removes settings from json that a file of the paper's model does not need.
  void leave_out_of(Json& json) const;
};

// Throws Error naming what (a path) and the first value that is out of range.
void check_config(const TransformerConfig& config, std::string_view what);

// Figure 1, left: self-attention, then the feed-forward network, each inside a residual connection with a norm.
// The stream stays [B, S, C].
class EncoderLayer {
 public:
  EncoderLayer(const TransformerConfig& config, int index);
  void operator()(nn::Residual& stream, const AttentionMask& mask, const nn::Rotation& rotation) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("self_attn", self_attention_), v("", feed_forward_), v("norm1", norm1_), v("norm2", norm2_);
  }

 private:
  nn::SelfAttention self_attention_;
  nn::FeedForward feed_forward_;
  nn::LayerNorm norm1_, norm2_;
};

// Figure 1, right: causal self-attention, attention to the encoder's states, then the feed-forward network.
// The stream stays [B, T, C]; the memory is [B, S, C].
class DecoderLayer {
 public:
  DecoderLayer(const TransformerConfig& config, int index);
  void operator()(nn::Residual& stream, const AttentionMask& mask, const nn::Memory& memory,
                  const nn::LayerCache& cache, const nn::Rotation& rotation) const;
  // Keys and values of the memory, [B, S, 2·C]. They are the same at every decoding step, so they are computed once.
  Tensor keys_values(const Tensor& memory) const { return cross_attention_.keys_values(memory); }
  attend::DecoderLayer weights() const;  // in pre-norm order
  template <class Visitor>
  void visit(Visitor&& v) {
    v("self_attn", self_attention_), v("multihead_attn", cross_attention_), v("", feed_forward_);
    v("norm1", norm1_), v("norm2", norm2_), v("norm3", norm3_);
  }

 private:
  nn::SelfAttention self_attention_;
  nn::CrossAttention cross_attention_;
  nn::FeedForward feed_forward_;
  nn::LayerNorm norm1_, norm2_, norm3_;
};

// A stack of layers and the norm after it, named as torch.nn.Transformer names them.
template <class Layer>
struct Stack {
  std::vector<Layer> layers;
  nn::LayerNorm norm;
  bool final_norm, relative;
  nn::RelativeBias relative_bias;  // shared by the layers; only with relative positions
  Stack(const TransformerConfig& config, std::int64_t count, std::int64_t heads, bool causal)
      : norm(config.width),
        final_norm(config.final_norm || config.pre_norm),
        relative(config.positions == "relative"),
        relative_bias(config.max_length, heads, causal) {
    for (std::int64_t i = 0; i < count; ++i) layers.emplace_back(config, static_cast<int>(i));
  }
  Tensor finish(nn::Residual& stream) const { return final_norm ? norm(stream).value() : stream.value(); }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("layers", layers);
    if (final_norm) v("norm", norm);
    if (relative) v("relative_bias", relative_bias);
  }
};

// The whole model. Training calls encode() and decode(); generation calls start(), which decodes one position at a
// time.
class Transformer : public Seq2Seq, public nn::MemoryReader {
 public:
  explicit Transformer(const TransformerConfig& config);
  const TransformerConfig& settings() const { return config_; }

  // The stacks, on embedded sequences: [B, S, C] and [B, T, C], or packed [rows, C].
  Tensor encode(const Tensor& source, const AttentionMask& mask, const nn::Rotation& rotation = {}) const;
  struct DecodeOptions {
    AttentionMask mask = {};  // applies among the targets
    nn::Memory memory = {};
    std::span<const Tensor> keys_values = {};  // one per layer, given instead of the memory's states
    nn::ForwardOptions reading = {};
    nn::Rotation rotation = {};
  };
  Tensor decode(const Tensor& target, const DecodeOptions& reads) const;

  // ids -> [.., C]: embedding · sqrt(C) + position (or beside it), then dropout.
  enum class Side : std::uint8_t { source, target };
  Tensor embed(const nn::Sequences& sequences, Side side) const;
  // States [.., C] times the output table give scores of all tokens, [.., V] (section 3.4).
  Tensor logits(const Tensor& decoded) const override;

  std::int64_t vocabulary() const override { return config_.vocabulary; }
  std::int64_t max_length() const override { return config_.max_length; }
  // The additive score and the relative bias are computed for padded batches only.
  bool takes_packed() const override {
    return positions_ != Positions::relative && config_.attention.attention_score != "additive";
  }
  Json config() const override;
  void place(Backend& backend, DType dtype) override;
  std::vector<nn::Parameters::Entry> parameters() override { return nn::Parameters::list(*this); }
  Encoded encode(const nn::Sequences& source) const override;
  Tensor decode(const Encoded& memory, const nn::Sequences& target) const override;
  using Seq2Seq::decode;
  ops::Loss loss(const Tensor& decoded, const Tensor& labels, const Seq2SeqLossOptions& options) const override;
  using Seq2Seq::loss;
  std::unique_ptr<nn::StepModel> start(Pass& pass, const Encoded& memory, std::int64_t group) const override;
  using Seq2Seq::start;
  std::string alignment_label() const override;

  // These three let nn::MemoryDecoder generate with key-value caches.
  nn::CausalModel::Sizes decoder_sizes() const override;
  std::vector<Tensor> keys_values(const Tensor& memory) const override;
  Tensor read(const nn::Sequences& targets, std::span<const Tensor> keys_values, const Tensor& lengths,
              const nn::ForwardOptions& reading) const override;
  Tensor output_table() const override { return config_.output_bias ? Tensor() : output_embedding().table(); }
  std::unique_ptr<CausalStep> single_step(Backend& backend, std::int64_t rows) const override;
  Tensor embedded(const nn::Sequences& targets) const override { return embed(targets, Side::target); }

  template <class Visitor>
  void visit(Visitor&& v) {
    if (config_.vocabulary > 0) {
      v("embedding", embedding_);
      if (!config_.shared_embeddings) v("target_embedding", target_embedding_), v("output", output_);
      if (config_.output_bias) v("output_bias", output_bias_);
      if (positions_ == Positions::learned) v("positions", learned_positions_);
    }
    v("encoder", encoder_), v("decoder", decoder_);
  }

 private:
  nn::Residual stream(const Tensor& x) const { return {x, {.dropout = config_.dropout, .pre_norm = config_.pre_norm}}; }
  Tensor beside_positions(const Tensor& words, const Tensor& positions, const nn::Sequences& sequences) const;
  AttentionMask decoder_mask(const nn::Sequences& targets, const Tensor& embedded,
                             const nn::ForwardOptions& reading) const;
  nn::Rotation rotation(const nn::Sequences& sequences, const Tensor& embedded, const nn::Rotary& rotary) const {
    return positions_ == Positions::rotary ? rotary(sequences, embedded) : nn::Rotation{};
  }
  const nn::Embedding& output_embedding() const { return config_.shared_embeddings ? embedding_ : output_; }

  TransformerConfig config_;
  Positions positions_;
  nn::Embedding embedding_;  // shared by both sides and the output, unless they are separate
  nn::Embedding target_embedding_, output_;
  nn::Parameter output_bias_, learned_positions_;
  Tensor fixed_positions_;  // [max_length, C], or fewer columns if concatenated; undefined unless sinusoidal
  nn::Rotary encoder_rotary_, decoder_rotary_;
  Stack<EncoderLayer> encoder_;
  Stack<DecoderLayer> decoder_;
};

std::unique_ptr<Seq2Seq> make_transformer(const Json& settings, std::string_view what);

}  // namespace attend::models
