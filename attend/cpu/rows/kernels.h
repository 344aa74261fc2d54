// The row loops behind the CPU kernels: what they take, and the table that one instruction set fills. Plain structs
// and pointers only, since this header is read by code compiled for different instruction sets. Element pointers are
// void*: a table entry [d] takes float for d = 0 and bf16 for d = 1, the order of DType.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attend/tensor/activation.h"
#include "attend/tensor/attention_window.h"

namespace attend::cpu {

// Where results go; the counterpart of Grad. data may be null when nobody wants them.
struct Out {
  void* data = nullptr;
  bool accumulate = false;
};

struct RandomKey {
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;
};

// Elements whose word is below the threshold are dropped, the others scaled. threshold 0 keeps everything.
struct DropRule {
  RandomKey key;
  std::uint32_t threshold = 0;
  float scale = 1;
  std::uint64_t group = 1;  // so many elements share a word; norms alone read it, for whole rows
};

struct RandomRows {
  RandomKey key;
  bool normal = false;
  float low = 0, width = 1;  // uniform: low + width · u; normal: low is the mean, width the deviation
  void* out = nullptr;
};

// Rows of [rows, width]; sums [width] collects the column sums of dx over the rows of one call, or is null.
struct ActivationBackwardRows {
  const void* dy = nullptr;
  const void* x = nullptr;  // not read when the kind is none
  Activation kind = Activation::none;
  Out dx;
  std::int64_t width = 0;
};

struct NormRows {
  const void* x = nullptr;       // forward: the residual; backward: the forward's sum
  const void* branch = nullptr;  // forward only, may be null
  const void* weight = nullptr;
  const void* bias = nullptr;  // may be null
  DropRule drop;
  float eps = 0;
  std::int64_t width = 0;
  float* mean = nullptr;
  float* rstd = nullptr;
  // forward
  void* sum = nullptr;
  void* y = nullptr;
  // backward
  const void* dy = nullptr;
  const void* dsum = nullptr;  // may be null
  Out dx, dbranch;
};

// What norm_backward adds its rows' column sums to, [width] each; any may be null.
struct NormSums {
  float *dweight = nullptr, *dbias = nullptr, *branch = nullptr;
};

struct CrossEntropyRows {
  const void* logits = nullptr;
  const std::int32_t* targets = nullptr;
  std::int64_t width = 0;
  const float* class_weights = nullptr;  // [width], or none
  float smoothing = 0;
  std::int32_t ignore = -1;
  float* lse = nullptr;
  // forward
  float* losses = nullptr;
  // backward
  float scale = 0;  // dloss over the number of counted rows
  Out dlogits;
};

// Rows r and count + r of logits are two predictions of the same thing.
struct ConsistencyRows {
  const void* logits = nullptr;
  std::int64_t width = 0, count = 0;
  float* moments = nullptr;  // [count, 4]
  // backward
  float scale = 0;
  Out dlogits;
};

// One head of one sequence; pointers stand at its first row and column, strides are in elements.
struct AttentionHead {
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  std::int64_t q_stride = 0, k_stride = 0, v_stride = 0;
  std::int64_t queries = 0, keys = 0;
  bool few = false;        // queries: keys are read where they lie
  std::int64_t shift = 0;  // query t sees key s when s <= t + shift; at least `keys` when all do
  bool windowed = false;   // then the window says what a query sees
  WindowView<std::int64_t> window = {};
  const std::int32_t* seen_from =
      nullptr;             // of key s: queries before this one do not see it; null: nothing is so hidden
  std::int64_t width = 0;  // D
  float scale = 1;
  const void* bias = nullptr;  // [queries, bias_stride], or null
  bool bias_bf16 = false;
  std::int64_t bias_stride = 0;
  DropRule drop;
  std::uint64_t drop_first = 0, drop_stride = 0;  // the dropout index of (t, s) is first + t · stride + s
  float* lse = nullptr;                           // of query t at t · lse_stride
  std::int64_t lse_stride = 0;
  // forward writes y, backward reads it
  void* y = nullptr;
  std::int64_t y_stride = 0;
  // backward
  const void* dy = nullptr;
  std::int64_t dy_stride = 0;
  Out dq, dk, dv;
  std::int64_t dq_stride = 0, dk_stride = 0, dv_stride = 0;
  float* dbias = nullptr;  // f32, laid out as the bias; added to
  float* work = nullptr;   // attention_backward_floats(queries, width) floats, 64-byte aligned
};

// Query rows a forward task takes at most: its accumulators are 64 KB.
constexpr std::int64_t attention_rows(std::int64_t width) { return width <= 64 ? 256 : width <= 128 ? 128 : 64; }
constexpr std::int64_t kAttentionWidth = 256;  // the widest head
constexpr std::int64_t attention_backward_floats(std::int64_t queries, std::int64_t width) {
  return (3 * ((width + 15) / 16 * 16) + 2) * ((queries + 63) / 64 * 64);
}

// The same for attention_backward_tiles: four packed copies in two bf16 pieces, dq, lse and delta.
constexpr std::int64_t attention_tiles_floats(std::int64_t queries, std::int64_t width) {
  return (5 * ((width + 31) / 32 * 32) + 2) * ((queries + 63) / 64 * 64);
}

struct AttentionWeightsRow {
  const void* q = nullptr;  // one query of one head
  const void* k = nullptr;
  std::int64_t k_stride = 0, keys = 0, width = 0;  // keys: those this query sees
  float scale = 1, lse = 0;
  const void* bias = nullptr;
  bool bias_bf16 = false;
  float* weights = nullptr;
};

// scores[s] = v · tanh(q + k[s]) over columns; backward works on a block of columns of one sequence.
struct AdditiveRows {
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  std::int64_t queries = 0, keys = 0, width = 0, stride = 0;  // width: columns of the block; stride: of a row
  void* scores = nullptr;                                     // [queries, keys]
  const void* dscores = nullptr;
  Out dq;
  float* dk = nullptr;  // f32 [keys, stride], added to
  float* dv = nullptr;  // f32 [width], added to
};

struct RnnRows {
  int gates = 1;  // 1 tanh, 3 gru, 4 lstm
  std::int64_t width = 0;
  const void *from_input = nullptr, *from_hidden = nullptr;  // one row, [gates · width]
  const void *hidden = nullptr, *cell = nullptr;
  void *next_hidden = nullptr, *next_cell = nullptr, *saved = nullptr;
  // backward
  const void *dnext_hidden = nullptr, *dnext_cell = nullptr;
  void *dfrom_input = nullptr, *dfrom_hidden = nullptr, *dhidden = nullptr, *dcell = nullptr;
};

struct AdamRows {
  void* value = nullptr;  // null when it is the master itself
  float* master = nullptr;
  const float* gradient = nullptr;
  float *m = nullptr, *v = nullptr;
  float clip = 1, rate = 0, correction1 = 1, correction2 = 1;
  float beta1 = 0, beta2 = 0, eps = 0, decay = 0;
};

struct SgdRows {
  void* value = nullptr;
  float* master = nullptr;
  const float* gradient = nullptr;
  float* velocity = nullptr;  // may be null when momentum is 0
  float clip = 1, rate = 0, momentum = 0, decay = 0;
  bool nesterov = false;
};

struct ReduceColumns {
  const void* x = nullptr;  // [n, stride], from its first column to take
  std::int64_t n = 0, width = 0, stride = 0;
  float scale = 1;
  Out y;
  std::int32_t* index = nullptr;
};

// What one result of pooling reads: rows x columns places of an image [H, line, channels], from x on.
struct PoolWindow {
  const void* x = nullptr;
  std::int64_t rows = 0, columns = 0;
  std::int64_t line = 0, channels = 0;
  std::int64_t first = 0;         // number of the place x in its image
  float scale = 1;                // of the sum
  void* y = nullptr;              // [channels]
  std::int32_t* index = nullptr;  // numbers of the places of the maxima, or none
};

template <class Function>
using ByType = Function* [2];

struct RowKernels {
  const char* name;

