// "Attention Is All You Need" (Vaswani et al. 2017): the encoder-decoder of figure 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attend/nn/attention.h"
#include "attend/nn/layers.h"
#include "attend/nn/parameter.h"
#include "attend/nn/residual.h"
#include "attend/ops/softmax.h"

namespace attend::models {

struct TransformerConfig {
  std::int64_t vocabulary = 0;  // one for both sides, shared with the output layer (section 3.4)
  std::int64_t width = 512, heads = 8, hidden = 2048;
  std::int64_t encoder_layers = 6, decoder_layers = 6;
  std::int64_t max_length = 256;
  float dropout = 0.1f;
  bool pre_norm = false;    // the paper: post-norm
  bool final_norm = false;  // a norm after each stack: needed by pre-norm, and what torch.nn.Transformer has
};

// Linear, relu, linear (section 3.3).
class FeedForward {
 public:
  FeedForward(std::int64_t width, std::int64_t hidden) : expand_(width, hidden), contract_(hidden, width) {}
  Tensor operator()(const Tensor& x) const { return contract_(expand_(x, Activation::relu)); }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("linear1", expand_), v("linear2", contract_);
  }

 private:
  nn::Linear expand_, contract_;
};

class EncoderLayer {
 public:
  EncoderLayer(const TransformerConfig& config, int index);
  void operator()(nn::Residual& stream, const AttentionMask& mask) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("self_attn", self_attention_), feed_forward_.visit(v), v("norm1", norm1_), v("norm2", norm2_);
  }

 private:
  nn::SelfAttention self_attention_;
  FeedForward feed_forward_;
  nn::LayerNorm norm1_, norm2_;
};

class DecoderLayer {
 public:
  DecoderLayer(const TransformerConfig& config, int index);
  void operator()(nn::Residual& stream, const Tensor& memory, const AttentionMask& mask,
                  const AttentionMask& memory_mask) const;

  // The same for one more position of each row. Rows come in groups that share a source: row r of [R, 1, C] belongs to
  // source r / (R / B), so the rows of a group read their memory together, as if they were positions.
  struct Cache {
    nn::KvCache self;
    Tensor memory;  // keys and values of the sources [B, S, 2·C]
  };
  Cache start(const Tensor& memory, std::int64_t rows) const;
  void step(nn::Residual& stream, Cache& cache, const Tensor& lengths, const Tensor& source_lengths) const;
  template <class Visitor>
  void visit(Visitor&& v) {
    v("self_attn", self_attention_), v("multihead_attn", cross_attention_), feed_forward_.visit(v);
    v("norm1", norm1_), v("norm2", norm2_), v("norm3", norm3_);
  }

 private:
  nn::SelfAttention self_attention_;
  nn::CrossAttention cross_attention_;
  FeedForward feed_forward_;
  nn::LayerNorm norm1_, norm2_, norm3_;
};

// A stack of layers and the norm after it, named as torch.nn.Transformer names them.
template <class Layer>
struct Stack {
  std::vector<Layer> layers;
  nn::LayerNorm norm;
  bool final_norm;
  Stack(const TransformerConfig& config, std::int64_t count)
      : norm(config.width), final_norm(config.final_norm || config.pre_norm) {
    for (std::int64_t i = 0; i < count; ++i) layers.emplace_back(config, static_cast<int>(i));
  }
  Tensor finish(nn::Residual& stream) const { return final_norm ? stream.finish(norm) : stream.finish(); }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("layers", layers);
    if (final_norm) v("norm", norm);
  }
};

class Transformer {
 public:
  explicit Transformer(const TransformerConfig& config);
  const TransformerConfig& config() const { return config_; }

  // From embedded sequences [B, S, C], [B, T, C]. source_lengths i32 [B] may be undefined: no padding.
  Tensor encode(const Tensor& source, const Tensor& source_lengths) const;
  Tensor decode(const Tensor& target, const Tensor& memory, const Tensor& source_lengths) const;

  // ids i32 [B, T] -> [B, T, C]: embedding · sqrt(C) + position, then dropout.   positions [max_length, C]
  Tensor embed(const Tensor& ids, const Tensor& positions) const;
  // With position_ids (like ids) instead of counting from 0.
  Tensor embed_at(const Tensor& ids, const Tensor& position_ids, const Tensor& positions) const;
  Tensor logits(const Tensor& decoded) const { return embedding_.logits(decoded); }
  const std::vector<DecoderLayer>& decoder_layers() const { return decoder_.layers; }
  nn::Residual stream(const Tensor& x) const { return {x, {config_.pre_norm, config_.dropout}}; }
  Tensor finish_decoder(nn::Residual& stream) const { return decoder_.finish(stream); }

  // Teacher forcing: target_in is the target moved right by one, target_out what each position should say.
  struct Batch {
    Tensor source, source_lengths;  // i32 [B, S], [B]
    Tensor target_in, target_out;   // i32 [B, T]
  };
  ops::Loss loss(const Batch& batch, const Tensor& positions, const ops::CrossEntropyOptions& options) const;

  template <class Visitor>
  void visit(Visitor&& v) {
    if (config_.vocabulary > 0) v("embedding", embedding_);
    v("encoder", encoder_), v("decoder", decoder_);
  }

 private:
  TransformerConfig config_;
  nn::Embedding embedding_;
  Stack<EncoderLayer> encoder_;
  Stack<DecoderLayer> decoder_;
};

}  // namespace attend::models
