// BERT (Devlin et al. 2019, section 3): a Transformer encoder whose tokens attend in both directions. Its family:
// RoBERTa (Liu et al. 2019) is trained longer, and its positions start after that of padding.
// XLM-RoBERTa (Conneau et al. 2020) is RoBERTa in a hundred languages.
// MPNet (Song et al. 2020) adds to each attention score a bias that depends on the distance of the two tokens.
// DistilBERT (Sanh et al. 2019) has half the layers, no token types and no pooler.
// Longformer (Beltagy et al. 2020) attends inside a window, plus a few global tokens.
//
//   ids [B, T] -> embed -> [B, T, C] -> L layers -> states [B, T, C] -> pooled [B, C]
//
// Packed texts have [rows, C] in place of [B, T, C]. Parameters carry the names of Hugging Face's files; queries, keys
// and values are one parameter here and three tensors there.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json_fwd.h"
#include "attend/models/attention_windows.h"
#include "attend/models/problem_type.h"
#include "attend/nn/attention.h"
#include "attend/nn/feed_forward.h"
#include "attend/nn/layers.h"
#include "attend/nn/residual.h"
#include "attend/nn/sequences.h"

namespace attend::models {

enum class BertFamily : std::uint8_t { bert, roberta, distilbert, longformer, xlm_roberta, mpnet };
struct BertNames {
  BertFamily family;
  const char* type;        // "model_type" of config.json
  const char* class_name;  // transformers' classes begin with it: "BertForMaskedLM"
  const char* prefix;      // in the file of a model with a head, the body's parameter names begin with it
};
inline constexpr BertNames kBertNames[] = {  // in the order of the enum
    {BertFamily::bert, "bert", "Bert", "bert"},
    {BertFamily::roberta, "roberta", "Roberta", "roberta"},
    {BertFamily::distilbert, "distilbert", "DistilBert", "distilbert"},
    {BertFamily::longformer, "longformer", "Longformer", "longformer"},
    {BertFamily::xlm_roberta, "xlm-roberta", "XLMRoberta", "roberta"},
    {BertFamily::mpnet, "mpnet", "MPNet", "mpnet"}};
constexpr const BertNames& names_of(BertFamily family) { return kBertNames[static_cast<int>(family)]; }
constexpr const char* name_of(BertFamily family) { return names_of(family).type; }
constexpr const char* prefix_of(BertFamily family) { return names_of(family).prefix; }

struct BertConfig {
  BertFamily family = BertFamily::bert;
  std::int64_t vocabulary = 30522, max_length = 512, types = 2;
  std::int64_t width = 768, layers = 12, heads = 12, hidden = 3072;
  std::string activation = "gelu";
  float dropout = 0.1f, attention_dropout = 0.1f;
  float head_dropout = -1;  // applies before the classifier; -1 means the same as dropout
  float norm_eps = 1e-12f, init_deviation = 0.02f;
  std::int64_t start = -1, end = -1, pad = 0;  // token ids; -1 means none
  std::int64_t separator = 2;                  // Longformer: this token ends a question
  std::int64_t distance_buckets = 32;          // MPNet: each head has one bias per bucket of distances

  std::string architecture = {};                    // for example "BertForMaskedLM": names the head of a file
  std::vector<std::string> labels = {};             // names of the classes, for a classifier
  ProblemType problem = ProblemType::single_label;  // what the head's logits mean

  WindowSettings window = {};

  bool regression() const { return problem == ProblemType::regression; }
  bool distilled() const { return family == BertFamily::distilbert; }
  // RoBERTa and its descendants count positions from pad + 1, and their classifier has a hidden layer of its own.
  bool counts_positions() const {
    return family == BertFamily::roberta || family == BertFamily::longformer || family == BertFamily::xlm_roberta ||
           family == BertFamily::mpnet;
  }
  bool typed() const { return family != BertFamily::distilbert && family != BertFamily::mpnet; }  // tokens have types
  bool biased_by_distance() const { return family == BertFamily::mpnet; }
  float dropout_of_head() const { return head_dropout < 0 ? dropout : head_dropout; }