  // y = alpha·x: [dtype of x][dtype of y].
  void (*scale[2][2])(const void* x, float alpha, Out y, std::int64_t n);
  ByType<void(const void* a, const void* b, void* y, std::int64_t n)> add;
  ByType<void(const void* a, const void* b, Out y, std::int64_t n)> multiply;
  ByType<void(const void* x, Activation kind, void* y, std::int64_t n)> activation;
  ByType<void(const ActivationBackwardRows& args, std::int64_t begin, std::int64_t end, float* sums)>
      activation_backward;

  // Elements [begin, end) of a flat tensor.
  ByType<void(const void* x, const DropRule& rule, Out y, std::int64_t begin, std::int64_t end)> dropout;
  ByType<void(const RandomRows& args, std::int64_t begin, std::int64_t end)> random;

  // table row · scale + positions row (may be null).
  ByType<void(const void* table, float scale, const void* positions, void* y, std::int64_t n)> embed;
  // sum over i of rows x[order[i]] (of this stride), n columns: added up in f32, [dtype of x][dtype of y].
  void (*gather_sum[2][2])(const void* x, std::int64_t stride, const std::int32_t* order, std::int64_t count,
                           float scale, Out y, std::int64_t n);

  ByType<void(const NormRows& args, std::int64_t begin, std::int64_t end)> norm;
  ByType<void(const NormRows& args, const NormSums& sums, std::int64_t begin, std::int64_t end)> norm_backward;

