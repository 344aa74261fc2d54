// The tape: nodes in creation order, run backwards; and where their gradients wait in between.
#include "attend/tensor/pass.h"

#include <algorithm>
#include <new>
#include <utility>

#include "attend/base/error.h"
#include "attend/tensor/backend.h"

namespace attend {

namespace {

constexpr std::size_t kChunkBytes = 256 * 1024;

std::int64_t elements(const Storage* storage, DType dtype) {
  return static_cast<std::int64_t>(storage->bytes / bytes_of(dtype));
}

// Memory laid out as the storage, for its gradient.
Memory allocate_gradient(Storage* storage, DType dtype) {
  const std::int64_t count = elements(storage, dtype);
  if (storage->pass) return storage->pass->tensor({count}, dtype).memory();
  return make_tensor(*storage->backend, {count}, storage->gradient_f32 ? DType::f32 : dtype).memory();
}

Tensor gradient_window(Storage* storage, const Window& of) {
  Window window = of;
  if (storage->gradient_f32) window.dtype = DType::f32;
  return Tensor(storage->gradient, window);
}

bool covers_storage(const Target& x) {
  const Window& w = x.window;
  const bool contiguous = w.shape.rank() == 0 || w.row_stride == w.shape[-1] || w.shape.rows() <= 1;
  return contiguous && w.offset == 0 && w.shape.size() == elements(x.slot.get(), w.dtype);
}

// Two results may have been given the same gradient; before one of them is added to, it gets its own copy.
void unshare(Storage* storage, DType dtype) {
  if (storage->whole || storage->keeps_gradient || storage->gradient->strong.load() == 1) return;
  Memory own = allocate_gradient(storage, dtype);
  const Window flat{{elements(storage, dtype)}, 0, elements(storage, dtype), dtype};
  storage->backend->scale(Tensor(storage->gradient, flat), 1, {Tensor(own, flat), false});
  storage->gradient = std::move(own);
}

}  // namespace

Grad Grads::operator()(const Target& x) {
  if (!wants(x)) return {};
  Storage* storage = x.slot.get();
  const DType dtype = x.window.dtype;
  check(storage->whole || covers_storage(x),
        "backward: {} is only part of its storage; take parts with ops::split or ops::slice", x.shape());
  if (!storage->gradient) {
    Storage* whole = storage->whole.get();
    if (whole && !whole->gradient) whole->gradient = allocate_gradient(whole, dtype);
    storage->gradient = whole ? whole->gradient : allocate_gradient(storage, dtype);
  }
  if (watch_ && storage->keeps_gradient) watch_->gradient(storage);
  const bool accumulate = std::exchange(storage->written, true);
  if (accumulate) {
    unshare(storage, dtype);
    storage->gradient->forget_sums();
  }
  return {gradient_window(storage, x.window), accumulate};
}

void Grads::give(const Target& x, const Tensor& dx) {
  if (!wants(x)) return;
  check(x.shape() == dx.shape(), "backward: a gradient of shape {} for {}", dx.shape(), x.shape());
  Storage* storage = x.slot.get();
  const bool fits = !storage->gradient && !storage->whole && !storage->keeps_gradient && covers_storage(x) &&
                    dx.contiguous() && dx.window().offset == 0 && dx.dtype() == x.window.dtype;
  if (fits) {
    storage->gradient = dx.memory();
    storage->written = true;
  } else {
    storage->backend->scale(dx, 1, (*this)(x));
  }
}

// Those of a piece of a split lie where its columns are among those of the whole.
Grad Grads::sums(const Target& x, const Grad& dx) {
  if (!wants(x) || !dx || dx.accumulate) return {};
  const Storage* made = x.slot->whole ? x.slot->whole.get() : x.slot.get();
  if (!made->asks_for_sums) return {};
  const Window& window = dx.into.window();
  const std::int64_t width = window.shape[-1];
  if (window.offset + width > window.row_stride) return {};
  Storage* gradient = dx.into.storage();
  if (!gradient->sums) gradient->sums = like(dx.into, {window.row_stride}, DType::f32).memory();
  gradient->summed += width;
  return {Tensor(gradient->sums, {{width}, window.offset, width, DType::f32})};
}

void Grads::forget_sums(const Grad& dx) {
  if (dx) dx.into.storage()->forget_sums();
}

Tensor Grads::sums_of(const Tensor& dx) {
  const Storage* gradient = dx.storage();
  if (!gradient->sums || gradient->summed != dx.width()) return {};
  return Tensor(gradient->sums, {{dx.width()}, 0, dx.width(), DType::f32});
}

Pass::Pass(Backend& backend, Options options)
    : backend_(backend),
      options_(options),
      memory_(new PassMemory(backend)),
      seed_(make_tensor(backend, {2}, DType::i32)) {
  begin({});
}

// Tensors that outlive the pass keep its memory; they just belong to no pass any more.
Pass::~Pass() {
  forget_tape();
  for (const auto& storage : memory_->all) storage->pass = nullptr;
  if (memory_->spare.size() == memory_->all.size())
    delete memory_;
  else
    memory_->orphaned = true;
}

void Pass::begin(const Step& step) {
  forget_tape();
  memory_->arena.begin(step.plan);
  stream_ = 0;
  set_seed(step.seed);
}

void Pass::set_seed(std::uint64_t seed) {
  if (seeded_ && seed == (static_cast<std::uint64_t>(seed_words_[1]) << 32 | seed_words_[0])) return;
  seeded_ = true;
  seed_words_[0] = static_cast<std::uint32_t>(seed);
  seed_words_[1] = static_cast<std::uint32_t>(seed >> 32);
  backend_.to_device_async(seed_.raw(), seed_words_, sizeof seed_words_);
}

Tensor Pass::tensor(const Shape& shape, DType dtype) {
  Storage* storage = memory_->make();
  Memory memory(storage);
  storage->bytes = static_cast<std::size_t>(shape.size()) * bytes_of(dtype);
  storage->backend = &backend_;
  storage->pass = this;
  const Arena::Block block = memory_->arena.take(storage->bytes);
  storage->data = block.data;
  storage->block = block.number;
  return Tensor(std::move(memory), {shape, 0, shape.rank() ? shape[-1] : 1, dtype});
}

Memory Pass::alias(const Tensor& of) {
  Storage* storage = memory_->make();
  Memory memory(storage);
  storage->data = of.storage()->data;
  storage->bytes = of.storage()->bytes;
  storage->backend = &backend_;
  storage->pass = this;
  storage->parent = of.memory();
  storage->packed = of.storage()->packed;
  return memory;
}

Tensor Pass::input(const Tensor& outside) {
  if (&outside.backend() != &backend_) [[unlikely]]
    fail("pass: the input lies on {}, the pass runs on {}", outside.backend().name(), backend_.name());
  return Tensor(alias(outside), outside.window());
}

Tensor Pass::variable(const Tensor& outside) {
  Tensor leaf = input(outside);
  leaf.storage()->differentiable = leaf.storage()->keeps_gradient = true;
  return leaf;
}

Tensor gradient_of(const Tensor& leaf) {
  Storage* storage = leaf.storage();
  return storage->written ? gradient_window(storage, leaf.window()) : Tensor();
}

Dropout Pass::dropout(float rate) {
  check(rate >= 0 && rate < 1, "dropout: the rate must be in [0, 1), not {}", rate);
  if (!recording() || rate == 0) return {};
  return {rate, reinterpret_cast<const std::uint32_t*>(seed_.raw()), stream_++};
}

void Pass::backward(const Tensor& loss) {
  check(loss.size() == 1, "backward: starts from a scalar, not from {}; give the gradient of {} too", loss.shape(),
        loss.shape());
  Tensor one = like(loss);
  backend_.fill(one, 1);
  backward(loss, one);
}

void Pass::backward(const Tensor& y, const Tensor& dy) {
  check(recording(), "backward: this pass does not record");
  check(y.pass() == this, "backward: the tensor was not made by this pass");
  check(Grads::wants(y), "backward: nothing that {} was made from needs a gradient", y.shape());
  Grads grads(watch_);
  grads.give(y, dy);
  for (TapeNode* node = last_; node; node = node->before) {
    run(*node);
    if (watch_) watch_->node_done();
  }
  forget_tape();
}

void Pass::run(TapeNode& node) {
  Tensor dys[TapeNode::kMaxOutputs];
  bool any = false;
  for (int i = 0; i < node.outputs; ++i) {
    Storage* storage = node.output[i].slot.get();
    if (!storage->written) continue;
    dys[i] = gradient_window(storage, node.output[i].window);
    storage->gradient = Memory();
    storage->written = false;
    any = true;
  }
  if (any) {
    Grads grads(watch_);
    node.run(node.closure, std::span(dys, static_cast<std::size_t>(node.outputs)), grads);
  }
  node.destroy(node.closure);
  node.closure = nullptr;
}

TapeNode* Pass::new_node(std::size_t closure_bytes) {
  auto* node = new (tape_memory(sizeof(TapeNode))) TapeNode;
  node->closure = tape_memory(closure_bytes);
  node->before = std::exchange(last_, node);
  ++nodes_;
  return node;
}

void* Pass::tape_memory(std::size_t bytes) {
  constexpr std::size_t kAlign = alignof(std::max_align_t);
  bytes = (bytes + kAlign - 1) / kAlign * kAlign;
  check(bytes <= kChunkBytes, "tape: a closure of {} bytes", bytes);
  if (chunk_ < chunks_.size() && used_ + bytes > kChunkBytes) ++chunk_, used_ = 0;
  if (chunk_ == chunks_.size()) chunks_.push_back(std::make_unique<std::byte[]>(kChunkBytes));
  return chunks_[chunk_].get() + std::exchange(used_, used_ + bytes);
}

void Pass::forget_until(TapeNode* end) {
  while (last_ != end) {
    TapeNode* node = std::exchange(last_, last_->before);
    if (node->closure) node->destroy(node->closure);
    node->~TapeNode();
  }
}

Pass::Replay::Replay(Pass& pass, std::uint32_t first_stream)
    : pass_(pass),
      end_(pass.last_),
      chunk_(pass.chunk_),
      used_(pass.used_),
      nodes_(pass.nodes_),
      stream_(std::exchange(pass.stream_, first_stream)) {
  ++pass.replays_;
}

void Pass::Replay::backward() {
  for (TapeNode* node = pass_.last_; node != end_; node = node->before) pass_.run(*node);
}

Pass::Replay::~Replay() {
  pass_.forget_until(end_);
  pass_.chunk_ = chunk_, pass_.used_ = used_, pass_.nodes_ = nodes_;
  pass_.stream_ = stream_;
  --pass_.replays_;
}

}  // namespace attend
