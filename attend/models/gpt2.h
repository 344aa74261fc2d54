// "Language Models are Unsupervised Multitask Learners" (Radford et al. 2019, section 2.3): a Transformer decoder
// without an encoder. Norms stand before the sublayers, positions are learned, and the output layer shares the table of
// token embeddings.
//
//   ids [B, T] -> embed -> [B, T, C] -> L blocks -> norm -> states [B, T, C] -> logits [B, T, V]
//
// With cross-attention it also attends to a memory [B, S, C], for example the regions of an image. Packed texts have
// [rows, C] in place of [B, T, C]. Parameters carry the names and the [in, out] order of Hugging Face's files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json_fwd.h"
#include "attend/models/attention_windows.h"
#include "attend/models/language_model.h"
#include "attend/models/position_settings.h"
#include "attend/models/problem_type.h"
#include "attend/nn/attention.h"
#include "attend/nn/causal_model.h"
#include "attend/nn/feed_forward.h"
#include "attend/nn/fixed_table.h"
#include "attend/nn/layers.h"
#include "attend/nn/memory_decoder.h"
#include "attend/nn/parameters.h"
#include "attend/nn/relative_positions.h"
#include "attend/nn/residual.h"
#include "attend/nn/sequences.h"
#include "attend/ops/softmax.h"

namespace attend::models {

struct GPT2Config {
  std::int64_t vocabulary = 50257, max_length = 1024;
  std::int64_t width = 768, layers = 12, heads = 12;
  std::int64_t hidden = 0;  // 0 means four times the width
  std::string activation = "gelu_new";
  float embedding_dropout = 0.1f, attention_dropout = 0.1f, dropout = 0.1f;
  float norm_eps = 1e-5f, init_deviation = 0.02f;
  std::int64_t start = 50256, end = 50256, pad = -1;  // token ids; -1 means none
  WindowSettings window = {};
  std::string positions = "learned";  // or another of position_settings.h, which Hugging Face's GPT-2 has not

  std::vector<std::string> labels = {};             // names of a classifier's classes; empty for a language model
  ProblemType problem = ProblemType::single_label;  // what a classifier's logits mean
  bool cross_attention = false;                     // adds attention to a memory between the two other sublayers

  std::int64_t hidden_width() const { return hidden ? hidden : 4 * width; }

  // Field names follow config.json.
  template <class Visitor>
  void visit(Visitor&& v) {
    v("vocab_size", vocabulary, "how many tokens there are");
    v("n_positions", max_length, "longest text, in tokens");
    v("n_embd", width, "of the model");
    v("n_layer", layers, "how many");
    v("n_head", heads, "of attention; they divide the width");
    v("n_inner", hidden, "width inside the feed-forward layers; 0: four times the width");
    v("activation_function", activation, "of the feed-forward layers");
    v("embd_pdrop", embedding_dropout, "dropout of embeddings");
    v("attn_pdrop", attention_dropout, "dropout of attention weights");
    v("resid_pdrop", dropout, "dropout of what each sublayer adds");
    v("layer_norm_epsilon", norm_eps, "added to variances");
    v("initializer_range", init_deviation, "deviation of the weights a new model starts from");
    v("bos_token_id", start, "a text begins with it");
    v("eos_token_id", end, "a text ends with it");
    v("pad_token_id", pad, "fills short texts");
    window.visit(v);
    v("positions", positions, "learned, sinusoidal, rotary, relative or none");
  }
};

// Throws Error naming what (a path) and the first value that is out of range.
void check_config(const GPT2Config& config, std::string_view what);

// From a config.json whose model_type is "gpt2", and back. Both throw Error for unsupported settings. gpt2_config()
// also refuses cross-attention, because such a file is half of an encoder-decoder model.
GPT2Config gpt2_config(const Json& config, std::string_view what);
GPT2Config gpt2_decoder_config(const Json& config, std::string_view what);
Json gpt2_json(const GPT2Config& config);

// A pre-norm block: x + attention(norm(x)), then x + cross_attention(norm(x), memory) if there is a memory, then x +
// feed_forward(norm(x)). x stays [B, T, C].
class GPT2Block {
 public:
  GPT2Block(const GPT2Config& config, std::int64_t index);
  void operator()(nn::Residual& stream, const AttentionMask& mask, const nn::Memory& memory,
                  const nn::LayerCache& cache, const nn::Rotation& rotation) const;
  Tensor keys_values(const Tensor& memory) const { return cross_attention_->keys_values(memory); }
  DecoderLayer weights() const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("ln_1", norm1_), v("attn", attention_), v("ln_2", norm2_);
    if (cross_attention_) v("crossattention", *cross_attention_), v("ln_cross_attn", cross_norm_);
    v("mlp", feed_forward_);
  }

 private:
  nn::LayerNorm norm1_, norm2_, cross_norm_;
  nn::SelfAttention attention_;
  std::optional<nn::CrossAttention> cross_attention_;
  nn::FeedForward feed_forward_;
};

