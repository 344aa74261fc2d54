#include "attend/catalogue/incomplete_config.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/paths.h"
#include "attend/checkpoint/hugging_face.h"

namespace attend::catalogue {

namespace {

struct NameHint {
  std::string_view found, meaning;  // part of a tensor's name, and what that means
};

// The first that some tensor's name begins with.
constexpr NameHint kTypeHints[] = {{"bert.", "bert"},
                                   {"roberta.", "roberta"},
                                   {"roberta.", "xlm-roberta"},  // told from it by its tokenizer
                                   {"mpnet.", "mpnet"},
                                   {"distilbert.", "distilbert"},
                                   {"longformer.", "longformer"},
                                   {"transformer.h.", "gpt2"},
                                   {"h.0.attn.c_attn.", "gpt2"},
                                   {"vit.", "vit"},
                                   {"deit.", "deit"},
                                   {"swin.", "swin"},
                                   {"resnet.", "resnet"},
                                   {"model.backbone.", "detr"}};

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

template <class Match>
std::string_view first_hint(std::span<const NameHint> hints, const std::vector<std::string>& names, Match match) {
  for (const NameHint& hint : hints)
    if (std::ranges::any_of(names, [&](const std::string& name) { return match(name, hint.found); }))
      return hint.meaning;
  return {};
}

std::string head_of(std::string_view type, const std::vector<std::string>& names) {
  const auto has = [](std::string_view name, std::string_view part) { return name.find(part) != name.npos; };
  const bool images = type == "vit" || type == "deit" || type == "swin" || type == "resnet";
  if (type == "gpt2")
    return std::ranges::count(names, "score.weight") ? "GPT2ForSequenceClassification" : "GPT2LMHeadModel";
  if (const std::string_view head = first_hint(kHeadHints, names, has); !head.empty()) return std::string(head);
  const bool classifies =
      std::ranges::any_of(names, [](std::string_view name) { return name.starts_with("classifier."); });
  if (!classifies) return "Model";
  if (images) return "ForImageClassification";
  // A label for the text is read from the pooler, one for each token is not.
  const bool pools = std::ranges::any_of(names, [&](std::string_view name) { return has(name, "pooler.dense."); });
  return pools ? "ForSequenceClassification" : "ForTokenClassification";
}

}  // namespace

Json completed_config(Json config, const std::filesystem::path& folder) {
  if (!config.is_object() || (!missing(config, "model_type") && !missing(config, "architectures"))) return config;
  if (config.contains("architecture")) return config;  // timm's
  const bool typed = !missing(config, "model_type") && config["model_type"].is_string();
  if (typed && std::ranges::find(kTypeHints, std::string_view(config["model_type"].text()), &NameHint::meaning) ==
                   std::end(kTypeHints))
    return config;  // a type without heads, or one that is not known
  const std::vector<std::string> names = names_in(folder);
  if (names.empty()) return config;
  if (missing(config, "model_type")) {
    std::string_view type = first_hint(
        kTypeHints, names, [](std::string_view name, std::string_view begin) { return name.starts_with(begin); });
    if (type.empty()) return config;
    if (type == "roberta" && path_exists(folder / "sentencepiece.bpe.model")) type = "xlm-roberta";
    config["model_type"] = std::string(type);
  }
  if (!config["model_type"].is_string() || !missing(config, "architectures")) return config;
  const std::string type = config["model_type"].get<std::string>();
  std::string head = head_of(type, names);
  if (head.starts_with("For") || head == "Model") {
    std::string name = type;  // "longformer" -> "LongformerForMaskedLM"
    name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
    head = name + head;
  }
  config["architectures"] = Json::array({head});
  return config;
}

}  // namespace attend::catalogue
