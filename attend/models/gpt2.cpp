// GPT-2 (Radford et al. 2019): reading its config.json, and the forward pass of its pre-norm blocks.
#include "attend/models/gpt2.h"

#include <fmt/core.h>

#include <cmath>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/models/config_checks.h"
#include "attend/models/hugging_face_config.h"
#include "attend/nn/causal_batch.h"
#include "attend/nn/causal_decoder.h"
#include "attend/nn/causal_text.h"
#include "attend/nn/position.h"
#include "attend/nn/step_weights.h"
#include "attend/ops/activation.h"
#include "attend/ops/embedding.h"
#include "attend/tensor/backend.h"

namespace attend::models {

namespace {

constexpr const char* kGPT2Name = "gpt2";

nn::LinearConfig linear(const GPT2Config& config) {
  return {.init = nn::Init{nn::Init::normal, config.init_deviation}, .input_major = true};
}

// Projections that add to the residual stream start smaller, by the square root of their number (section 2.3).
// Otherwise the variance of the stream would grow with depth.
nn::LinearConfig residual_linear(const GPT2Config& config) {
  const float sublayers = (config.cross_attention ? 3 : 2) * static_cast<float>(config.layers);
  return {.init = nn::Init{nn::Init::normal, config.init_deviation / std::sqrt(sublayers)}, .input_major = true};
}

nn::AttentionConfig cross_attention(const GPT2Config& config, std::int64_t index) {
  return {.width = config.width,
          .heads = config.heads,
          .dropout = config.attention_dropout,
          .label = GPT2::cross_attention_label(index),
          .input = linear(config),
          .output = residual_linear(config),
          .input_name = "q_attn.",
          .output_name = "c_proj",
          .memory_name = "c_attn."};
}

}  // namespace

void check_config(const GPT2Config& config, std::string_view what) {
  check_limited(what, "vocab_size", config.vocabulary, 1, limits::kLargestVocabulary);
  check_limited(what, "n_positions", config.max_length, 1, limits::kMostPositions);
  check_limited(what, "n_embd", config.width, 8, limits::kWidestModel);
  check_limited(what, "n_layer", config.layers, 1, limits::kMostLayers);
  check_limited(what, "n_inner", config.hidden_width(), 1, limits::kWidestFeedForward);
  check_heads(what, config.width, config.heads);
  check_rate(what, "embd_pdrop", config.embedding_dropout);
  check_rate(what, "attn_pdrop", config.attention_dropout);
  check_rate(what, "resid_pdrop", config.dropout);
  check_positive(what, "layer_norm_epsilon", config.norm_eps);
  check_positive(what, "initializer_range", config.init_deviation);
  check_token(what, "bos_token_id", config.start);
  check_token(what, "eos_token_id", config.end);
  check_within(what, "pad_token_id", config.pad, -1, config.vocabulary - 1);
  config.window.check(what, config.layers, AttentionDirection::causal);
  const Positions positions = positions_named(config.positions, what);
  check(positions != Positions::relative || (config.window.attention_window.empty() && !config.cross_attention),
        "{}: relative positions do not go with attention_window or cross-attention", what);
  hugging_face_activation(config.activation, what);
  check_size(what, ModelSize{.rows = config.vocabulary + config.max_length,
                             .width = config.width,
                             .layers = config.layers,
                             .hidden = config.hidden_width(),
                             .attentions = config.cross_attention ? 2 : 1}
                       .parameters());
}

GPT2Config gpt2_config(const Json& json, std::string_view what) {
  const GPT2Config config = gpt2_decoder_config(json, what);
  require_flag(json, "add_cross_attention", false, what);
  return config;
}

GPT2Config gpt2_decoder_config(const Json& json, std::string_view what) {
  const auto type = json.is_object() ? json.find("model_type") : json.end();
  check(type == json.end() || *type == "gpt2", "{}: 'model_type' must be gpt2, not {}", what,
        type == json.end() ? "" : type->dump());
  GPT2Config config;
  read_known_fields(config, json, what);
  WindowSettings::check_written(json, what);
  require_flag(json, "scale_attn_weights", true, what);
  require_flag(json, "scale_attn_by_inverse_layer_idx", false, what);
  require_flag(json, "tie_word_embeddings", true, what);
  if (architecture_of(json, what) == "GPT2ForSequenceClassification") {
    config.labels = labels_of(json, what);
    config.problem = problem_type_of(json, config.labels.size(), what);
  }
  const auto crossed = json.find("add_cross_attention");
  config.cross_attention = crossed != json.end() && crossed->is_boolean() && crossed->get<bool>();
  check_config(config, what);
  return config;
}

Json gpt2_json(const GPT2Config& config) {
  const bool classifier = !config.labels.empty();
  Json json = {{"model_type", "gpt2"}, {"architectures", Json::array()}};
  json["architectures"].push_back(classifier ? "GPT2ForSequenceClassification" : "GPT2LMHeadModel");
  json.update(write_fields(config));
  config.window.leave_out_of(json);
  if (config.positions == "learned") json.erase("positions");
  if (config.hidden == 0) json["n_inner"] = nullptr;
  null_missing_tokens(json);
  if (classifier) {
    write_labels(json, config.labels);
    json["problem_type"] = std::string(name_of(config.problem));
  }
  if (config.cross_attention) json["add_cross_attention"] = json["is_decoder"] = true;
  json["tie_word_embeddings"] = true;
  return json;
}

GPT2Block::GPT2Block(const GPT2Config& config, std::int64_t index)
    : norm1_(config.width, config.norm_eps),
      norm2_(config.width, config.norm_eps),
      cross_norm_(config.width, config.norm_eps),
      attention_({.width = config.width,
                  .heads = config.heads,
                  .dropout = config.attention_dropout,
                  .label = GPT2::attention_label(index),
                  .window = config.window.of_layer(index, AttentionDirection::causal),
                  .input = linear(config),
                  .output = residual_linear(config),
                  .input_name = "c_attn.",
                  .output_name = "c_proj"}),
      feed_forward_({.width = config.width,
                     .hidden = config.hidden_width(),
                     .activation = hugging_face_activation(config.activation, kGPT2Name),
                     .label = fmt::format("h.{}.mlp", index),
                     .expand = linear(config),
                     .contract = residual_linear(config),
                     .expand_name = "c_fc",
                     .contract_name = "c_proj"}) {
  if (config.cross_attention) cross_attention_.emplace(cross_attention(config, index));
}

void GPT2Block::operator()(nn::Residual& stream, const AttentionMask& mask, const nn::Memory& memory,
                           const nn::LayerCache& cache, const nn::Rotation& rotation) const {
  stream.through(Recompute::layer, [this, mask, memory, cache, rotation](nn::Residual& x) {
    x.add(attention_(norm1_(x), mask, cache, nullptr, rotation));  // [B, T, C]
    // Cross-attention keeps [B, T, C]; it reads keys and values [B, S, 2·C].
    if (memory.keys_values.defined()) x.add((*cross_attention_)(cross_norm_(x), memory));
    // [B, T, C] -> [B, T, hidden] -> [B, T, C]
    x.through(Recompute::feed_forward, [this](nn::Residual& y) { y.add(feed_forward_(norm2_(y))); });
  });
}

DecoderLayer GPT2Block::weights() const { return nn::step_weights(norm1_, attention_, norm2_, feed_forward_); }

GPT2::GPT2(const GPT2Config& config)
    : config_((check_config(config, kGPT2Name), config)),
      kind_(positions_named(config.positions, kGPT2Name)),
      tokens_(config.vocabulary, config.width, {nn::Init::normal, config.init_deviation}),
      positions_(config.max_length, config.width, {nn::Init::normal, config.init_deviation}, nn::Role::other),
      // As large as the token embeddings, which start small here.
      sinusoids_({config.max_length, config.width},
                 [length = config.max_length, width = config.width, order = kind_, size = config.init_deviation] {
                   std::vector<float> table = nn::sinusoids(
                       length, width,
                       order == Positions::sinusoidal ? nn::SinusoidOrder::interleaved : nn::SinusoidOrder::halves);
                   for (float& x : table) x *= size;
                   return table;
                 }),
      rotary_(config.max_length, config.width, config.heads),
      relative_bias_(config.max_length, config.heads, true),
      norm_(config.width, config.norm_eps) {
  for (std::int64_t i = 0; i < config.layers; ++i) blocks_.emplace_back(config_, i);
}

nn::CausalModel::Sizes GPT2::sizes() const {
  return {.vocabulary = config_.vocabulary,
          .max_length = config_.max_length,
          .layers = config_.layers,
          .width = config_.width,
          .dtype = tokens_.table().dtype(),
          .heads = config_.heads,
          .rounded = tokens_.rounded(),
          .windows = config_.window.of_layers(config_.layers, AttentionDirection::causal),
          .packed = kind_ != Positions::relative};
}

std::unique_ptr<CausalStep> GPT2::single_step(Backend& backend, std::int64_t rows) const {
  // The kernel knows no positions inside attention.
  if (config_.cross_attention || config_.positions != "learned" || backend.on_host()) return nullptr;
  const ops::NormWeights norm = norm_.weights();
  DecoderWeights weights{.heads = config_.heads,
                         .eps = config_.norm_eps,
                         .activation = hugging_face_activation(config_.activation, kGPT2Name),
                         .layers = {},
                         .norm_weight = norm.weight,
                         .norm_bias = norm.bias};
  for (const GPT2Block& block : blocks_) weights.layers.push_back(block.weights());
  return backend.causal_step(weights, rows);
}

std::string GPT2::attention_label(std::int64_t layer) { return fmt::format("h.{}.attn", layer); }

std::string GPT2::cross_attention_label(std::int64_t layer) { return fmt::format("h.{}.crossattention", layer); }

Tensor GPT2::embed(const nn::Sequences& texts) const {
  ops::EmbeddingOptions options;
  if (kind_ == Positions::learned)
    options.positions = positions_.table();
  else if (in_embeddings(kind_))
    options.positions = sinusoids_.beside(tokens_.table());
  if (options.positions.defined()) options.position_ids = texts.positions;
  return ops::dropout(tokens_(texts.ids, options), config_.embedding_dropout);  // [.., C]
}

// Causal, with the relative bias if there is one. A step reads the rows of the caches.
AttentionMask GPT2::mask_of(const nn::Sequences& texts, const Tensor& embedded,
                            const nn::ForwardOptions& reading) const {
  AttentionMask mask = causal_mask(texts);
  if (kind_ != Positions::relative) return mask;
  check(embedded.rank() == 3, "gpt2: relative positions need padded batches, [B, T], not packed ones");
  mask.bias = reading.goes_on() ? relative_bias_.of_newest(texts.positions, reading.caches[0].capacity(), embedded)
                                : relative_bias_.of_texts(embedded.dim(1), embedded);
  return mask;
}

Tensor GPT2::states(const nn::Sequences& texts, const nn::ForwardOptions& reading) const {
  return read(texts, {}, {}, reading);
}

std::vector<Tensor> GPT2::keys_values(const Tensor& memory) const {
  check(config_.cross_attention, "gpt2: without cross-attention it reads no memory");
  // One tensor per layer, [B, S, 2·C].
  std::vector<Tensor> all;
  for (const GPT2Block& block : blocks_) all.push_back(block.keys_values(memory));
  return all;
}

Tensor GPT2::read(const nn::Sequences& texts, std::span<const Tensor> keys_values, const Tensor& lengths,
                  const nn::ForwardOptions& reading) const {
  check(keys_values.empty() || keys_values.size() == blocks_.size(), "gpt2: memories for {} of {} layers",
        keys_values.size(), blocks_.size());
  const Tensor embedded = embed(texts);  // [B, T, C]
  const AttentionMask mask = mask_of(texts, embedded, reading);
  const nn::Rotation rotation = kind_ == Positions::rotary ? rotary_(texts, embedded) : nn::Rotation{};
  // One new position per text is limited by latency, so projections then compute the norms and sums (residual.h).
  const nn::Sums sums = reading.goes_on() ? nn::Sums::by_projections : nn::Sums::by_norms;
  nn::Residual stream(embedded, {.dropout = config_.dropout, .sums = sums});
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (reading.hidden) reading.hidden->push_back(stream.value());
    nn::Memory memory{.mask = {.key_lengths = lengths}};
    if (!keys_values.empty()) memory.keys_values = keys_values[i];
    blocks_[i](stream, mask, memory, reading.cache(i), rotation);
  }
  const Tensor states = norm_(stream).value();  // [B, T, C]
  if (reading.hidden) reading.hidden->push_back(states);
  return states;
}

