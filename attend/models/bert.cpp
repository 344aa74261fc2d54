// BERT and its family: reading their config.json, and the forward pass (Devlin et al. 2019, section 3).
#include "attend/models/bert.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/base/limits.h"
#include "attend/models/config_checks.h"
#include "attend/models/hugging_face_config.h"
#include "attend/ops/activation.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"
#include "attend/tensor/backend.h"

namespace attend::models {

namespace {

nn::Init init(const BertConfig& config) { return {nn::Init::normal, config.init_deviation}; }

BertFamily family_named(const Json& json, std::string_view what) {
  const auto found = json.find("model_type");
  std::vector<std::string_view> types;
  for (const BertNames& names : kBertNames) {
    if (found != json.end() && *found == names.type) return names.family;
    types.emplace_back(names.type);
  }
  fail("{}: 'model_type' must be one of {}, not {}", what, joined(types, ", "),
       found == json.end() ? "missing" : found->dump());
}

// transformers names heads with labels so: ForSequenceClassification, ForTokenClassification.
bool has_labels(const std::string& architecture) { return architecture.ends_with("Classification"); }

// Lists of the global tokens that a Longformer chooses by itself. When these are only the first tokens of padded texts,
// the result is empty, because the attention kernels handle that case without lists.
std::shared_ptr<const ops::GlobalPositions> globals_of(const BertConfig& config, const nn::Sequences& texts) {
  const GlobalRule rule(config);
  const bool first_packed = config.family == BertFamily::longformer && rule.first > 0 && texts.packed();
  if (rule.question_end < 0 && !first_packed) return {};
  const std::vector<std::int32_t> ids = download_ints(texts.ids);
  std::vector<std::int32_t> lengths;
  if (texts.lengths.defined()) lengths = download_ints(texts.lengths);
  auto layout = texts.packed() ? ops::AttentionLayout::packed(download_ints(texts.offsets))
                               : ops::AttentionLayout::padded(texts.ids.dim(0), texts.ids.dim(1), lengths);
  layout.query_rows = layout.key_rows = texts.ids.size();
  std::vector<std::vector<std::int32_t>> sets;
  for (const auto& sequence : layout.sequences)
    sets.push_back(rule(std::span(ids).subspan(static_cast<std::size_t>(sequence.key_row),
                                               static_cast<std::size_t>(sequence.visible))));
  return std::make_shared<const ops::GlobalPositions>(texts.ids.backend(), ops::global_lists(layout, sets));
}

// An i32 tensor on the same device and in the same pass as another tensor.
Tensor ints_on(const Tensor& like_this, const Shape& shape, const std::vector<std::int32_t>& values) {
  const Tensor made = make_tensor(like_this.backend(), shape, DType::i32);
  upload(made, values);
  return like_this.pass() ? like_this.pass()->input(made) : made;
}

// Row numbers that turn packed texts into a padded batch and back. Padding repeats the first row of its text; lengths
// hide it.
struct PaddedRows {
  std::int64_t count, longest;
  Tensor to_padded, to_packed, lengths;  // i32 [count · longest], [rows], [count]

