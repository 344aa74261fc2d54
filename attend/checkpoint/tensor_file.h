// Tensors with names, as files of weights hold them. Safetensors (safetensors.h) and torch's own files
// (torch/torch_file.h) make one; a model that lies in several files is one too. Files are mapped, not read: a
// StoredTensor points into them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attend/base/mapped_file.h"
#include "attend/checkpoint/stored_type.h"
#include "attend/tensor/shape.h"
#include "attend/tensor/tensor.h"

namespace attend::checkpoint {

struct StoredTensor {
  std::string name;
  StoredType type = StoredType::f32;
  Shape shape;
  // Little endian, at no particular alignment. Row-major where there are no strides; else from the first element that
  // the tensor has to behind the last: TensorFile::contents() puts those in order.
  std::span<const std::byte> bytes;
  std::vector<std::int64_t> strides = {};  // elements between neighbours along each axis, none of them negative

  std::size_t size_in_bytes() const { return static_cast<std::size_t>(shape.size()) * bytes_of(type); }
};

// The numbers of a tensor, row-major: where they lie in the file, or a copy.
class TensorBytes {
 public:
  explicit TensorBytes(std::span<const std::byte> there) : view_(there) {}
  TensorBytes(std::unique_ptr<std::byte[]> copy, std::size_t size) : copy_(std::move(copy)), view_(copy_.get(), size) {}
  TensorBytes(const TensorBytes&) = delete;
  TensorBytes& operator=(const TensorBytes&) = delete;

  std::span<const std::byte> view() const { return view_; }

 private:
  std::unique_ptr<std::byte[]> copy_;
  std::span<const std::byte> view_;
};

class TensorFile {
 public:
  // Every byte of a tensor lies in one of the files, or in memory that outlives this. source stands for the path in
  // messages. Throws Error where two tensors have one name.
  TensorFile(std::string source, std::vector<MappedFile> files, std::vector<StoredTensor> tensors,
             std::map<std::string, std::string> metadata = {});
  // One model in several files.
  static TensorFile joined(std::string source, std::vector<TensorFile> parts);

  const std::string& source() const { return source_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }  // as they lie in the file
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  const StoredTensor* find(std::string_view name) const;        // null when there is none
  const StoredTensor& operator[](std::string_view name) const;  // throws Error when there is none

  TensorBytes contents(std::string_view name) const;
  std::vector<float> floats(std::string_view name) const;       // any float type, and i8 with its scale; f64 is rounded
  std::vector<std::int64_t> ints(std::string_view name) const;  // any integer type, and bool as 0 and 1
  // Fills a tensor of the same shape on any device. Floats are converted to its dtype; integers go into i32 when they
  // fit it, and into i8 and u8 only from the same type (bool counts as u8).
  void load(std::string_view name, const Tensor& into) const;
  // Lets go of the memory of a tensor that has been read: a model is loaded without two copies of it.
  void forget(std::string_view name) const;
  // Throws Error when bytes were missing, as in a file that is cut short while it is read.
  void check_whole() const;

  // "module.weight" becomes "weight" where every name begins so; else nothing changes.
  void drop_prefix(std::string_view prefix);

 private:
  void index_names();

  std::string source_;
  std::vector<MappedFile> files_;
  std::vector<StoredTensor> tensors_;
  std::unordered_map<std::string_view, std::size_t> index_;  // keys point into tensors_
  std::map<std::string, std::string> metadata_;
};

}  // namespace attend::checkpoint
