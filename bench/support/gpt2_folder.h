// GPT-2 of a folder, and the random prompts that programs time it with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/random.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/models/gpt2.h"
#include "attend/nn/parameters.h"

namespace attend {

struct GPT2Folder {
  GPT2Folder(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format)
      : model(models::gpt2_config(read_json(folder / "config.json"), (folder / "config.json").string())),
        parameters(backend, model, checkpoint::run_options(folder, format)) {
    checkpoint::load_hugging_face(checkpoint::TensorFiles::open(folder), parameters, {.prefix = models::kGPT2Prefix});
  }

  std::vector<std::int32_t> random_ids(std::int64_t count) const {
    const auto vocabulary = static_cast<std::uint32_t>(model.body().config().vocabulary);
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < count; ++i)
      ids.push_back(static_cast<std::int32_t>(random_word(1, 0, static_cast<std::uint64_t>(i)) % vocabulary));
    return ids;
  }

  models::GPT2LanguageModel model;
  nn::Parameters parameters;
};

}  // namespace attend
