// Reads files that torch.save wrote: a zip archive with data.pkl and one entry per storage (since torch 1.6), or
// pickles in a row with the storages behind them (before). The first format of all, a tar archive, is not read.
//
// A pickle is a program for a small machine, and Python's lets it call anything. The reader here (pickle_machine.h)
// builds containers, numbers and tensors and refuses everything else. Every tensor is held against the file: the
// elements that its offset, shape and strides reach lie inside of its storage, which lies inside of the file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attend/checkpoint/tensor_file.h"

namespace attend::checkpoint::torch {

struct TorchFile {
  TensorFile tensors;
  std::vector<std::string> left_out;  // parts of a checkpoint beside its state dict that hold tensors: "optimizer"
};

TorchFile open_torch_file(const std::filesystem::path& path);
// The same over bytes that stay where they are; source stands for the path in messages.
TorchFile view_torch_file(std::span<const std::byte> bytes, std::string source);

// Told by its first bytes: any format of torch's, also the one that is refused.
bool is_torch_file(std::span<const std::byte> bytes);

}  // namespace attend::checkpoint::torch
