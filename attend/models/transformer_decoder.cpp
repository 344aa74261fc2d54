#include "attend/models/transformer_decoder.h"

#include "attend/base/error.h"
#include "attend/ops/embedding.h"

namespace attend::models {

TransformerDecoder::TransformerDecoder(const Transformer& model, const Tensor& positions, Pass& pass,
                                       const Tensor& source, const Tensor& source_lengths, std::int64_t group)
    : model_(model),
      positions_(positions),
      pass_(pass),
      source_lengths_(pass.input(source_lengths)),
      group_(group),
      rows_(source.dim(0) * group) {
  check(!pass.recording(), "decoder: a recording pass would keep every step");
  const Tensor memory = model.encode(model.embed(pass.input(source), positions), source_lengths_);
  for (const DecoderLayer& layer : model.decoder_layers()) caches_.push_back(layer.start(memory, rows_));
}

Tensor TransformerDecoder::ints(const Shape& shape, std::int32_t value) const {
  Tensor tensor = pass_.tensor(shape, DType::i32);
  upload(tensor, std::vector<std::int32_t>(static_cast<std::size_t>(shape.size()), value));
  return tensor;
}

std::span<const float> TransformerDecoder::step(std::span<const std::int32_t> tokens) {
  check(static_cast<std::int64_t>(tokens.size()) == rows_, "decoder: {} tokens for {} rows", tokens.size(), rows_);
  check(length_ < positions_.dim(0), "decoder: the model has only {} positions", positions_.dim(0));
  Tensor ids = pass_.tensor({rows_, 1}, DType::i32);
  upload(ids, tokens);
  nn::Residual stream =
      model_.stream(model_.embed_at(ids, ints({rows_, 1}, static_cast<std::int32_t>(length_)), positions_));
  const Tensor lengths = ints({rows_}, static_cast<std::int32_t>(++length_));
  for (std::size_t i = 0; i < caches_.size(); ++i)
    model_.decoder_layers()[i].step(stream, caches_[i], lengths, source_lengths_);
  logits_ = download(model_.logits(model_.finish_decoder(stream)));
  return logits_;
}

void TransformerDecoder::reorder(std::span<const std::int32_t> from) {
  const auto rows = static_cast<std::int64_t>(from.size());
  check(rows % group_ == 0, "decoder: {} rows do not come in groups of {}", rows, group_);
  Tensor order = pass_.tensor({rows}, DType::i32);
  upload(order, from);
  for (DecoderLayer::Cache& cache : caches_) cache.self.reorder(order);
  if (rows == rows_) return;
  // Sources that are done leave; the others move up.
  std::vector<std::int32_t> kept;
  for (std::size_t i = 0; i < from.size(); i += static_cast<std::size_t>(group_))
    kept.push_back(from[i] / static_cast<std::int32_t>(group_));
  Tensor sources = pass_.tensor({static_cast<std::int64_t>(kept.size())}, DType::i32);
  upload(sources, kept);
  for (DecoderLayer::Cache& cache : caches_) cache.memory = ops::gather(cache.memory, sources);
  const std::vector<std::int32_t> lengths = download_ints(source_lengths_);
  std::vector<std::int32_t> left;
  for (std::int32_t source : kept) left.push_back(lengths[static_cast<std::size_t>(source)]);
  source_lengths_ = pass_.tensor({static_cast<std::int64_t>(left.size())}, DType::i32);
  upload(source_lengths_, left);
  rows_ = rows;
}

}  // namespace attend::models
