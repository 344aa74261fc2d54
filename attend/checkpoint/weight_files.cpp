#include "attend/checkpoint/weight_files.h"

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/paths.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/checkpoint/torch/torch_file.h"

namespace attend::checkpoint {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSafetensors = "model.safetensors", kSafetensorsIndex = "model.safetensors.index.json",
                           kTorch = "pytorch_model.bin", kTorchIndex = "pytorch_model.bin.index.json";

// The shards an index names, each once. They lie beside it: a name with a folder in it is refused.
std::vector<std::string> shards_of(const fs::path& index) {
  const Json json = parse_json(read_file(index), index.string());
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  check(json.is_object() && map != json.end() && map->is_object(), "{}: no 'weight_map'", index.string());
  std::set<std::string> names;
  for (const auto& file : *map) {
    check(file.is_string(), "{}: 'weight_map' must give the file of each tensor", index.string());
    const auto name = file.get<std::string>();
    check(!name.empty() && name != ".." && name.find_first_of("/\\") == std::string::npos,
          "{}: {} is not the name of a file beside it", index.string(), shown(name));
    names.insert(name);
  }
  check(!names.empty(), "{}: 'weight_map' is empty", index.string());
  return {names.begin(), names.end()};
}

// "module.": a model that was trained by torch's DataParallel.
TensorFile open_torch(const fs::path& path) {
  TensorFile file = torch::open_torch_file(path).tensors;
  file.drop_prefix("module.");
  return file;
}

TensorFile open_shards(const fs::path& index, TensorFile (*open)(const fs::path&)) {
  std::vector<TensorFile> files;
  for (const std::string& name : shards_of(index)) files.push_back(open(index.parent_path() / name));
  return TensorFile::joined(index.string(), std::move(files));
}

TensorFile open_safetensors(const fs::path& path) { return Safetensors::open(path.string()); }

// Weights of other programs, which people hope will do.
[[noreturn]] void fail_without_weights(const fs::path& folder) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOthers = {
      {{".gguf", "GGUF"}, {".onnx", "ONNX"}, {".h5", "TensorFlow"}, {".msgpack", "Flax"}, {".ot", "rust-bert"}}};
  if (is_folder(folder))
    for (const fs::path& file : files_in(folder))
      for (const auto& [ending, format] : kOthers)
        check(file.extension() != ending, "{}: it has no {} and no {}; {} is of {}, which is not read", folder.string(),
              kSafetensors, kTorch, file.filename().string(), format);
  fail("{}: it has no {} and no {}", folder.string(), kSafetensors, kTorch);
}

}  // namespace

TensorFile open_weights(const fs::path& folder) {
  if (path_exists(folder / kSafetensors)) return open_safetensors(folder / kSafetensors);
  if (path_exists(folder / kSafetensorsIndex)) return open_shards(folder / kSafetensorsIndex, open_safetensors);
  if (path_exists(folder / kTorch)) return open_torch(folder / kTorch);
  if (path_exists(folder / kTorchIndex)) return open_shards(folder / kTorchIndex, open_torch);
  fail_without_weights(folder);
}

std::vector<fs::path> weight_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const std::string_view name : {kSafetensors, kSafetensorsIndex, kTorch, kTorchIndex})
    if (path_exists(folder / name)) files.push_back(folder / name);
  return files;
}

bool has_weights(const fs::path& folder) { return !weight_files(folder).empty(); }

TensorFile open_tensor_file(const fs::path& path, std::vector<std::string>& left_out) {
  const MappedFile file(path);
  const std::string_view text = file.text();
  const bool safetensors = text.size() > 8 && text[8] == '{';  // a header of 640 bytes begins as a pickle does
  if (!safetensors && torch::is_torch_file(file.bytes())) {
    torch::TorchFile opened = torch::open_torch_file(path);
    left_out = std::move(opened.left_out);
    return std::move(opened.tensors);
  }
  return Safetensors::open(path.string());
}

}  // namespace attend::checkpoint
