// Which files of a model's folder hold its weights, and in which format they are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attend/checkpoint/tensor_file.h"

namespace attend::checkpoint {

// Of a folder: model.safetensors, or the shards of model.safetensors.index.json; else pytorch_model.bin, or the shards
// of pytorch_model.bin.index.json. Throws Error when it has none of them, naming what it has instead.
TensorFile open_weights(const std::filesystem::path& folder);
// The files among these names that the folder has, indices too: what to watch, and what a conversion leaves behind.
std::vector<std::filesystem::path> weight_files(const std::filesystem::path& folder);
bool has_weights(const std::filesystem::path& folder);

// One file, safetensors or torch's, told by its first bytes. left_out receives the parts of a training checkpoint
// beside its state dict that hold tensors too.
TensorFile open_tensor_file(const std::filesystem::path& path, std::vector<std::string>& left_out);

}  // namespace attend::checkpoint
