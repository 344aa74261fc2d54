// "Language Models are Unsupervised Multitask Learners" (Radford et al. 2019): a Transformer decoder alone, norms
// before the sublayers, learned positions, and the table of tokens again as the output. With cross-attention it writes
// about a memory (of an image, say). Parameters have the names and the [in, out] order of Hugging Face's files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json_fwd.h"
#include "attend/models/attention_windows.h"
#include "attend/models/problem_type.h"
#include "attend/nn/attention.h"
#include "attend/nn/causal_model.h"
#include "attend/nn/feed_forward.h"
#include "attend/nn/layers.h"
#include "attend/nn/memory_decoder.h"
#include "attend/nn/parameters.h"
#include "attend/nn/residual.h"
#include "attend/nn/sequences.h"
#include "attend/ops/softmax.h"

namespace attend::models {

struct GPT2Config {
  std::int64_t vocabulary = 50257, max_length = 1024;
  std::int64_t width = 768, layers = 12, heads = 12;
  std::int64_t hidden = 0;  // 0: four times the width
  std::string activation = "gelu_new";
  float embedding_dropout = 0.1f, attention_dropout = 0.1f, dropout = 0.1f;
  float norm_eps = 1e-5f, init_deviation = 0.02f;
  std::int64_t start = 50256, end = 50256, pad = -1;  // tokens; -1: none
  WindowSettings window = {};

  std::vector<std::string> labels = {};             // of a classifier; a language model has none
  ProblemType problem = ProblemType::single_label;  // what a classifier's logits mean
  bool cross_attention = false;                     // between the other two sublayers: to a memory

  std::int64_t hidden_width() const { return hidden ? hidden : 4 * width; }

  // By the keys of config.json.
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
  }
};

// Throws Error naming what (a path) and the first value that is out of range.
void check_config(const GPT2Config& config, std::string_view what);

// From a config.json whose model_type is "gpt2", and back. Throws Error for what the model here cannot be: one with
// cross-attention is half of another model, and gpt2_config() does not take it.
GPT2Config gpt2_config(const Json& config, std::string_view what);
GPT2Config gpt2_decoder_config(const Json& config, std::string_view what);
Json gpt2_json(const GPT2Config& config);

// x + attention(norm(x)), x + cross_attention(norm(x), memory) where it has that, then x + feed_forward(norm(x)).
class GPT2Block {
 public:
  GPT2Block(const GPT2Config& config, std::int64_t index);
  void operator()(nn::Residual& stream, const AttentionMask& mask, const nn::Memory& memory,
                  const nn::LayerCache& cache) const;
  Tensor keys_values(const Tensor& memory) const { return cross_attention_->keys_values(memory); }
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

class GPT2 : public nn::CausalModel, public nn::MemoryReader {
 public:
  explicit GPT2(const GPT2Config& config);
  const GPT2Config& config() const { return config_; }
  Sizes sizes() const override;

  // ids -> [.., C]: token + position, then dropout.
  Tensor embed(const nn::Sequences& texts) const;
  // The states after the last norm, [.., C].
  Tensor states(const nn::Sequences& texts, const nn::ForwardOptions& reading = {}) const override;
  // With a memory [B, S, C], of one that has cross-attention; keys_values() are what of it the layers read.
  CausalModel::Sizes decoder_sizes() const override { return sizes(); }
  std::vector<Tensor> keys_values(const Tensor& memory) const override;
  Tensor read(const nn::Sequences& texts, std::span<const Tensor> keys_values, const Tensor& lengths,
              const nn::ForwardOptions& reading = {}) const override;
  // What may come next: the table of tokens against the states.
  Tensor logits(const Tensor& states) const override { return tokens_.logits(states); }
  ops::Loss loss(const Tensor& states, const Tensor& labels, const ops::CrossEntropyOptions& options = {}) const {
    return tokens_.loss(states, {}, labels, options);
  }
  // Under which a probe sees the attention of a layer.
  static std::string attention_label(std::int64_t layer);
  static std::string cross_attention_label(std::int64_t layer);

  template <class Visitor>
  void visit(Visitor&& v) {
    v("wte", tokens_), v("wpe", positions_), v("h", blocks_), v("ln_f", norm_);
  }

 private:
  GPT2Config config_;
  nn::Embedding tokens_, positions_;
  std::vector<GPT2Block> blocks_;
  nn::LayerNorm norm_;
};

// In files the model's names lie under this one, or, in those of the bare model, under none.
inline constexpr const char* kGPT2Prefix = "transformer";

class GPT2LanguageModel {
 public:
  explicit GPT2LanguageModel(const GPT2Config& config) : body_(config) {}
  const GPT2& body() const { return body_; }
  Json config() const;

  Tensor logits(const nn::Sequences& texts) const { return body_.logits(body_.states(texts)); }
  // labels i32, like the ids: what each position should answer (next_tokens()); -100 counts for nothing.
  ops::Loss loss(const nn::Sequences& texts, const Tensor& labels) const {
    return body_.loss(body_.states(texts), labels);
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v(kGPT2Prefix, body_);
  }

 private:
  GPT2 body_;
};

// For ids [B, T] on the host: each position's label is the next id, and -100 at the end of the row and over padding.
std::vector<std::int32_t> next_tokens(std::span<const std::int32_t> ids, std::int64_t length,
                                      std::span<const std::int32_t> lengths = {});

// One label for a text, read off the state of its last token.
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
