// The page of kernels. A device is a class that defines every method here, each in a file of its own
// (attend/cpu/add_norm.cpp, attend/cuda/rows/add_norm.cu); one that is missing is a link error.
//
// Conventions. Float tensors are f32 or bf16, and all of a call's are of one dtype unless it says otherwise; sums are
// always taken in f32. Ids and lengths are i32. Outputs are allocated by the caller. A Grad is written or added to;
// an empty Grad is skipped. "rows" are those of the last axis. Unless a line says "strided", tensors are contiguous.
// Shapes have been checked by the op that calls; kernels trust them. Empty tensors are legal everywhere.
// Nothing here waits for the device except the three copies between host and device and synchronize().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "attend/tensor/activation.h"
#include "attend/tensor/attention_mask.h"
#include "attend/tensor/images.h"
#include "attend/tensor/packed_weight.h"
#include "attend/tensor/tensor.h"

namespace attend {

// Which elements a kernel drops: element i of the op when random word i of (seed, stream) is below the threshold.
// The seed lies in device memory, so that a captured graph sees a new one each step.
struct Dropout {
  float rate = 0;
  const std::uint32_t* seed = nullptr;  // two words, low first
  std::uint32_t stream = 0;
  std::int64_t group = 1;  // so many elements, one after another, share a draw; only Backend::dropout() knows of more
};

// Floats of 8 bits (Micikevicius et al. 2022), kept in u8 tensors: e4m3 reaches 448 with 3 bits of mantissa, e5m2
// 57,344 with 2. What a 1 of theirs stands for lies in device memory, because the largest values of the step before
// decide it ("delayed scaling"): f32 [4] = {unit, the largest magnitude seen since, the format's largest, unused}.
enum class Float8 : std::uint8_t { e4m3, e5m2 };
constexpr float largest_of(Float8 format) { return format == Float8::e4m3 ? 448.0f : 57344.0f; }
struct Units8 {
  Tensor scale = {};
  Float8 format = Float8::e4m3;
};

// c = activation(alpha · op(a) op(b) + bias), and pre = the same before the activation.
//   a [M, K], b [K, N], c [M, N] after transposition, strided; or all three with one leading batch axis
//   bias [N]; pre like c, kept for the backward pass; c may be f32 where a and b are bf16 (weight gradients)
//   residual like c, not batched: added to a product without activation; not when c accumulates
//   settled_b: nothing that was launched lately writes b, so it may be read before the kernel in front is done
struct MatMul {
  Tensor a, b;
  bool transpose_a = false, transpose_b = false;
  float alpha = 1;
  Tensor bias = {};
  Activation activation = Activation::none;
  Tensor pre = {};
  Tensor residual = {};
  bool settled_b = false;
  Units8 a8 = {}, b8 = {};  // of a and b, where they are u8; then only b is transposed
};

// The front of a pre-norm sublayer for one row x [1, C]: y = activation(norm(x) weight + bias), weight [C, N]. With a
// cache [rows, D], the last D columns go to its row slot[0] (i32) and not to y.
struct NormLinear {
  Tensor x;
  Tensor norm_weight, norm_bias;  // [C]; the bias may be undefined
  float eps = 1e-5f;
  Tensor weight, bias;
  Activation activation = Activation::none;
  Tensor cache = {}, slot = {};
};

// suppressed as top_k's. tokens i32, their logits f32, log Σ exp of the row f32, [rows] each.
struct SampledTokens {
  Tensor x, suppressed;
  Tensor draws, positions;  // i32 [rows, kDrawWords], [rows]: a SamplingParams of each
  Tensor tokens, logits, log_sums;
};

// softmax(q kᵀ · scale + mask) v for each head; head h is columns [h·D, (h + 1)·D). q, k, v are strided. D is any
// multiple of 8 up to 128, or 256. A query that sees no key gets zeros, and -inf as its log-sum-exp. Dropout hits the
// weights: element ((b·H + h)·T + t)·S + s, with T and S the maxima when packed.
// A cache by heads, as the CPU has it: k is [B, 2·H, S, D], the keys of every head and then their values, contiguous,
// v the same tensor, and both may be bf16 where q is f32. It has no backward.
struct Attention {
  Tensor q, k, v;
  std::int64_t heads = 1;
  float scale = 1;
  AttentionMask mask = {};
  Dropout dropout = {};
};

// Where the column sums of an attention's gradients go, f32 [H·D] each.
struct AttentionSums {
  Grad dq, dk, dv;
  explicit operator bool() const { return dq || dk || dv; }
};

// sum = x + dropout(branch); y = (sum - mean) · rstd · weight + bias.   branch, sum may be undefined together: plain
// layer norm
struct AddNorm {
  Tensor x, branch;     // [rows, C]
  Tensor weight, bias;  // [C]; bias may be undefined
  float eps = 1e-5f;
  Dropout dropout = {};
};

// y = (x - mean) · rstd · weight + bias with one mean and rstd for each image and group of channels: group norm, and
// with an image of all rows and a group a channel batch norm.
struct GroupNorm {
  Tensor x;             // [A, N, C]
  Tensor weight, bias;  // [C]; both may be undefined
  std::int64_t groups = 1;
  float eps = 1e-5f;
  // f32 [C], A is 1 and groups C: moved towards the batch's (its variance the unbiased one) by momentum.
  Tensor running_mean = {}, running_variance = {};
  float momentum = 0;
  bool frozen = false;  // the statistics are the running ones, and constants
};

enum class RnnKind : std::uint8_t { tanh, gru, lstm };
constexpr int gates_of(RnnKind kind) { return kind == RnnKind::tanh ? 1 : kind == RnnKind::gru ? 3 : 4; }

// One time step of a recurrent layer, after both projections (gate order as in PyTorch: gru r z n, lstm i f g o).
//   from_input, from_hidden [B, G·C] strided; hidden, cell (lstm) [B, C] strided: the state before
//   Sequences with time >= lengths[b] keep their state (lengths may be undefined).
struct RnnStep {
  RnnKind kind = RnnKind::tanh;
  Tensor from_input, from_hidden;
  Tensor hidden, cell;
  Tensor lengths = {};
  std::int64_t time = 0;
};

enum class Reduction : std::uint8_t { sum, mean, max };

// A walk over up to six axes for strided_copy: element (i0, i1, ..) is at offset + Σ i·stride.
struct Walk {
  Tensor tensor;  // only its memory and dtype count
  std::int64_t offset = 0;
  std::int64_t strides[Shape::kMaxRank] = {};
};

struct RandomFill {
  enum Kind : std::uint8_t { uniform, normal } kind = uniform;
  float low_or_mean = 0, high_or_deviation = 1;
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;
};

// What changes from step to step is read from device memory, so that a captured graph stays valid.
//   rate f32 [4]: learning rate, 1 - beta1^t, 1 - beta2^t, unused;  norm f32 [2]: gradient norm, clip scale
// When the clip scale is 0 (the norm was not finite) nothing changes.
struct Optimizer {
  Tensor value;     // what the model computes with, f32 or bf16 [n]
  Tensor master;    // f32 [n]; the same memory as value when that is f32
  Tensor gradient;  // f32 [n]
  Tensor rate, norm;
  float weight_decay = 0;
};

// A step that was captured and can be launched again as one unit.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual void launch() = 0;
};

