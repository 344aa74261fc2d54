// Files as torch.save writes them, and near misses: pickles put together opcode by opcode, zip archives, and the format
// of pickles in a row.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attend/checkpoint/tensor_file.h"

namespace attend::test {

template <class T>
std::string bytes_of_number(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// ---- Pickles.
inline const std::string kProtocol = "\x80\x02", kEmptyDict = "ccollections\nOrderedDict\n)R";

inline std::string pickled(const std::string& text) {
  return "X" + bytes_of_number(static_cast<std::uint32_t>(text.size())) + text;
}
inline std::string pickled(std::int64_t number) { return "\x8a\x08" + bytes_of_number(number); }
inline std::string pickled(const std::vector<std::int64_t>& numbers) {
  std::string tuple = "(";
  for (std::int64_t number : numbers) tuple += pickled(number);
  return tuple + "t";
}

struct TorchTensor {
  std::string name = {}, kind = "FloatStorage", key = "0";
  std::int64_t elements = 8, offset = 0;  // of the storage; where the tensor begins in it
  std::vector<std::int64_t> shape = {2, 4}, strides = {4, 1};
};

inline std::string pickled_storage(const TorchTensor& tensor, const std::string& view) {
  return "(" + pickled(std::string("storage")) + "ctorch\n" + tensor.kind + "\n" + pickled(tensor.key) +
         pickled(std::string("cpu")) + pickled(tensor.elements) + view + "tQ";
}
// view: what stands behind the size of a storage; the older format has "N".
inline std::string pickled(const TorchTensor& tensor, const std::string& view = "") {
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + pickled_storage(tensor, view) + pickled(tensor.offset) +
         pickled(tensor.shape) + pickled(tensor.strides) + "\x89" + kEmptyDict + "tR";
}
// An OrderedDict of tensors, and of whatever else is pickled in `more`: keys and values.
inline std::string pickled_dict(const std::vector<TorchTensor>& tensors, const std::string& view = "",
                                const std::string& more = "") {
  std::string dict = kEmptyDict + "(";
  for (const TorchTensor& tensor : tensors) dict += pickled(tensor.name) + pickled(tensor, view);
  return dict + more + "u";
}

// ---- Archives.
struct ZipPart {
  std::string name = {}, bytes = {};
  std::string local_name = {};                // in the header in front of it, where that is another
  std::int64_t size_more = 0, offset_by = 0;  // what the directory adds to the truth
  std::uint16_t method = 0, flags = 0;
};

inline std::string zip_of(const std::vector<ZipPart>& parts, const std::string& behind = "") {
  using u16 = std::uint16_t;
  using u32 = std::uint32_t;
  std::string file, directory;
  for (const ZipPart& part : parts) {
    const auto size = static_cast<u32>(part.bytes.size()),
               told = static_cast<u32>(static_cast<std::int64_t>(size) + part.size_more),
               at = static_cast<u32>(static_cast<std::int64_t>(file.size()) + part.offset_by);
    const std::string& local = part.local_name.empty() ? part.name : part.local_name;
    const std::string common = bytes_of_number(part.flags) + bytes_of_number(part.method) + std::string(8, '\0');
    file += "PK\x03\x04" + bytes_of_number(u16{0}) + common + bytes_of_number(size) + bytes_of_number(size) +
            bytes_of_number(static_cast<u16>(local.size())) + bytes_of_number(u16{0}) + local + part.bytes;
    directory += "PK\x01\x02" + std::string(4, '\0') + common + bytes_of_number(told) + bytes_of_number(told) +
                 bytes_of_number(static_cast<u16>(part.name.size())) + std::string(14 - 2, '\0') + bytes_of_number(at) +
                 part.name;
  }
  const auto count = static_cast<u16>(parts.size());
  return file + directory + "PK\x05\x06" + std::string(4, '\0') + bytes_of_number(count) + bytes_of_number(count) +
         bytes_of_number(static_cast<u32>(directory.size())) + bytes_of_number(static_cast<u32>(file.size())) +
         std::string(2, '\0') + behind;
}

struct TorchStorage {
  std::string key, bytes;
  std::size_t width = sizeof(float);  // of an element
};
using Storages = std::vector<TorchStorage>;

// Of a whole pickle; the others are given what lies between its protocol and its stop.
inline std::string torch_zip_of(const std::string& pickle, const Storages& storages) {
  std::vector<ZipPart> parts = {{"archive/data.pkl", pickle}};
  for (const TorchStorage& storage : storages) parts.push_back({"archive/data/" + storage.key, storage.bytes});
  parts.push_back({"archive/version", "3\n"});
  return zip_of(parts);
}

inline std::string torch_zip(const std::string& pickle, const Storages& storages) {
  return torch_zip_of(kProtocol + pickle + ".", storages);
}

inline std::string torch_stream_of(const std::string& pickle, const Storages& storages) {
  std::string file = kProtocol + "\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19." + kProtocol + "M\xe9\x03." + kProtocol + "}(" +
                     pickled(std::string("little_endian")) + "\x88u." + pickle + kProtocol + "](";
  for (const TorchStorage& storage : storages) file += pickled(storage.key);
  file += "e.";
  for (const TorchStorage& storage : storages)
    file += bytes_of_number(static_cast<std::int64_t>(storage.bytes.size() / storage.width)) + storage.bytes;
  return file;
}

inline std::string torch_stream(const std::string& pickle, const Storages& storages) {
  return torch_stream_of(kProtocol + pickle + ".", storages);
}

inline std::string floats_of(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return {reinterpret_cast<const char*>(values.data()), count * sizeof(float)};
}

inline std::string storage_kind(checkpoint::StoredType type) {
  switch (type) {
    case checkpoint::StoredType::f32:
      return "FloatStorage";
    case checkpoint::StoredType::bf16:
      return "BFloat16Storage";
    case checkpoint::StoredType::i8:
      return "CharStorage";
    case checkpoint::StoredType::i64:
      return "LongStorage";
    default:
      return "none";  // no fixture has it
  }
}

// The same tensors as a file of torch's.
inline std::string torch_of(const checkpoint::TensorFile& file, bool zip) {
  std::vector<TorchTensor> tensors;
  Storages storages;
  for (const checkpoint::StoredTensor& tensor : file.tensors()) {
    TorchTensor made{.name = tensor.name,
                     .kind = storage_kind(tensor.type),
                     .key = std::to_string(storages.size()),
                     .elements = tensor.shape.size()};
    made.shape.assign(tensor.shape.begin(), tensor.shape.end());
    made.strides.assign(made.shape.size(), 1);
    for (std::size_t i = made.shape.size(); i-- > 1;) made.strides[i - 1] = made.strides[i] * made.shape[i];
    tensors.push_back(made);
    storages.push_back({made.key, std::string(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()),
                        bytes_of(tensor.type)});
  }
  return zip ? torch_zip(pickled_dict(tensors), storages) : torch_stream(pickled_dict(tensors, "N"), storages);
}

}  // namespace attend::test
