// The forward pass of the Transformer (Vaswani et al. 2017, section 3). Shapes at the right margin are those of padded
// batches.
#include "attend/models/transformer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/json.h"
#include "attend/base/limits.h"
#include "attend/models/config_checks.h"
#include "attend/models/directions.h"
#include "attend/nn/position.h"
#include "attend/nn/step_weights.h"
#include "attend/ops/activation.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"
#include "attend/tensor/backend.h"

namespace attend::models {

namespace {

constexpr const char* kTransformerName = "transformer";

Activation activation_named(const std::string& name, std::string_view what = kTransformerName) {
  for (Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu})
    if (name == name_of(activation)) return activation;
  fail("{}: unknown activation '{}'; there are relu, gelu, gelu_tanh and silu", what, name);
}

// The label names the layer for probes; a decoder position attends only to earlier ones, so its window is causal.
nn::AttentionConfig attention(const TransformerConfig& config, const char* stack, int index, const char* kind) {
  const bool decoder = std::string_view(stack) == "decoder";
  const auto direction = decoder ? AttentionDirection::causal : AttentionDirection::bidirectional;
  return {.width = config.width,
          .heads = decoder ? config.heads_of_decoder() : config.heads,
          .dropout = config.attention_dropout,
          .label = fmt::format("{}.layers.{}.{}", stack, index, kind),
          .window = config.window.of_layer(index, direction),
          .input = {.bias = config.attention.attention_bias},
          .output = {.bias = config.attention.attention_bias},
          .score = config.attention.score(kTransformerName)};
}

nn::FeedForwardConfig feed_forward(const TransformerConfig& config, const char* stack, int index) {
  const bool decoder = std::string_view(stack) == "decoder";
  return {.width = config.width,
          .hidden = decoder ? config.hidden_of_decoder() : config.hidden,
          .activation = activation_named(config.activation),
          .label = fmt::format("{}.layers.{}.feed_forward", stack, index)};
}

}  // namespace

void TransformerConfig::leave_out_of(Json& json) const {
  window.leave_out_of(json), attention.leave_out_of(json, {}), combination.leave_out_of(json);
  if (directions.empty()) json.erase("directions");
}

void check_config(const TransformerConfig& config, std::string_view what) {
  const std::int64_t decoder_hidden = config.hidden_of_decoder();
  check_limited(what, "vocabulary", config.vocabulary, 0, limits::kLargestVocabulary);
  check_limited(what, "width (d_model)", config.width, 8, limits::kWidestModel);
  check_limited(what, "hidden (ffn_dim)", config.hidden, 1, limits::kWidestFeedForward);
  check_limited(what, "decoder_hidden (decoder_ffn_dim)", decoder_hidden, 1, limits::kWidestFeedForward);
  check_limited(what, "encoder_layers", config.encoder_layers, 0, limits::kMostLayers);
  check_limited(what, "decoder_layers", config.decoder_layers, 1, limits::kMostLayers);
  check_limited(what, "max_length", config.max_length, 1, limits::kMostPositions);
  check_heads(what, config.width, config.heads);
  check_heads(what, config.width, config.heads_of_decoder());
  check_rate(what, "dropout", config.dropout);
  check_rate(what, "attention_dropout", config.attention_dropout);
  // Separate embeddings are three tables: source, target and output. A decoder layer has two attentions.
  const ModelSize encoder{.rows = config.vocabulary * (config.shared_embeddings ? 1 : 3) + config.max_length,
                          .width = config.width,
                          .layers = config.encoder_layers,
                          .hidden = config.hidden},
      decoder{.width = config.width, .layers = config.decoder_layers, .hidden = decoder_hidden, .attentions = 2};
  check_size(what, encoder.parameters() + decoder.parameters());
  const Positions positions = positions_named(config.positions, what);
  config.combination.check(positions, config.width, what);
  const bool plain = config.attention.score(what) != nn::Score::additive && positions != Positions::relative;
  check(plain || config.window.attention_window.empty(),
        "{}: attention_window does not go with the additive score or relative positions", what);
  activation_named(config.activation, what);
  directions_of(config.directions, what);
  config.window.check(what, std::max(config.encoder_layers, config.decoder_layers), AttentionDirection::bidirectional);
}