// A letter box for results: what is sent for comes while the device goes on.
class AsyncReadback {
 public:
  virtual ~AsyncReadback() = default;
  // Asks for the bytes as they will be when the device comes to this; one request at a time.
  virtual void send_for(const void* device_memory) = 0;
  // Waits for them alone, not for what the device was given since. Valid until the next request.
  virtual const void* wait() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;  // "cpu", "cuda:0"
  virtual bool on_host() const = 0;      // tensor memory can be read directly
  // Whether attention gives the same bits for positions read together and read one after another from a cache.
  virtual bool exact_prompts() const { return false; }

  // Memory. allocate throws Error or std::bad_alloc when there is not enough, naming what was asked for.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void free(void* data, std::size_t bytes) = 0;
  virtual void to_device(void* to, const void* from, std::size_t bytes) = 0;
  virtual void to_host(void* to, const void* from, std::size_t bytes) = 0;
  // Like to_device, without waiting: `from` must stay as it is until the device has read it.
  virtual void to_device_async(void* to, const void* from, std::size_t bytes) = 0;
  virtual std::unique_ptr<AsyncReadback> readback(std::size_t bytes) = 0;
  virtual void synchronize() = 0;
  // Whether the fastest of several ways may be looked for where a product has a size not seen before, which can take a
  // second: not while somebody waits for answers of ever new sizes.
  virtual void set_tuning(bool /*tunes*/) {}
  // Asked before every allocation, so a few times a layer: what it throws ends the forward pass. Empty: nobody asks. On
  // devices that are not asked, a pass goes on to its end.
  virtual void set_interrupt(const std::function<void()>& /*check*/) {}
  // Where it computes, for libraries that work beside it (NCCL): its number and stream (a cudaStream_t); null: none.
  virtual int device_number() const { return 0; }
  virtual void* native_stream() const { return nullptr; }
  // Runs body and keeps what it launched; null where the device can keep nothing, or not all of it (then body ran
  // normally).
  virtual std::unique_ptr<Graph> capture(const std::function<void()>& body) = 0;

