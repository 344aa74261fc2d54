// What config.json files of Hugging Face have in common: keys we do not use, null for the default, names of
// activations, and the labels of classifiers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/fields.h"
#include "attend/base/json.h"
#include "attend/tensor/activation.h"

namespace attend::models {

// read_fields() for a struct whose fields carry the file's keys. Other keys, and null values, are ignored.
template <class Settings>
void read_known_fields(Settings& settings, const Json& json, std::string_view what) {
  check(json.is_object(), "{}: expected a JSON object", what);
  Json known = Json::object();
  settings.visit([&](std::string_view name, auto&, std::string_view) {
    const auto found = json.find(std::string(name));
    if (found != json.end() && !found->is_null()) known[std::string(name)] = *found;
  });
  read_fields(settings, known, what);
}

// Maps "gelu_new" to Activation::gelu_tanh and so on. Throws Error with `what` and the name.
Activation hugging_face_activation(std::string_view name, std::string_view what);

// The class in "architectures" ("BertForMaskedLM"); empty when the file names none.
std::string architecture_of(const Json& config, std::string_view what);

// The values of id2label, in order; LABEL_0 and LABEL_1 where the file has none, as in transformers.
std::vector<std::string> labels_of(const Json& config, std::string_view what);
void write_labels(Json& config, const std::vector<std::string>& labels);

// Throws Error unless the flag is absent, null or as given. It refuses variants that are not implemented here.
void require_flag(const Json& config, const char* key, bool value, std::string_view what);

// Throws Error unless the key is absent, null, false or 0. It refuses parts that are not implemented here.
void require_unset(const Json& config, const char* key, std::string_view what);

// The config with sizes that may be lists, [16, 16], as one number. Throws Error for those that are not square.
Json square_sizes(const Json& config, std::initializer_list<const char*> keys, std::string_view what);

// Reads a list of whole numbers, one per stage. An absent or null key leaves the numbers unchanged. Throws Error for
// anything else.
void read_numbers(const Json& config, const char* key, std::vector<std::int64_t>& numbers, std::string_view what);

// -1 stands for a token that the model does not have; files say null.
inline constexpr std::int64_t kNoToken = -1;
void null_missing_tokens(Json& config);

}  // namespace attend::models
