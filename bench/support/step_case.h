// One step of a decoder for the newest position of some rows, all at the same position: weights, caches, memories and
// inputs of random numbers, for benchmarks of whole steps.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/tensor/backend.h"
#include "attend/tensor/causal_step.h"

namespace attend {

struct StepModel {
  std::int64_t width, hidden, heads;
  bool reads_memory = false;
};
inline constexpr StepModel kGpt2Steps = {768, 3072, 12};              // GPT-2 124M, or some of its layers
inline constexpr StepModel kTransformerSteps = {512, 2048, 8, true};  // the base model of Vaswani et al. 2017
inline constexpr std::int64_t kStepMemory = 30;                       // positions of a memory, one for each row

// Normal numbers of deviation 0.02.
inline Tensor step_numbers(Backend& backend, const Shape& shape, std::uint32_t stream) {
  Tensor x = make_tensor(backend, shape, DType::bf16);
  backend.random(x, {.kind = RandomFill::normal, .high_or_deviation = 0.02f, .seed = 1, .stream = stream});
  return x;
}

inline DecoderWeights step_weights(Backend& backend, const StepModel& model, std::size_t layers) {
  const std::int64_t C = model.width, F = model.hidden;
  std::uint32_t stream = 0;
  const auto numbers = [&](const Shape& shape) { return step_numbers(backend, shape, ++stream); };
  DecoderWeights weights{.heads = model.heads, .layers = {}, .norm_weight = numbers({C}), .norm_bias = numbers({C})};
  for (std::size_t i = 0; i < layers; ++i) {
    weights.layers.push_back({numbers({C}), numbers({C}), numbers({C, 3 * C}), numbers({3 * C}), numbers({C, C}),
                              numbers({C}), numbers({C}), numbers({C}), numbers({C, F}), numbers({F}), numbers({F, C}),
                              numbers({C})});
    if (!model.reads_memory) continue;
    DecoderLayer& layer = weights.layers.back();
    layer.memory_norm_weight = numbers({C}), layer.memory_norm_bias = numbers({C});
    layer.memory_query_weight = numbers({C, C}), layer.memory_query_bias = numbers({C});
    layer.memory_output_weight = numbers({C, C}), layer.memory_output_bias = numbers({C});
  }
  return weights;
}

struct StepCase {
  StepModel model;
  std::int64_t rows, length;
  std::size_t layers;
  CausalStep::Input in;
  Tensor states;

  // What a step must read.
  double bytes() const {
    const std::int64_t C = model.width;
    const std::int64_t weights = 4 * C * C + 2 * C * model.hidden + (model.reads_memory ? 2 * C * C : 0);
    const std::int64_t keys = length + (model.reads_memory ? kStepMemory : 0);
    return static_cast<double>(layers) * static_cast<double>(weights + rows * keys * 2 * C) * 2;
  }
};

inline StepCase step_case(Backend& backend, const StepModel& model, std::int64_t rows, std::int64_t length,
                          std::size_t layers) {
  const std::int64_t C = model.width;
  std::uint32_t stream = 1000;
  StepCase all{.model = model,
               .rows = rows,
               .length = length,
               .layers = layers,
               .in = {.x = step_numbers(backend, {rows, C}, ++stream), .caches = {}, .capacity = length},
               .states = make_tensor(backend, {rows, C}, DType::bf16)};
  for (std::size_t i = 0; i < layers; ++i) {
    all.in.caches.push_back(step_numbers(backend, {rows * length, 2 * C}, ++stream));
    if (model.reads_memory)
      all.in.memory.keys_values.push_back(step_numbers(backend, {rows, kStepMemory, 2 * C}, ++stream));
  }
  std::vector<std::int32_t> lengths, slots;
  for (std::int64_t row = 0; row < rows; ++row)
    lengths.push_back(static_cast<std::int32_t>(length)),
        slots.push_back(static_cast<std::int32_t>((row + 1) * length - 1));
  all.in.lengths = make_tensor(backend, {rows}, DType::i32), all.in.slots = make_tensor(backend, {rows}, DType::i32);
  upload(all.in.lengths, lengths), upload(all.in.slots, slots);
  return all;
}

}  // namespace attend
