#include "attend/models/transformer.h"

#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <string_view>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/models/transformer_decoder.h"
#include "attend/nn/position.h"
#include "attend/ops/activation.h"

namespace attend::models {

namespace {

Activation activation_named(const std::string& name) {
  for (Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu})
    if (name == name_of(activation)) return activation;
  fail("transformer: unknown activation '{}'; there are relu, gelu, gelu_tanh and silu", name);
}

nn::AttentionConfig attention(const TransformerConfig& config, const char* stack, int index, const char* kind) {
  const bool decoder = std::string_view(stack) == "decoder";
  return {config.width, decoder && config.decoder_heads ? config.decoder_heads : config.heads, config.attention_dropout,
          fmt::format("{}.layers.{}.{}", stack, index, kind)};
}

nn::FeedForwardConfig feed_forward(const TransformerConfig& config, const char* stack, int index) {
  const bool decoder = std::string_view(stack) == "decoder";
  return {.width = config.width,
          .hidden = decoder && config.decoder_hidden ? config.decoder_hidden : config.hidden,
          .activation = activation_named(config.activation),
          .label = fmt::format("{}.layers.{}.feed_forward", stack, index)};
}

}  // namespace

void check_config(const TransformerConfig& config) {
  const auto within = [](const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
    check(value >= least && value <= most, "transformer: {} must be {} to {}, not {}", name, least, most, value);
  };
  within("vocabulary", config.vocabulary, 0, 1 << 24);
  within("width", config.width, 8, 1 << 16);
  within("hidden", config.hidden, 1, 1 << 20);
  within("decoder_hidden", config.decoder_hidden, 0, 1 << 20);
  within("encoder_layers", config.encoder_layers, 0, 1024);
  within("decoder_layers", config.decoder_layers, 0, 1024);
  within("max_length", config.max_length, 1, 1 << 20);
  for (std::int64_t heads : {config.heads, config.decoder_heads ? config.decoder_heads : config.heads}) {
    within("heads", heads, 1, config.width);
    check(config.width % heads == 0 && config.width / heads % 8 == 0,
          "transformer: width {} over {} heads must give heads of a multiple of 8", config.width, heads);
  }
  for (float rate : {config.dropout, config.attention_dropout})
    check(rate >= 0 && rate < 1, "transformer: dropout must be at least 0 and below 1, not {}", rate);
  const std::string& positions = config.positions;
  check(positions == "sinusoidal" || positions == "sinusoidal-halves" || positions == "learned",
        "transformer: unknown positions '{}'; there are sinusoidal, sinusoidal-halves and learned", positions);
  activation_named(config.activation);
}

EncoderLayer::EncoderLayer(const TransformerConfig& config, int index)
    : self_attention_(attention(config, "encoder", index, "self_attn")),
      feed_forward_(feed_forward(config, "encoder", index)),
      norm1_(config.width),
      norm2_(config.width) {}

void EncoderLayer::operator()(nn::Residual& stream, const AttentionMask& mask) const {
  stream.through(Recompute::layer, [this, mask](nn::Residual& x) {
    x.sublayer(norm1_, [&](const auto& in) { return self_attention_(in, mask); });
    x.through(Recompute::feed_forward, [this](nn::Residual& y) { y.sublayer(norm2_, feed_forward_); });
  });
}

DecoderLayer::DecoderLayer(const TransformerConfig& config, int index)
    : self_attention_(attention(config, "decoder", index, "self_attn")),
      cross_attention_(attention(config, "decoder", index, "multihead_attn")),
      feed_forward_(feed_forward(config, "decoder", index)),
      norm1_(config.width),
      norm2_(config.width),
      norm3_(config.width) {}

void DecoderLayer::operator()(nn::Residual& stream, const AttentionMask& mask, const nn::Memory& memory,
                              const nn::LayerCache& cache) const {
  stream.through(Recompute::layer, [this, mask, memory, cache](nn::Residual& x) {
    x.sublayer(norm1_, [&](const auto& in) { return self_attention_(in, mask, cache); });
    x.sublayer(norm2_, [&](const auto& in) { return cross_attention_(in, memory); });
    x.through(Recompute::feed_forward, [this](nn::Residual& y) { y.sublayer(norm3_, feed_forward_); });
  });
}

