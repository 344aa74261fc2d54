// The shapes for which there is a step of few rows in one kernel (few_rows_launch.cuh).
#include "attend/cuda/decode/few_rows_launch.cuh"
#include "attend/cuda/decode/few_rows_step.h"

namespace attend::cuda {
namespace {

template <class Shape>
std::unique_ptr<CausalStep> step_of(CudaBackend& backend, const DecoderWeights& weights) {
  return whole_step<FewRowsStep<Shape>, Shape>(backend, weights);
}

}  // namespace

std::unique_ptr<CausalStep> few_rows_step(CudaBackend& backend, const DecoderWeights& weights) {
  if (weights.layers.empty() || weights.layers.size() > kMostFewLayers) return nullptr;
  // The shapes of distilled GPT-2 and GPT-2, and of a small model of ours.
  if (auto step = step_of<FewShape<768, 12, 3072>>(backend, weights)) return step;
  return step_of<FewShape<256, 4, 1024>>(backend, weights);
}

}  // namespace attend::cuda
