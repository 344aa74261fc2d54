// Checks the CUDA attention kernels against double precision over a list of odd cases, and times them.
//   nvcc -std=c++20 -O3 -I. -gencode=.. bench/cuda_attention.cu attend/cuda/attention_*.cu -cudart static -o
//   cuda_attention cuda_attention [check | time | first]
// Inputs are random, outputs are poisoned with NaN first; the error is |out - reference| / |reference|.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "attend/base/random.h"
#include "attend/cuda/attention/attention.cuh"

namespace {

using attend::cuda::AttentionBackwardParams;
using attend::cuda::AttentionParams;

void ok(cudaError_t status, const char* what) {
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
};

// One sequence, as the reference sees it.
struct Sequence {
  int query_row, key_row, queries, keys, visible;
};

struct Problem {
  AttentionParams p;
  const Sequence* sequences;
};

__device__ double read(const void* data, bool bf16, std::int64_t i) {
  return bf16 ? __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]) : static_cast<const float*>(data)[i];
}

// Score of (b, h, t, s) in double, or -inf.
__device__ double score(const Problem& x, int b, int h, int t, int s) {
  const AttentionParams& p = x.p;
  const Sequence& sequence = x.sequences[b];
  if (s >= sequence.visible) return -INFINITY;
  if (p.causal && s > t + sequence.keys - sequence.queries) return -INFINITY;
  double sum = 0;
  for (int d = 0; d < p.width; ++d)
    sum += read(p.q, p.bf16, (sequence.query_row + t) * p.q_stride + h * p.width + d) *
           read(p.k, p.bf16, (sequence.key_row + s) * p.k_stride + h * p.width + d);
  sum *= p.scale;
  if (p.bias)
    sum += read(p.bias, p.bias_bf16,
                ((static_cast<std::int64_t>(b % p.groups) * p.heads + h) * p.queries + t) * p.keys + s);
  return sum;
}

__device__ double kept(const AttentionParams& p, int b, int h, int t, int s) {
  if (p.dropout_rate <= 0) return 1;
  const std::uint64_t i = ((static_cast<std::uint64_t>(b) * p.heads + h) * p.queries + t) * ((p.keys + 7) / 8 * 8) + s;
  const std::uint64_t seed = p.seed[0] | static_cast<std::uint64_t>(p.seed[1]) << 32;
  const bool keep = attend::dropout_draw(seed, p.stream, i) >= attend::dropout_threshold(p.dropout_rate);
  return keep ? attend::dropout_scale(p.dropout_rate) : 0;
}

// One thread a query: y, lse and, given dy, the row sums of dy ∘ y.
__global__ void reference_forward(Problem x, const void* dy, double* y, double* lse, double* delta) {
  const AttentionParams& p = x.p;
  const int b = blockIdx.y, h = blockIdx.z, t = blockIdx.x * blockDim.x + threadIdx.x;
  const Sequence& sequence = x.sequences[b];
  if (t >= sequence.queries) return;
  const std::int64_t row = (sequence.query_row + t) * static_cast<std::int64_t>(p.heads) + h;
  double maximum = -INFINITY, sum = 0;
  for (int s = 0; s < sequence.visible; ++s) maximum = fmax(maximum, score(x, b, h, t, s));
  for (int d = 0; d < p.width; ++d) y[row * p.width + d] = 0;
  if (maximum > -INFINITY)
    for (int s = 0; s < sequence.visible; ++s) sum += exp(score(x, b, h, t, s) - maximum);
  lse[row] = sum > 0 ? maximum + log(sum) : -INFINITY;
  delta[row] = 0;
  if (sum == 0) return;
  for (int s = 0; s < sequence.visible; ++s) {
    const double weight = exp(score(x, b, h, t, s) - lse[row]) * kept(p, b, h, t, s);
    for (int d = 0; d < p.width; ++d)
      y[row * p.width + d] += weight * read(p.v, p.bf16, (sequence.key_row + s) * p.v_stride + h * p.width + d);
  }
  for (int d = 0; d < p.width; ++d) delta[row] += y[row * p.width + d] * read(dy, p.bf16, row * p.width + d);
}

