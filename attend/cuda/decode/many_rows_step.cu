// The shapes for which there is a step of many rows in one kernel (many_rows_launch.cuh).
#include "attend/cuda/decode/many_rows_step.h"

#include <algorithm>

#include "attend/cuda/decode/many_rows_launch.cuh"

namespace attend::cuda {

std::unique_ptr<CausalStep> many_rows_step(CudaBackend& backend, const DecoderWeights& weights) {
  if (weights.layers.empty() || weights.layers.size() > kManyMostLayers) return nullptr;
  const auto all_bf16 = [](const DecoderLayer& w) {
    for (const Tensor* x : {&w.input_weight, &w.output_weight, &w.expand_weight, &w.contract_weight})
      if (x->dtype() != DType::bf16) return false;
    return true;
  };
  if (!std::ranges::all_of(weights.layers, all_bf16)) return nullptr;
  // The shapes of distilled GPT-2 and GPT-2, and of a small model of ours.
  if (auto step = ManyRowsStep<ManyShape<768, 12, 3072>>::make(backend, weights)) return step;
  if (auto step = ManyRowsStep<ManyShape<256, 4, 1024>>::make(backend, weights)) return step;
  // Decoders of the base Transformer of the paper, and of small ones.
  if (auto step = ManyRowsStep<ManyShape<512, 8, 2048, true>>::make(backend, weights)) return step;
  return ManyRowsStep<ManyShape<256, 4, 1024, true>>::make(backend, weights);
}

}  // namespace attend::cuda
