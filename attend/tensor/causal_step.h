// One step of a pre-norm decoder (GPT-2, a Transformer's) as a single kernel, where a device has one
// (Backend::causal_step). It computes what the layers compute one after another for the newest position of each row;
// the layers stay the reference, and what is used where it has no kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/tensor/activation.h"
#include "attend/tensor/tensor.h"

namespace attend {

// What a layer multiplies by. Weights are [in, out], or all of them [out, in].
struct DecoderLayer {
  Tensor norm1_weight, norm1_bias;        // [C]
  Tensor input_weight, input_bias;        // [C, 3·C]: queries, keys, values
  Tensor output_weight, output_bias;      // [C, C]
  Tensor norm2_weight, norm2_bias;        // [C]
  Tensor expand_weight, expand_bias;      // [C, F]
  Tensor contract_weight, contract_bias;  // [F, C]
  // Attention to a memory, between the two above; undefined in a decoder without.
  Tensor memory_norm_weight = {}, memory_norm_bias = {};      // [C]
  Tensor memory_query_weight = {}, memory_query_bias = {};    // [C, C]
  Tensor memory_output_weight = {}, memory_output_bias = {};  // [C, C]
};

struct DecoderWeights {
  std::int64_t heads = 1;
  float eps = 1e-5f;
  Activation activation = Activation::gelu_tanh;
  std::vector<DecoderLayer> layers;
  Tensor norm_weight, norm_bias;  // after the last layer, [C]
  bool output_major = false;      // weights are [out, in]

  bool reads_memory() const { return !layers.empty() && layers.front().memory_query_weight.defined(); }
};

// Made from a model's weights as they are at that time.
class CausalStep {
 public:
  virtual ~CausalStep() = default;
  // Keys and values of a memory, [B, S, 2·C] per layer, and its lengths i32 [B]; undefined if all are S. Row r reads
  // memory r / (rows / B).
  struct Memory {
    std::vector<Tensor> keys_values = {};
    Tensor lengths = {};
  };
  // x [rows, C]: the newest position of each row, embedded -> states [rows, C] after the last norm. Its keys and values
  // go to slots [rows] of the caches, one [rows · capacity, 2·C] per layer; lengths [rows] include the newest. places
  // i32 [rows, capacity]: the row of the caches that holds each position of a row; undefined if it is its own.
  struct Input {
    Tensor x = {};
    std::vector<Tensor> caches = {};
    std::int64_t capacity = 0;
    Tensor lengths = {}, slots = {}, places = {};
    Memory memory = {};
  };
  // Whether it reads places.
  virtual bool follows_rows() const { return false; }
  virtual void run(const Input& in, const Tensor& states) = 0;
};

}  // namespace attend
