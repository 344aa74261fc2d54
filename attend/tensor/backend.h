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
#include "attend/tensor/causal_step.h"
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
  std::int64_t group = 1;  // so many elements, one after another, share a draw; more only in dropout() and add_norm()
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
//   residual like c, not batched: added before the activation (on a GPU there must be none); not when c accumulates
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

// The likeliest token of each row of states [rows, C] by logits states · tableᵀ, table [V, C], which are rounded to the
// dtype of states: what top_k says of them for k = 1. values f32, ids i32 [rows, 1]; log_sums f32 [rows].
struct Likeliest {
  Tensor states, table, suppressed;
  Tensor values, ids, log_sums;
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

// y = relu((x - mean) · rstd · weight + bias + residual) with one mean and rstd for each image and group of channels:
// group norm, and with an image of all rows and a group a channel batch norm.
struct GroupNorm {
  Tensor x;             // [A, N, C]
  Tensor weight, bias;  // [C]; both may be undefined
  std::int64_t groups = 1;
  float eps = 1e-5f;
  // f32 [C], A is 1 and groups C: moved towards the batch's (its variance the unbiased one) by momentum.
  Tensor running_mean = {}, running_variance = {};
  float momentum = 0;
  bool frozen = false;   // the statistics are the running ones, and constants
  Tensor residual = {};  // as x; may be undefined
  bool relu = false;
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

// Momentum of sgd: v = share · v + g, w -= rate · v; Nesterov's (Sutskever et al. 2013, as in torch) looks ahead:
// w -= rate · (g + share · v).
struct Momentum {
  float share = 0;
  bool nesterov = false;
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
  // Like to_device, without waiting for the device: `from`, of plain memory, may change when it returns.
  virtual void to_device_async(void* to, const void* from, std::size_t bytes) = 0;
  virtual std::unique_ptr<AsyncReadback> readback(std::size_t bytes) = 0;
  virtual void synchronize() = 0;
  // Whether the fastest of several ways may be looked for where a product has a size not seen before, which can take a
  // second: not while somebody waits for answers of ever new sizes.
  virtual void set_tuning(bool /*tunes*/) {}
  virtual bool tuning() const { return false; }
  // Asked before every allocation, so a few times a layer: what it throws ends the forward pass. Empty: nobody asks. On
  // devices that are not asked, a pass goes on to its end.
  virtual void set_interrupt(const std::function<void()>& /*check*/) {}
  // Where it computes, for libraries that work beside it (NCCL): its number and stream (a cudaStream_t); null: none.
  virtual int device_number() const { return 0; }
  virtual void* native_stream() const { return nullptr; }
  // Runs body and keeps what it launched; null where the device can keep nothing, or not all of it (then body ran
  // normally).
  virtual std::unique_ptr<Graph> capture(const std::function<void()>& body) = 0;

#define ATTEND_KERNEL virtual
#define ATTEND_DEFINED = 0
#include "attend/tensor/kernels.inc"

  // Kernels that a device may have besides. Each says what happens where it has none.
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
  // For searches, where caches are not moved: table i32 [rows, positions] says which row of the caches holds
  // a position of each row. Row r, of lengths[r] positions, continues row from[r], so what the table says of all but
  // its newest position becomes what it says of that row. Rows continue rows of their group, of `group` neighbours.
  static constexpr std::int64_t kMostFollowed = 64;  // rows of a group
  virtual void follow_rows(const Tensor& table, const Tensor& from, const Tensor& lengths, std::int64_t group);
  // A decoder's step as one kernel; null where the device has none for this shape and so many rows.
  virtual std::unique_ptr<CausalStep> causal_step(const DecoderWeights&, std::int64_t /*rows*/) { return nullptr; }
  // The output layer and the choice of the likeliest token at once; false where the device has no kernel for it.
  virtual bool likeliest(const Likeliest&) { return false; }
  // Null where the device multiplies by plain tensors as fast.
  virtual std::shared_ptr<const PackedWeight> pack(const WeightToPack&) { return nullptr; }
};

// While it lives, no product is timed.
class WithoutTuning {
 public:
  explicit WithoutTuning(Backend& backend) : backend_(backend), tuned_(backend.tuning()) { backend.set_tuning(false); }
  ~WithoutTuning() { backend_.set_tuning(tuned_); }
  WithoutTuning(const WithoutTuning&) = delete;
  WithoutTuning& operator=(const WithoutTuning&) = delete;

 private:
  Backend& backend_;
  bool tuned_;
};

}  // namespace attend
