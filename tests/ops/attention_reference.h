// Attention as the paper writes it: all the scores, one softmax, one sum. In double, one query at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/ops/array.h"

namespace attend::test {

struct AttentionReference {
  struct Sequence {
    std::int64_t query_row, queries;           // its rows of q, out of all rows
    std::int64_t key_row, keys;                // its rows of k and v
    std::int64_t visible;                      // keys from here on are hidden
    std::vector<std::int32_t> marked = {};     // keys that are global besides the first
    std::vector<std::int32_t> seen_from = {};  // of key s: the first query that sees it; empty: all do
  };
  std::int64_t heads = 1;
  float scale = 0;  // 0: 1 / sqrt(D)
  float dropout = 0;
  bool causal = false;
  std::int64_t before = -1, after = -1, globals = 0;  // -1: all
  std::vector<Sequence> sequences = {};
  std::int64_t max_queries = 0, max_keys = 0;
  const Array* bias = nullptr;  // [G, H, T, S]

  // Whether query t of a sequence may look at key s.
  bool sees(const Sequence& sequence, std::int64_t t, std::int64_t s) const;
  // The weights of one query, [keys] long, after masking and before dropout; all 0 when it sees nothing.
  std::vector<double> weights(const Array& q, const Array& k, std::size_t b, std::int64_t h, std::int64_t t) const;
  Array operator()(const Array& q, const Array& k, const Array& v) const;
};

}  // namespace attend::test