EncoderLayer::EncoderLayer(const TransformerConfig& config, int index)
    : self_attention_(attention(config, "encoder", index, "self_attn")),
      feed_forward_(feed_forward(config, "encoder", index)),
      norm1_(config.width),
      norm2_(config.width) {}

void EncoderLayer::operator()(nn::Residual& stream, const AttentionMask& mask, const nn::Rotation& rotation) const {
  // Section 3.1. With recomputation, only the layer's input is kept and the layer runs again during backward.
  stream.through(Recompute::layer, [this, mask, rotation](nn::Residual& x) {
    x.sublayer(norm1_, [&](const auto& in) { return self_attention_(in, mask, {}, nullptr, rotation); });  // [B, S, C]
    // [B, S, C] -> [B, S, hidden] -> [B, S, C]
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
                              const nn::LayerCache& cache, const nn::Rotation& rotation) const {
  stream.through(Recompute::layer, [this, mask, memory, cache, rotation](nn::Residual& x) {
    // [B, T, C] -> [B, T, C]
    x.sublayer(norm1_, [&](const auto& in) { return self_attention_(in, mask, cache, nullptr, rotation); });
    x.sublayer(norm2_, [&](const auto& in) { return cross_attention_(in, memory); });
    // [B, T, C] -> [B, T, hidden] -> [B, T, C]
    x.through(Recompute::feed_forward, [this](nn::Residual& y) { y.sublayer(norm3_, feed_forward_); });
  });
}

attend::DecoderLayer DecoderLayer::weights() const {
  attend::DecoderLayer all = nn::step_weights(norm1_, self_attention_, norm3_, feed_forward_);
  const ops::NormWeights norm = norm2_.weights();
  const ops::Projection query = cross_attention_.query(), output = cross_attention_.output();
  all.memory_norm_weight = norm.weight, all.memory_norm_bias = norm.bias;
  all.memory_query_weight = query.weight, all.memory_query_bias = query.bias;
  all.memory_output_weight = output.weight, all.memory_output_bias = output.bias;
  return all;
}

// All tables exist as descriptions; only those that visit() names get memory.
Transformer::Transformer(const TransformerConfig& config)
    : config_((check_config(config, kTransformerName), config)),
      positions_(positions_named(config.positions, kTransformerName)),
      embedding_(config.vocabulary, config.width),
      target_embedding_(config.vocabulary, config.width),
      output_(config.vocabulary, config.width),
      output_bias_{{config.vocabulary}, {}},
      learned_positions_{{config.max_length, config.combination.columns(config.width)},
                         {nn::Init::normal, 1.0f / std::sqrt(static_cast<float>(config.width))}},
      encoder_rotary_(config.max_length, config.width, config.heads),
      decoder_rotary_(config.max_length, config.width, config.heads_of_decoder()),
      encoder_(config, config.encoder_layers, config.heads, false),
      decoder_(config, config.decoder_layers, config.heads_of_decoder(), true) {}

Tensor Transformer::encode(const Tensor& source, const AttentionMask& mask, const nn::Rotation& rotation) const {
  nn::Residual stream = this->stream(source);  // [B, S, C]
  AttentionMask biased = mask;
  if (encoder_.relative) biased.bias = encoder_.relative_bias.of_texts(source.dim(1), source);  // [1, H, S, S]
  for (const EncoderLayer& layer : encoder_.layers) layer(stream, biased, rotation);
  return encoder_.finish(stream);  // [B, S, C]
}

Tensor Transformer::decode(const Tensor& target, const DecodeOptions& reads) const {
  nn::Residual stream = this->stream(target);  // [B, T, C]
  nn::Memory memory = reads.memory;
  for (std::size_t i = 0; i < decoder_.layers.size(); ++i) {
    // While generating, each layer reads keys and values that were projected once, [B, S, 2·C].
    if (!reads.keys_values.empty()) memory.keys_values = reads.keys_values[i];
    decoder_.layers[i](stream, reads.mask, memory, reads.reading.cache(i), reads.rotation);
  }
  return decoder_.finish(stream);  // [B, T, C]
}

Tensor Transformer::embed(const nn::Sequences& sequences, Side side) const {
  const bool learned = positions_ == Positions::learned;
  check(learned || !in_embeddings(positions_) || fixed_positions_.defined(), "transformer: place() was not called");
  // Section 3.4: embeddings are multiplied by sqrt(C). Section 3.5: positions are added. Section 5.4: then dropout.
  const nn::Embedding& table = config_.shared_embeddings || side == Side::source ? embedding_ : target_embedding_;
  ops::EmbeddingOptions options{.scale =
                                    config_.scaled_embeddings ? std::sqrt(static_cast<float>(config_.width)) : 1.0f};
  const Tensor positions = learned ? learned_positions_.value : fixed_positions_;
  if (config_.combination.concatenates())
    return ops::dropout(beside_positions(table(sequences.ids, options), positions, sequences), config_.dropout);
  if (in_embeddings(positions_)) options.positions = positions, options.position_ids = sequences.positions;
  return ops::dropout(table(sequences.ids, options), config_.dropout);  // [.., C]
}

// The first columns of the embeddings [.., C], and in place of the others the positions [P, columns].
Tensor Transformer::beside_positions(const Tensor& words, const Tensor& positions,
                                     const nn::Sequences& sequences) const {
  const std::int64_t columns = positions.width(), length = sequences.ids.dim(-1);
  Tensor places;
  if (sequences.positions.defined()) {
    const Tensor rows = ops::gather(positions, sequences.positions.reshape({sequences.positions.size()}));
    places = rows.reshape(words.shape().with_last(columns));
  } else {
    check(length <= positions.dim(0), "transformer: {} tokens, but only {} positions", length, positions.dim(0));
    const Tensor zeros = like(words, {words.dim(0), positions.dim(0), columns});
    zeros.backend().fill(zeros, 0);
    places = ops::slice(ops::add(zeros, positions), 1, 0, length);  // the table once for each sequence, [B, T, columns]
  }
  return ops::concat({ops::slice(words, -1, 0, words.width() - columns), places}, -1);
}

// [.., C] -> [.., V]
Tensor Transformer::logits(const Tensor& decoded) const { return output_embedding().logits(decoded, output_bias_); }

// The output layer and the loss are one op that makes the logits [.., V] in chunks. Only R-Drop needs all at once.
ops::Loss Transformer::loss(const Tensor& decoded, const Tensor& labels, const Seq2SeqLossOptions& options) const {
  return loss_of(decoded, output_embedding(), output_bias_, labels, options);
}

Encoded Transformer::encode(const nn::Sequences& source) const {
  // The mask hides padding from every source position.
  const Tensor embedded = embed(source, Side::source);
  return {encode(embedded, mask_between(source, source), rotation(source, embedded, encoder_rotary_)), source};
}

Tensor Transformer::decode(const Encoded& memory, const nn::Sequences& target) const {
  // Teacher forcing: a target position reads itself and those before it, and all source positions that are not padding.
  const Tensor embedded = embed(target, Side::target);
  return decode(embedded, {.mask = decoder_mask(target, embedded, {}),
                           .memory = {memory.states, {}, mask_between(target, memory.places)},
                           .rotation = rotation(target, embedded, decoder_rotary_)});
}

// Causal, with the relative bias if there is one. While generating, a position reads its row of the caches.
AttentionMask Transformer::decoder_mask(const nn::Sequences& targets, const Tensor& embedded,
                                        const nn::ForwardOptions& reading) const {
  AttentionMask mask = causal_mask(targets);
  if (!decoder_.relative) return mask;
  check(embedded.rank() == 3, "transformer: relative positions need padded batches, [B, T], not packed ones");
  mask.bias = reading.goes_on() ? decoder_.relative_bias.of_newest(targets.positions, reading.caches[0].capacity(),
                                                                   embedded)                   // [rows, H, 1, capacity]
                                : decoder_.relative_bias.of_texts(embedded.dim(1), embedded);  // [1, H, T, T]
  return mask;
}

std::unique_ptr<nn::StepModel> Transformer::start(Pass& pass, const Encoded& memory, std::int64_t group) const {
  return std::make_unique<nn::MemoryDecoder>(*this, pass, memory.states, memory.places.lengths, group);
}

nn::CausalModel::Sizes Transformer::decoder_sizes() const {
  return {.vocabulary = config_.vocabulary,
          .max_length = config_.max_length,
          .layers = config_.decoder_layers,
          .width = config_.width,
          .heads = config_.heads_of_decoder(),
          .rounded = embedding_.rounded(),
          .windows = config_.window.of_layers(config_.decoder_layers, AttentionDirection::causal),
          .packed = takes_packed(),
          .cleared = config_.attention.attention_score == "additive"};
}

std::vector<Tensor> Transformer::keys_values(const Tensor& memory) const {
  std::vector<Tensor> all;
  // One tensor per layer, [B, S, 2·C].
  for (const DecoderLayer& layer : decoder_.layers) all.push_back(layer.keys_values(memory));
  return all;
}

Tensor Transformer::read(const nn::Sequences& targets, std::span<const Tensor> keys_values, const Tensor& lengths,
                         const nn::ForwardOptions& reading) const {
  const Tensor embedded = embed(targets, Side::target);
  return decode(embedded, {.mask = decoder_mask(targets, embedded, reading),
                           .memory = {.mask = {.key_lengths = lengths}},
                           .keys_values = keys_values,
                           .reading = reading,
                           .rotation = rotation(targets, embedded, decoder_rotary_)});
}

// The kernel knows the pre-norm order, plain scores, biases everywhere, and no positions inside attention.
std::unique_ptr<CausalStep> Transformer::single_step(Backend& backend, std::int64_t rows) const {
  const bool plain =
      config_.attention.score(kTransformerName) == nn::Score::scaled_dot && config_.attention.attention_bias;
  if (backend.on_host() || !config_.pre_norm || !plain || positions_ == Positions::rotary || decoder_.relative)
    return nullptr;
  const ops::NormWeights norm = decoder_.norm.weights();
  DecoderWeights weights{.heads = config_.heads_of_decoder(),
                         .eps = norm.eps,
                         .activation = activation_named(config_.activation),
                         .layers = {},
                         .norm_weight = norm.weight,
                         .norm_bias = norm.bias,
                         .output_major = true};
  for (const DecoderLayer& layer : decoder_.layers) weights.layers.push_back(layer.weights());
  return backend.causal_step(weights, rows);
}

// The cross-attention of the last decoder layer is shown as the alignment of target and source.
std::string Transformer::alignment_label() const {
  return config_.decoder_layers ? fmt::format("decoder.layers.{}.multihead_attn", config_.decoder_layers - 1) : "";
}

void Transformer::place(Backend& backend, DType dtype) {
  if (positions_ == Positions::learned || !in_embeddings(positions_)) return;
  const auto order = positions_ == Positions::sinusoidal ? nn::SinusoidOrder::interleaved : nn::SinusoidOrder::halves;
  const std::int64_t columns = config_.combination.columns(config_.width);
  fixed_positions_ = nn::sinusoidal_positions(backend, config_.max_length, columns, dtype, order);
}

Json Transformer::config() const {
  Json json = {{"model_type", "transformer"}};
  json.update(write_fields(config_));
  config_.leave_out_of(json);
  return json;
}

std::unique_ptr<Seq2Seq> make_transformer(const Json& settings, std::string_view what) {
  TransformerConfig config;
  read_fields(config, settings, what);
  WindowSettings::check_written(settings, what);
  check(config.vocabulary > 0, "{}: 'vocabulary' is missing", what);
  check_config(config, what);
  // Without an encoder the decoder would have no memory to read.
  check_within(what, "encoder_layers", config.encoder_layers, 1, limits::kMostLayers);
  return std::make_unique<Transformer>(config);
}

}  // namespace attend::models
