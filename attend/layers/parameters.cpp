#include "attend/layers/parameters.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "attend/checkpoint/model_file.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/layers/parameter_record.h"

namespace attend::layers {

namespace {

nn::Init init_of(const Init& init) { return {static_cast<nn::Init::Kind>(init.kind), init.spread}; }

// Numbers of a parameter, if it has any: of the f32 master as long as there is one.
std::optional<std::vector<float>> kept_values(const ParameterRecord& record) {
  if (!record.inner.value.defined()) return std::nullopt;
  const auto owner = record.owner.lock();
  return owner ? owner->inner->read(owner->entry(record)) : download(record.inner.value);
}

void check_list(const std::vector<NamedParameter>& list) {
  check(!list.empty(), "parameters: the model has none; does its visit() list them?");
  std::set<std::string, std::less<>> names;
  std::set<const ParameterRecord*> records;
  for (const NamedParameter& named : list) {
    const Shape& shape = named.parameter->shape();
    check(!named.name.empty() && named.name.find('|') == std::string::npos, "parameters: '{}' {} is not a name",
          named.name, shape);
    check(names.insert(named.name).second, "parameters: two are called '{}'; the second is {}", named.name, shape);
    check(records.insert(ParameterAccess::record(*named.parameter).get()).second, "parameters: '{}' {} is listed twice",
          named.name, shape);
    check_size("parameters", {shape.begin(), shape.end()});
    for (const std::int64_t dim : shape) check(dim > 0, "parameters: '{}' has the shape {}", named.name, shape);
  }
}

}  // namespace

Init Init::xavier(std::int64_t in, std::int64_t out) { return {uniform, nn::Init::xavier(in, out).spread}; }

Parameter::Parameter(const Shape& shape, const Init& init) : record_(std::make_shared<ParameterRecord>()) {
  record_->inner = {shape, init_of(init)};
}

Parameter Parameter::convolution(const Shape& shape, const Init& init) {
  Parameter made(shape, init);
  made.record_->inner.role = nn::Role::plain_convolution;
  return made;
}

Parameter::Parameter(const Parameter& other)
    : record_(other.record_->inner.value.defined() ? other.record_
                                                   : std::make_shared<ParameterRecord>(*other.record_)) {}

Parameter& Parameter::operator=(const Parameter& other) {
  if (this != &other) *this = Parameter(other);
  return *this;
}

const Shape& Parameter::shape() const { return ParameterAccess::record(*this)->inner.shape; }

Tensor Parameter::value() const {
  const auto& record = ParameterAccess::record(*this);
  check(record->tensor.defined(), "parameter: {} has no numbers yet; make Parameters(device, model) first", shape());
  return record->tensor;
}

void Parameter::set(std::span<const float> values) {
  const Tensor to = value();
  const auto& record = ParameterAccess::record(*this);
  if (const auto owner = record->owner.lock()) return owner->inner->write(owner->entry(*record), values);
  upload(Access::record("parameter", to).value, values);
}

std::vector<float> Parameter::values() const {
  value();  // throws if there are none
  return *kept_values(*ParameterAccess::record(*this));
}

const std::shared_ptr<ParameterRecord>& ParameterAccess::record(const Parameter& parameter) {
  check(parameter.record_ != nullptr, "parameter: it was moved away");
  return parameter.record_;
}

Parameters::Parameters(const Device& device, const std::vector<NamedParameter>& list, std::uint64_t seed, DType dtype)
    : state_(std::make_shared<ParametersState>(device)) {
  check_list(list);
  check(dtype == DType::f32 || dtype == DType::bf16, "parameters: a model computes in f32 or bf16, not in {}", dtype);
  std::vector<nn::Parameters::Entry> entries;
  std::vector<std::optional<std::vector<float>>> kept;
  for (const NamedParameter& named : list) {
    const auto& record = ParameterAccess::record(*named.parameter);
    kept.push_back(kept_values(*record));
    state_->records.push_back(record);
    entries.push_back({named.name, &record->inner});
  }
  state_->inner = std::make_unique<nn::Parameters>(*device.backend(), std::move(entries),
                                                   nn::ParametersOptions{.dtype = dtype, .seed = seed});
  for (std::size_t i = 0; i < list.size(); ++i) {
    ParameterRecord& record = *state_->records[i];
    record.owner = state_;
    record.tensor = Access::make({device.backend(), record.inner.value});
    if (kept[i]) state_->inner->write(state_->entry(record), *kept[i]);
  }
}

void ParametersState::check_owner() const {
  for (const auto& record : records)
    check(record->owner.lock().get() == this, "parameters: {} belongs to another nn::Parameters now; use that one",
          record->inner.shape);
}

const nn::Parameters::Entry& ParametersState::entry(std::string_view name) const {
  for (const auto& entry : inner->entries())
    if (entry.name == name) return entry;
  fail("parameters: there is no '{}'; the first is '{}'", name, inner->entries().front().name);
}

const nn::Parameters::Entry& ParametersState::entry(const ParameterRecord& record) const {
  for (const auto& entry : inner->entries())
    if (entry.parameter == &record.inner) return entry;
  fail("parameters: {} belongs to another nn::Parameters", record.inner.shape);
}

std::int64_t Parameters::count() const { return state_->inner->count(); }

std::vector<std::string> Parameters::names() const {
  std::vector<std::string> names;
  for (const auto& record : state_->records)
    for (const auto& entry : state_->inner->entries())
      if (entry.parameter == &record->inner) names.push_back(entry.name);
  return names;
}

Tensor Parameters::operator[](std::string_view name) const {
  const auto& entry = state_->entry(name);
  for (const auto& record : state_->records)
    if (entry.parameter == &record->inner) return record->tensor;
  return {};
}

Tensor Parameters::gradient(std::string_view name) const { return (*this)[name].gradient(); }

void Parameters::set(std::string_view name, std::span<const float> values) {
  state_->check_owner();
  state_->inner->write(state_->entry(name), values);
}

void Parameters::clear_gradients() { state_->inner->start_gradients(); }

void Parameters::save(const std::filesystem::path& file) const {
  state_->check_owner();
  checkpoint::save_weights(file.string(), *state_->inner);
}

void Parameters::load(const std::filesystem::path& file) {
  state_->check_owner();
  checkpoint::load_weights(checkpoint::Safetensors::open(file.string()), *state_->inner);
}

}  // namespace attend::layers
