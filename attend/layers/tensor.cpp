#include "attend/layers/tensor.h"

#include <algorithm>

#include "attend/base/joined.h"
#include "attend/layers/inner.h"
#include "attend/ops/layout.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::layers {

namespace {

Inner allocated(const char* what, const Device& device, const Shape& shape, DType dtype) {
  check_size(what, {shape.begin(), shape.end()});
  return make_tensor(*device.backend(), shape, dtype);
}

// A record over the memory of x that belongs to no tape.
Inner apart(const Inner& x) {
  auto* storage = new Storage;
  Memory memory(storage);
  storage->data = x.storage()->data;
  storage->bytes = x.storage()->bytes;
  storage->backend = &x.backend();
  storage->parent = x.memory();
  return Inner(std::move(memory), x.window());
}

std::uint64_t plan_of(const Inner& x) {
  std::uint64_t key = static_cast<std::uint64_t>(x.rank());
  for (const std::int64_t dim : x.shape()) key = key * 0x9E3779B97F4A7C15ull + static_cast<std::uint64_t>(dim);
  return key >> 1;  // never Arena::kNoPlan
}

// The next step, if the last one has ended. Tensors that are still alive keep the pass of that step; a new one is made.
void begin(TapeState& tape, const Inner& first) {
  if (!tape.ended) return;
  if (!tape.pass || tape.pass->arena().live() > 0)
    tape.pass = std::make_unique<Pass>(*tape.backend, Pass::Options{.recording = true});
  ++tape.step;
  tape.pass->begin({.plan = plan_of(first), .seed = tape.seed * 0x9E3779B97F4A7C15ull + tape.step});
  tape.ended = false;
}

}  // namespace

const TensorRecord& Access::record(const char* op, const Tensor& x) {
  check(x.record_ != nullptr, "{}: a tensor is undefined", op);
  return *x.record_;
}

Tensor Access::make(TensorRecord record) {
  Tensor made;
  made.record_ = std::make_shared<const TensorRecord>(std::move(record));
  return made;
}

Tape Access::tape(std::shared_ptr<TapeState> state) { return Tape(std::move(state)); }

std::shared_ptr<TapeState> Access::tape_of(const Tensor& x) {
  const TensorRecord& record = *x.record_;
  if (record.step == 0) return nullptr;
  std::shared_ptr<TapeState> tape = record.tape.lock();
  return tape && tape->step == record.step && !tape->ended ? tape : nullptr;
}

Inputs::Inputs(const char* op, std::initializer_list<const Tensor*> needed,
               std::initializer_list<const Tensor*> optional) {
  for (const Tensor* x : needed) add(op, *x);
  for (const Tensor* x : optional) {
    if (x->defined())
      add(op, *x);
    else
      ++count_;
  }
  if (tape_ && unrecorded_) [[unlikely]]
    fail(
        "{}: {} was computed from parameters outside of the tape, which would not learn; use beside(x, parameter), or "
        "detach() if they shall not",
        op, unrecorded_->shape());
}

void Inputs::add(const char* op, const Tensor& x) {
  const TensorRecord& record = Access::record(op, x);
  if (!backend_) backend_ = record.backend, turn_.emplace(op, *backend_);
  if (record.backend != backend_) [[unlikely]]
    fail("{}: {} lies on {}, another tensor on {}", op, x.shape(), record.backend->name(), backend_->name());
  Inner value = record.value;
  if (record.of_parameters) unrecorded_ = &x;
  of_parameters_ |= record.of_parameters || (record.step == 0 && value.storage()->differentiable);
  if (record.step > 0) {
    std::shared_ptr<TapeState> tape = Access::tape_of(x);
    if (!tape) {
      value = apart(value);  // of a step that has ended: its numbers can be read
    } else {
      check(!tape_ || tape_ == tape, "{}: {} and another tensor are of two tapes", op, x.shape());
      tape_ = std::move(tape);
    }
  }
  all_[count_++] = std::move(value);
}

Inner Inputs::dense(std::size_t i) const {
  const Inner& x = all_[i];
  return !x.defined() || x.contiguous() ? x : ops::contiguous(x);
}

