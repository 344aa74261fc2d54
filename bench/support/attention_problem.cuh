// A problem for the attention kernels: tensors in device memory, random where they are read and NaN where they are
// written, of any shape and mask that bench/cuda_attention.cu asks for.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "attend/base/random.h"
#include "attend/cuda/attention/attention.cuh"
#include "bench/support/attention_reference.cuh"

namespace attend::bench {

using cuda::AttentionBackwardParams;

inline void ok(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::printf("cuda: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

// Device memory of the process; freed at its end.
template <class T>
T* device(std::size_t count) {
  T* data = nullptr;
  ok(cudaMalloc(&data, std::max<std::size_t>(count, 1) * sizeof(T) + 64), "malloc");
  return data;
}
template <class T>
T* device(const std::vector<T>& values) {
  T* data = device<T>(values.size());
  ok(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "copy");
  return data;
}

inline std::size_t device_memory() {
  std::size_t available = 0, total = 0;
  ok(cudaMemGetInfo(&available, &total), "memory");
  return total;
}

struct Case {
  std::string name;
  bool bf16 = true;
  int batch = 2, heads = 3, queries = 100, keys = 100, width = 64;
  bool causal = false, lengths = false, packed = false;
  int groups = 0;  // of bias
  bool bias_bf16 = false;
  float dropout = 0;
  bool accumulate = false;
  int pad = 0;  // elements between the rows' parts: 8 keeps them aligned, 3 does not
  bool bias_masks = false;
  AttentionWindow window = {};
  int hides = 0;       // of so many keys one is hidden from all queries, one from the first ones
  bool holes = false;  // packed: of three texts one has no tokens, and of those that read others one has no keys
};

// Rows of `width` elements, `stride` apart, of numbers in [-1, 1); NaN between the rows when poison is set.
static __global__ void fill_rows(void* data, bool bf16, std::int64_t rows, std::int64_t stride, std::int64_t width,
                                 std::uint32_t stream, float scale, bool poison) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= rows * stride) return;
  float x = (to_unit(random_word(77, stream, i)) * 2 - 1) * scale;
  if (poison || i % stride >= width) x = NAN;
  if (bf16)
    static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(x);
  else
    static_cast<float*>(data)[i] = x;
}

inline void* filled(bool bf16, std::int64_t rows, std::int64_t stride, std::int64_t width, std::uint32_t stream,
                    float scale, bool poison = false) {
  void* data = device<unsigned char>(rows * stride * (bf16 ? 2 : 4));
  if (rows * stride > 0)
    fill_rows<<<static_cast<unsigned>((rows * stride + 255) / 256), 256>>>(data, bf16, rows, stride, width, stream,
                                                                           scale, poison);
  return data;
}

inline std::vector<double> host(const void* data, bool bf16, std::int64_t rows, std::int64_t stride,
                                std::int64_t width) {
  const std::size_t bytes = bf16 ? 2 : 4;
  std::vector<unsigned char> raw(rows * width * bytes);
  if (stride == width)
    ok(cudaMemcpy(raw.data(), data, raw.size(), cudaMemcpyDeviceToHost), "copy");
  else if (rows > 0)  // what lies between the rows stays there
    ok(cudaMemcpy2D(raw.data(), width * bytes, data, stride * bytes, width * bytes, rows, cudaMemcpyDeviceToHost),
       "copy");
  std::vector<double> out(rows * width);
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint32_t word = 0;
    std::memcpy(bf16 ? reinterpret_cast<unsigned char*>(&word) + 2 : reinterpret_cast<unsigned char*>(&word),
                raw.data() + i * bytes, bytes);
    float x;
    std::memcpy(&x, &word, 4);
    out[i] = x;
  }
  return out;
}
inline std::vector<double> host(const double* data, std::size_t count) {
  std::vector<double> out(count);
  ok(cudaMemcpy(out.data(), data, count * sizeof(double), cudaMemcpyDeviceToHost), "copy");
  return out;
}

// seen_from: keys hidden here and there, and 150 in a row, more than a tile.
inline std::vector<std::int32_t> hidden_keys(const Case& c, std::int64_t rows) {
  std::vector<std::int32_t> from(rows, 0);
  for (std::int64_t i = 0; i < rows; ++i) {
    if (i % c.hides == 1) from[i] = 0x7fffffff;
    if (i % c.hides == 4) from[i] = static_cast<std::int32_t>(i * 31 % c.queries);
    if (i >= 100 && i < 250) from[i] = 0x7fffffff;
  }
  return from;
}

struct Built {
  Problem problem;
  AttentionBackwardParams g;
  std::int64_t query_rows, key_rows;
};

