// PyTorch's own files are programs for Python's pickle machine: reading one can run anything, so none is read here.
#pragma once

#include <filesystem>
#include <string>

namespace attend {

// What to run to turn such a file into one that is only numbers. Clones: tensors that share memory are stored apart.
std::string how_to_convert(const std::string& pickle, const std::string& result);

// Throws Error for a folder without model.safetensors: with the way to convert it when it holds only a pickle.
[[noreturn]] void fail_without_weights(const std::filesystem::path& folder);

}  // namespace attend
