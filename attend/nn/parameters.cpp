// Allocating, initialising, packing and writing the parameters of a model.
#include "attend/nn/parameters.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "attend/base/error.h"
#include "attend/tensor/products8.h"

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

// Smaller weights gain less from 8-bit products than the casts cost.
constexpr std::int64_t kLarge8 = 128 * 128;

constexpr std::string_view kForms[] = {"plain", "stored", "f32", "bf16", "int8"};

DType packed_dtype(const ParametersOptions& options) {
  switch (options.weights) {
    case WeightForm::bf16:
      return DType::bf16;
    case WeightForm::int8:
      return DType::i8;
    case WeightForm::f32:
      return DType::f32;
    default:
      return options.dtype;
  }
}

bool packable(Role role) {
  return role == Role::weight || role == Role::input_major_weight || role == Role::table || role == Role::convolution;
}

// True if the device packs weights; asked with a weight of one number.
bool packs(Backend& backend) {
  const float one = 1;
  return backend.pack({.values = &one, .out = 1, .in = 1}) != nullptr;
}

// What ops see of a packed weight: its shape and dtype, without memory until it is packed.
Tensor packed_tensor(Backend& backend, const Shape& shape, DType dtype) {
  Memory memory(new Storage);
  memory->backend = &backend;
  return Tensor(std::move(memory), {shape, 0, shape[-1], dtype});
}

}  // namespace

WeightForm weight_form_named(std::string_view name) {
  const auto found = std::find(std::begin(kForms), std::end(kForms), name);
  check(found != std::end(kForms), "weights: '{}' is none of plain, stored, f32, bf16 and int8", name);
  return static_cast<WeightForm>(found - std::begin(kForms));
}

Parameters::Parameters(Backend& backend, std::vector<Entry> entries, const ParametersOptions& options)
    : entries_(std::move(entries)) {
  check(is_float(options.dtype), "parameters: {} is not a float format", options.dtype);
  const bool packing = options.weights != WeightForm::plain && packs(backend);
  check(!packing || (!options.trained && !options.initialized),
        "parameters: packed weights are neither trained nor new");
  packed_as_ = packed_dtype(options);
  // Order in the flat buffers: matrices, vectors, then buffers that are not trained.
  const auto place = [](const Entry& entry) {
    return !entry.learned() ? 2 : entry.parameter->shape.rank() > 1 ? 0 : 1;
  };
  std::ranges::stable_sort(entries_, {}, place);
  std::int64_t end = 0, buffers_end = 0;
  for (Entry& entry : entries_) {
    const std::int64_t size = entry.parameter->shape.size();
    if (entry.learned()) count_ += size;
    const bool packed = packing && packable(entry.parameter->role);
    std::int64_t& after = entry.learned() ? end : buffers_end;
    entry.offset = packed ? -1 : after;
    if (packed) continue;
    after += (size + kAlign - 1) / kAlign * kAlign;
    if (place(entry) == 0) decayed_ = end;
  }
  check(count_ <= options.most, "{}: a model of {} numbers is more than the {} there is room for{}", options.source,
        count_, options.most,
        options.most == limits::kMostParameters ? " (kMostParameters in attend/base/limits.h)" : "");
  value_ = make_tensor(backend, {end}, options.dtype);
  master_ = options.dtype == DType::f32 || !(options.trained || options.initialized)
                ? value_
                : make_tensor(backend, {end}, DType::f32);
  if (options.trained) gradient_ = make_tensor(backend, {end}, DType::f32);
  if (buffers_end > 0) buffers_ = make_tensor(backend, {buffers_end}, DType::f32);
  // Padding between slices must be 0, because the optimiser and the norm of the gradient read it.
  for (const Tensor& flat : {value_, master_, gradient_, buffers_})
    if (flat.defined()) backend.fill(flat, 0);

  std::uint32_t stream = 0;
  for (const Entry& entry : entries_) {
    const Shape& shape = entry.parameter->shape;
    if (entry.offset < 0) {
      entry.parameter->value = packed_tensor(backend, shape, options.dtype);
      continue;
    }
    const Tensor& flat = entry.learned() ? value_ : buffers_;
    Memory memory = slice_of(flat, entry.offset, shape.size());
    if (options.trained && entry.learned()) {
      memory->differentiable = memory->keeps_gradient = true;
      memory->gradient_f32 = true;
      memory->gradient = slice_of(gradient_, entry.offset, shape.size());
    }
    entry.parameter->value = Tensor(std::move(memory), {shape, 0, shape.rank() ? shape[-1] : 1, flat.dtype()});
    if (options.initialized) initialize(entry, options.seed, stream++);
  }
  if (options.products8) prepare_products8();
}

