// Reading and writing what config.json files of Hugging Face have in common.
#include "attend/models/hugging_face_config.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/limits.h"

namespace attend::models {

Activation hugging_face_activation(std::string_view name, std::string_view what) {
  if (name == "gelu") return Activation::gelu;
  // "gelu_new" and "gelu_pytorch_tanh" are the same approximation by tanh.
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  if (name == "relu") return Activation::relu;
  if (name == "silu" || name == "swish") return Activation::silu;
  if (name == "tanh") return Activation::tanh;
  fail("{}: unknown activation '{}'; there are gelu, gelu_new, relu, silu and tanh", what, name);
}

std::string architecture_of(const Json& config, std::string_view what) {
  const auto found = config.find("architectures");
  if (found == config.end() || found->is_null() || (found->is_array() && found->empty())) return "";
  check(found->is_array() && found->front().is_string(), "{}: 'architectures' must be a list of names, not {}", what,
        found->dump());
  return found->front().get<std::string>();
}

std::vector<std::string> labels_of(const Json& config, std::string_view what) {
  const auto found = config.find("id2label");
  if (found == config.end() || found->is_null()) return {"LABEL_0", "LABEL_1"};
  check(found->is_object() && !found->empty(), "{}: 'id2label' must name the labels by number", what);
  check(found->size() <= limits::kMostLabels,
        "{}: 'id2label' has {} labels; the most is {} (kMostLabels in attend/base/limits.h)", what, found->size(),
        limits::kMostLabels);
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < found->size(); ++i) {
    const auto label = found->find(std::to_string(i));
    check(label != found->end() && label->is_string(), "{}: 'id2label' has {} labels, but none numbered {}", what,
          found->size(), i);
    labels.push_back(label->get<std::string>());
  }
  return labels;
}

void write_labels(Json& config, const std::vector<std::string>& labels) {
  Json names = Json::object(), numbers = Json::object();
  for (std::size_t i = 0; i < labels.size(); ++i) names[std::to_string(i)] = labels[i], numbers[labels[i]] = i;
  config["id2label"] = std::move(names), config["label2id"] = std::move(numbers);
}

void require_flag(const Json& config, const char* key, bool value, std::string_view what) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return;
  check(found->is_boolean() && found->get<bool>() == value, "{}: '{}' is {}; only {} is known", what, key,
        found->dump(), value);
}

void require_unset(const Json& config, const char* key, std::string_view what) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null() || *found == Json(false) || *found == Json(0)) return;
  fail("{}: '{}' is {}; a model of type {} has no such part here", what, key, found->dump(),
       config.value("model_type", "?"));
}

Json square_sizes(const Json& config, std::initializer_list<const char*> keys, std::string_view what) {
  Json square = config;
  for (const char* key : keys) {
    const auto found = config.find(key);
    if (found == config.end() || !found->is_array()) continue;
    check(found->size() == 2 && (*found)[0] == (*found)[1], "{}: '{}' is {}; only squares are known", what, key,
          found->dump());
    square[key] = (*found)[0];
  }
  return square;
}

void read_numbers(const Json& config, const char* key, std::vector<std::int64_t>& numbers, std::string_view what) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return;
  check(found->is_array() && std::ranges::all_of(*found, fields::fits<std::int64_t>),
        "{}: '{}' must be a list of whole numbers, not {}", what, key, found->dump());
  numbers = found->get<std::vector<std::int64_t>>();
}

void null_missing_tokens(Json& config) {
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"})
    if (config.contains(key) && config[key] == kNoToken) config[key] = nullptr;
}

}  // namespace attend::models
