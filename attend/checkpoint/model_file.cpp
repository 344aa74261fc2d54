#include "attend/checkpoint/model_file.h"

#include <algorithm>
#include <set>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/strict_json.h"
#include "attend/checkpoint/safetensors_writer.h"

namespace attend {

namespace {

using nn::Parameters;

// The shape of the tensor in the file that holds this parameter, alone or among others.
Shape file_shape(const Parameters::Entry& entry) {
  Shape shape = entry.parameter->shape;
  if (entry.rows_in_file > 0) shape.set(0, entry.rows_in_file);
  return shape;
}

std::size_t first_element(const Parameters::Entry& entry) {
  const Shape& shape = entry.parameter->shape;
  return static_cast<std::size_t>(entry.first_row * (shape.size() / std::max<std::int64_t>(shape[0], 1)));
}

}  // namespace

void load_weights(const Safetensors& file, Parameters& parameters) {
  std::set<std::string, std::less<>> known;
  for (const Parameters::Entry& entry : parameters.entries()) {
    known.insert(entry.name);
    const StoredTensor* stored = file.find(entry.name);
    check(stored, "{}: no tensor '{}', which the model needs", file.source(), entry.name);
    check(stored->shape == file_shape(entry), "{}: '{}' is {}, but the model wants {}", file.source(), entry.name,
          stored->shape, file_shape(entry));
    const std::vector<float> values = file.floats(entry.name);
    parameters.write(entry, std::span(values).subspan(first_element(entry),
                                                      static_cast<std::size_t>(entry.parameter->shape.size())));
  }
  for (const StoredTensor& stored : file.tensors())
    check(known.count(stored.name), "{}: the model has no place for the tensor {}", file.source(), shown(stored.name));
}

namespace {

// One tensor of the file, put together from its parameters.
struct FileTensor {
  Shape shape;
  std::vector<std::byte> bytes;
};

}  // namespace

void save_weights(const std::string& path, const Parameters& parameters, SavedWeights which,
                  const std::map<std::string, std::string>& metadata) {
  const Tensor& flat = which == SavedWeights::values ? parameters.value() : parameters.master();
  const std::size_t width = bytes_of(flat.dtype());
  std::map<std::string, FileTensor> tensors;
  for (const Parameters::Entry& entry : parameters.entries()) {
    FileTensor& tensor = tensors[entry.name];
    tensor.shape = file_shape(entry);
    tensor.bytes.resize(static_cast<std::size_t>(tensor.shape.size()) * width);
    const Tensor part = flat.slice_first(entry.offset, entry.parameter->shape.size());
    flat.backend().to_host(tensor.bytes.data() + first_element(entry) * width, part.raw(),
                           static_cast<std::size_t>(part.size()) * width);
  }
  SafetensorsWriter writer;
  for (const auto& [name, tensor] : tensors) writer.add(name, stored_type_of(flat.dtype()), tensor.shape, tensor.bytes);
  for (const auto& [key, value] : metadata) writer.set_metadata(key, value);
  writer.write(path);
}

}  // namespace attend