Tensor Inputs::result(Inner value, std::optional<Range> range) const {
  const bool taped = tape_ && value.pass() == tape_->pass.get();
  const std::uint64_t step = taped ? tape_->step : 0;
  std::weak_ptr<TapeState> tape = taped ? std::weak_ptr<TapeState>(tape_) : std::weak_ptr<TapeState>();
  return Access::make({backend_, std::move(value), std::move(tape), step, range, !tape_ && of_parameters_});
}

void check_size(const char* what, std::span<const std::int64_t> dims) {
  std::int64_t room = std::int64_t{1} << 40;
  for (const std::int64_t dim : dims) {
    check(dim <= room, "{}: [{}] is too large", what, joined(dims, ", "));
    if (dim > 1) room /= dim;
  }
}

void check_range(const char* op, const Tensor& ids, std::int64_t count, std::optional<std::int32_t> besides) {
  const TensorRecord& record = Access::record(op, ids);
  if (record.value.dtype() != DType::i32 || ids.size() == 0) return;  // the op says what is wrong
  if (record.range && record.range->least >= 0 && record.range->most < count) return;
  for (const std::int32_t id : download_ints(record.value))
    check((id >= 0 && id < count) || id == besides, "{}: {} holds {}, which is not in [0, {})", op, ids.shape(), id,
          count);
}

Tensor::Tensor(const Device& device, const Shape& shape, std::span<const float> values) {
  const Inner value = allocated("tensor", device, shape, DType::f32);
  check(static_cast<std::int64_t>(values.size()) == shape.size(), "tensor: {} values for {}", values.size(), shape);
  upload(value, values);
  *this = Access::make({device.backend(), value});
}

Tensor::Tensor(const Device& device, const Shape& shape, std::span<const std::int32_t> values) {
  const Inner value = allocated("tensor", device, shape, DType::i32);
  check(static_cast<std::int64_t>(values.size()) == shape.size(), "tensor: {} values for {}", values.size(), shape);
  upload(value, values);
  Range range;
  if (!values.empty()) range = {*std::ranges::min_element(values), *std::ranges::max_element(values)};
  *this = Access::make({device.backend(), value, {}, 0, range});
}

Tensor Tensor::full(const Device& device, const Shape& shape, float value) {
  const Inner made = allocated("full", device, shape, DType::f32);
  if (made.size() > 0) device.backend()->fill(made, value);
  return Access::make({device.backend(), made});
}

Tensor Tensor::normal(const Device& device, const Shape& shape, std::uint64_t seed, float deviation) {
  const Inner made = allocated("normal", device, shape, DType::f32);
  if (made.size() > 0) device.backend()->random(made, {RandomFill::normal, 0, deviation, seed, 0});
  return Access::make({device.backend(), made});
}

const Shape& Tensor::shape() const { return Access::record("shape", *this).value.shape(); }
DType Tensor::dtype() const { return Access::record("dtype", *this).value.dtype(); }
std::string Tensor::device_name() const { return Access::record("device", *this).backend->name(); }

std::vector<float> Tensor::values() const {
  const TensorRecord& record = Access::record("values", *this);
  const Turn turn("values", *record.backend);
  return download(record.value);
}

std::vector<std::int32_t> Tensor::ints() const {
  const TensorRecord& record = Access::record("ints", *this);
  const Turn turn("ints", *record.backend);
  return download_ints(record.value);
}

float Tensor::item() const {
  check(size() == 1, "item: {} holds {} numbers, not one", shape(), size());
  return values()[0];
}

const void* Tensor::host_data() const {
  const TensorRecord& record = Access::record("host_data", *this);
  return record.backend->on_host() && record.value.contiguous() ? record.value.raw() : nullptr;
}

