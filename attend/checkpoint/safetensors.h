// Reads .safetensors files: 8 bytes with the length of a JSON header, the header, and then the numbers of all tensors
// in one block (huggingface.co/docs/safetensors). The file is mapped, not read; a StoredTensor points into it.
//
// Files come from strangers, so all of the header is checked before any of it is used: every tensor lies inside the
// file, is as long as its shape and type say, and together they cover the block without holes or overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "attend/base/mapped_file.h"
#include "attend/checkpoint/stored_type.h"
#include "attend/tensor/shape.h"
#include "attend/tensor/tensor.h"

namespace attend {

struct StoredTensor {
  std::string name;
  StoredType type = StoredType::f32;
  Shape shape;
  std::span<const std::byte> bytes;  // little endian, row-major; at no particular alignment
};

class Safetensors {
 public:
  static Safetensors open(const std::string& path);
  // The same over bytes that stay where they are; source stands for the path in messages.
  static Safetensors view(std::span<const std::byte> bytes, std::string source);

  const std::string& source() const { return source_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }  // as they lie in the file
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  const StoredTensor* find(std::string_view name) const;        // null when there is none
  const StoredTensor& operator[](std::string_view name) const;  // throws Error when there is none

  std::vector<float> floats(std::string_view name) const;       // any float type, and i8 with its scale; f64 is rounded
  std::vector<std::int64_t> ints(std::string_view name) const;  // any integer type, and bool as 0 and 1
  // Fills a tensor of the same shape on any device. Floats are converted to its dtype; integers go into i32 when they
  // fit it, and into i8 and u8 only from the same type (bool counts as u8).
  void load(std::string_view name, const Tensor& into) const;
  // Lets go of the memory of a tensor that has been read: a model is loaded without two copies of it.
  void forget(std::string_view name) const;
  // Throws Error when bytes were missing, as in a file that is cut short while it is read.
  void check_whole() const {
    if (file_) file_->check_whole();
  }

 private:
  Safetensors(std::optional<MappedFile> file, std::span<const std::byte> bytes, std::string source);
  void read_header(std::span<const std::byte> header, std::span<const std::byte> block);

  std::string source_;
  std::optional<MappedFile> file_;  // empty for a view
  std::vector<StoredTensor> tensors_;
  std::unordered_map<std::string_view, std::size_t> index_;  // keys point into tensors_
  std::map<std::string, std::string> metadata_;
};

}  // namespace attend