// q, k, v are parts of one fused buffer when they have the same rows; so are their gradients.
inline Built build(const Case& c) {
  Built x{};
  AttentionParams& p = x.problem.p;
  std::vector<Sequence> sequences;
  std::vector<std::int32_t> query_offsets{0}, key_offsets{0}, lengths;
  for (int b = 0; b < c.batch; ++b) {
    int queries = c.packed ? (b * 37 + c.queries) % c.queries + (b == 0 ? c.queries : 1) : c.queries;
    int keys = c.packed ? (b * 53 + c.keys) % c.keys + (b == 0 ? c.keys : 1) : c.keys;
    if (c.holes && b % 3 == 1) queries = 0;
    if (c.holes && b % 3 == 2) keys = 0;
    if (c.packed && c.queries == c.keys) keys = queries;
    const int room = keys;
    if (c.lengths) lengths.push_back(b == 1 ? (c.packed ? 1 : 0) : std::max(1, keys - 13 * (b + 1)));
    if (c.packed && c.lengths) keys = lengths.back();
    sequences.push_back({query_offsets.back(), key_offsets.back(), queries, keys, c.lengths ? lengths.back() : keys});
    query_offsets.push_back(query_offsets.back() + queries);
    key_offsets.push_back(key_offsets.back() + room);
  }
  const int behind = c.packed ? 5 : 0;  // rows after the last sequence
  x.query_rows = query_offsets.back() + behind, x.key_rows = key_offsets.back() + behind;
  const int columns = c.heads * c.width, part = columns + c.pad;
  p.bf16 = c.bf16;
  p.batch = c.batch, p.heads = c.heads, p.width = c.width;
  p.queries = c.queries, p.keys = c.keys;
  p.query_rows = x.query_rows, p.key_rows = x.key_rows;
  p.scale = 2.0f / std::sqrt(static_cast<float>(c.width)) * 1.7f;
  p.causal = c.causal;
  p.windowed = c.window.bars(c.causal) || c.hides > 0, p.window = c.window;
  if (c.hides > 0) p.seen_from = device(hidden_keys(c, x.key_rows));
  const std::size_t bytes = c.bf16 ? 2 : 4;
  const auto parts = [&](bool poison, float scale, std::uint32_t stream, void* out[3], std::int64_t strides[3]) {
    const bool fused = x.query_rows == x.key_rows;
    for (int i = 0; i < 3; ++i) {
      strides[i] = fused ? 3 * part : part + 8;
      if (!fused || i == 0)
        out[i] = filled(c.bf16, i == 0 ? x.query_rows : x.key_rows, strides[i], strides[i], stream + i, scale, poison);
      else
        out[i] = static_cast<unsigned char*>(out[0]) + i * part * bytes;
    }
  };
  void* inputs[3];
  std::int64_t strides[3];
  parts(false, 1.0f, 10, inputs, strides);
  p.q = inputs[0], p.k = inputs[1], p.v = inputs[2];
  p.q_stride = strides[0], p.k_stride = strides[1], p.v_stride = strides[2];
  parts(!c.accumulate, 0.05f, 20, inputs, strides);
  x.g.dq = {inputs[0], strides[0], c.accumulate};
  x.g.dk = {inputs[1], strides[1], c.accumulate};
  x.g.dv = {inputs[2], strides[2], c.accumulate};
  p.y = filled(c.bf16, x.query_rows, columns, columns, 30, 1, true);
  p.lse = static_cast<float*>(filled(false, x.query_rows, c.heads, c.heads, 31, 1, true));
  x.g.dy = filled(c.bf16, x.query_rows, columns, columns, 32, 1);
  if (c.packed) p.query_offsets = device(query_offsets), p.key_offsets = device(key_offsets);
  if (c.lengths) p.key_lengths = device(lengths);
  if (c.groups > 0) {
    const std::int64_t rows = static_cast<std::int64_t>(c.groups) * c.heads * c.queries;
    p.groups = c.groups, p.bias_bf16 = c.bias_bf16;
    void* bias = filled(c.bias_bf16, rows, c.keys, c.keys, 40, 2);
    if (c.bias_masks && !c.bias_bf16) {  // -inf here and there, and one query without keys
      std::vector<float> values(rows * c.keys);
      ok(cudaMemcpy(values.data(), bias, values.size() * 4, cudaMemcpyDeviceToHost), "copy");
      for (std::size_t i = 0; i < values.size(); ++i)
        if (i % 7 == 3 || i < static_cast<std::size_t>(c.keys)) values[i] = -INFINITY;
      ok(cudaMemcpy(bias, values.data(), values.size() * 4, cudaMemcpyHostToDevice), "copy");
    }
    p.bias = bias;
    x.g.dbias = {filled(c.bias_bf16, rows, c.keys, c.keys, 41, 0.05f, !c.accumulate), c.keys, c.accumulate};
    x.g.dbias_bf16 = c.bias_bf16;
  }
  p.dropout_rate = c.dropout;
  p.seed = device(std::vector<std::uint32_t>{12345u, 678u});
  p.stream = 9;
  std::size_t scratch = cuda::attention_backward_scratch(p);
  if (p.bf16)  // cuda_attention times each way through
    scratch = std::max({scratch, cuda::attention_backward_tiled_scratch(p), cuda::attention_backward_keys_scratch(p)});
  x.g.scratch = device<unsigned char>(scratch);
  x.problem.sequences = device(sequences);
  return x;
}

}  // namespace attend::bench