  explicit PaddedRows(const nn::Sequences& texts) : count(texts.offsets.dim(0) - 1), longest(texts.longest) {
    const std::vector<std::int32_t> offsets = download_ints(texts.offsets);
    std::vector<std::int32_t> padded, packed, sizes;
    for (std::int64_t text = 0; text < count; ++text) {
      const auto at = static_cast<std::size_t>(text);
      const std::int32_t begin = offsets[at], size = offsets[at + 1] - begin;
      sizes.push_back(size);
      for (std::int32_t i = 0; i < longest; ++i) padded.push_back(i < size ? begin + i : begin);
      for (std::int32_t i = 0; i < size; ++i) packed.push_back(static_cast<std::int32_t>(text * longest) + i);
    }
    to_padded = ints_on(texts.ids, {count * longest}, padded);
    to_packed = ints_on(texts.ids, {static_cast<std::int64_t>(packed.size())}, packed);
    lengths = ints_on(texts.ids, {count}, sizes);
  }
};

// Each near distance has its own bucket; far distances share buckets by their logarithm. Half of the buckets are for
// keys that come after the query (T5, Raffel et al. 2020, section 2.1).
std::int32_t distance_bucket(std::int64_t distance, std::int64_t buckets) {
  constexpr double kFarthest = 128;
  const std::int64_t half = buckets / 2, exact = half / 2, size = std::abs(distance);
  std::int64_t bucket = size;
  if (size >= exact) {
    const float share = std::log(static_cast<float>(size) / static_cast<float>(exact)) /
                        static_cast<float>(std::log(kFarthest / static_cast<double>(exact)));
    bucket = std::min(exact + static_cast<std::int64_t>(share * static_cast<float>(half - exact)), half - 1);
  }
  return static_cast<std::int32_t>(bucket + (distance > 0 ? half : 0));
}

}  // namespace

void check_config(const BertConfig& config, std::string_view what) {
  const bool distilled = config.distilled();
  check_limited(what, "vocab_size", config.vocabulary, 1, limits::kLargestVocabulary);
  check_limited(what, "max_position_embeddings", config.max_length, 1, limits::kMostPositions);
  check_limited(what, "type_vocab_size", config.types, 1, limits::kMostTypes);
  check_limited(what, distilled ? "dim" : "hidden_size", config.width, 8, limits::kWidestModel);
  check_limited(what, distilled ? "n_layers" : "num_hidden_layers", config.layers, 1, limits::kMostLayers);
  check_limited(what, distilled ? "hidden_dim" : "intermediate_size", config.hidden, 1, limits::kWidestFeedForward);
  check_within(what, "pad_token_id", config.pad, -1, config.vocabulary - 1);
  check(!config.counts_positions() || (config.pad >= 0 && config.pad + 1 < config.max_length),
        "{}: positions are counted from behind pad_token_id, which is {}", what, config.pad);
  check(!config.biased_by_distance() || config.distance_buckets >= 4,
        "{}: 'relative_attention_num_buckets' is {}, but must be 4 or more", what, config.distance_buckets);
  check_limited(what, "relative_attention_num_buckets", config.distance_buckets, 1, limits::kMostPositions);
  check_token(what, "bos_token_id", config.start);
  check_token(what, "eos_token_id", config.end);
  check_heads(what, config.width, config.heads);
  check_rate(what, "dropout", config.dropout);
  check_rate(what, "the dropout of attention", config.attention_dropout);
  check_rate(what, "the dropout of the classifier", config.dropout_of_head());
  check_positive(what, "layer_norm_eps", config.norm_eps);
  check_positive(what, "initializer_range", config.init_deviation);
  config.window.check(what, config.layers, AttentionDirection::bidirectional);
  check(config.family != BertFamily::longformer || !config.window.attention_window.empty(),
        "{}: 'attention_window' is missing, which a longformer must have", what);
  hugging_face_activation(config.activation, what);
  check_size(what, ModelSize{.rows = config.vocabulary + config.max_length + config.types,
                             .width = config.width,
                             .layers = config.layers,
                             .hidden = config.hidden}
                       .parameters());
}

BertConfig bert_config(const Json& json, std::string_view what) {
  check(json.is_object(), "{}: expected a JSON object", what);
  BertConfig config{.family = family_named(json, what)};
  if (config.counts_positions()) config.start = 0, config.pad = 1, config.end = 2;
  if (config.distilled()) config.layers = 6, config.head_dropout = 0.2f;
  if (config.family == BertFamily::longformer) {
    // As in transformers, only a sequence classifier makes the first token global by default.
    config.norm_eps = 1e-5f, config.types = 1, config.window.attention_window = {512};
    config.window.global_tokens = architecture_of(json, what).ends_with("ForSequenceClassification") ? 1 : 0;
  }
  read_known_fields(config, json, what);
  WindowSettings::check_written(json, what);
  require_flag(json, "is_decoder", false, what);
  require_flag(json, "add_cross_attention", false, what);
  require_flag(json, "tie_word_embeddings", true, what);
  const auto positions = json.find("position_embedding_type");
  if (positions != json.end() && !positions->is_null() && *positions != "absolute")
    fail("{}: 'position_embedding_type' is {}; only absolute is known", what, positions->dump());
  config.architecture = architecture_of(json, what);
  if (has_labels(config.architecture)) config.labels = labels_of(json, what);
  if (config.architecture.ends_with("ForSequenceClassification"))
    config.problem = problem_type_of(json, config.labels.size(), what);
  check_config(config, what);
  return config;
}

Json bert_json(const BertConfig& config) {
  Json json = {{"model_type", name_of(config.family)}};
  if (!config.architecture.empty()) json["architectures"] = Json::array({config.architecture});
  json.update(write_fields(config));
  config.window.leave_out_of(json);
  if (config.family == BertFamily::longformer) json["global_tokens"] = config.window.global_tokens;
  if (config.head_dropout < 0) json[config.distilled() ? "seq_classif_dropout" : "classifier_dropout"] = nullptr;
  null_missing_tokens(json);
  if (!config.labels.empty()) write_labels(json, config.labels);
  if (config.architecture.ends_with("ForSequenceClassification"))
    json["problem_type"] = std::string(name_of(config.problem));
  json["tie_word_embeddings"] = true;
  return json;
}

GlobalRule::GlobalRule(const BertConfig& config)
    : first(config.window.global_tokens),
      question_end(config.family == BertFamily::longformer && config.architecture.ends_with("ForQuestionAnswering")
                       ? config.separator
                       : -1) {}

std::vector<std::int32_t> GlobalRule::operator()(std::span<const std::int32_t> ids) const {
  auto count = std::min<std::int64_t>(first, static_cast<std::int64_t>(ids.size()));
  const auto end = std::ranges::find(ids, question_end);
  if (question_end >= 0 && end != ids.end()) count = std::max<std::int64_t>(count, end - ids.begin());
  std::vector<std::int32_t> set(static_cast<std::size_t>(count));
  std::iota(set.begin(), set.end(), 0);
  return set;
}

std::vector<std::int32_t> roberta_positions(std::span<const std::int32_t> ids, std::int64_t length, std::int32_t pad) {
  std::vector<std::int32_t> positions;
  std::int32_t next = 0;
  for (std::int32_t id : ids) {
    if (static_cast<std::int64_t>(positions.size()) % length == 0) next = pad + 1;
    positions.push_back(id == pad ? pad : next++);
  }
  return positions;
}

BertLayer::BertLayer(const BertConfig& config, std::int64_t index)
    : distilled_(config.distilled()),
      mpnet_(config.family == BertFamily::mpnet),
      attention_(
          {.width = config.width,
           .heads = config.heads,
           .dropout = config.attention_dropout,
           .label = Bert::attention_label(index),
           .window = config.window.of_layer(index, AttentionDirection::bidirectional),
           .input = {.init = init(config)},
           .output = {.init = init(config)},
           .input_name = distilled_ ? "q_lin|k_lin|v_lin."
                         : mpnet_   ? "attn.q|k|v."
                                    : "self.query|key|value.",
           .output_name = distilled_ ? "out_lin"
                          : mpnet_   ? "attn.o"
                                     : "output.dense",
           .global_name = config.family == BertFamily::longformer ? "self.query_global|key_global|value_global." : ""}),
      norm1_(config.width, config.norm_eps),
      norm2_(config.width, config.norm_eps),
      feed_forward_({.width = config.width,
                     .hidden = config.hidden,
                     .activation = hugging_face_activation(config.activation, name_of(config.family)),
                     .label = fmt::format("layer.{}.feed_forward", index),
                     .expand = {.init = init(config)},
                     .contract = {.init = init(config)},
                     .expand_name = distilled_ ? "lin1" : "intermediate.dense",
                     .contract_name = distilled_ ? "lin2" : "output.dense"}) {}

void BertLayer::operator()(nn::Residual& stream, const AttentionMask& mask,
                           const std::shared_ptr<const ops::GlobalPositions>& globals) const {
  stream.through(Recompute::layer, [this, mask, globals](nn::Residual& x) {
    x.add(attention_(x, mask, {}, globals.get()), norm1_);  // [B, T, C]
    // [B, T, C] -> [B, T, hidden] -> [B, T, C]
    x.through(Recompute::feed_forward, [this](nn::Residual& y) { y.add(feed_forward_(y), norm2_); });
  });
}

Bert::Bert(const BertConfig& config, Pooler pooler)
    : config_((check_config(config, name_of(config.family)), config)),
      pooler_(pooler),
      tokens_(config.vocabulary, config.width, init(config)),
      positions_(config.max_length, config.width, init(config), nn::Role::other),
      types_(config.types, config.width, init(config), nn::Role::other),
      distances_(config.distance_buckets, config.heads, init(config), nn::Role::other),
      norm_(config.width, config.norm_eps),
      pool_(config.width, config.width, {.init = init(config)}) {
  check(pooler == Pooler::without || !config.distilled(), "distilbert: it has no pooler");
  for (std::int64_t i = 0; i < config.layers; ++i) layers_.emplace_back(config_, i);
}

std::string Bert::attention_label(std::int64_t layer) { return fmt::format("layer.{}.attention", layer); }

Tensor Bert::embed(const BertInput& input) const {
  const Tensor& ids = input.texts.ids;
  const bool counted = config_.counts_positions();
  check(!counted || input.texts.positions.defined(), "roberta: texts need their positions (roberta_positions)");
  // Token and position embeddings are summed in one kernel: [.., C]. Rows of padding receive no gradient.
  const Tensor words = tokens_(ids, {.positions = positions_.table(),
                                     .position_ids = input.texts.positions,
                                     .padding = config_.pad,
                                     .position_padding = counted ? config_.pad : -1});
  if (!config_.typed()) return ops::dropout(norm_(words), config_.dropout);
  Tensor types = input.types;
  // Without types every token belongs to the first sentence.
  if (!types.defined()) {
    types = like(ids);
    ids.backend().fill(types, 0);
  }
  // The type embedding is added by the norm's kernel: [.., C].
  return ops::dropout(norm_.add(words, types_(types), 0).norm, config_.dropout);
}

Tensor Bert::states(const BertInput& input, std::vector<Tensor>* hidden) const {
  const AttentionMask mask = mask_between(input.texts, input.texts);
  const auto globals = input.globals ? input.globals : globals_of(config_, input.texts);
  Tensor embedded = embed(input);  // [B, T, C], or packed [rows, C]
  if (!config_.biased_by_distance() || !input.texts.packed())
    return states_of_padded(std::move(embedded), mask, globals, hidden);
  // Attention accepts a bias for padded texts only. So packed rows are padded here, and packed again after the layers.
  const PaddedRows rows(input.texts);
  // Shape [B, longest, C].
  const Tensor padded = ops::gather(embedded, rows.to_padded).reshape({rows.count, rows.longest, config_.width});
  const Tensor states = states_of_padded(padded, {.key_lengths = rows.lengths}, globals, hidden);
  return ops::gather(states.reshape({rows.count * rows.longest, config_.width}), rows.to_packed);  // [rows, C]
}

Tensor Bert::states_of_padded(Tensor embedded, AttentionMask mask,
                              const std::shared_ptr<const ops::GlobalPositions>& globals,
                              std::vector<Tensor>* hidden) const {
  if (config_.biased_by_distance()) mask.bias = distance_bias(embedded);   // [1, H, T, T]
  nn::Residual stream(std::move(embedded), {.dropout = config_.dropout});  // [.., C]
  if (hidden) hidden->push_back(stream.value());
  for (const BertLayer& layer : layers_) {
    layer(stream, mask, globals);
    if (hidden) hidden->push_back(stream.value());
  }
  return stream.value();  // [.., C]
}

// The bias that MPNet adds to the scores: [1, H, T, T] for states [B, T, C], one learned number per head and bucket.
Tensor Bert::distance_bias(const Tensor& states) const {
  const std::int64_t T = states.dim(1);
  std::vector<std::int32_t> buckets;
  buckets.reserve(static_cast<std::size_t>(T * T));
  for (std::int64_t query = 0; query < T; ++query)
    for (std::int64_t key = 0; key < T; ++key)
      buckets.push_back(distance_bucket(key - query, config_.distance_buckets));
  const Tensor ids = ints_on(states, {T * T}, buckets);                       // [T·T]
  const Tensor rows = ops::gather(distances_.table(), ids);                   // [T·T, H]
  return ops::permute(rows.reshape({1, T, T, config_.heads}), {0, 3, 1, 2});  // [1, H, T, T]
}

// [CLS] is the first token: row 0 of each padded text, or the row at each offset of packed texts. -> [B, C]
Tensor Bert::first(const Tensor& states, const nn::Sequences& texts) const {
  if (texts.packed()) return ops::gather(states, texts.offsets.slice_first(0, texts.offsets.dim(0) - 1));
  return ops::slice(states, 1, 0, 1).reshape({states.dim(0), states.width()});
}

Tensor Bert::pooled(const Tensor& states, const nn::Sequences& texts) const {
  check(pooler_ == Pooler::with, "{}: this model was made without a pooler", name_of(config_.family));
  return pool_(first(states, texts), Activation::tanh);  // [B, C]
}

}  // namespace attend::models
