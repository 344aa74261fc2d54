#include "attend/nn/parameters.h"

#include <algorithm>

#include "attend/base/error.h"

namespace attend::nn {

namespace {

// Slices start on 256-byte boundaries in f32 (128 in bf16): vector loads never straddle two parameters.
constexpr std::int64_t kAlign = 64;

// A record of its own over part of a flat buffer, so that each parameter has its own gradient state.
Memory slice_of(const Tensor& flat, std::int64_t offset, std::int64_t size) {
  auto* storage = new Storage;
  Memory memory(storage);
  const std::size_t bytes = bytes_of(flat.dtype());
  storage->data = flat.storage()->data + static_cast<std::size_t>(offset) * bytes;
  storage->bytes = static_cast<std::size_t>(size) * bytes;
  storage->backend = &flat.backend();
  storage->parent = flat.memory();
  return memory;
}

}  // namespace

Parameters::Parameters(Backend& backend, std::vector<Entry> entries, const ParametersOptions& options)
    : entries_(std::move(entries)) {
  check(is_float(options.dtype), "parameters: {} is not a float format", options.dtype);
  std::stable_partition(entries_.begin(), entries_.end(),
                        [](const Entry& entry) { return entry.parameter->shape.rank() > 1; });
  std::int64_t end = 0;
  for (Entry& entry : entries_) {
    entry.offset = end;
    const std::int64_t size = entry.parameter->shape.size();
    count_ += size;
    end += (size + kAlign - 1) / kAlign * kAlign;
    if (entry.parameter->shape.rank() > 1) decayed_ = end;
  }
  value_ = make_tensor(backend, {end}, options.dtype);
  master_ = options.dtype == DType::f32 ? value_ : make_tensor(backend, {end}, DType::f32);
  if (options.trained) gradient_ = make_tensor(backend, {end}, DType::f32);
  for (const Tensor& flat : {value_, master_, gradient_})
    if (flat.defined()) backend.fill(flat, 0);

  std::uint32_t stream = 0;
  for (const Entry& entry : entries_) {
    const Shape& shape = entry.parameter->shape;
    Memory memory = slice_of(value_, entry.offset, shape.size());
    if (options.trained) {
      memory->differentiable = memory->keeps_gradient = true;
      memory->gradient_f32 = true;
      memory->gradient = slice_of(gradient_, entry.offset, shape.size());
    }
    entry.parameter->value = Tensor(std::move(memory), {shape, 0, shape.rank() ? shape[-1] : 1, options.dtype});
    if (options.initialized) initialize(entry, options.seed, stream++);
  }
}

void Parameters::initialize(const Entry& entry, std::uint64_t seed, std::uint32_t stream) {
  const auto [kind, spread] = entry.parameter->init;
  const Tensor slice = master_.slice_first(entry.offset, entry.parameter->shape.size());
  Backend& backend = value_.backend();
  if (kind == Init::uniform)
    backend.random(slice, {RandomFill::uniform, -spread, spread, seed, stream});
  else if (kind == Init::normal)
    backend.random(slice, {RandomFill::normal, 0, spread, seed, stream});
  else
    backend.fill(slice, kind == Init::ones ? 1.0f : 0.0f);
  if (value_.dtype() != DType::f32) backend.scale(slice, 1, {value_.slice_first(entry.offset, slice.size())});
}

void Parameters::start_gradients() {
  for (const Entry& entry : entries_) entry.parameter->value.storage()->written = false;
}

void Parameters::finish_gradients() {
  for (const Entry& entry : entries_) {
    Storage* storage = entry.parameter->value.storage();
    if (!std::exchange(storage->written, true))
      value_.backend().fill(gradient_.slice_first(entry.offset, entry.parameter->shape.size()), 0);
  }
}

std::vector<float> Parameters::read(const Entry& entry) const {
  return download(master_.slice_first(entry.offset, entry.parameter->shape.size()));
}

void Parameters::write(const Entry& entry, std::span<const float> values) {
  const std::int64_t size = entry.parameter->shape.size();
  check(static_cast<std::int64_t>(values.size()) == size, "{}: {} values for {}", entry.name, values.size(),
        entry.parameter->shape);
  upload(master_.slice_first(entry.offset, size), values);
  if (value_.dtype() != DType::f32) upload(value_.slice_first(entry.offset, size), values);
}

void Parameters::master_changed() {
  if (value_.dtype() != DType::f32) value_.backend().scale(master_, 1, {value_});
}

}  // namespace attend::nn
