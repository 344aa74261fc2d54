#include "attend/models/transformer.h"

#include <cmath>

#include "attend/ops/activation.h"

namespace attend::models {

namespace {

nn::AttentionConfig attention(const TransformerConfig& config, const char* stack, int index, const char* kind) {
  return {config.width, config.heads, config.dropout,
          std::string(stack) + ".layers." + std::to_string(index) + "." + kind};
}

}  // namespace

EncoderLayer::EncoderLayer(const TransformerConfig& config, int index)
    : self_attention_(attention(config, "encoder", index, "self_attn")),
      feed_forward_(config.width, config.hidden),
      norm1_(config.width),
      norm2_(config.width) {}

void EncoderLayer::operator()(nn::Residual& stream, const AttentionMask& mask) const {
  stream.leave(norm1_, self_attention_(stream.enter(norm1_), mask));
  stream.leave(norm2_, feed_forward_(stream.enter(norm2_)));
}

DecoderLayer::DecoderLayer(const TransformerConfig& config, int index)
    : self_attention_(attention(config, "decoder", index, "self_attn")),
      cross_attention_(attention(config, "decoder", index, "multihead_attn")),
      feed_forward_(config.width, config.hidden),
      norm1_(config.width),
      norm2_(config.width),
      norm3_(config.width) {}

void DecoderLayer::operator()(nn::Residual& stream, const Tensor& memory, const AttentionMask& mask,
                              const AttentionMask& memory_mask) const {
  stream.leave(norm1_, self_attention_(stream.enter(norm1_), mask));
  stream.leave(norm2_, cross_attention_(stream.enter(norm2_), memory, memory_mask));
  stream.leave(norm3_, feed_forward_(stream.enter(norm3_)));
}

DecoderLayer::Cache DecoderLayer::start(const Tensor& memory, std::int64_t rows) const {
  const Tensor keys_values = cross_attention_.keys_values(memory);
  return {nn::KvCache(memory.backend(), rows, memory.width(), memory.dtype()), keys_values};
}

void DecoderLayer::step(nn::Residual& stream, Cache& cache, const Tensor& lengths, const Tensor& source_lengths) const {
  const Tensor x = stream.enter(norm1_);  // [R, 1, C]
  stream.leave(norm1_, self_attention_.step(x, cache.self, lengths));
  const Tensor grouped = stream.enter(norm2_).reshape({cache.memory.dim(0), -1, x.width()});  // [B, R / B, C]
  stream.leave(norm2_,
               cross_attention_.read(grouped, cache.memory, {.key_lengths = source_lengths}).reshape(x.shape()));
  stream.leave(norm3_, feed_forward_(stream.enter(norm3_)));
}

Transformer::Transformer(const TransformerConfig& config)
    : config_(config),
      embedding_(config.vocabulary, config.width),
      encoder_(config, config.encoder_layers),
      decoder_(config, config.decoder_layers) {}

Tensor Transformer::encode(const Tensor& source, const Tensor& source_lengths) const {
  nn::Residual stream = this->stream(source);
  for (const EncoderLayer& layer : encoder_.layers) layer(stream, {.key_lengths = source_lengths});
  return encoder_.finish(stream);
}

Tensor Transformer::decode(const Tensor& target, const Tensor& memory, const Tensor& source_lengths) const {
  nn::Residual stream = this->stream(target);
  for (const DecoderLayer& layer : decoder_.layers)
    layer(stream, memory, {.causal = true}, {.key_lengths = source_lengths});
  return decoder_.finish(stream);
}

Tensor Transformer::embed(const Tensor& ids, const Tensor& positions) const { return embed_at(ids, {}, positions); }

Tensor Transformer::embed_at(const Tensor& ids, const Tensor& position_ids, const Tensor& positions) const {
  const float scale = std::sqrt(static_cast<float>(config_.width));
  return ops::dropout(embedding_(ids, {.scale = scale, .positions = positions, .position_ids = position_ids}),
                      config_.dropout);
}

ops::Loss Transformer::loss(const Batch& batch, const Tensor& positions,
                            const ops::CrossEntropyOptions& options) const {
  const Tensor memory = encode(embed(batch.source, positions), batch.source_lengths);
  const Tensor decoded = decode(embed(batch.target_in, positions), memory, batch.source_lengths);
  return ops::cross_entropy(logits(decoded), batch.target_out, options);
}

}  // namespace attend::models
