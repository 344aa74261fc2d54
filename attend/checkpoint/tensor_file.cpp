#include "attend/checkpoint/tensor_file.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/checkpoint/quantised.h"
#include "attend/checkpoint/strided_copy.h"
#include "attend/tensor/backend.h"

namespace attend::checkpoint {

namespace {

// Number i of a tensor's bytes, which may lie at any address.
template <class T>
T number(std::span<const std::byte> bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <class From, class To>
void convert(std::span<const std::byte> bytes, std::vector<To>& into) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = static_cast<To>(number<From>(bytes, i));
}

}  // namespace

TensorFile::TensorFile(std::string source, std::vector<MappedFile> files, std::vector<StoredTensor> tensors,
                       std::map<std::string, std::string> metadata)
    : source_(std::move(source)),
      files_(std::move(files)),
      tensors_(std::move(tensors)),
      metadata_(std::move(metadata)) {
  index_names();
}

void TensorFile::index_names() {
  index_.clear();
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    check(index_.emplace(tensors_[i].name, i).second, "{}: there are two tensors {}", source_, shown(tensors_[i].name));
}

TensorFile TensorFile::joined(std::string source, std::vector<TensorFile> parts) {
  std::vector<MappedFile> files;
  std::vector<StoredTensor> tensors;
  for (TensorFile& part : parts) {
    std::ranges::move(part.files_, std::back_inserter(files));
    std::ranges::move(part.tensors_, std::back_inserter(tensors));
  }
  return TensorFile(std::move(source), std::move(files), std::move(tensors));
}

void TensorFile::drop_prefix(std::string_view prefix) {
  const bool all = std::ranges::all_of(tensors_, [&](const StoredTensor& each) {
    return each.name.size() > prefix.size() && each.name.starts_with(prefix);
  });
  if (!all) return;
  for (StoredTensor& tensor : tensors_) tensor.name.erase(0, prefix.size());
  index_names();
}

const StoredTensor* TensorFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

const StoredTensor& TensorFile::operator[](std::string_view name) const {
  const StoredTensor* tensor = find(name);
  check(tensor != nullptr, "{}: there is no tensor {} among its {}", source_, shown(name), tensors_.size());
  return *tensor;
}

TensorBytes TensorFile::contents(std::string_view name) const {
  const StoredTensor& tensor = (*this)[name];
  if (tensor.strides.empty()) return TensorBytes(tensor.bytes);
  auto copy = std::make_unique_for_overwrite<std::byte[]>(tensor.size_in_bytes());
  copy_in_rows(tensor.bytes, bytes_of(tensor.type), tensor.shape, tensor.strides, {copy.get(), tensor.size_in_bytes()});
  return {std::move(copy), tensor.size_in_bytes()};
}

std::vector<float> TensorFile::floats(std::string_view name) const {
  const StoredTensor& tensor = (*this)[name];
  if (tensor.type == StoredType::i8) return dequantise(*this, name);
  const TensorBytes contents = this->contents(name);
  const std::span<const std::byte> bytes = contents.view();
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.size()));
  switch (tensor.type) {
    case StoredType::f32:
      if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
      break;
    case StoredType::f64:
      convert<double>(bytes, values);
      break;
    case StoredType::f16:
      convert<Half>(bytes, values);
      break;
    case StoredType::bf16:
      convert<Bf16>(bytes, values);
      break;
    default:
      fail("{}: tensor {} is {}, not a float type", source_, shown(name), name_of(tensor.type));
  }
  check_whole();
  return values;
}

std::vector<std::int64_t> TensorFile::ints(std::string_view name) const {
  const StoredTensor& tensor = (*this)[name];
  const TensorBytes contents = this->contents(name);
  const std::span<const std::byte> bytes = contents.view();
  std::vector<std::int64_t> values(static_cast<std::size_t>(tensor.shape.size()));
  switch (tensor.type) {
    case StoredType::i64:
      convert<std::int64_t>(bytes, values);
      break;
    case StoredType::i32:
      convert<std::int32_t>(bytes, values);
      break;
    case StoredType::i16:
      convert<std::int16_t>(bytes, values);
      break;
    case StoredType::i8:
      convert<std::int8_t>(bytes, values);
      break;
    case StoredType::u64:
      convert<std::uint64_t>(bytes, values);
      for (std::int64_t value : values)  // from 2^63 on it has become negative
        if (value < 0)
          fail("{}: tensor {} holds {}, which does not fit a signed 64-bit integer", source_, shown(name),
               static_cast<std::uint64_t>(value));
      break;
    case StoredType::u32:
      convert<std::uint32_t>(bytes, values);
      break;
    case StoredType::u16:
      convert<std::uint16_t>(bytes, values);
      break;
    case StoredType::u8:
      convert<std::uint8_t>(bytes, values);
      break;
    case StoredType::boolean:
      convert<std::uint8_t>(bytes, values);
      for (std::int64_t& value : values) value = value != 0;
      break;
    default:
      fail("{}: tensor {} is {}, not an integer type", source_, shown(name), name_of(tensor.type));
  }
  check_whole();
  return values;
}

void TensorFile::forget(std::string_view name) const {
  const std::span<const std::byte> bytes = (*this)[name].bytes;
  for (const MappedFile& file : files_)
    if (bytes.data() >= file.bytes().data() && bytes.data() < file.bytes().data() + file.size()) file.forget(bytes);
}

void TensorFile::check_whole() const {
  for (const MappedFile& file : files_) file.check_whole();
}

void TensorFile::load(std::string_view name, const Tensor& into) const {
  const StoredTensor& tensor = (*this)[name];
  check(into.defined(), "{}: tensor {} cannot be loaded into an undefined tensor", source_, shown(name));
  check(into.contiguous(), "{}: tensor {} cannot be loaded into rows with gaps between them", source_, shown(name));
  check(tensor.shape == into.shape(), "{}: tensor {} is {}, but the model wants {}", source_, shown(name), tensor.shape,
        into.shape());
  const bool bytes_as_they_are =
      tensor.type == stored_type_of(into.dtype()) || (tensor.type == StoredType::boolean && into.dtype() == DType::u8);
  if (bytes_as_they_are) {
    const TensorBytes contents = this->contents(name);
    into.backend().to_device(into.raw(), contents.view().data(), contents.view().size());
    check_whole();
  } else if ((is_float(tensor.type) || tensor.type == StoredType::i8) && is_float(into.dtype())) {
    upload(into, floats(name));
  } else {
    check(!is_float(tensor.type) && into.dtype() == DType::i32, "{}: tensor {} is {}, which does not convert to {}",
          source_, shown(name), name_of(tensor.type), into.dtype());
    std::vector<std::int32_t> narrow;
    for (std::int64_t value : ints(name)) {
      if (!std::in_range<std::int32_t>(value))
        fail("{}: tensor {} holds {}, which does not fit i32", source_, shown(name), value);
      narrow.push_back(static_cast<std::int32_t>(value));
    }
    upload(into, narrow);
  }
}

}  // namespace attend::checkpoint
