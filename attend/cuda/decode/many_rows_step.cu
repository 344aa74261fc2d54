// The shapes for which there is a step of many rows in one kernel (many_rows_launch.cuh).
#include "attend/cuda/decode/many_rows_step.h"

#include "attend/cuda/decode/many_rows_launch.cuh"

namespace attend::cuda {

std::unique_ptr<CausalStep> many_rows_step(CudaBackend& backend, const DecoderWeights& weights) {
  if (weights.layers.empty() || weights.layers.size() > kManyMostLayers) return nullptr;
  // The shapes of distilled GPT-2 and GPT-2, and of a small model of ours.
  if (auto step = ManyRowsStep<ManyShape<768, 12, 3072>>::make(backend, weights)) return step;
  return ManyRowsStep<ManyShape<256, 4, 1024>>::make(backend, weights);
}

}  // namespace attend::cuda
