#include "attend/checkpoint/pickle.h"

#include <system_error>

#include "attend/base/error.h"

namespace attend {

std::string how_to_convert(const std::string& pickle, const std::string& result) {
  return fmt::format(
      "python3 -c 'import torch, safetensors.torch as s; s.save_file({{k: v.clone().contiguous() for k, v in "
      "torch.load(\"{}\", map_location=\"cpu\", weights_only=True).items()}}, \"{}\", {{\"format\": \"pt\"}})'",
      pickle, result);
}

void fail_without_weights(const std::filesystem::path& folder) {
  std::error_code ignored;
  const std::filesystem::path pickle = folder / "pytorch_model.bin";
  if (std::filesystem::exists(pickle, ignored))
    fail("{}: only a PyTorch pickle is there, which can run code when it is read. To convert it: {}", folder.string(),
         how_to_convert(pickle.string(), (folder / "model.safetensors").string()));
  if (std::filesystem::exists(folder / "pytorch_model.bin.index.json", ignored))
    fail(
        "{}: only PyTorch pickles are there, which can run code when they are read. To convert them: load the model "
        "with transformers and save it with save_pretrained(\"..\", safe_serialization=True)",
        folder.string());
  fail("{}: it has no model.safetensors and no model.safetensors.index.json", folder.string());
}

}  // namespace attend
