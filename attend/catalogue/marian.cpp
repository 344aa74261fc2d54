#include "attend/catalogue/marian.h"

#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/limits.h"
#include "attend/models/config_checks.h"
#include "attend/tensor/backend.h"

namespace attend::catalogue {

namespace {

template <class T>
T value_of(const Json& config, const char* key, std::string_view what) {
  const auto found = config.find(key);
  check(found != config.end(), "{}: '{}' is missing", what, key);
  try {
    return found->get<T>();
  } catch (const Error&) {
    fail("{}: '{}' has the wrong type: {}", what, key, found->dump());
  }
}

bool flag_of(const Json& config, const char* key, bool otherwise, std::string_view what) {
  return config.contains(key) ? value_of<bool>(config, key, what) : otherwise;
}

constexpr const char* kTable = "model.shared.weight";

// Our name of a part of a layer -> Marian's.
std::string part_name(bool decoder, std::string_view part) {
  if (part == "linear1") return "fc1";
  if (part == "linear2") return "fc2";
  if (part == "norm1") return "self_attn_layer_norm";
  if (part == "norm2" && decoder) return "encoder_attn_layer_norm";
  if (part == "norm2" || part == "norm3") return "final_layer_norm";
  if (part == "multihead_attn") return "encoder_attn";
  return std::string(part);  // self_attn
}

}  // namespace

std::vector<std::string> marian_names(const nn::Parameters::Entry& entry) {
  const std::string& name = entry.name;
  if (name == "embedding.weight") return {kTable};
  if (name == "output_bias") return {"final_logits_bias"};
  // encoder.layers.0.self_attn.in_proj_weight: stack, "layers", index, part, rest
  std::vector<std::string> words(1);
  for (char c : name)
    if (c == '.' && words.size() < 5)
      words.emplace_back();
    else
      words.back() += c;
  check(words.size() == 5, "marian: no place for '{}'", name);
  const std::string layer =
      "model." + words[0] + ".layers." + words[2] + "." + part_name(words[0] == "decoder", words[3]) + ".";
  const std::string& rest = words[4];
  if (!rest.starts_with("in_proj_")) return {layer + rest};
  const std::int64_t width = entry.parameter->shape.rank() > 1 ? entry.parameter->shape[1]
                             : entry.rows_in_file > 0          ? entry.rows_in_file / 3
                                                               : entry.parameter->shape[0] / 3;
  std::vector<std::string> names;
  const std::int64_t first = entry.first_row / width, count = entry.parameter->shape[0] / width;
  for (std::int64_t i = first; i < first + count; ++i)
    names.push_back(layer + std::string(1, "qkv"[i]) + "_proj." + rest.substr(8));
  return names;
}

models::TransformerConfig marian_config(const Json& config, std::string_view what) {
  const auto number = [&](const char* key) { return value_of<std::int64_t>(config, key, what); };
  const auto activation = value_of<std::string>(config, "activation_function", what);
  check(flag_of(config, "share_encoder_decoder_embeddings", true, what) &&
            !flag_of(config, "normalize_embedding", false, what) && !flag_of(config, "normalize_before", false, what),
        "{}: only Marian models with shared embeddings and norms after the sublayers are known", what);
  models::TransformerConfig result{.vocabulary = number("vocab_size"),
                                   .width = number("d_model"),
                                   .heads = number("encoder_attention_heads"),
                                   .hidden = number("encoder_ffn_dim"),
                                   .encoder_layers = number("encoder_layers"),
                                   .decoder_layers = number("decoder_layers"),
                                   .max_length = number("max_position_embeddings"),
                                   .dropout = value_of<float>(config, "dropout", what),
                                   .positions = "sinusoidal-halves",
                                   .activation = activation == "swish" ? "silu" : activation,
                                   .scaled_embeddings = flag_of(config, "scale_embedding", false, what),
                                   .output_bias = true,
                                   .decoder_heads = number("decoder_attention_heads"),
                                   .decoder_hidden = number("decoder_ffn_dim"),
                                   .start_token = "<pad>"};
  models::check_within(what, "vocab_size", result.vocabulary, 1, limits::kLargestVocabulary);
  check_config(result, what);
  models::check_within(what, "encoder_layers", result.encoder_layers, 1, limits::kMostLayers);
  return result;
}

namespace {

// The one table has four names, and a file may have kept any of them.
std::string stored_name(const checkpoint::TensorFile& file, const std::string& name) {
  if (name != kTable || file.find(name)) return name;
  for (const char* other : {"lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"})
    if (file.find(other)) return other;
  return name;
}

}  // namespace

void load_marian_weights(const checkpoint::TensorFile& file, nn::Parameters& parameters) {
  for (const nn::Parameters::Entry& entry : parameters.entries()) {
    std::vector<float> values;
    for (const std::string& name : marian_names(entry)) {
      const std::vector<float> part = file.floats(stored_name(file, name));
      values.insert(values.end(), part.begin(), part.end());
    }
    check(static_cast<std::int64_t>(values.size()) == entry.parameter->shape.size(),
          "{}: {} numbers for '{}', but the model wants {}", file.source(), values.size(), entry.name,
          entry.parameter->shape);
    parameters.write(entry, values);
  }
}

std::int32_t marian_start(const Json& config, const text::Tokenizer& tokenizer, std::string_view what) {
  const auto agree = [&](const char* key, const char* token) {
    const auto id = value_of<std::int64_t>(config, key, what);
    const auto known = tokenizer.token_to_id(token);
    check(known && *known == id, "{}: {} is {}, but the tokenizer's {} is {}", what, key, id, token,
          known ? std::to_string(*known) : "missing");
    return *known;
  };
  agree("eos_token_id", "</s>");
  return agree("decoder_start_token_id", "<pad>");
}

}  // namespace attend::catalogue
