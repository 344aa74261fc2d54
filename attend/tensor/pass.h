// One trip through a model: forward, and backward if it records. A Pass owns the tape, the memory arena, the dropout
// seed and the optional probe. Every tensor made from a pass's tensor belongs to the same pass; there is no global
// state and no train/eval mode: what is computed from a recording pass is recorded.
//
//   Pass pass(backend, {.recording = true});
//   pass.begin({.plan = shape_key, .seed = step});
//   Tensor loss = model.loss(pass.input(ids), pass.input(targets));
//   pass.backward(loss);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "attend/tensor/arena.h"
#include "attend/tensor/tensor.h"

namespace attend {

struct Dropout;  // backend.h

// Sees the attention weights of every attention op of a pass: [B, H, T, S], f32.
class Probe {
 public:
  virtual ~Probe() = default;
  virtual void attention(std::string_view label, const Tensor& weights) = 0;
};

// A tensor as its gradient sees it: where that goes, without the numbers. A backward that captures this instead of the
// tensor does not keep its memory.
struct Target {
  Target() = default;
  Target(const Tensor& x) : slot(x.storage()), window(x.window()) {}  // implicit: every tensor is one
  const Shape& shape() const { return window.shape; }

  Slot slot;
  Window window;
};

// Sees which leaves' gradients the backward pass writes (parameters' among them), and where each recorded op ends.
class BackwardWatch {
 public:
  virtual ~BackwardWatch() = default;
  virtual void gradient(const Storage* leaf) = 0;  // is about to be written, or added to
  virtual void node_done() = 0;
};

// Sums of numbers of this pass and of the passes that other processes run at the same time, for statistics over the
// batches of all of them (batch norm). Everybody asks for the same sums in the same order.
class BatchSums {
 public:
  virtual ~BatchSums() = default;
  virtual int processes() const = 0;
  virtual void sum(const Tensor& values) = 0;  // f32, in place, in the order of the device
};

// The gradients during the backward pass.
class Grads {
 public:
  explicit Grads(BackwardWatch* watch = nullptr) : watch_(watch) {}
  // Where to put the gradient of x; empty when x needs none.
  Grad operator()(const Target& x);
  // Hands over a finished gradient of x without copying: it becomes x's, or is added to it. dx may be shared.
  void give(const Target& x, const Tensor& dx);
  static bool wants(const Target& x) { return x.slot && x.slot->differentiable; }

  // The column sums of a gradient are the bias gradient of the projection whose result it belongs to, and cost little
  // where it is written. So a projection asks for those of its result x; a kernel that writes dx, the gradient of x,
  // may leave them, f32 [C]; and beside dx they stay for the projection's backward until something else is added to it.
  static void ask_for_sums(const Tensor& x) { x.storage()->asks_for_sums = true; }
  static Grad sums(const Target& x, const Grad& dx);  // where to leave them; empty when that is not wanted
  static void forget_sums(const Grad& dx);            // the kernel did not leave them
  static Tensor sums_of(const Tensor& dx);            // undefined when nobody did

 private:
  BackwardWatch* watch_;
};

// One recorded op: what to run in the backward pass, and whose gradients it consumes.
struct TapeNode {
  static constexpr int kMaxOutputs = 3;
  TapeNode* before = nullptr;
  void (*run)(void* closure, std::span<Tensor> dys, Grads& grads) = nullptr;
  void (*destroy)(void* closure) = nullptr;
  void* closure = nullptr;  // null once it has run
  int outputs = 0;
  Target output[kMaxOutputs];
};

// The records and memory of a pass. It outlives the pass for as long as tensors made by it are alive.
struct PassMemory {
  explicit PassMemory(Backend& backend) : arena(backend) {}
  Storage* make();
  void recycle(Storage* storage);