// Initial scales: activations up to 16, weights up to 4, and gradients over the range of e5m2.
void Parameters::prepare_products8() {
  Backend& backend = value_.backend();
  check(backend.has_products8(), "fp8: {} cannot multiply floats of 8 bits (a GPU of compute capability 8.9 can)",
        backend.name());
  check(value_.dtype() == DType::bf16, "fp8: the model must compute in bf16 besides, not in {}", value_.dtype());
  std::vector<Parameter*> large;
  for (const Entry& entry : entries_) {
    const Parameter& parameter = *entry.parameter;
    const bool projects = parameter.role == Role::weight || parameter.role == Role::input_major_weight;
    if (projects && parameter.shape.rank() == 2 && parameter.shape[0] % 16 == 0 && parameter.shape[1] % 16 == 0 &&
        parameter.shape.size() >= kLarge8)
      large.push_back(entry.parameter);
  }
  // Rows of four, because cuBLASLt needs each scale on a 16-byte boundary.
  units8_ = make_tensor(backend, {static_cast<std::int64_t>(3 * large.size()), 4}, DType::f32);
  std::vector<float> first;
  std::int64_t row = 0;
  for (Parameter* parameter : large) {
    auto products = std::make_shared<Products8>();
    const auto start = [&](Units8& units, float unit) {
      units.scale = units8_.slice_first(row++, 1);
      first.insert(first.end(), {unit, 0.0f, largest_of(units.format), 0.0f});
    };
    start(products->x, 16.0f / largest_of(Float8::e4m3));
    start(products->weight, 4.0f / largest_of(Float8::e4m3));
    start(products->dy, 0x1p-24f);
    parameter->value.storage()->products8 = std::move(products);
  }
  if (!first.empty()) upload(units8_, first);
}

void Parameters::initialize(const Entry& entry, std::uint64_t seed, std::uint32_t stream) {
  const auto [kind, spread] = entry.parameter->init;
  const Tensor slice = master(entry);
  Backend& backend = value_.backend();
  if (kind == Init::uniform)
    backend.random(slice, {RandomFill::uniform, -spread, spread, seed, stream});
  else if (kind == Init::normal)
    backend.random(slice, {RandomFill::normal, 0, spread, seed, stream});
  else
    backend.fill(slice, kind == Init::ones ? 1.0f : 0.0f);
  if (value(entry).dtype() != DType::f32) backend.scale(slice, 1, {value(entry)});
}

void Parameters::start_gradients() {
  for (const Entry& entry : entries_)
    if (entry.learned()) entry.parameter->value.storage()->written = false;
}

void Parameters::finish_gradients() {
  for (const Entry& entry : entries_) {
    Storage* storage = entry.parameter->value.storage();
    if (entry.learned() && !std::exchange(storage->written, true))
      value_.backend().fill(gradient_.slice_first(entry.offset, entry.parameter->shape.size()), 0);
  }
  if (units8_.defined() && units8_.size() > 0) value_.backend().next_units8(units8_);
}