Tensor Tensor::reshape(std::span<const std::int64_t> dims) const {
  const Inputs in("reshape", {this});
  const auto text = [&] { return "[" + joined(dims, ", ") + "]"; };
  check_size("reshape", dims);
  std::int64_t known = 1;
  int open = 0;
  for (const std::int64_t dim : dims) {
    if (dim < -1 || dims.size() > Shape::kMaxRank) [[unlikely]]
      fail("reshape: {} to {}", shape(), text());
    open += dim == -1;
    if (dim >= 0) known *= dim;
  }
  if (open > 1 || (open == 1 ? known == 0 || size() % known != 0 : known != size())) [[unlikely]]
    fail("reshape: the {} numbers of {} do not fit {}", size(), shape(), text());
  Shape filled;
  for (const std::int64_t dim : dims) filled.append(dim == -1 ? size() / known : dim);
  return in.result(in.dense(0).reshape(filled), Access::record("reshape", *this).range);
}

Tensor Tensor::detach() const {
  const TensorRecord& record = Access::record("detach", *this);
  const Turn turn("detach", *record.backend);
  const Inner& from = record.value;
  const Inner copy = make_tensor(*record.backend, from.shape(), from.dtype());
  const Walk read{from, from.window().offset, {from.row_stride(), 1}}, write{copy, 0, {from.width(), 1}};
  if (from.size() > 0) record.backend->strided_copy(read, write, {from.rows(), from.width()}, false);
  return Access::make({record.backend, copy, {}, 0, record.range});
}

bool Tensor::recorded() const { return defined() && Access::tape_of(*this) && Grads::wants(record_->value); }

void Tensor::backward() const {
  const TensorRecord& record = Access::record("backward", *this);
  const Turn turn("backward", *record.backend);
  check(size() == 1, "backward: starts from one number, not from {}; take sum() or mean() first", shape());
  check(record.step > 0, "backward: {} was computed from no tensor of a Tape, so nothing was recorded", shape());
  const std::shared_ptr<TapeState> tape = record.tape.lock();
  check(tape != nullptr, "backward: the Tape of {} is gone", shape());
  check(tape->step == record.step && !tape->ended,
        "backward: the step of {} has ended: backward() runs once, and the next input() begins a new step", shape());
  check(Grads::wants(record.value), "backward: {} depends on no parameter and no variable", shape());
  tape->ended = true;
  tape->pass->backward(record.value);
}

Tensor Tensor::gradient() const {
  const TensorRecord& record = Access::record("gradient", *this);
  const Storage* storage = record.value.storage();
  check(storage->keeps_gradient, "gradient: {} is neither a Tape::variable nor a parameter", shape());
  const Inner gradient = gradient_of(record.value);
  return gradient.defined() ? Access::make({record.backend, apart(gradient)}).detach() : Tensor();
}

Tape::Tape(const Device& device, std::uint64_t seed) : state_(std::make_shared<TapeState>()) {
  state_->backend = device.backend();
  state_->seed = seed;
}

Tensor Tape::input(const Tensor& x) {
  const TensorRecord& record = Access::record("input", x);
  const Turn turn("input", *state_->backend);
  check(record.backend == state_->backend, "input: {} lies on {}, the tape on {}", x.shape(), record.backend->name(),
        state_->backend->name());
  if (Access::tape_of(x) == state_) return x;
  check(!Access::tape_of(x), "input: {} is of another tape", x.shape());
  const Inner& value = record.value;
  begin(*state_, value);
  const Inner own = state_->pass->input(record.step > 0 ? apart(value) : value);
  if (value.storage()->differentiable && record.step == 0)  // a parameter
    attend::record(own, {value}, [to = Target(value)](const Inner& dy, Grads& grad) { grad.give(to, dy); });
  return Access::make({state_->backend, own, state_, state_->step, record.range});
}

Tensor Tape::variable(const Tensor& x) {
  const Tensor plain = input(x.detach());
  const Inner leaf = Access::record("variable", plain).value;
  check(is_float(leaf.dtype()), "variable: {} holds {}, which has no gradient", leaf.shape(), leaf.dtype());
  leaf.storage()->differentiable = leaf.storage()->keeps_gradient = true;
  return plain;
}

Tensor beside(const Tensor& x, const Tensor& value) {
  const std::shared_ptr<TapeState> tape = x.defined() ? Access::tape_of(x) : nullptr;
  return tape ? Access::tape(tape).input(value) : value;
}

void Tape::restart() { state_->ended = true; }

}  // namespace attend::layers