  // Filling and moving.
  virtual void fill(const Tensor& x, float value) = 0;  // strided, any dtype
  virtual void random(const Tensor& x, const RandomFill& fill) = 0;
  // y = alpha·x, strided on both sides, converting between float dtypes: copy, cast, scale and accumulate.
  virtual void scale(const Tensor& x, float alpha, const Grad& y) = 0;
  // x *= factor[0], f32, which only the device knows; a factor of 1 costs nothing.
  virtual void scale_by(const Tensor& x, const Tensor& factor) = 0;
  // Any dtype; what accumulates is floats or i32.
  virtual void strided_copy(const Walk& from, const Walk& to, const Shape& extent, bool accumulate) = 0;

  // Element-wise. b has a's shape, or is a suffix of it and repeats.
  virtual void add(const Tensor& a, const Tensor& b, const Tensor& y) = 0;
  virtual void multiply(const Tensor& a, const Tensor& b, const Grad& y) = 0;
  virtual void activation(const Tensor& x, Activation kind, const Tensor& y) = 0;
  // dx = dy · f'(x), and bias = the column sums of dx (for a linear layer; either may be empty). dx may be dy itself.
  virtual void activation_backward(const Tensor& dy, const Tensor& x, Activation kind, const Grad& dx,
                                   const Grad& bias) = 0;
  virtual void dropout(const Tensor& x, const Dropout& dropout, const Grad& y) = 0;  // its own backward

  // Products. b may be a packed weight, whole, where a and c have two axes.
  virtual void matmul(const MatMul& product, const Grad& c) = 0;
  // False where the device has no single kernel for this; then nothing was done.
  virtual bool norm_linear(const NormLinear&, const Tensor& /*y*/) { return false; }
  // The way back through a layer and the activation f in front of it: c = (op(a) op(b)) · f'(pre), and the sums of its
  // columns. False likewise.
  virtual bool matmul_slope(const MatMul&, const Tensor& /*c*/, const Grad& /*sums*/) { return false; }
  // Whether it multiplies floats of 8 bits.
  virtual bool has_products8() const { return false; }
  // y = x in units of scale, rounded and kept within the format, and its transpose (either may be undefined); the
  // largest |x| goes to scale[1]. x bf16 [M, N] strided; y u8 [M, N], transposed u8 [N, M]; M and N multiples of 16.
  virtual void cast8(const Tensor& x, const Units8& units, const Tensor& y, const Tensor& transposed);
  // scales f32 [n, 4]: what was seen decides the units from now on, with room to double; nothing seen changes nothing.
  virtual void next_units8(const Tensor& scales);
  // Null where the device multiplies by plain tensors as fast.
  virtual std::shared_ptr<const PackedWeight> pack(const WeightToPack&) { return nullptr; }

  // y[i] = table[ids[i]] · scale + positions[position_ids[i]]; without position_ids the position is i % T, T = the
  // last axis of ids; positions may be undefined. An id outside the table gives a row of NaN, never a stray read. The
  // table may be a packed weight.
  virtual void embedding(const Tensor& ids, const Tensor& table, float scale, const Tensor& positions,
                         const Tensor& position_ids, const Tensor& y) = 0;
  // table[ids[i]] += dy[i] · scale; rows that no id names become 0 unless accumulating. table: f32 or as dy.
  virtual void embedding_backward(const Tensor& dy, const Tensor& ids, float scale, const Grad& table) = 0;
  // table[ids[i]] = x[i], x strided; an id outside the table writes nothing. No id may come twice. On the host the
  // table may also be [R, G, N, D], x then has G·D columns, part g of which goes to [id / N, g, id % N]; and it may be
  // bf16 where x is f32.
  virtual void put_rows(const Tensor& x, const Tensor& ids, const Tensor& table) = 0;

