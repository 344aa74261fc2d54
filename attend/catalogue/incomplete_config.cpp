#include "attend/catalogue/incomplete_config.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/paths.h"
#include "attend/catalogue/catalogue.h"
#include "attend/checkpoint/hugging_face.h"

namespace attend::catalogue {

namespace {

struct NameHint {
  std::string_view found, meaning;  // part of a tensor's name, and what that means
};

// The first that some tensor's name has in it. "classifier" alone is decided below.
constexpr NameHint kHeadHints[] = {{"qa_outputs.", "ForQuestionAnswering"},
                                   {"lm_head.", "ForMaskedLM"},
                                   {"cls.predictions.", "ForMaskedLM"},
                                   {"vocab_transform.", "ForMaskedLM"},
                                   {"classifier.out_proj.", "ForSequenceClassification"},
                                   {"pre_classifier.", "ForSequenceClassification"},
                                   {"class_labels_classifier.", "ForObjectDetection"},
                                   {"distillation_classifier.", "ForImageClassificationWithTeacher"}};

// None where there are no weights: then somebody else says so.
std::vector<std::string> names_in(const std::filesystem::path& folder) {
  try {
    return checkpoint::TensorFiles::open(folder).names();
  } catch (const Error&) {
    return {};
  }
}

bool missing(const Json& config, const char* key) {
  const auto found = config.find(key);
  return found == config.end() || found->is_null() || (found->is_array() && found->empty());
}

bool begins(std::string_view name, std::string_view words) {
  return name.size() > words.size() && name.starts_with(words) && name[words.size()] == '.';
}

// The first of the table that some tensor's name tells; null: none.
const Entry* entry_by_names(const std::vector<std::string>& names) {
  for (const Entry& entry : entries())
    for (const std::string_view words : entry.known_by)
      if (!words.empty() && std::ranges::any_of(names, [&](const auto& name) { return begins(name, words); }))
        return &entry;
  return nullptr;
}

std::string head_of(const Entry& entry, const std::vector<std::string>& names) {
  const auto any_has = [&](std::string_view part) {
    return std::ranges::any_of(names, [&](const std::string& name) { return name.find(part) != name.npos; });
  };
  if (entry.body == Task::generate)
    return std::ranges::count(names, "score.weight") ? "GPT2ForSequenceClassification" : "GPT2LMHeadModel";
  for (const NameHint& hint : kHeadHints)
    if (any_has(hint.found)) return std::string(hint.meaning);
  if (std::ranges::none_of(names, [](const std::string& name) { return begins(name, "classifier"); })) return "Model";
  if (entry.body == Task::embed_images) return "ForImageClassification";
  // A label for the text is read from the pooler, one for each token is not.
  return any_has("pooler.dense.") ? "ForSequenceClassification" : "ForTokenClassification";
}

}  // namespace

Json completed_config(Json config, const std::filesystem::path& folder) {
  if (!config.is_object() || (!missing(config, "model_type") && !missing(config, "architectures"))) return config;
  if (config.contains("architecture")) return config;  // timm's
  const bool typed = !missing(config, "model_type") && config["model_type"].is_string();
  const Entry* entry = find(config);
  if (typed && (!entry || entry->known_by[0].empty())) return config;  // a type without heads, or one that is not known
  const std::vector<std::string> names = names_in(folder);
  if (names.empty()) return config;
  if (missing(config, "model_type")) {
    entry = entry_by_names(names);
    if (!entry) return config;
    const bool pieces = entry->type == "roberta" && path_exists(folder / "sentencepiece.bpe.model");
    config["model_type"] = pieces ? "xlm-roberta" : std::string(entry->type);  // their tensors have the same names
  }
  if (!config["model_type"].is_string() || !missing(config, "architectures")) return config;
  const std::string type = config["model_type"].get<std::string>();
  std::string head = head_of(*entry, names);
  if (head.starts_with("For") || head == "Model") {
    std::string name = type;  // "longformer" -> "LongformerForMaskedLM"
    name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
    head = name + head;
  }
  config["architectures"] = Json::array({head});
  return config;
}

}  // namespace attend::catalogue