namespace {

const TransformerConfig& checked(const TransformerConfig& config) {
  check_config(config);
  return config;
}

}  // namespace

Transformer::Transformer(const TransformerConfig& config)
    : config_(checked(config)),
      embedding_(config.vocabulary, config.width),
      target_embedding_(config.vocabulary, config.width),
      output_(config.vocabulary, config.width),
      output_bias_{{config.vocabulary}, {}},
      learned_positions_{{config.max_length, config.width},
                         {nn::Init::normal, 1.0f / std::sqrt(static_cast<float>(config.width))}},
      encoder_(config, config.encoder_layers),
      decoder_(config, config.decoder_layers) {}

Tensor Transformer::encode(const Tensor& source, const AttentionMask& mask) const {
  nn::Residual stream = this->stream(source);
  for (const EncoderLayer& layer : encoder_.layers) layer(stream, mask);
  return encoder_.finish(stream);
}

Tensor Transformer::decode(const Tensor& target, const Reads& reads) const {
  nn::Residual stream = this->stream(target);
  nn::Memory memory = reads.memory;
  for (std::size_t i = 0; i < decoder_.layers.size(); ++i) {
    if (!reads.keys_values.empty()) memory.keys_values = reads.keys_values[i];
    decoder_.layers[i](stream, reads.mask, memory, reads.reading.cache(i));
  }
  return decoder_.finish(stream);
}

Tensor Transformer::embed(const nn::Sequences& sequences, Side side) const {
  const bool learned = config_.positions == "learned";
  check(learned || fixed_positions_.defined(), "transformer: place() was not called");
  const nn::Embedding& table = config_.shared_embeddings || side == Side::source ? embedding_ : target_embedding_;
  const ops::EmbeddingOptions options{
      .scale = config_.scaled_embeddings ? std::sqrt(static_cast<float>(config_.width)) : 1.0f,
      .positions = learned ? learned_positions_.value : fixed_positions_,
      .position_ids = sequences.positions};
  return ops::dropout(table(sequences.ids, options), config_.dropout);
}

Tensor Transformer::logits(const Tensor& decoded) const { return output_table().logits(decoded, output_bias_); }

ops::Loss Transformer::loss(const Tensor& decoded, const Tensor& labels, const Seq2SeqLossOptions& options) const {
  return loss_of(decoded, output_table(), output_bias_, labels, options);
}

Encoded Transformer::encode(const nn::Sequences& source) const {
  return {encode(embed(source, Side::source), mask_between(source, source)), source};
}

Tensor Transformer::decode(const Encoded& memory, const nn::Sequences& target) const {
  return decode(embed(target, Side::target),
                {.mask = causal_mask(target), .memory = {memory.states, {}, mask_between(target, memory.places)}});
}

std::unique_ptr<nn::StepModel> Transformer::start(Pass& pass, const Encoded& memory, std::int64_t group) const {
  return std::make_unique<TransformerDecoder>(*this, pass, memory, group);
}

std::string Transformer::alignment_label() const {
  return config_.decoder_layers ? fmt::format("decoder.layers.{}.multihead_attn", config_.decoder_layers - 1) : "";
}

void Transformer::place(Backend& backend, DType dtype) {
  if (config_.positions == "learned") return;
  const auto order = config_.positions == "sinusoidal" ? nn::SinusoidOrder::interleaved : nn::SinusoidOrder::halves;
  fixed_positions_ = nn::sinusoidal_positions(backend, config_.max_length, config_.width, dtype, order);
}

Json Transformer::config() const {
  Json json = {{"model_type", "transformer"}};
  json.update(write_fields(config_));
  return json;
}

std::unique_ptr<Seq2Seq> make_transformer(const Json& settings, std::string_view what) {
  TransformerConfig config;
  read_fields(config, settings, what);
  check(config.vocabulary > 0, "{}: 'vocabulary' is missing", what);
  return std::make_unique<Transformer>(config);
}

}  // namespace attend::models
