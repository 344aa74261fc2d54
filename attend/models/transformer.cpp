#include "attend/models/transformer.h"

#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <string_view>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/limits.h"
#include "attend/models/config_checks.h"
#include "attend/models/transformer_decoder.h"
#include "attend/nn/position.h"
#include "attend/ops/activation.h"

namespace attend::models {

namespace {

constexpr const char* kTransformerName = "transformer";

Activation activation_named(const std::string& name, std::string_view what = kTransformerName) {
  for (Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu})
    if (name == name_of(activation)) return activation;
  fail("{}: unknown activation '{}'; there are relu, gelu, gelu_tanh and silu", what, name);
}

nn::AttentionConfig attention(const TransformerConfig& config, const char* stack, int index, const char* kind) {
  const bool decoder = std::string_view(stack) == "decoder";
  return {config.width, decoder && config.decoder_heads ? config.decoder_heads : config.heads, config.attention_dropout,
          fmt::format("{}.layers.{}.{}", stack, index, kind)};
}

FeedForward feed_forward(const TransformerConfig& config, std::int64_t hidden) {
  return {config.width, hidden, activation_named(config.activation)};
}

}  // namespace

void check_config(const TransformerConfig& config, std::string_view what) {
  const std::int64_t decoder_hidden = config.decoder_hidden ? config.decoder_hidden : config.hidden;
  check_limited(what, "vocabulary", config.vocabulary, 0, limits::kLargestVocabulary);
  check_limited(what, "width (d_model)", config.width, 8, limits::kWidestModel);
  check_limited(what, "hidden (ffn_dim)", config.hidden, 1, limits::kWidestFeedForward);
  check_limited(what, "decoder_hidden (decoder_ffn_dim)", decoder_hidden, 1, limits::kWidestFeedForward);
  check_limited(what, "encoder_layers", config.encoder_layers, 1, limits::kMostLayers);
  check_limited(what, "decoder_layers", config.decoder_layers, 1, limits::kMostLayers);
  check_limited(what, "max_length", config.max_length, 1, limits::kMostPositions);
  check_heads(what, config.width, config.heads);
  if (config.decoder_heads != 0) check_heads(what, config.width, config.decoder_heads);
  check_rate(what, "dropout", config.dropout);
  check_rate(what, "attention_dropout", config.attention_dropout);
  const ModelSize encoder{.rows = config.vocabulary * (config.shared_embeddings ? 1 : 3) + config.max_length,
                          .width = config.width,
                          .layers = config.encoder_layers,
                          .hidden = config.hidden},
      decoder{.width = config.width, .layers = config.decoder_layers, .hidden = decoder_hidden, .attentions = 2};
  check_size(what, encoder.parameters() + decoder.parameters());
  const std::string& positions = config.positions;
  check(positions == "sinusoidal" || positions == "sinusoidal-halves" || positions == "learned",
        "{}: unknown positions '{}'; there are sinusoidal, sinusoidal-halves and learned", what, positions);
  activation_named(config.activation, what);
}

EncoderLayer::EncoderLayer(const TransformerConfig& config, int index)
    : self_attention_(attention(config, "encoder", index, "self_attn")),
      feed_forward_(feed_forward(config, config.hidden)),
      norm1_(config.width),
      norm2_(config.width) {}

void EncoderLayer::operator()(nn::Residual& stream, const AttentionMask& mask) const {
  stream.through(Recompute::layer, [this, mask](nn::Residual& layer) {
    layer.leave(norm1_, self_attention_(layer.enter(norm1_), mask));
    feed_forward_(layer, norm2_);
  });
}

DecoderLayer::DecoderLayer(const TransformerConfig& config, int index)
    : self_attention_(attention(config, "decoder", index, "self_attn")),
      cross_attention_(attention(config, "decoder", index, "multihead_attn")),
      feed_forward_(feed_forward(config, config.decoder_hidden ? config.decoder_hidden : config.hidden)),
      norm1_(config.width),
      norm2_(config.width),
      norm3_(config.width) {}

void DecoderLayer::operator()(nn::Residual& stream, const Tensor& memory, const AttentionMask& mask,
                              const AttentionMask& memory_mask) const {
  stream.through(Recompute::layer, [this, memory, mask, memory_mask](nn::Residual& layer) {
    layer.leave(norm1_, self_attention_(layer.enter(norm1_), mask));
    layer.leave(norm2_, cross_attention_(layer.enter(norm2_), memory, memory_mask));
    feed_forward_(layer, norm3_);
  });
}

DecoderLayer::Cache DecoderLayer::start(const Tensor& memory, std::int64_t rows) const {
  const Tensor keys_values = cross_attention_.keys_values(memory);
  return {nn::KvCache(memory.backend(), rows, memory.width(), memory.dtype()), keys_values};
}

void DecoderLayer::step(nn::Residual& stream, const Cache& cache, const nn::CachePlaces& places,
                        const Tensor& source_lengths) const {
  const Tensor x = stream.enter(norm1_);  // [R, 1, C]
  stream.leave(norm1_, self_attention_.step(x, cache.self, places));
  const Tensor grouped = stream.enter(norm2_).reshape({cache.memory.dim(0), -1, x.width()});  // [B, R / B, C]
  stream.leave(norm2_,
               cross_attention_.read(grouped, cache.memory, {.key_lengths = source_lengths}).reshape(x.shape()));
  feed_forward_(stream, norm3_);
}

Transformer::Transformer(const TransformerConfig& config)
    : config_((check_config(config, kTransformerName), config)),
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

Tensor Transformer::decode(const Tensor& target, const Tensor& memory, const AttentionMask& mask,
                           const AttentionMask& memory_mask) const {
  nn::Residual stream = this->stream(target);
  for (const DecoderLayer& layer : decoder_.layers) layer(stream, memory, mask, memory_mask);
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

Tensor Transformer::decoded(const nn::Sequences& source, const nn::Sequences& target) const {
  const Tensor memory = encode(embed(source, Side::source), mask_between(source, source));
  return decode(embed(target, Side::target), memory, causal_mask(target), mask_between(target, source));
}

ops::Loss Transformer::loss(const PairBatch& batch, const Seq2SeqLossOptions& options) const {
  return loss(decoded(batch.source, batch.target), batch.labels, options);
}

std::unique_ptr<nn::StepModel> Transformer::start(Pass& pass, const nn::Sequences& source, std::int64_t group) const {
  return std::make_unique<TransformerDecoder>(*this, pass, source, group);
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
  check_config(config, what);
  return std::make_unique<Transformer>(config);
}

}  // namespace attend::models
