#include "attend/tasks/sentence_modules.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/joined.h"
#include "attend/base/json.h"
#include "attend/base/limits.h"
#include "attend/base/paths.h"
#include "attend/base/unicode/unicode.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/tasks/encoder_model.h"

namespace attend::tasks {

namespace {

namespace fs = std::filesystem;

// In the order in which sentence-transformers puts several of them behind one another.
struct PoolingName {
  Pooling pooling;
  std::string_view name, flag;  // the flag is a key of 1_Pooling/config.json
};
constexpr PoolingName kPoolings[] = {{Pooling::cls, "cls", "pooling_mode_cls_token"},
                                     {Pooling::max, "max", "pooling_mode_max_tokens"},
                                     {Pooling::mean, "mean", "pooling_mode_mean_tokens"},
                                     {Pooling::mean_sqrt_len, "mean_sqrt_len", "pooling_mode_mean_sqrt_len_tokens"},
                                     {Pooling::weighted_mean, "weightedmean", "pooling_mode_weightedmean_tokens"},
                                     {Pooling::last_token, "lasttoken", "pooling_mode_lasttoken"}};
constexpr std::int64_t kMostModules = 64;

Json read_object(const fs::path& path) {
  Json json = read_json(path);
  attend::check(json.is_object(), "{}: not a JSON object", path.string());
  return json;
}

bool flag_of(const Json& json, std::string_view key, bool otherwise, const fs::path& path) {
  const auto found = json.find(std::string(key));
  if (found == json.end() || found->is_null()) return otherwise;
  attend::check(found->is_boolean(), "{}: '{}' must be true or false, not {}", path.string(), key, found->dump());
  return found->get<bool>();
}

std::int64_t size_of(const Json& json, const char* key, const fs::path& path) {
  const auto found = json.find(key);
  attend::check(found != json.end() && fields::fits<std::int64_t>(*found) && found->get<std::int64_t>() > 0 &&
                    found->get<std::int64_t>() <= limits::kWidestModel,
                "{}: '{}' must be 1 to {}, not {}", path.string(), key, limits::kWidestModel,
                found == json.end() ? "missing" : found->dump());
  return found->get<std::int64_t>();
}

std::string lower_case(std::string_view text) {
  std::string lower;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (c == kInvalidCharacter) return std::string(text);  // the reader says what is wrong with it
    if (c == 0x130)
      lower += "i\u0307";
    else
      append_utf8(lower, lower_character(c));
  }
  return lower;
}

// "sentence_transformers.models.Pooling" and "torch.nn.modules.activation.Tanh" by their last word.
std::string last_word(const Json& json, const char* key, const fs::path& path) {
  const auto found = json.find(key);
  attend::check(found != json.end() && found->is_string(), "{}: '{}' must be the name of a class", path.string(), key);
  const auto name = found->get<std::string>();
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0
}

}  // namespace

std::string_view name_of(Pooling pooling) { return std::ranges::find(kPoolings, pooling, &PoolingName::pooling)->name; }

Pooling pooling_named(std::string_view name, std::string_view what) {
  std::vector<std::string_view> names;
  for (const PoolingName& each : kPoolings) {
    if (each.name == name) return each.pooling;
    names.push_back(each.name);
  }
  fail("{}: the pooling '{}' is not known; there are {}", what, name, joined(names, ", "));
}

std::vector<float> pooled(std::span<const float> states, std::size_t width, Pooling pooling) {
  const std::size_t rows = states.size() / width;
  const std::size_t kept = pooling == Pooling::last_token ? rows - 1 : 0;  // the row that cls and lasttoken keep
  std::vector<float> vector(states.begin() + static_cast<std::ptrdiff_t>(kept * width),
                            states.begin() + static_cast<std::ptrdiff_t>((kept + 1) * width));
  if (pooling == Pooling::cls || pooling == Pooling::last_token) return vector;
  const auto count = static_cast<double>(rows);
  const double divisor = pooling == Pooling::weighted_mean   ? count * (count + 1) / 2
                         : pooling == Pooling::mean_sqrt_len ? std::sqrt(count)
                                                             : count;
  for (std::size_t column = 0; column < width; ++column) {
    double sum = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const float value = states[row * width + column];
      sum += pooling == Pooling::weighted_mean ? static_cast<double>(row + 1) * value : value;
      vector[column] = std::max(vector[column], value);
    }
    if (pooling != Pooling::max) vector[column] = static_cast<float>(sum / divisor);
  }
  return vector;
}

void normalize(std::span<float> vector) {
  double squares = 0;
  for (float value : vector) squares += static_cast<double>(value) * value;
  if (squares > 0)
    for (float& value : vector) value = static_cast<float>(value / std::sqrt(squares));
}

std::int64_t longest_sentence(const fs::path& folder) {
  const fs::path settings = folder / "sentence_bert_config.json";
  if (!path_exists(settings)) return 0;
  const Json json = read_object(settings);
  const auto longest = json.find("max_seq_length");
  return longest == json.end() || longest->is_null() ? 0 : size_of(json, "max_seq_length", settings);
}

