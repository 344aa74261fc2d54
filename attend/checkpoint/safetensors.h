// Reads .safetensors files: 8 bytes with the length of a JSON header, the header, and then the numbers of all tensors
// in one block (huggingface.co/docs/safetensors).
//
// Files are untrusted input, so all of the header is checked before any of it is used: every tensor lies inside the
// file, is as long as its shape and type say, and together they cover the block without holes or overlap.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "attend/checkpoint/tensor_file.h"

namespace attend::checkpoint {

class Safetensors : public TensorFile {
 public:
  static Safetensors open(const std::string& path);
  // The same over bytes that stay where they are; source stands for the path in messages.
  static Safetensors view(std::span<const std::byte> bytes, std::string source);

 private:
  explicit Safetensors(TensorFile file) : TensorFile(std::move(file)) {}
};

}  // namespace attend::checkpoint
