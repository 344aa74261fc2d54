// GPT-2 as a caption decoder: regions of the image become the memory of its cross-attention.
#include "attend/models/gpt2_captions.h"

#include "attend/base/error.h"

namespace attend::models {

Gpt2Captions::Gpt2Captions(const GPT2Config& config, std::int64_t regions) : body_(config) {
  check(config.cross_attention, "gpt2: to write about images it needs cross-attention ('add_cross_attention')");
  if (regions != config.width) projection_.emplace(regions, config.width);
}

Tensor Gpt2Captions::decode(const Tensor& regions, const nn::Sequences& captions) const {
  return body_.read(captions, body_.keys_values(memory(regions)), {});  // [B, T, C]
}

CaptionLoss Gpt2Captions::loss(const Tensor& regions, const CaptionBatch& batch, float smoothing) const {
  const ops::Loss words = body_.loss(decode(regions, batch.captions), batch.labels, {.smoothing = smoothing});
  return {words.mean, words};
}

std::unique_ptr<nn::StepModel> Gpt2Captions::start(Pass& pass, const Tensor& regions, std::int64_t group) const {
  return std::make_unique<nn::MemoryDecoder>(body_, pass, memory(regions), Tensor(), group);
}

}  // namespace attend::models