SentenceModules::SentenceModules(const fs::path& folder, std::int64_t width) : states_(width) {
  if (path_exists(folder / "modules.json")) read_modules(folder);
  const fs::path settings = folder / "sentence_bert_config.json";
  if (found_ && path_exists(settings)) lower_case_ = flag_of(read_object(settings), "do_lower_case", false, settings);
  if (found_) longest_ = longest_sentence(folder);
  if (path_exists(folder / "config_sentence_transformers.json"))
    read_prompts(folder / "config_sentence_transformers.json");
}

void SentenceModules::read_modules(const fs::path& folder) {
  const fs::path list = folder / "modules.json";
  const Json modules = read_json(list);
  attend::check(modules.is_array() && !modules.empty() && modules.size() <= kMostModules,
                "{}: must be a list of 1 to {} modules", list.string(), kMostModules);
  found_ = true;
  bool pools = false;
  for (const Json& module : modules) {
    attend::check(module.is_object(), "{}: each module must be an object", list.string());
    const std::string type = last_word(module, "type", list);
    const auto named = module.find("path");
    const std::string name = named != module.end() && named->is_string() ? named->get<std::string>() : "";
    attend::check(name != ".." && name.find_first_of("/\\") == std::string::npos,
                  "{}: {} is not the name of a folder beside it", list.string(), shown(name));
    if (type == "Transformer") {
      attend::check(name.empty(), "{}: the encoder is in {}/ of it; only one beside modules.json is read",
                    list.string(), name);
    } else if (type == "Pooling") {
      attend::check(!pools && steps_.empty(), "{}: a Pooling must come once, behind the Transformer", list.string());
      pools = true;
      read_pooling(folder / name / "config.json");
    } else if (type == "Dense") {
      steps_.push_back({Step::Kind::dense, read_dense(folder / name, width())});
    } else if (type == "Normalize") {
      steps_.push_back({Step::Kind::normalize});
    } else {
      attend::check(type == "Dropout",
                    "{}: a module '{}' is not known; there are Transformer, Pooling, Dense, Normalize", list.string(),
                    type);  // Dropout does nothing outside of training
    }
  }
  attend::check(pools, "{}: has no Pooling, so that a text has no single vector", list.string());
}

void SentenceModules::read_pooling(const fs::path& file) {
  const Json json = read_object(file);
  pooling_.clear();
  const auto mode = json.find("pooling_mode");
  if (mode != json.end() && mode->is_string()) {
    pooling_.push_back(pooling_named(mode->get<std::string>(), file.string()));
  } else {
    for (const PoolingName& each : kPoolings)
      if (flag_of(json, each.flag, false, file)) pooling_.push_back(each.pooling);
  }
  attend::check(!pooling_.empty(), "{}: names no way of pooling", file.string());
  pools_prompt_ = flag_of(json, "include_prompt", true, file);
}

void SentenceModules::read_prompts(const fs::path& file) {
  const Json json = read_object(file);
  const auto all = json.find("prompts");
  if (all == json.end() || all->is_null()) return;
  attend::check(all->is_object(), "{}: 'prompts' must name the prompts", file.string());
  for (const auto& [name, text] : all->items()) {
    attend::check(text.is_string(), "{}: the prompt '{}' must be a text", file.string(), name);
    prompts_[name] = text.get<std::string>();
  }
  const auto chosen = json.find("default_prompt_name");
  if (chosen == json.end() || chosen->is_null()) return;
  attend::check(chosen->is_string() && prompts_.contains(chosen->get<std::string>()),
                "{}: 'default_prompt_name' is {}, which is none of the prompts", file.string(), chosen->dump());
  default_prompt_ = prompts_[chosen->get<std::string>()];
}

SentenceModules::Dense SentenceModules::read_dense(const fs::path& folder, std::int64_t width) {
  const fs::path file = folder / "config.json";
  const Json json = read_object(file);
  Dense dense;
  dense.inputs = size_of(json, "in_features", file), dense.outputs = size_of(json, "out_features", file);
  attend::check(dense.inputs == width, "{}: 'in_features' is {}, but there are {}", file.string(), dense.inputs, width);
  const std::string activation =
      json.contains("activation_function") ? last_word(json, "activation_function", file) : "Tanh";
  using Activation = Dense::Activation;
  if (activation == "Tanh")
    dense.activation = Activation::tanh;
  else if (activation == "Identity")
    dense.activation = Activation::identity;
  else if (activation == "ReLU")
    dense.activation = Activation::relu;
  else if (activation == "GELU")
    dense.activation = Activation::gelu;
  else if (activation == "Sigmoid")
    dense.activation = Activation::sigmoid;
  else
    fail("{}: the activation '{}' is not known; there are Identity, Tanh, ReLU, GELU and Sigmoid", file.string(),
         activation);
  const checkpoint::TensorFiles files = checkpoint::TensorFiles::open(folder);
  const auto read = [&](const std::string& name, const Shape& shape) {
    const checkpoint::TensorFile* holding = files.holding(name);
    attend::check(holding && (*holding)[name].shape == shape, "{}: must hold '{}' of {}", files.source(), name, shape);
    return holding->floats(name);
  };
  dense.weight = read("linear.weight", {dense.outputs, dense.inputs});
  if (flag_of(json, "bias", true, file)) dense.bias = read("linear.bias", {dense.outputs});
  return dense;
}

