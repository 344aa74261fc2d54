#include "attend/tasks/hub_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "attend/base/joined.h"

namespace attend::tasks {

namespace {

struct Known {
  std::string_view name, owner;  // the short name begins with this
};
constexpr std::array<Known, 14> kOwners = {{{"gpt2", "openai-community"},
                                            {"distilgpt2", "distilbert"},
                                            {"distilbert-", "distilbert"},
                                            {"bert-", "google-bert"},
                                            {"roberta-", "FacebookAI"},
                                            {"xlm-roberta-", "FacebookAI"},
                                            {"longformer-", "allenai"},
                                            {"opus-mt-", "Helsinki-NLP"},
                                            {"vit-gpt2-image-captioning", "nlpconnect"},
                                            {"vit-", "google"},
                                            {"swin-", "microsoft"},
                                            {"resnet-", "microsoft"},
                                            {"detr-", "facebook"},
                                            {"all-", "sentence-transformers"}}};

bool has(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

// The tokenizer or preprocessor of a family.
std::vector<std::string> reads_of(std::string_view name) {
  if (has(name, "vit-gpt2")) return {"preprocessor_config.json", "tokenizer.json"};
  if (has(name, "opus-mt") || has(name, "marian")) return {"source.spm", "target.spm", "vocab.json"};
  for (const std::string_view part : {"vit-", "deit", "swin", "resnet", "detr", "mvit"})
    if (has(name, part)) return {"preprocessor_config.json"};
  if (has(name, "gpt2")) return {"vocab.json", "merges.txt"};
  if (has(name, "xlm-roberta")) return {"tokenizer.json", "sentencepiece.bpe.model"};
  if (has(name, "roberta") || has(name, "longformer")) return {"vocab.json", "merges.txt"};
  if (has(name, "bert")) return {"vocab.txt"};
  if (has(name, "MiniLM") || has(name, "mpnet"))
    return {"tokenizer.json", "modules.json", "1_Pooling/config.json", "sentence_bert_config.json"};
  return {"tokenizer.json (text) or preprocessor_config.json (images)"};
}

}  // namespace

HubModel hub_model(const std::string& name) {
  HubModel model{name, {"config.json", "model.safetensors or pytorch_model.bin"}};
  if (name.find('/') == std::string::npos) {
    const auto known = std::ranges::find_if(kOwners, [&](const Known& one) { return name.starts_with(one.name); });
    if (known != kOwners.end()) model.repository = fmt::format("{}/{}", known->owner, name);
  }
  for (std::string& file : reads_of(name)) model.files.push_back(std::move(file));
  return model;
}

std::string how_to_fetch(const std::string& name) {
  const HubModel model = hub_model(name);
  if (model.repository.find('/') == std::string::npos)
    return fmt::format("a repository of the Hugging Face hub is found after: hf download {}", name);
  return fmt::format(
      "to fetch it from the Hugging Face hub: hf download {0} (pip install huggingface_hub), or git clone "
      "https://huggingface.co/{0}; or put these files of https://huggingface.co/{0}/tree/main into a folder and name "
      "that folder: {1}",
      model.repository, joined(model.files, ", "));
}

}  // namespace attend::tasks