  // Norms. mean, rstd f32 [rows].
  virtual void add_norm(const AddNorm& args, const Tensor& sum, const Tensor& y, const Tensor& mean,
                        const Tensor& rstd) = 0;
  // dsum (may be undefined) is what else flows into sum. d = dsum + norm backward of dy; dx = d, dbranch =
  // dropout(d), and branch_sums the column sums of that. args.x is the forward's sum here. weight and bias gradients:
  // f32 or as dy; branch_sums f32.
  virtual void add_norm_backward(const AddNorm& args, const Tensor& dy, const Tensor& dsum, const Tensor& mean,
                                 const Tensor& rstd, const Grad& dx, const Grad& dbranch, const Grad& dweight,
                                 const Grad& dbias, const Grad& branch_sums) = 0;

  // mean, rstd f32 [A, groups].
  virtual void group_norm(const GroupNorm& args, const Tensor& y, const Tensor& mean, const Tensor& rstd) = 0;
  // weight and bias gradients: f32 or as dy.
  virtual void group_norm_backward(const GroupNorm& args, const Tensor& dy, const Tensor& mean, const Tensor& rstd,
                                   const Grad& dx, const Grad& dweight, const Grad& dbias) = 0;

  // Images [B, H, W, C]; attend/tensor/images.h says what a window reads. bias [O] may be undefined; the activation
  // comes behind it, and not where y accumulates.
  virtual void convolution(const Convolution& args, const Tensor& x, const Tensor& weight, const Tensor& bias,
                           Activation activation, const Grad& y) = 0;
  // The two ways back: the gradient of x from dy, which is also a transposed convolution forward, and that of weight,
  // f32 or as dy.
  virtual void convolution_input(const Convolution& args, const Tensor& dy, const Tensor& weight, const Grad& dx) = 0;
  virtual void convolution_weight(const Convolution& args, const Tensor& x, const Tensor& dy, const Grad& dweight) = 0;
  // index i32 like y, for the maximum only: h · W + w of where it stands, the first of equals.
  virtual void pooling(const Pooling& args, const Tensor& x, const Tensor& y, const Tensor& index) = 0;
  virtual void pooling_backward(const Pooling& args, const Tensor& dy, const Tensor& index, const Grad& dx) = 0;
  virtual void resize(const Resizing& args, const Tensor& x, const Tensor& y) = 0;
  virtual void resize_backward(const Resizing& args, const Tensor& dy, const Grad& dx) = 0;

  // Attention. y [.., H·D]; lse f32 [rows of q, H]; weights f32 [B, H, T, S] (after masking, before dropout).
  virtual void attention(const Attention& args, const Tensor& y, const Tensor& lse) = 0;
  // Also leaves the column sums of dq, dk and dv where it can in passing; false where it cannot, and did not.
  virtual bool attention_backward(const Attention& args, const Tensor& y, const Tensor& lse, const Tensor& dy,
                                  const Grad& dq, const Grad& dk, const Grad& dv, const Grad& dbias,
                                  const AttentionSums& sums) = 0;
  virtual void attention_weights(const Attention& args, const Tensor& lse, const Tensor& weights) = 0;
  // scores[b, t, s] = v · tanh(q[b, t] + k[b, s]) (Bahdanau et al. 2015).  q [B, T, C], k [B, S, C], v [C]
  virtual void additive_scores(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& scores) = 0;
  virtual void additive_scores_backward(const Tensor& dscores, const Tensor& q, const Tensor& k, const Tensor& v,
                                        const Grad& dq, const Grad& dk, const Grad& dv) = 0;

  // Softmax over the last axis. With lengths [B], row r sees only the first lengths[r / (rows / B)] entries.
  virtual void softmax(const Tensor& x, const Tensor& lengths, const Tensor& y) = 0;
  virtual void softmax_backward(const Tensor& dy, const Tensor& y, const Grad& dx) = 0;
  // The k largest of each row, largest first, equal ones by place (NaN counts as -inf), and log Σ exp of the row.
  // suppressed u8 [width], or undefined: places that are not looked at where it is not 0 (they count in the sum); at
  // least k are 0. values f32, ids i32 [rows, k]; log_sums f32 [rows]
  virtual void top_k(const Tensor& x, const Tensor& suppressed, const Tensor& values, const Tensor& ids,
                     const Tensor& log_sums) = 0;
  // A token of each row, drawn as tensor/sampling_params.h says.
  virtual void sample_tokens(const SampledTokens& args) = 0;
  // losses f32 [rows]: -log p(target), smoothed; 0 where the target is ignored. lse f32 [rows].
  // total f32 [2]: the mean over the counted rows, and their number. class_weights f32 [V], or undefined: a row counts
  // as often as the weight of its target says.
  virtual void cross_entropy(const Tensor& logits, const Tensor& targets, const Tensor& class_weights, float smoothing,
                             std::int32_t ignore, const Tensor& losses, const Tensor& lse, const Tensor& total) = 0;
  // dlogits = dloss/total[1] · (softmax - smoothed target), times its weight; dlogits may be logits itself. dloss f32
  // [1].
  virtual void cross_entropy_backward(const Tensor& dloss, const Tensor& logits, const Tensor& targets,
                                      const Tensor& class_weights, float smoothing, std::int32_t ignore,
                                      const Tensor& lse, const Tensor& total, const Grad& dlogits) = 0;