  // [dtype of q and y][dtype of k and v]: a cache may be coarser than what reads it, and never finer.
  ByType<void(const AttentionHead& head, std::int64_t begin, std::int64_t end)> attention[2];
  // The first query of a head, which sees all of its keys: decoding. No window, bias or dropout; D is a multiple of
  // attention_step_lanes.
  ByType<void(const AttentionHead& head)> attention_step[2];
  std::int64_t attention_step_lanes;
  ByType<void(const AttentionHead& head)> attention_backward;
  // Both on a matrix unit, f32 as two bf16 pieces; null where there is none. For eight queries or more.
  ByType<void(const AttentionHead& head, std::int64_t begin, std::int64_t end)> attention_tiles;
  ByType<void(const AttentionHead& head)> attention_backward_tiles;  // without a bias
  ByType<void(const AttentionWeightsRow& row)> attention_weights[2];
  ByType<void(const AdditiveRows& args)> additive_scores;
  ByType<void(const AdditiveRows& args)> additive_scores_backward;

  // Entries from `seen` on are masked.
  // The largest number of each of so many blocks of a row.
  ByType<void(const void* x, std::int64_t blocks, std::int64_t block, float* maxima)> block_maxima;
  ByType<void(const void* x, void* y, std::int64_t seen, std::int64_t n)> softmax;
  float (*largest)(const float* x, std::int64_t n);
  void (*weigh)(const float* x, float* y, float most, float scale, std::int64_t n);  // y = exp((x - most) · scale)
  ByType<void(const void* dy, const void* y, Out dx, std::int64_t n)> softmax_backward;
  ByType<void(const CrossEntropyRows& args, std::int64_t begin, std::int64_t end)> cross_entropy;
  ByType<void(const CrossEntropyRows& args, std::int64_t begin, std::int64_t end)> cross_entropy_backward;

  ByType<void(const ConsistencyRows& args, std::int64_t begin, std::int64_t end)> consistency;
  ByType<void(const ConsistencyRows& args, std::int64_t begin, std::int64_t end)> consistency_backward;

  ByType<void(const ReduceColumns& args)> reduce_sum[2];  // [of x][of y]: bf16 may be summed into f32
  ByType<void(const ReduceColumns& args)> reduce_max;
  ByType<float(const void* x, std::int64_t n)> row_sum;
  // y [n] = the sum in order of `chunks` rows of partial sums.
  ByType<void(const float* partial, std::int64_t chunks, std::int64_t stride, Out y, std::int64_t n)> sum_chunks;

  ByType<void(const RnnRows& row)> rnn_step;
  ByType<void(const RnnRows& row)> rnn_step_backward;

  ByType<void(const PoolWindow& window)> pool_max;
  ByType<void(const PoolWindow& window)> pool_mean;

  // Winograd's transforms of a tile of two and of four results a side (attend/cpu/winograd.h), number p of `channels`
  // neighbours `step` apart. input: from the places of x, row by row. output: to the results, a line and a pixel apart.
  void (*winograd_input[2])(const float* const* places, std::int64_t channels, float* to, std::int64_t step);
  void (*winograd_output[2])(const float* from, std::int64_t step, std::int64_t channels, float* to, std::int64_t line,
                             std::int64_t pixel);

  double (*sum_of_squares)(const float* x, std::int64_t n);
  // [dtype of value], elements [begin, end).
  ByType<void(const AdamRows& args, std::int64_t begin, std::int64_t end)> adamw;
  ByType<void(const SgdRows& args, std::int64_t begin, std::int64_t end)> sgd;
};

// The table of the best instruction set this processor has, chosen on the first call.
const RowKernels& row_kernels();

}  // namespace attend::cpu