std::size_t Parameters::bytes() const {
  std::size_t bytes = static_cast<std::size_t>(value_.size()) * bytes_of(value_.dtype());
  if (buffers_.defined()) bytes += static_cast<std::size_t>(buffers_.size()) * sizeof(float);
  for (const Entry& entry : entries_)
    if (const auto& packed = entry.parameter->value.storage()->packed) bytes += packed->bytes();
  return bytes;
}

std::vector<float> Parameters::read(const Entry& entry) const {
  if (entry.offset < 0) {
    const auto& packed = entry.parameter->value.storage()->packed;
    std::vector<float> values(static_cast<std::size_t>(entry.parameter->shape.size()));
    if (packed) packed->read(values);
    return values;
  }
  return download(master(entry));
}

void Parameters::write(const Entry& entry, std::span<const float> values) {
  const std::int64_t size = entry.parameter->shape.size();
  check(static_cast<std::int64_t>(values.size()) == size, "{}: {} values for {}", entry.name, values.size(),
        entry.parameter->shape);
  if (entry.offset < 0) return pack(entry, values.data(), DType::f32);
  upload(master(entry), values);
  if (value(entry).dtype() != DType::f32) upload(value(entry), values);
}

bool Parameters::write_stored(const Entry& entry, std::span<const std::byte> bytes, std::optional<DType> dtype) {
  if (entry.offset >= 0 || !dtype || reinterpret_cast<std::uintptr_t>(bytes.data()) % bytes_of(*dtype) != 0)
    return false;
  check(bytes.size() == static_cast<std::size_t>(entry.parameter->shape.size()) * bytes_of(*dtype),
        "{}: {} bytes for {}", entry.name, bytes.size(), entry.parameter->shape);
  pack(entry, bytes.data(), *dtype);
  return true;
}

void Parameters::pack(const Entry& entry, const void* values, DType dtype) const {
  const Parameter& parameter = *entry.parameter;
  const bool input_major = parameter.role == Role::input_major_weight;
  const Shape& shape = parameter.shape;
  check(shape.rank() == 2 || parameter.role == Role::convolution, "{}: {} is not a matrix, and cannot be packed",
        entry.name, shape);
  parameter.value.storage()->packed = value_.backend().pack({.values = values,
                                                             .dtype = dtype,
                                                             .out = shape[input_major ? 1 : 0],
                                                             .in = input_major ? shape[0] : shape.size() / shape[0],
                                                             .input_major = input_major,
                                                             .as = packed_as_,
                                                             .exact = parameter.role == Role::table});
}

void Parameters::master_changed() {
  if (value_.dtype() == DType::f32) return;
  if (masters_kept_ < 0) return value_.backend().scale(master_, 1, {value_});
  if (masters_kept_ == 0) return;
  value_.backend().scale(master_.slice_first(0, masters_kept_), 1, {value_.slice_first(masters_from_, masters_kept_)});
}

void Parameters::check_masters_whole() const {
  check(masters_kept_ < 0, "parameters: the masters of {} numbers only are here, others have the rest", masters_kept_);
}

void Parameters::keep_masters(std::int64_t begin, std::int64_t count) {
  check_masters_whole();
  if (value_.dtype() == DType::f32) return;
  // A part may be empty, but a tensor may not.
  const Tensor part = make_tensor(value_.backend(), {std::max<std::int64_t>(1, count)}, DType::f32);
  if (count > 0) value_.backend().scale(master_.slice_first(begin, count), 1, {part});
  master_ = part, masters_from_ = begin, masters_kept_ = count;
}

bool Parameters::make_masters_whole() {
  if (masters_kept_ < 0) return false;
  const Tensor whole = make_tensor(value_.backend(), value_.shape(), DType::f32);
  value_.backend().fill(whole, 0);
  if (masters_kept_ > 0)
    value_.backend().scale(master_.slice_first(0, masters_kept_), 1, {whole.slice_first(masters_from_, masters_kept_)});
  master_ = whole, masters_from_ = 0, masters_kept_ = -1;
  return true;
}

}  // namespace attend::nn