// Weight of (t, s) and the gradient of its score.
__device__ void gradient(const Problem& x, const void* dy, const double* lse, const double* delta, int b, int h, int t,
                         int s, double& weight, double& dscore) {
  const AttentionParams& p = x.p;
  const Sequence& sequence = x.sequences[b];
  const std::int64_t row = (sequence.query_row + t) * static_cast<std::int64_t>(p.heads) + h;
  const double plain = lse[row] > -INFINITY ? exp(score(x, b, h, t, s) - lse[row]) : 0;
  double dweight = 0;
  for (int d = 0; d < p.width; ++d)
    dweight +=
        read(dy, p.bf16, row * p.width + d) * read(p.v, p.bf16, (sequence.key_row + s) * p.v_stride + h * p.width + d);
  const double keep = kept(p, b, h, t, s);
  weight = plain * keep;
  dscore = plain * (dweight * keep - delta[row]);
}

// One thread a query (dq) and one a key (dk, dv): x covers both. Layout [rows, H·D].
__global__ void reference_backward(Problem x, const void* dy, const double* lse, const double* delta, double* dq,
                                   double* dk, double* dv) {
  const AttentionParams& p = x.p;
  const int b = blockIdx.y, h = blockIdx.z, i = blockIdx.x * blockDim.x + threadIdx.x;
  const Sequence& sequence = x.sequences[b];
  const std::int64_t columns = static_cast<std::int64_t>(p.heads) * p.width;
  double weight, dscore;
  if (i < sequence.queries)
    for (int s = 0; s < sequence.visible; ++s) {
      gradient(x, dy, lse, delta, b, h, i, s, weight, dscore);
      for (int d = 0; d < p.width; ++d)
        dq[(sequence.query_row + i) * columns + h * p.width + d] +=
            p.scale * dscore * read(p.k, p.bf16, (sequence.key_row + s) * p.k_stride + h * p.width + d);
    }
  if (i < sequence.visible)
    for (int t = 0; t < sequence.queries; ++t) {
      gradient(x, dy, lse, delta, b, h, t, i, weight, dscore);
      const std::int64_t row = (sequence.query_row + t);
      for (int d = 0; d < p.width; ++d) {
        const std::int64_t to = (sequence.key_row + i) * columns + h * p.width + d;
        dk[to] += p.scale * dscore * read(p.q, p.bf16, row * p.q_stride + h * p.width + d);
        dv[to] += weight * read(dy, p.bf16, row * columns + h * p.width + d);
      }
    }
}

__global__ void reference_bias(Problem x, const void* dy, const double* lse, const double* delta, double* dbias) {
  const AttentionParams& p = x.p;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= static_cast<std::int64_t>(p.groups) * p.heads * p.queries * p.keys) return;
  const int s = i % p.keys, t = i / p.keys % p.queries, h = i / p.keys / p.queries % p.heads;
  double sum = 0, weight, dscore;
  for (int b = static_cast<int>(i / p.keys / p.queries / p.heads); b < p.batch; b += p.groups) {
    if (s >= x.sequences[b].visible) continue;
    gradient(x, dy, lse, delta, b, h, t, s, weight, dscore);
    sum += dscore;
  }
  dbias[i] += sum;
}

__global__ void reference_weights(Problem x, const double* lse, double* weights) {
  const AttentionParams& p = x.p;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= static_cast<std::int64_t>(p.batch) * p.heads * p.queries * p.keys) return;
  const int s = i % p.keys, t = i / p.keys % p.queries, h = i / p.keys / p.queries % p.heads;
  const int b = i / p.keys / p.queries / p.heads;
  weights[i] = 0;
  if (t >= x.sequences[b].queries) return;
  const double l = lse[(x.sequences[b].query_row + t) * static_cast<std::int64_t>(p.heads) + h];
  if (l > -INFINITY) weights[i] = exp(score(x, b, h, t, s) - l);
}

// Rows of `width` elements, `stride` apart, of numbers in [-1, 1); NaN between the rows when poison is set.
__global__ void fill_rows(void* data, bool bf16, std::int64_t rows, std::int64_t stride, std::int64_t width,
                          std::uint32_t stream, float scale, bool poison) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= rows * stride) return;
  float x = (attend::to_unit(attend::random_word(77, stream, i)) * 2 - 1) * scale;
  if (poison || i % stride >= width) x = NAN;
  if (bf16)
    static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(x);
  else
    static_cast<float*>(data)[i] = x;
}