// The body that the language model, the classifier and the caption decoder share.
class GPT2 : public nn::CausalModel, public nn::MemoryReader {
 public:
  explicit GPT2(const GPT2Config& config);
  const GPT2Config& config() const { return config_; }
  Sizes sizes() const override;

  // ids -> [.., C]: token + position, then dropout.
  Tensor embed(const nn::Sequences& texts) const;
  Tensor embedded(const nn::Sequences& texts) const override { return embed(texts); }
  std::unique_ptr<CausalStep> single_step(Backend& backend, std::int64_t rows) const override;
  // States after the last norm, [.., C].
  Tensor states(const nn::Sequences& texts, const nn::ForwardOptions& reading = {}) const override;
  // The same with a memory [B, S, C], which needs cross-attention. keys_values() projects the memory once per layer, to
  // [B, S, 2·C].
  CausalModel::Sizes decoder_sizes() const override { return sizes(); }
  std::vector<Tensor> keys_values(const Tensor& memory) const override;
  Tensor read(const nn::Sequences& texts, std::span<const Tensor> keys_values, const Tensor& lengths,
              const nn::ForwardOptions& reading = {}) const override;
  // Scores of the next token: states [.., C] times the token table, [.., V].
  Tensor logits(const Tensor& states) const override { return tokens_.logits(states); }
  Tensor output_table() const override { return tokens_.table(); }
  ops::Loss loss(const Tensor& states, const Tensor& labels, const ops::CrossEntropyOptions& options = {}) const {
    return tokens_.loss(states, {}, labels, options);
  }
  // The labels under which a probe sees the attention of a layer.
  static std::string attention_label(std::int64_t layer);
  static std::string cross_attention_label(std::int64_t layer);

  template <class Visitor>
  void visit(Visitor&& v) {
    v("wte", tokens_);
    if (kind_ == Positions::learned) v("wpe", positions_);
    if (kind_ == Positions::relative) v("relative_bias", relative_bias_);
    v("h", blocks_), v("ln_f", norm_);
  }

 private:
  AttentionMask mask_of(const nn::Sequences& texts, const Tensor& embedded, const nn::ForwardOptions& reading) const;

  GPT2Config config_;
  Positions kind_;
  nn::Embedding tokens_, positions_;
  nn::FixedTable<float> sinusoids_;  // [max_length, C]
  nn::Rotary rotary_;
  nn::RelativeBias relative_bias_;
  std::vector<GPT2Block> blocks_;
  nn::LayerNorm norm_;
};

// Parameter names of the body begin with this in files of whole models; in files of the bare body they do not.
inline constexpr const char* kGPT2Prefix = "transformer";

// The body and its output layer, which predicts the next token at every position.
class GPT2LanguageModel : public LanguageModel {
 public:
  explicit GPT2LanguageModel(const GPT2Config& config) : body_(config) {}
  const GPT2& body() const { return body_; }

  Facts facts() const override;
  Json config() const override;
  std::vector<nn::Parameters::Entry> parameters() override { return nn::Parameters::list(*this); }
  Tensor states(const nn::Sequences& texts) const override { return body_.states(texts); }
  Tensor logits(const nn::Sequences& texts) const override { return body_.logits(body_.states(texts)); }
  // The labels of a text are its next_tokens().
  ops::Loss loss(const nn::Sequences& texts, const Tensor& labels) const override {
    return body_.loss(body_.states(texts), labels);
  }
  std::unique_ptr<nn::StepModel> start(Pass& pass, const Tensor& prompts, std::int64_t group,
                                       std::int64_t tokens) const override;
  std::unique_ptr<nn::TextModel> text(Backend& backend, std::int64_t room) const override;
  std::unique_ptr<nn::BatchModel> batch(Backend& backend, std::int64_t rows, std::int64_t room,
                                        const nn::PromptPieces& pieces = {}) const override;
  template <class Visitor>
  void visit(Visitor&& v) {
    v(kGPT2Prefix, body_);
  }

 private:
  GPT2 body_;
};

// Labels for ids [B, T] on the host: the next id, or -100 at the end of a row and over padding.
std::vector<std::int32_t> next_tokens(std::span<const std::int32_t> ids, std::int64_t length,
                                      std::span<const std::int32_t> lengths = {});

// Predicts one label for a text from the state of its last token, the only one that has read the whole text.
class GPT2Classifier {
 public:
  explicit GPT2Classifier(const GPT2Config& config);
  const GPT2& body() const { return body_; }
  Json config() const;

  // last i32 [B]: the row of each text's last token among all rows of ids.   -> [B, labels]
  Tensor logits(const nn::Sequences& texts, const Tensor& last) const;
  ops::Loss loss(const nn::Sequences& texts, const Tensor& last, const Tensor& labels) const {
    return ops::cross_entropy(logits(texts, last), labels);
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v(kGPT2Prefix, body_), v("score", score_);
  }

 private:
  GPT2 body_;
  nn::Linear score_;
};

}  // namespace attend::models
