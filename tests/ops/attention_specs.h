// Cases of attention from a few numbers: dense batches and packed ones.
#pragma once

#include <string>
#include <vector>

#include "attend/tensor/attention_window.h"
#include "tests/ops/cases.h"

namespace attend::test {

// Dense [B, T, H·D] and [B, S, H·D].
struct DenseSpec {
  std::string name;
  std::int64_t batch = 1, queries = 1, keys = 1, heads = 1, head = 8;
  bool causal = false;
  std::vector<std::int32_t> key_lengths = {};
  std::int64_t groups = 0;  // of the bias; 0: none
  bool bias_f32 = false;    // the bias stays f32 under bf16
  float scale = 0, dropout = 0;
  bool fused = false;  // q, k and v are thirds of one input
  AttentionWindow window = {};
};
Case dense_case(const DenseSpec& spec);

// Packed [rows, H·D]: sequences lie one after another without padding. key_lengths: room may be left after the keys
// in use, as in a cache.
struct PackedSpec {
  std::string name;
  std::vector<std::int32_t> queries, keys;  // how many each sequence has
  std::vector<std::int32_t> key_lengths = {};
  std::int64_t heads = 1, head = 8;
  bool causal = false;
  float dropout = 0;
  bool fused = false;  // needs queries == keys
  AttentionWindow window = {};
};
Case packed_case(const PackedSpec& spec);

}  // namespace attend::test