void* filled(bool bf16, std::int64_t rows, std::int64_t stride, std::int64_t width, std::uint32_t stream, float scale,
             bool poison = false) {
  void* data = device<unsigned char>(rows * stride * (bf16 ? 2 : 4));
  if (rows * stride > 0)
    fill_rows<<<static_cast<unsigned>((rows * stride + 255) / 256), 256>>>(data, bf16, rows, stride, width, stream,
                                                                           scale, poison);
  return data;
}

std::vector<double> host(const void* data, bool bf16, std::int64_t rows, std::int64_t stride, std::int64_t width) {
  const std::size_t bytes = bf16 ? 2 : 4;
  std::vector<unsigned char> raw(rows > 0 ? ((rows - 1) * stride + width) * bytes : 0);
  ok(cudaMemcpy(raw.data(), data, raw.size(), cudaMemcpyDeviceToHost), "copy");
  std::vector<double> out(rows * width);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < width; ++c) {
      const std::int64_t i = r * stride + c;
      std::uint32_t word = 0;
      std::memcpy(bf16 ? reinterpret_cast<unsigned char*>(&word) + 2 : reinterpret_cast<unsigned char*>(&word),
                  raw.data() + i * bytes, bytes);
      float x;
      std::memcpy(&x, &word, 4);
      out[r * width + c] = x;
    }
  return out;
}
std::vector<double> host(const double* data, std::size_t count) {
  std::vector<double> out(count);
  ok(cudaMemcpy(out.data(), data, count * sizeof(double), cudaMemcpyDeviceToHost), "copy");
  return out;
}

// Relative error; infinities must agree. NaN when anything is NaN.
double error_of(const std::vector<double>& out, const std::vector<double>& reference) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (std::isinf(reference[i]) && out[i] == reference[i]) continue;
    difference += (out[i] - reference[i]) * (out[i] - reference[i]);
    norm += reference[i] * reference[i];
  }
  return std::sqrt(difference) / (norm > 0 ? std::sqrt(norm) : 1.0);
}

struct Built {
  Problem problem;
  AttentionBackwardParams g;
  std::int64_t query_rows, key_rows;
};

