#include "attend/checkpoint/model_file.h"

#include <algorithm>
#include <set>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/checkpoint/file_order.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/quantised.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/tensor/backend.h"

namespace attend::checkpoint {

namespace {

using nn::Parameters;

// Part of a parameter and where in the file it lies: several parameters may share a tensor there (first_row), and one
// may be several tensors (bars in its name).
struct Place {
  std::string name;
  Shape shape;             // of the tensor in the file
  std::size_t first = 0;   // element of that tensor
  std::int64_t begin = 0;  // element of the parameter
  std::int64_t count = 0;
  bool channels_first = false;  // in the file
};

std::vector<Place> places_of(const Parameters::Entry& entry) {
  std::vector<Place> places;
  if (entry.rows_in_file == 0) {
    for (const FilePart& part : file_parts(entry))
      places.push_back({part.name, part.shape, 0, part.begin, part.shape.size(), part.channels_first});
    return places;
  }
  Shape shape = entry.parameter->shape;
  const std::int64_t count = shape.size(), row = count / std::max<std::int64_t>(shape[0], 1);
  shape.set(0, entry.rows_in_file);
  return {{entry.name, shape, static_cast<std::size_t>(entry.first_row * row), 0, count}};
}

}  // namespace

namespace {

using Names = std::set<std::string, std::less<>>;

void load_set(const TensorFile& file, Parameters& parameters, Names& known) {
  for (const Parameters::Entry& entry : parameters.entries()) {
    std::vector<float> all;
    const std::vector<Place> places = places_of(entry);
    for (const Place& place : places) {
      known.insert(place.name);
      const StoredTensor* stored = file.find(place.name);
      check(stored, "{}: no tensor '{}', which the model needs", file.source(), place.name);
      check(stored->shape == place.shape, "{}: '{}' is {}, but the model wants {}", file.source(), place.name,
            stored->shape, place.shape);
      const auto count = static_cast<std::size_t>(place.count);
      const std::size_t width = bytes_of(stored->type);
      const TensorBytes contents = file.contents(place.name);
      const auto bytes = contents.view().subspan(place.first * width, count * width);
      if (places.size() > 1 || place.channels_first ||
          !parameters.write_stored(entry, bytes, float_dtype_of(stored->type))) {
        std::vector<float> values = file.floats(place.name);
        if (place.channels_first) values = channels_last(values, place.shape);
        const auto part = std::span(values).subspan(place.first, count);
        all.insert(all.end(), part.begin(), part.end());
      }
      file.forget(place.name);
    }
    if (!all.empty()) parameters.write(entry, all);
  }
}

// Those whose names begin with `others`, unless that is empty, are nobody's concern.
void check_all_known(const TensorFile& file, const Names& known, std::string_view others) {
  file.check_whole();
  for (const StoredTensor& stored : file.tensors())
    check(
        known.count(stored.name) || is_scale(file, stored.name) || (!others.empty() && stored.name.starts_with(others)),
        "{}: the model has no place for the tensor {}", file.source(), shown(stored.name));
}

}  // namespace

void load_weights(const TensorFile& file, Parameters& parameters) {
  Parameters* const one = &parameters;
  load_weights(file, std::span(&one, 1));
}

void load_weights(const TensorFile& file, std::span<Parameters* const> all) {
  Names known;
  for (Parameters* parameters : all) load_set(file, *parameters, known);
  check_all_known(file, known, "");
}

void load_part(const TensorFile& file, Parameters& parameters, std::string_view others) {
  Names known;
  load_set(file, parameters, known);
  check_all_known(file, known, others);
}

namespace {

// One tensor of the file, put together from its parameters.
struct FileTensor {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> bytes;
};

}  // namespace

void save_weights(const std::string& path, const Parameters& parameters, SavedWeights which,
                  const std::map<std::string, std::string>& metadata) {
  const Parameters* const one = &parameters;
  write_file(path, [&](const FileWriter& write) { produce_weights(write, std::span(&one, 1), which, metadata); });
}

void produce_weights(const FileWriter& write, std::span<const Parameters* const> all, SavedWeights which,
                     const std::map<std::string, std::string>& metadata) {
  std::map<std::string, FileTensor> tensors;
  for (const Parameters* parameters : all) {
    for (const Parameters::Entry& entry : parameters->entries()) {
      const Tensor flat = which == SavedWeights::values ? parameters->value(entry) : parameters->master(entry);
      const std::size_t width = bytes_of(flat.dtype());
      for (const Place& place : places_of(entry)) {
        FileTensor& tensor = tensors[place.name];
        tensor.dtype = flat.dtype(), tensor.shape = place.shape;
        tensor.bytes.resize(static_cast<std::size_t>(tensor.shape.size()) * width);
        Tensor part = flat.slice_first(place.begin, place.count);
        if (place.channels_first) part = channels_first(part.reshape(entry.parameter->shape));
        flat.backend().to_host(tensor.bytes.data() + place.first * width, part.raw(),
                               static_cast<std::size_t>(part.size()) * width);
      }
    }
  }
  SafetensorsWriter writer;
  for (const auto& [name, tensor] : tensors) writer.add(name, stored_type_of(tensor.dtype), tensor.shape, tensor.bytes);
  for (const auto& [key, value] : metadata) writer.set_metadata(key, value);
  writer.produce(write);
}

}  // namespace attend::checkpoint
