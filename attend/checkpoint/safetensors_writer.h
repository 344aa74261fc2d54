// Writes .safetensors files, whole or not at all (attend/base/files.h). The bytes depend only on the names, numbers and
// metadata: widest types first and then by name, so that every tensor is aligned to its type; the header is filled with
// spaces to a multiple of 8.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "attend/base/files.h"
#include "attend/checkpoint/stored_type.h"
#include "attend/tensor/tensor.h"

namespace attend::checkpoint {

class SafetensorsWriter {
 public:
  // The numbers are read from the device when write() runs, one tensor at a time.
  void add(const std::string& name, const Tensor& tensor);
  // Numbers on the host, which must stay there until write() has run.
  void add(const std::string& name, StoredType type, const Shape& shape, std::span<const std::byte> bytes);
  void add(const std::string& name, const Shape& shape, std::span<const float> values) {
    add(name, StoredType::f32, shape, std::as_bytes(values));
  }
  void add(const std::string& name, const Shape& shape, std::span<const std::int64_t> values) {
    add(name, StoredType::i64, shape, std::as_bytes(values));
  }
  // Numbers that are made when write() runs, one tensor at a time, in one or several pieces.
  using Source = std::function<void(const FileWriter& write)>;
  void add(const std::string& name, StoredType type, const Shape& shape, Source source);
  void set_metadata(const std::string& key, const std::string& value) { metadata_[key] = value; }

  void write(const std::string& path) const;
  // The same bytes to wherever they go.
  void produce(const FileWriter& write) const;

 private:
  struct Entry {
    StoredType type;
    Shape shape;
    std::span<const std::byte> bytes;
    Tensor tensor;  // undefined when bytes hold the numbers, or source makes them
    Source source;
  };
  void insert(const std::string& name, Entry entry);

  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace attend::checkpoint