// q, k, v are parts of one fused buffer when they have the same rows; so are their gradients.
Built build(const Case& c) {
  Built x{};
  AttentionParams& p = x.problem.p;
  std::vector<Sequence> sequences;
  std::vector<std::int32_t> query_offsets{0}, key_offsets{0}, lengths;
  for (int b = 0; b < c.batch; ++b) {
    const int queries = c.packed ? (b * 37 + c.queries) % c.queries + (b == 0 ? c.queries : 1) : c.queries;
    int keys = c.packed ? (b * 53 + c.keys) % c.keys + (b == 0 ? c.keys : 1) : c.keys;
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
  x.g.scratch = device<unsigned char>(attend::cuda::attention_backward_scratch(p));
  x.problem.sequences = device(sequences);
  return x;
}

struct Check {
  const char* name;
  double error;
};

bool run_case(const Case& c) {
  const Built x = build(c);
  const AttentionParams& p = x.problem.p;
  const std::int64_t columns = static_cast<std::int64_t>(c.heads) * c.width;
  const std::int64_t bias_count = static_cast<std::int64_t>(c.groups) * c.heads * c.queries * c.keys;
  const std::int64_t weight_count = static_cast<std::int64_t>(c.batch) * c.heads * c.queries * c.keys;
  const auto before = [&](const attend::cuda::AttentionGradient& to, std::int64_t rows, std::int64_t width) {
    return c.accumulate ? host(to.data, c.bf16, rows, to.stride, width) : std::vector<double>(rows * width, 0.0);
  };
  double* dq = device(before(x.g.dq, x.query_rows, columns));
  double* dk = device(before(x.g.dk, x.key_rows, columns));
  double* dv = device(before(x.g.dv, x.key_rows, columns));
  double* y = device(std::vector<double>(x.query_rows * columns, 0.0));
  double* lse = device(std::vector<double>(x.query_rows * c.heads, -INFINITY));
  double* delta = device<double>(x.query_rows * c.heads);
  double* weights = device<double>(weight_count);
  double* dbias = nullptr;
  if (bias_count > 0)
    dbias = device(c.accumulate ? host(x.g.dbias.data, c.bias_bf16, bias_count, 1, 1)
                                : std::vector<double>(bias_count, 0.0));
  const dim3 grid((std::max(c.queries, c.keys) + 63) / 64 + 1, c.batch, c.heads);
  reference_forward<<<grid, 64>>>(x.problem, x.g.dy, y, lse, delta);
  reference_backward<<<grid, 64>>>(x.problem, x.g.dy, lse, delta, dq, dk, dv);
  if (bias_count > 0)
    reference_bias<<<static_cast<unsigned>((bias_count + 127) / 128), 128>>>(x.problem, x.g.dy, lse, delta, dbias);
  if (weight_count > 0)
    reference_weights<<<static_cast<unsigned>((weight_count + 127) / 128), 128>>>(x.problem, lse, weights);
  ok(cudaDeviceSynchronize(), "reference");

  attend::cuda::launch_attention_forward(p, nullptr);
  ok(cudaGetLastError(), "forward launch");
  ok(cudaDeviceSynchronize(), "forward");
  float* found = device<float>(weight_count);
  attend::cuda::launch_attention_weights(p, found, nullptr);
  attend::cuda::launch_attention_backward(p, x.g, nullptr);
  ok(cudaGetLastError(), "backward launch");
  ok(cudaDeviceSynchronize(), "backward");

  std::vector<double> lse_out = host(p.lse, false, x.query_rows, c.heads, c.heads);
  if (c.packed) std::fill(lse_out.end() - 5 * c.heads, lse_out.end(), -INFINITY);  // behind the sequences
  std::vector<Check> checks = {
      {"y", error_of(host(p.y, c.bf16, x.query_rows, columns, columns), host(y, x.query_rows * columns))},
      {"lse", error_of(lse_out, host(lse, x.query_rows * c.heads))},
      {"w", error_of(host(found, false, weight_count, 1, 1), host(weights, weight_count))},
      {"dq",
       error_of(host(x.g.dq.data, c.bf16, x.query_rows, x.g.dq.stride, columns), host(dq, x.query_rows * columns))},
      {"dk", error_of(host(x.g.dk.data, c.bf16, x.key_rows, x.g.dk.stride, columns), host(dk, x.key_rows * columns))},
      {"dv", error_of(host(x.g.dv.data, c.bf16, x.key_rows, x.g.dv.stride, columns), host(dv, x.key_rows * columns))}};
  if (bias_count > 0)
    checks.push_back({"db", error_of(host(x.g.dbias.data, c.bias_bf16, bias_count, 1, 1), host(dbias, bias_count))});
  bool good = true;
  std::string line;
  for (const Check& check : checks) {
    const bool plain = std::string(check.name) == "lse" || std::string(check.name) == "w";
    const bool rounded = check.name == std::string("db") ? c.bias_bf16 || c.bf16 : c.bf16 && !plain;
    const bool fine = check.error <= (rounded ? 1e-2 : plain && c.bf16 ? 1e-4 : 2e-5);
    good = good && fine;
    char text[64];
    std::snprintf(text, sizeof text, " %s%s %.1e", fine ? "" : "**", check.name, check.error);
    line += text;
  }
  std::printf("%s %-34s%s\n", good ? "ok  " : "FAIL", c.name.c_str(), line.c_str());
  return good;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (int width : {8, 24, 32, 64, 80, 128, 256}) {
    std::string d("D");
    d += std::to_string(width);
    list.push_back({.name = d, .width = width});
    list.push_back(
        {.name = d + " causal long", .batch = 1, .queries = 517, .keys = 517, .width = width, .causal = true});
    list.push_back({.name = d + " T<S causal", .queries = 70, .keys = 301, .width = width, .causal = true});
    list.push_back({.name = d + " T>S causal lengths",
                    .batch = 3,
                    .queries = 301,
                    .keys = 130,
                    .width = width,
                    .causal = true,
                    .lengths = true});
    list.push_back({.name = d + " packed causal",
                    .batch = 5,
                    .queries = 180,
                    .keys = 180,
                    .width = width,
                    .causal = true,
                    .packed = true,
                    .accumulate = true});
    list.push_back({.name = d + " bias dropout causal",
                    .queries = 136,
                    .keys = 136,
                    .width = width,
                    .causal = true,
                    .groups = 1,
                    .dropout = 0.2f});
    list.push_back({.name = d + " f32", .bf16 = false, .queries = 90, .keys = 140, .width = width, .causal = true});
  }
  list.push_back({.name = "packed cross", .batch = 5, .queries = 77, .keys = 150, .packed = true});
  list.push_back({.name = "packed cross lengths",
                  .batch = 5,
                  .queries = 77,
                  .keys = 150,
                  .causal = true,
                  .lengths = true,
                  .packed = true});
  list.push_back({.name = "packed dropout", .batch = 5, .queries = 77, .keys = 151, .packed = true, .dropout = 0.1f});
  list.push_back({.name = "lengths accumulate", .batch = 3, .lengths = true, .accumulate = true});
  list.push_back({.name = "bias f32 groups -inf", .batch = 5, .groups = 2, .bias_masks = true});
  list.push_back({.name = "bias bf16 accumulate", .batch = 5, .groups = 2, .bias_bf16 = true, .accumulate = true});
  list.push_back({.name = "dropout S%8=0", .batch = 3, .queries = 65, .keys = 200, .dropout = 0.3f});
  list.push_back({.name = "dropout S odd", .batch = 3, .queries = 65, .keys = 201, .causal = true, .dropout = 0.3f});
  for (int side : {5, 16, 29, 32, 33, 60, 64})
    for (int width : {24, 32, 40, 64}) {
      const std::string name = "short T" + std::to_string(side) + " D" + std::to_string(width);
      const Case short_case = {.name = name, .batch = 7, .queries = side, .keys = side, .width = width};
      Case causal = short_case, crossed = short_case, packed = short_case;
      causal.name += " causal dropout", causal.causal = true, causal.dropout = 0.2f;
      crossed.name += " crossed lengths", crossed.keys = 65 - side, crossed.lengths = true, crossed.accumulate = true;
      packed.name += " packed dropout", packed.packed = true, packed.dropout = 0.1f, packed.pad = 8;
      for (const Case& c : {short_case, causal, crossed, packed}) list.push_back(c);
    }
  list.push_back({.name = "short bias dropout", .queries = 30, .keys = 41, .groups = 2, .dropout = 0.2f});
  list.push_back({.name = "T1", .queries = 1, .keys = 333});
  list.push_back({.name = "T1 causal D80 lengths",
                  .batch = 3,
                  .queries = 1,
                  .keys = 333,
                  .width = 80,
                  .causal = true,
                  .lengths = true});
  list.push_back({.name = "T3 causal bias", .queries = 3, .keys = 1100, .causal = true, .groups = 2});
  list.push_back({.name = "T1 f32", .bf16 = false, .queries = 1, .keys = 333});
  list.push_back(
      {.name = "T4 packed D256", .batch = 4, .queries = 4, .keys = 99, .width = 256, .causal = true, .packed = true});
  list.push_back({.name = "T1 dropout", .queries = 1, .keys = 64, .dropout = 0.5f});
  list.push_back({.name = "S1", .queries = 65, .keys = 1});
  list.push_back({.name = "S0", .queries = 65, .keys = 0});
  list.push_back({.name = "T64 S64", .queries = 64, .keys = 64, .causal = true});
  list.push_back({.name = "T128 S128 pad", .queries = 128, .keys = 128, .causal = true, .pad = 8});
  list.push_back({.name = "odd rows (exact bf16)", .batch = 3, .lengths = true, .accumulate = true, .pad = 3});
  list.push_back(
      {.name = "odd rows packed dropout", .batch = 3, .causal = true, .packed = true, .dropout = 0.1f, .pad = 3});
  list.push_back({.name = "f32 packed lengths",
                  .bf16 = false,
                  .batch = 4,
                  .causal = true,
                  .lengths = true,
                  .packed = true,
                  .accumulate = true});
  list.push_back(
      {.name = "f32 bias dropout", .bf16 = false, .batch = 4, .groups = 2, .dropout = 0.2f, .bias_masks = true});
  list.push_back(
      {.name = "many heads (one part)", .batch = 40, .heads = 8, .queries = 300, .keys = 300, .causal = true});
  list.push_back({.name = "many heads D128 accumulate",
                  .batch = 40,
                  .heads = 8,
                  .queries = 150,
                  .keys = 300,
                  .width = 128,
                  .accumulate = true});
  return list;
}

double median_ms(const std::function<void()>& body, int repeats) {
  cudaEvent_t start, stop;
  cudaEventCreate(&start), cudaEventCreate(&stop);
  for (int i = 0; i < 3; ++i) body();
  std::vector<float> times;
  for (int i = 0; i < repeats; ++i) {
    cudaEventRecord(start);
    body();
    cudaEventRecord(stop);
    ok(cudaEventSynchronize(stop), "timing");
    float ms = 0;
    cudaEventElapsedTime(&ms, start, stop);
    times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void time_case(const Case& c) {
  const Built x = build(c);
  const AttentionParams& p = x.problem.p;
  double pairs = 0;
  for (int t = 0; t < c.queries; ++t) pairs += c.causal ? std::clamp(t + c.keys - c.queries + 1, 0, c.keys) : c.keys;
  const double flops = 4.0 * c.batch * c.heads * c.width * pairs;
  const double forward = median_ms([&] { attend::cuda::launch_attention_forward(p, nullptr); }, 20);
  const double backward = median_ms([&] { attend::cuda::launch_attention_backward(p, x.g, nullptr); }, 20);
  ok(cudaDeviceSynchronize(), "timing");
  std::printf("%-44s forward %8.4f ms %6.1f TFLOP/s   backward %8.4f ms %6.1f TFLOP/s   both %8.4f\n", c.name.c_str(),
              forward, flops / forward * 1e-9, backward, 2.5 * flops / backward * 1e-9, forward + backward);
  std::fflush(stdout);
}

void time_all(bool first_only) {
  time_case({.name = "GPT-2: B64 H12 T1024 D64 causal",
             .batch = 64,
             .heads = 12,
             .queries = 1024,
             .keys = 1024,
             .causal = true});
  if (first_only) return;
  time_case(
      {.name = "B16 H12 T4096 D64 causal", .batch = 16, .heads = 12, .queries = 4096, .keys = 4096, .causal = true});
  time_case({.name = "B32 H12 T1024 D64", .batch = 32, .heads = 12, .queries = 1024, .keys = 1024});
  time_case({.name = "B64 H12 T128 D64 (BERT)", .batch = 64, .heads = 12, .queries = 128, .keys = 128});
  time_case({.name = "B256 H12 T197 D64 (ViT)", .batch = 256, .heads = 12, .queries = 197, .keys = 197});
  for (int length : {16, 27, 32, 50, 64})  // 25,600 tokens of translation
    for (bool packed : {false, true})
      time_case({.name = "B" + std::to_string(25600 / length) + " H8 T" + std::to_string(length) + " D64 dropout" +
                         (packed ? " packed" : ""),
                 .batch = 25600 / length,
                 .heads = 8,
                 .queries = length,
                 .keys = length,
                 .packed = packed,
                 .dropout = 0.1f});
  time_case({.name = "B32 H8 T1024 D128 causal",
             .batch = 32,
             .heads = 8,
             .queries = 1024,
             .keys = 1024,
             .width = 128,
             .causal = true});
  time_case({.name = "B32 H12 T1024 D32 causal",
             .batch = 32,
             .heads = 12,
             .queries = 1024,
             .keys = 1024,
             .width = 32,
             .causal = true});
  time_case({.name = "B8 H8 T1024 D256 causal",
             .batch = 8,
             .heads = 8,
             .queries = 1024,
             .keys = 1024,
             .width = 256,
             .causal = true});
  time_case(
      {.name = "B1 H12 T1024 D64 causal", .batch = 1, .heads = 12, .queries = 1024, .keys = 1024, .causal = true});
  time_case({.name = "B1 H12 T1 S1024 (decode)", .batch = 1, .heads = 12, .queries = 1, .keys = 1024});
  time_case({.name = "B64 H12 T1 S1024 (decode)", .batch = 64, .heads = 12, .queries = 1, .keys = 1024});
  time_case({.name = "f32 B8 H12 T1024 D64 causal",
             .bf16 = false,
             .batch = 8,
             .heads = 12,
             .queries = 1024,
             .keys = 1024,
             .causal = true});
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  int failed = 0;
  if (mode != "time" && mode != "first")
    for (const Case& c : cases()) failed += !run_case(c);
  if (mode != "check") time_all(mode == "first");
  std::printf("%d failed\n", failed);
  return failed > 0;
}
