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
#include "attend/tensor/backend.h"
#include "attend/tensor/tensor.h"

namespace attend {

// Sees the attention weights of every attention op of a pass: [B, H, T, S], f32.
class Probe {
 public:
  virtual ~Probe() = default;
  virtual void attention(std::string_view label, const Tensor& weights) = 0;
};

// The gradients during the backward pass.
class Grads {
 public:
  // Where to put the gradient of x; empty when x needs none.
  Grad operator()(const Tensor& x);
  // Hands over a finished gradient of x without copying: it becomes x's, or is added to it. dx may be shared.
  void give(const Tensor& x, const Tensor& dx);
  static bool wants(const Tensor& x) { return x.defined() && x.storage()->differentiable; }
};

// One recorded op: what to run in the backward pass, and whose gradients it consumes.
struct TapeNode {
  static constexpr int kMaxOutputs = 3;
  struct Output {
    Slot slot;
    Window window;
  };
  TapeNode* before = nullptr;
  void (*run)(void* closure, std::span<const Tensor> dys, Grads& grads) = nullptr;
  void (*destroy)(void* closure) = nullptr;
  void* closure = nullptr;  // null once it has run
  int outputs = 0;
  Output output[kMaxOutputs];
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

class Pass {
 public:
  struct Options {
    bool recording = false;
    Probe* probe = nullptr;
  };
  struct Step {
    std::uint64_t plan = Arena::kNoPlan;  // the arena's plan: one key a batch shape
    std::uint64_t seed = 0;               // of this step's dropout
  };

  explicit Pass(Backend& backend) : Pass(backend, Options{}) {}
  Pass(Backend& backend, Options options);
  ~Pass();
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  Backend& backend() const { return backend_; }
  bool recording() const { return options_.recording; }
  Probe* probe() const { return options_.probe; }
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

  // From a scalar, or from any tensor with its gradient.
  void backward(const Tensor& loss);
  void backward(const Tensor& y, const Tensor& dy);

  // For record() in tape.h: a node with room for a closure behind it, and a second record of the same memory.
  TapeNode* new_node(std::size_t closure_bytes);
  Memory alias(const Tensor& of);

 private:
  void* tape_memory(std::size_t bytes);
  void forget_tape();
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
};

// The gradient of a leaf or a parameter after backward(); undefined when none arrived.
Tensor gradient_of(const Tensor& leaf);

}  // namespace attend