  Arena arena;
  std::vector<std::unique_ptr<Storage>> all;
  std::vector<Storage*> spare;
  bool orphaned = false;
};

// What is not kept for the backward pass but computed again in it (Chen et al. 2016), for less memory and more time;
// the numbers are the same, bit by bit.
//   feed_forward   all inside the feed-forward layers: half of a Transformer's activations for a tenth of its products
//   layer          all inside the layers: only what goes from one to the next is kept
enum class Recompute : std::uint8_t { none, feed_forward, layer };

class Pass {
 public:
  struct Options {
    bool recording = false;
    Probe* probe = nullptr;
    Recompute recompute = Recompute::none;
    std::int64_t attention_window =
        -1;  // self-attention sees no more other positions, whatever its model says; -1: all
  };
  struct Step {
    std::uint64_t plan = Arena::kNoPlan;  // the arena's plan: one key per batch shape
    std::uint64_t seed = 0;               // of this step's dropout
  };

  explicit Pass(Backend& backend) : Pass(backend, Options{}) {}
  Pass(Backend& backend, Options options);
  ~Pass();
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  Backend& backend() const { return backend_; }
  bool recording() const { return options_.recording; }
  Recompute recompute() const { return options_.recompute; }
  std::int64_t attention_window() const { return options_.attention_window; }
  Probe* probe() const { return replaying() ? nullptr : options_.probe; }
  const Arena& arena() const { return memory_->arena; }
  std::size_t ops_recorded() const { return nodes_; }

  // Forgets the tape and starts again. Tensors of the step before must be gone.
  void begin(const Step& step);
  // Only the part of begin() that a replayed graph needs: the new dropout seed, in device memory.
  void set_seed(std::uint64_t seed);

  Tensor tensor(const Shape& shape, DType dtype);  // uninitialised, from the arena
  // An outside tensor (inputs, caches) under this pass: no copy.
  Tensor input(const Tensor& outside);
  // The same, as a leaf whose gradient is wanted; gradient_of() reads it after backward().
  Tensor variable(const Tensor& outside);

  // A fresh stream of dropout numbers; rate 0 unless recording.
  Dropout dropout(float rate);

  // With whom statistics over the batch are shared; null: they are this pass's own.
  void set_batch_sums(BatchSums* sums) { batch_sums_ = sums; }
  BatchSums* batch_sums() const { return batch_sums_; }

  // Of backward passes from now on; null: nobody.
  void set_watch(BackwardWatch* watch) { watch_ = watch; }
  // From a scalar, or from any tensor with its gradient.
  void backward(const Tensor& loss);
  void backward(const Tensor& y, const Tensor& dy);

  // For record() in tape.h: a node with room for a closure behind it, and a second record of the same memory.
  TapeNode* new_node(std::size_t closure_bytes);
  Memory alias(const Tensor& of);

  // For recomputed() in tape.h. While one of these lives, ops mark their results as ever but leave no node.
  class Pause {
   public:
    explicit Pause(Pass& pass) : pass_(pass) { ++pass.pauses_; }
    ~Pause() { --pass_.pauses_; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Pass& pass_;
  };
  bool taping() const { return options_.recording && pauses_ == 0; }
  std::uint32_t next_stream() const { return stream_; }
  // A piece of tape in the middle of the backward pass: ops since its beginning, with the dropout streams that they had
  // the first time, run backwards and then forgotten.
  class Replay {
   public:
    Replay(Pass& pass, std::uint32_t first_stream);
    ~Replay();
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;
    void backward();

   private:
    Pass& pass_;
    TapeNode* end_;
    std::size_t chunk_, used_, nodes_;
    std::uint32_t stream_;
  };
  bool replaying() const { return replays_ > 0; }

 private:
  void* tape_memory(std::size_t bytes);
  void forget_tape() { forget_until(nullptr), nodes_ = chunk_ = used_ = 0; }
  void forget_until(TapeNode* end);
  void run(TapeNode& node);

  Backend& backend_;
  Options options_;
  PassMemory* memory_;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;  // of tape memory, kept from step to step
  std::size_t chunk_ = 0, used_ = 0;
  TapeNode* last_ = nullptr;
  std::size_t nodes_ = 0;
  Tensor seed_;
  std::uint32_t seed_words_[2] = {};
  bool seeded_ = false;  // the device has them
  std::uint32_t stream_ = 0;
  int pauses_ = 0, replays_ = 0;
  BackwardWatch* watch_ = nullptr;
  BatchSums* batch_sums_ = nullptr;
};

// The gradient of a leaf or a parameter after backward(); undefined when none arrived.
Tensor gradient_of(const Tensor& leaf);

}  // namespace attend