  // Both at once, where nobody else reads the logits: losses as above, and the gradient of their mean over total[1]
  // rows takes the logits' place. lse f32 [rows] is scratch.
  virtual void cross_entropy_gradient(const Tensor& logits, const Tensor& targets, float smoothing, std::int32_t ignore,
                                      const Tensor& total, const Tensor& losses, const Tensor& lse) = 0;
  // total as of cross_entropy, from its losses; before there are any (undefined) only the number of rows that count.
  virtual void mean_loss(const Tensor& losses, const Tensor& targets, const Tensor& class_weights, std::int32_t ignore,
                         const Tensor& total) = 0;

  // How far boxes are from others, f32 [N, 4] both (attend/tensor/boxes.h): distances f32 [N, 2] = {the sum of
  // |differences|, 1 - GIoU}. Both are the same the other way round.
  virtual void box_distances(const Tensor& boxes, const Tensor& others, const Tensor& distances) = 0;
  virtual void box_distances_backward(const Tensor& ddistances, const Tensor& boxes, const Tensor& others,
                                      const Grad& dboxes) = 0;

  // How far two predictions are apart: logits [2·N, V], p and q the softmax of row r and of row N + r.
  // mean f32 [1] of Σ (p - q)(a - b) over r. moments f32 [N, 4]: both log-sum-exps, and the means of a - b under p and
  // q.
  virtual void consistency(const Tensor& logits, const Tensor& moments, const Tensor& mean) = 0;
  virtual void consistency_backward(const Tensor& dmean, const Tensor& logits, const Tensor& moments,
                                    const Grad& dlogits) = 0;

  // x [A, N, C] -> y [A, C] over the middle axis; y is as x, or f32 (parameter gradients). index i32 [A, C] is where
  // the maximum stands (first of equals).
  virtual void reduce(Reduction kind, const Tensor& x, const Grad& y, const Tensor& index) = 0;
  virtual void reduce_backward(Reduction kind, const Tensor& dy, const Tensor& index, const Grad& dx) = 0;

  // Recurrent layers. next_hidden, next_cell [B, C] strided; saved [B, (G+1)·C]: what backward needs (gates; gru's
  // hidden part of n; lstm's tanh of the cell).
  virtual void rnn_step(const RnnStep& args, const Tensor& next_hidden, const Tensor& next_cell,
                        const Tensor& saved) = 0;
  // Given the gradients of the state after, those of both projections [B, G·C] and of the state before (without the
  // part that flows through from_hidden). args.from_* are not read. dnext_* may be the same memory as dhidden, dcell.
  virtual void rnn_step_backward(const RnnStep& args, const Tensor& saved, const Tensor& dnext_hidden,
                                 const Tensor& dnext_cell, const Tensor& dfrom_input, const Tensor& dfrom_hidden,
                                 const Tensor& dhidden, const Tensor& dcell) = 0;

  // Optimisers over flat buffers.
  // norm f32 [2] = {‖gradient‖, clip scale = min(1, max_norm / ‖gradient‖)}; 1 when max_norm is 0; 0 when not finite.
  virtual void gradient_norm(const Tensor& gradient, float max_norm, const Tensor& norm) = 0;
  // Loshchilov & Hutter 2019; with weight_decay 0 this is Adam. m, v f32 [n].
  virtual void adamw(const Optimizer& args, float beta1, float beta2, float eps, const Tensor& m, const Tensor& v) = 0;
  virtual void sgd(const Optimizer& args, float momentum, const Tensor& velocity) = 0;
};

}  // namespace attend