Json GPT2LanguageModel::config() const {
  GPT2Config config = body_.config();
  config.labels.clear();
  return gpt2_json(config);
}

LanguageModel::Facts GPT2LanguageModel::facts() const {
  const GPT2Config& config = body_.config();
  return {.vocabulary = config.vocabulary,
          .max_length = config.max_length,
          .width = config.width,
          .layers = config.layers,
          .hidden = config.hidden_width(),
          .heads = config.heads,
          .start = config.start,
          .end = config.end,
          .row_bytes = config.max_length * config.layers * config.width * 2 * 4};
}

std::unique_ptr<nn::StepModel> GPT2LanguageModel::start(Pass& pass, const Tensor& prompts, std::int64_t group,
                                                        std::int64_t tokens) const {
  return std::make_unique<nn::CausalDecoder>(body_, pass, prompts, group, tokens);
}

std::unique_ptr<nn::TextModel> GPT2LanguageModel::text(Backend& backend, std::int64_t room) const {
  if (!nn::CausalText::supports(body_, backend)) return nullptr;
  return std::make_unique<nn::CausalText>(body_, backend, room);
}

std::unique_ptr<nn::BatchModel> GPT2LanguageModel::batch(Backend& backend, std::int64_t rows, std::int64_t room,
                                                         const nn::PromptPieces& pieces) const {
  return std::make_unique<nn::CausalBatch>(body_, backend, rows, room, pieces);
}

