// One step of GPT-2 for the newest position of some rows, all at the same position: weights, caches and inputs of
// random numbers, for benchmarks of whole steps.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/tensor/backend.h"
#include "attend/tensor/causal_step.h"

namespace attend {

// GPT-2 124M, or some of its layers.
struct StepModel124M {
  static constexpr std::int64_t kWidth = 768, kHidden = 3072, kHeads = 12;
};

// Normal numbers of deviation 0.02.
inline Tensor step_numbers(Backend& backend, const Shape& shape, std::uint32_t stream) {
  Tensor x = make_tensor(backend, shape, DType::bf16);
  backend.random(x, {.kind = RandomFill::normal, .high_or_deviation = 0.02f, .seed = 1, .stream = stream});
  return x;
}

inline DecoderWeights step_weights(Backend& backend, std::size_t layers) {
  constexpr std::int64_t kC = StepModel124M::kWidth, kF = StepModel124M::kHidden;
  std::uint32_t stream = 0;
  const auto numbers = [&](const Shape& shape) { return step_numbers(backend, shape, ++stream); };
  DecoderWeights weights{
      .heads = StepModel124M::kHeads, .layers = {}, .norm_weight = numbers({kC}), .norm_bias = numbers({kC})};
  for (std::size_t i = 0; i < layers; ++i)
    weights.layers.push_back({numbers({kC}), numbers({kC}), numbers({kC, 3 * kC}), numbers({3 * kC}), numbers({kC, kC}),
                              numbers({kC}), numbers({kC}), numbers({kC}), numbers({kC, kF}), numbers({kF}),
                              numbers({kF, kC}), numbers({kC})});
  return weights;
}

struct StepCase {
  std::int64_t rows, length;
  std::size_t layers;
  CausalStep::Input in;
  Tensor states;

  // What a step must read.
  double bytes() const {
    constexpr std::int64_t kC = StepModel124M::kWidth;
    return static_cast<double>(layers) * static_cast<double>(12 * kC * kC + rows * length * 2 * kC) * 2;
  }
};

inline StepCase step_case(Backend& backend, std::int64_t rows, std::int64_t length, std::size_t layers) {
  constexpr std::int64_t kC = StepModel124M::kWidth;
  std::uint32_t stream = 1000;
  StepCase all{.rows = rows,
               .length = length,
               .layers = layers,
               .in = {.x = step_numbers(backend, {rows, kC}, ++stream), .caches = {}, .capacity = length},
               .states = make_tensor(backend, {rows, kC}, DType::bf16)};
  for (std::size_t i = 0; i < layers; ++i)
    all.in.caches.push_back(step_numbers(backend, {rows * length, 2 * kC}, ++stream));
  std::vector<std::int32_t> lengths, slots;
  for (std::int64_t row = 0; row < rows; ++row)
    lengths.push_back(static_cast<std::int32_t>(length)),
        slots.push_back(static_cast<std::int32_t>((row + 1) * length - 1));
  all.in.lengths = make_tensor(backend, {rows}, DType::i32), all.in.slots = make_tensor(backend, {rows}, DType::i32);
  upload(all.in.lengths, lengths), upload(all.in.slots, slots);
  return all;
}

}  // namespace attend