void SentenceModules::apply(const Dense& dense, std::vector<float>& vector) {
  std::vector<float> result(static_cast<std::size_t>(dense.outputs));
  for (std::size_t out = 0; out < result.size(); ++out) {
    double sum = dense.bias.empty() ? 0 : dense.bias[out];
    const float* row = dense.weight.data() + out * vector.size();
    for (std::size_t in = 0; in < vector.size(); ++in) sum += static_cast<double>(row[in]) * vector[in];
    switch (dense.activation) {
      case Dense::Activation::identity:
        break;
      case Dense::Activation::tanh:
        sum = std::tanh(sum);
        break;
      case Dense::Activation::relu:
        sum = std::max(sum, 0.0);
        break;
      case Dense::Activation::gelu:
        sum *= 0.5 * std::erfc(-sum / std::sqrt(2.0));
        break;
      case Dense::Activation::sigmoid:
        sum = 1 / (1 + std::exp(-sum));
        break;
    }
    result[out] = static_cast<float>(sum);
  }
  vector = std::move(result);
}

std::string_view SentenceModules::name_of(Dense::Activation activation) {
  constexpr std::array<std::string_view, 5> kNames = {"identity", "tanh", "relu", "gelu", "sigmoid"};
  return kNames[static_cast<std::size_t>(activation)];
}

std::int64_t SentenceModules::width() const {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step)
    if (step->kind == Step::Kind::dense) return step->dense.outputs;
  return states_ * static_cast<std::int64_t>(pooling_.size());
}

bool SentenceModules::normalizes() const { return !steps_.empty() && steps_.back().kind == Step::Kind::normalize; }

std::string SentenceModules::description() const {
  std::vector<std::string_view> names;
  for (const Pooling pooling : pooling_) names.push_back(tasks::name_of(pooling));
  std::string text = joined(names, " and ") + " pooling";
  for (const Step& step : steps_)
    text += step.kind == Step::Kind::normalize ? ", normalized"
                                               : fmt::format(", dense {} to {} ({})", step.dense.inputs,
                                                             step.dense.outputs, name_of(step.dense.activation));
  return text;
}

std::string SentenceModules::prompt(const std::optional<std::string>& name) const {
  if (!name) return default_prompt_;
  const auto found = prompts_.find(*name);
  if (found != prompts_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, text] : prompts_) names.push_back(known);
  fail("embed: the model has no prompt '{}'; {}", *name,
       names.empty() ? "it has none" : "it has " + joined(names, ", "));
}

std::string SentenceModules::prepared(std::string_view text, std::string_view prompt) const {
  const std::string whole = std::string(prompt) + std::string(text);
  return lower_case_ ? lower_case(whole) : whole;
}

// With what the tokenizer puts in front of the prompt, and without what it puts behind it.
std::size_t SentenceModules::skipped_tokens(const EncoderReader& reader, const std::string& prompt) const {
  return prompt.empty() || pools_prompt_ ? 0 : reader.read_all(prepared("", prompt)).first.end;
}

void SentenceModules::check(const SentenceOverrides& overrides) const {
  const auto first = std::ranges::find(steps_, Step::Kind::dense, &Step::kind);
  if (!overrides.pooling || first == steps_.end()) return;
  attend::check(first->dense.inputs == states_, "embed: the model's Dense layer reads {} numbers; {} pooling gives {}",
                first->dense.inputs, tasks::name_of(*overrides.pooling), states_);
}

std::vector<float> SentenceModules::operator()(std::span<const float> states, const SentenceOverrides& overrides,
                                               std::size_t skipped) const {
  const auto columns = static_cast<std::size_t>(states_);
  const std::size_t rows = states.size() / columns;
  states = states.subspan(std::min(skipped, rows - 1) * columns);
  std::vector<float> vector;
  if (overrides.pooling) {
    vector = pooled(states, columns, *overrides.pooling);
  } else {
    for (const Pooling pooling : pooling_) {
      const std::vector<float> part = pooled(states, columns, pooling);
      vector.insert(vector.end(), part.begin(), part.end());
    }
  }
  for (const Step& step : steps_)
    if (step.kind == Step::Kind::dense)
      apply(step.dense, vector);
    else if (overrides.normalize.value_or(true))
      normalize(vector);
  if (overrides.normalize.value_or(false)) normalize(vector);
  return vector;
}

}  // namespace attend::tasks