  // Field names follow config.json.
  template <class Visitor>
  void visit(Visitor&& v) {
    v("vocab_size", vocabulary, "how many tokens there are");
    v("max_position_embeddings", max_length, "rows of the table of positions");
    v(distilled() ? "dim" : "hidden_size", width, "of the model");
    v(distilled() ? "n_layers" : "num_hidden_layers", layers, "how many");
    v(distilled() ? "n_heads" : "num_attention_heads", heads, "of attention; they divide the width");
    v(distilled() ? "hidden_dim" : "intermediate_size", hidden, "width inside the feed-forward layers");
    v(distilled() ? "activation" : "hidden_act", activation, "of the feed-forward layers");
    v(distilled() ? "dropout" : "hidden_dropout_prob", dropout, "of embeddings and of what each sublayer adds");
    v(distilled() ? "attention_dropout" : "attention_probs_dropout_prob", attention_dropout, "of attention weights");
    v(distilled() ? "seq_classif_dropout" : "classifier_dropout", head_dropout, "before the classifier");
    if (typed()) v("type_vocab_size", types, "how many types of tokens there are: first and second sentence");
    if (!distilled()) {
      v("layer_norm_eps", norm_eps, "added to variances");
    }
    v("initializer_range", init_deviation, "deviation of the weights a new model starts from");
    v("bos_token_id", start, "a text begins with it");
    v("eos_token_id", end, "a text ends with it");
    v("pad_token_id", pad, "fills short texts");
    if (family == BertFamily::longformer) v("sep_token_id", separator, "stands behind a text");
    if (family == BertFamily::mpnet)
      v("relative_attention_num_buckets", distance_buckets, "distances that have a bias of their own");
    window.visit(v);
  }
};

// Throws Error naming what (a path) and the first value that is out of range.
void check_config(const BertConfig& config, std::string_view what);

// From a config.json whose model_type is one of kBertNames, and back. Throws Error for settings that this
// implementation does not support.
BertConfig bert_config(const Json& config, std::string_view what);
Json bert_json(const BertConfig& config);

// The model's input. RoBERTa and its descendants need texts.positions.
struct BertInput {
  nn::Sequences texts;
  Tensor types = {};  // i32 [B, T]: 0 for the first sentence, 1 for the second; undefined means all 0
  // Global tokens of each text; without them GlobalRule decides.
  std::shared_ptr<const ops::GlobalPositions> globals = {};

  BertInput in(Pass& pass) const { return {texts.in(pass), types.defined() ? pass.input(types) : types, globals}; }
};

// The tokens that a model makes global when the caller names none: the first ones of every text. A Longformer that
// answers questions also takes all tokens of the question, up to the first separator, as transformers does.
struct GlobalRule {
  std::int64_t first = 0, question_end = -1;  // question_end: a token; -1: there is no question
  explicit GlobalRule(const BertConfig& config);
  GlobalRule() = default;

  std::vector<std::int32_t> operator()(std::span<const std::int32_t> ids) const;
};

// The positions of ids [B, T] (padded, `length` is T) on the host: RoBERTa counts the tokens that are not padding, from
// pad + 1, and gives padding its own. The others need none.
std::vector<std::int32_t> roberta_positions(std::span<const std::int32_t> ids, std::int64_t length, std::int32_t pad);

// norm(x + attention(x)), then norm(x + feed_forward(x)): the post-norm layer of Vaswani et al. 2017. x stays [B, T,
// C].
class BertLayer {
 public:
  BertLayer(const BertConfig& config, std::int64_t index);
  void operator()(nn::Residual& stream, const AttentionMask& mask,
                  const std::shared_ptr<const ops::GlobalPositions>& globals = {}) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("attention", attention_);
    v(distilled_ ? "sa_layer_norm" : mpnet_ ? "attention.LayerNorm" : "attention.output.LayerNorm", norm1_);
    v(distilled_ ? "ffn" : "", feed_forward_), v(distilled_ ? "output_layer_norm" : "output.LayerNorm", norm2_);
  }

 private:
  bool distilled_, mpnet_;
  nn::SelfAttention attention_;
  nn::LayerNorm norm1_, norm2_;
  nn::FeedForward feed_forward_;
};

// The body that all heads share.
class Bert {
 public:
  enum class Pooler : std::uint8_t { without, with };
  Bert(const BertConfig& config, Pooler pooler);
  const BertConfig& config() const { return config_; }

  // Figure 2 of the paper: token + position + type, then a norm and dropout.   -> [.., C]
  Tensor embed(const BertInput& input) const;
  // States after the last layer, [.., C]. hidden receives the embeddings and the output of every layer.
  Tensor states(const BertInput& input, std::vector<Tensor>* hidden = nullptr) const;
  // The state of each text's first token, [B, C], as it is and through the pooler's layer.
  Tensor first(const Tensor& states, const nn::Sequences& texts) const;
  Tensor pooled(const Tensor& states, const nn::Sequences& texts) const;

  const nn::Embedding& tokens() const { return tokens_; }
  // The label under which a probe sees the attention of a layer.
  static std::string attention_label(std::int64_t layer);

  template <class Visitor>
  void visit(Visitor&& v) {
    v("embeddings.word_embeddings", tokens_), v("embeddings.position_embeddings", positions_);
    if (config_.typed()) v("embeddings.token_type_embeddings", types_);
    v("embeddings.LayerNorm", norm_);
    v(config_.distilled() ? "transformer.layer" : "encoder.layer", layers_);
    if (config_.biased_by_distance()) v("encoder.relative_attention_bias", distances_);
    if (pooler_ == Pooler::with) v("pooler.dense", pool_);
  }

 private:
  Tensor states_of_padded(Tensor embedded, AttentionMask mask,
                          const std::shared_ptr<const ops::GlobalPositions>& globals,
                          std::vector<Tensor>* hidden) const;
  Tensor distance_bias(const Tensor& states) const;

  BertConfig config_;
  Pooler pooler_;
  nn::Embedding tokens_, positions_, types_, distances_;
  nn::LayerNorm norm_;
  std::vector<BertLayer> layers_;
  nn::Linear pool_;
};

}  // namespace attend::models