std::vector<std::int32_t> next_tokens(std::span<const std::int32_t> ids, std::int64_t length,
                                      std::span<const std::int32_t> lengths) {
  const auto width = static_cast<std::size_t>(length);
  check(length > 0 && ids.size() % width == 0, "gpt2: {} ids do not make rows of {}", ids.size(), length);
  check(lengths.empty() || lengths.size() == ids.size() / width, "gpt2: {} rows, but {} lengths", ids.size() / width,
        lengths.size());
  // Every label is ignored until a next token of the same text is found.
  std::vector<std::int32_t> labels(ids.size(), ops::CrossEntropyOptions{}.ignore);
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
    const std::size_t end = lengths.empty() ? width : static_cast<std::size_t>(lengths[i / width]);
    if (i % width + 1 < end) labels[i] = ids[i + 1];
  }
  return labels;
}

GPT2Classifier::GPT2Classifier(const GPT2Config& config)
    : body_(config),
      score_(config.width, static_cast<std::int64_t>(config.labels.size()),
             {.init = nn::Init{nn::Init::normal, config.init_deviation}, .bias = false}) {
  check(!config.labels.empty(), "gpt2: a classifier needs labels");
}

Json GPT2Classifier::config() const { return gpt2_json(body_.config()); }

Tensor GPT2Classifier::logits(const nn::Sequences& texts, const Tensor& last) const {
  // [B, T, C] -> the last token of each text [B, C] -> [B, labels]
  return score_(ops::gather(body_.states(texts).flat_rows(), last));
}

}  // namespace attend::models
