#include "attend/verify/case.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <system_error>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/paths.h"
#include "attend/catalogue/incomplete_config.h"
#include "attend/checkpoint/file_order.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/layout.h"
#include "attend/ops/softmax.h"
#include "attend/verify/expected_name.h"
#include "attend/verify/module_names.h"

namespace attend::verify {

namespace {

Json read_object(const std::filesystem::path& path) {
  Json json = read_json(path);
  check(json.is_object(), "{}: not a JSON object", path.string());
  return json;
}
Json read_if_there(const std::filesystem::path& path) { return path_exists(path) ? read_object(path) : Json::object(); }

// Models whose library writes no config.json, by what "kind" in case.json begins with. Their "config" there has neither
// a type nor an architecture.
struct UntypedKind {
  std::string_view begins, type, architecture;
};
constexpr UntypedKind kUntyped[] = {{"timm MultiScaleVit", "mvit", "MViTForImageClassification"}};

// config.json, or the "config" of case.json.
Json config_of(const std::filesystem::path& folder) {
  if (path_exists(folder / "config.json"))
    return catalogue::completed_config(read_object(folder / "config.json"), folder);
  const std::filesystem::path notes_file = folder / "case.json";
  check(path_exists(notes_file),
        "verify: {} is not a model's folder: it has neither config.json nor a case.json with a config",
        folder.string());
  const Json notes = read_object(notes_file);
  check(notes["config"].is_object(), "verify: {} has no 'config', and there is no config.json beside it",
        notes_file.string());
  Json config = notes["config"];
  const std::string kind = notes["kind"].is_string() ? notes["kind"].text() : "";
  if (config.contains("model_type")) {
    if (!config.contains("architectures") && !kind.empty()) config["architectures"] = Json::array({kind});
    return config;
  }
  for (const UntypedKind& known : kUntyped)
    if (kind.starts_with(known.begins)) {
      config["model_type"] = known.type, config["architectures"] = Json::array({known.architecture});
      return config;
    }
  fail("verify: the config of {} has no 'model_type', and its kind is {}; without a type is known '{}'",
       notes_file.string(), kind.empty() ? "not named" : shown(kind), kUntyped[0].begins);
}

checkpoint::Safetensors open_expected(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "expected.safetensors";
  check(path_exists(file), "verify: {} holds no expected.safetensors, the inputs and outputs to compare with",
        folder.string());
  return checkpoint::Safetensors::open(file.string());
}

constexpr std::array<std::string_view, 12> kInputs = {
    "pixel_values",          "pixel_mask",     "input_ids", "attention_mask",
    "global_attention_mask", "token_type_ids", "labels",    "start_positions",
    "next_sentence_label",   "end_positions",  "prompt",    "decoder_input_ids"};

// "input_ids.1" -> "input_ids" and 1; no number: none.
std::pair<std::string_view, std::optional<std::size_t>> split_number(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  std::size_t number = 0;
  if (dot == std::string_view::npos) return {name, std::nullopt};
  const auto [end, error] = std::from_chars(name.data() + dot + 1, name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return {name, std::nullopt};
  return {name.substr(0, dot), number};
}

// "class" of case.json is what computed the outputs; config.json may name another head of the same weights.
Json with_class(Json config, const Json& notes) {
  const auto named = notes.find("class");
  if (named == notes.end() || !named->is_string()) return config;
  const std::string name = named->get<std::string>();
  if (!name.empty() && name.find(' ') == std::string::npos) config["architectures"] = Json::array({name});
  return config;
}

constexpr std::int64_t kMostBeams = 128;  // every text is kept so often

// "greedy" -> one beam; "beam4" and "beam4_lp06" -> four. False for names of other things.
bool parse_search(const std::string& name, decode::BeamOptions& options) {
  if (name == "greedy") {
    options.beams = 1;
    return true;
  }
  if (!name.starts_with("beam")) return false;
  std::size_t at = 4;
  const auto number = [&] {
    std::string digits;
    while (at < name.size() && name[at] >= '0' && name[at] <= '9' && digits.size() < 4) digits += name[at++];
    return digits;
  };
  const std::string beams = number();
  if (beams.empty()) return false;
  options.beams = std::stoll(beams);
  if (options.beams < 1 || options.beams > kMostBeams) return false;
  if (at == name.size()) return true;
  if (name.compare(at, 3, "_lp") != 0) return false;
  at += 3;
  std::string penalty = number();
  if (penalty.empty() || at != name.size()) return false;
  if (penalty.size() > 1) penalty.insert(1, ".");  // 06: 0.6
  options.alpha = std::stof(penalty);
  return true;
}

// A kernel answers an id that is no row with NaN, and the code here indexes by them: neither names the file.
void check_ids(const VerifyCase& verified, const std::string& name, const Tensor& tensor, std::int64_t rows,
               std::optional<std::int32_t> besides) {
  const std::vector<std::int32_t> values = download_ints(tensor);
  for (std::size_t i = 0; i < values.size(); ++i)
    check((values[i] >= 0 && values[i] < rows) || values[i] == besides,
          "{}: '{}' holds {} at {}; it must be 0 to {}, as the model has it", verified.expected.source(), name,
          values[i], i, rows - 1);
}

}  // namespace

VerifyCase::VerifyCase(std::filesystem::path path, Backend& device, const nn::ModelFormat& format)
    : folder(std::move(path)),
      backend(device),
      dtype(format.dtype),
      parameters{.dtype = format.dtype,
                 .trained = format.weights == nn::WeightForm::plain,
                 .initialized = false,
                 .weights = format.weights},
      generation(read_if_there(folder / "generation_config.json")),
      notes(read_if_there(folder / "case.json")),
      expected(open_expected(folder)) {
  config = with_class(config_of(folder), notes);
  checkpoint::TensorFiles::open(folder).bound(parameters);
  select({});
}

std::vector<std::optional<std::size_t>> VerifyCase::runs() const {
  std::set<std::size_t> texts;
  bool together = false;
  for (const checkpoint::StoredTensor& tensor : expected.tensors()) {
    const auto [name, number] = split_number(tensor.name);
    if (name == "input_ids" && number) texts.insert(*number);
    together = together || tensor.name == "input_ids" || tensor.name == "pixel_values";
  }
  std::vector<std::optional<std::size_t>> runs;
  if (together || texts.empty()) runs.emplace_back(std::nullopt);
  runs.insert(runs.end(), texts.begin(), texts.end());
  return runs;
}

void VerifyCase::select(std::optional<std::size_t> text) {
  text_ = text;
  named_.clear();
  for (const checkpoint::StoredTensor& tensor : expected.tensors()) {
    const ExpectedName name = parse_expected_name(tensor.name, expected.source());
    const auto [base, number] = split_number(name.tensor);
    if (!text) named_.emplace(name.tensor, &tensor);
    if (text && number == text) named_.emplace(base, &tensor);
  }
}

const checkpoint::StoredTensor& VerifyCase::stored(const std::string& name) const {
  const auto found = named_.find(name);
  return found != named_.end() ? *found->second : expected[text_ ? name + "." + std::to_string(*text_) : name];
}

bool VerifyCase::first_is_global() const {
  const auto told = notes.find("expected");
  if (!text_ || told == notes.end() || !told->is_object()) return false;
  const auto words = told->find("global_attention");
  return words != told->end() && words->is_string() &&
         words->get<std::string>().find(fmt::format("text {}: the first token", *text_)) != std::string::npos;
}

bool VerifyCase::is_input(std::string_view name) const {
  return std::ranges::find(kInputs, split_number(name).first) != kInputs.end();
}

void VerifyCase::keep(const std::string& name, const ProducedTensor& value) {
  if (!wants(name)) return;
  const std::string& full = named_.find(name)->second->name;
  const ExpectedName parsed = parse_expected_name(full, expected.source());
  if (parsed.ranges.empty()) {
    produced[full] = value;
    return;
  }
  ProducedTensor part{sliced(value.shape, parsed), {}, {}};
  for (const std::size_t index : slice_indices(value.shape, parsed)) {
    if (!value.floats.empty()) part.floats.push_back(value.floats[index]);
    if (!value.ints.empty()) part.ints.push_back(value.ints[index]);
  }
  produced[full] = std::move(part);
}

std::string VerifyCase::config_name() const {
  const std::filesystem::path file = folder / "config.json";
  return (path_exists(file) ? file : folder / "case.json").string();
}

bool VerifyCase::left_out(std::string_view name) const {
  return !parameters.trained && (name == "loss" || name == "losses" || name.starts_with("loss_dict.") ||
                                 name.starts_with("final_") || name.starts_with("grad."));
}

bool VerifyCase::wants_gradients() const {
  return parameters.trained && std::ranges::any_of(expected.tensors(), [](const checkpoint::StoredTensor& tensor) {
           return tensor.name.starts_with("grad.");
         });
}

bool VerifyCase::wants_losses() const {
  return wants_gradients() || (parameters.trained && std::ranges::any_of(expected.tensors(), [](const auto& tensor) {
                                 return tensor.name == "loss" || tensor.name.starts_with("loss_dict.");
                               }));
}

Tensor VerifyCase::input(const std::string& name) const {
  const checkpoint::StoredTensor& tensor = stored(name);
  Tensor copy = make_tensor(backend, tensor.shape, is_float(tensor.type) ? DType::f32 : DType::i32);
  expected.load(tensor.name, copy);
  return copy;
}

Tensor VerifyCase::images() const {
  const Tensor pixels = input("pixel_values");
  check(pixels.rank() == 4 && pixels.dtype() == DType::f32, "{}: pixel_values are {} {}, not floats [B, C, H, W]",
        expected.source(), pixels.dtype(), pixels.shape());
  const Tensor last = ops::permute(pixels, {0, 2, 3, 1});
  return dtype == DType::f32 ? last : ops::cast(last, dtype);
}

Tensor VerifyCase::ints(const Shape& shape, std::span<const std::int32_t> values) const {
  Tensor tensor = make_tensor(backend, shape, DType::i32);
  upload(tensor, values);
  return tensor;
}

Tensor VerifyCase::ids(const std::string& name, std::int64_t rows) const {
  const Tensor tensor = input(name);
  check(tensor.dtype() == DType::i32, "{}: '{}' holds floats, not ids", expected.source(), name);
  check_ids(*this, name, tensor, rows, {});
  return tensor;
}

Tensor VerifyCase::labels(const std::string& name, std::int64_t classes) const {
  const Tensor tensor = input(name);
  check(tensor.dtype() == DType::i32, "{}: '{}' holds floats, not ids", expected.source(), name);
  check_ids(*this, name, tensor, classes, ops::CrossEntropyOptions{}.ignore);
  return tensor;
}

nn::Sequences VerifyCase::texts(std::int64_t vocabulary) const {
  nn::Sequences texts{ids("input_ids", vocabulary)};
  check(texts.ids.rank() == 2, "{}: input_ids are {}, not [texts, tokens]", expected.source(), texts.ids.shape());
  if (!wants("attention_mask")) return texts;
  check(stored("attention_mask").shape == texts.ids.shape(), "{}: attention_mask is {}, but input_ids are {}",
        expected.source(), stored("attention_mask").shape, texts.ids.shape());
  const std::vector<std::int64_t> mask = stored_ints("attention_mask");
  const auto length = static_cast<std::size_t>(texts.ids.dim(1));
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(texts.ids.dim(0)));
  for (std::size_t i = 0; i < mask.size(); ++i) {
    std::int32_t& seen = lengths[i / length];
    check(mask[i] == 0 || static_cast<std::size_t>(seen) == i % length,
          "{}: row {} of attention_mask has a gap; only padding at the end is known", expected.source(), i / length);
    seen += mask[i] != 0;
  }
  texts.lengths = ints({texts.ids.dim(0)}, lengths);
  return texts;
}

void VerifyCase::put(const std::string& name, const Tensor& value) {
  if (wants(name)) keep(name, {value.shape(), download(value)});
}

void VerifyCase::put_ints(const std::string& name, const Shape& shape, std::vector<std::int64_t> values) {
  if (wants(name)) keep(name, {shape, {}, std::move(values)});
}

void VerifyCase::put_hidden(const std::vector<Tensor>& hidden) {
  for (std::size_t i = 0; i < hidden.size(); ++i) put("hidden." + std::to_string(i), hidden[i]);
}

void VerifyCase::put_attention(const view::Collector& collector, const std::string& label, const std::string& name) {
  const auto found = collector.all().find(label);
  if (wants(name) && found != collector.all().end()) keep(name, {found->second.shape, found->second.values});
}

void VerifyCase::put_gradients(const nn::Parameters& parameters) {
  for (const nn::Parameters::Entry& entry : parameters.entries()) {
    if (!entry.learned()) continue;
    const bool convolution = nn::is_convolution(entry.parameter->role);
    const Tensor gradient = gradient_of(entry.parameter->value);
    const std::vector<float> whole = download(convolution ? checkpoint::channels_first(gradient) : gradient);
    for (const checkpoint::FilePart& part : checkpoint::file_parts(entry)) {
      std::string name = "grad." + part.name;
      if (!wants(name)) name = "grad." + module_name(part.name);
      const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(part.begin);
      if (wants(name)) keep(name, {part.shape, {begin, begin + static_cast<std::ptrdiff_t>(part.shape.size())}});
    }
  }
}

const Json* VerifyCase::found_setting(const char* key) const {
  for (const Json* json : {&generation, &config}) {
    const auto found = json->find(key);
    if (found != json->end() && !found->is_null()) return found;
  }
  return nullptr;
}

std::optional<std::int64_t> VerifyCase::setting(const char* key) const {
  const Json* found = found_setting(key);
  return found && found->is_number_integer() ? std::optional(found->get<std::int64_t>()) : std::nullopt;
}

std::optional<std::int32_t> VerifyCase::token(const char* key, std::int64_t vocabulary) const {
  const std::optional<std::int64_t> id = setting(key);
  if (!id) return std::nullopt;
  check(*id >= 0 && *id < vocabulary, "{}: {} is {}, but the model has {} tokens", folder.string(), key, *id,
        vocabulary);
  return static_cast<std::int32_t>(*id);
}

std::vector<VerifyCase::Search> VerifyCase::searches(std::int64_t vocabulary) const {
  std::vector<Search> searches;
  for (const auto& [name, stored] : named_) {
    const checkpoint::StoredTensor& tensor = *stored;
    decode::BeamOptions options{.penalty = decode::LengthPenalty::power, .alpha = 1, .max_lengths = {}};
    const Json* penalty = found_setting("length_penalty");
    if (penalty && penalty->is_number()) options.alpha = penalty->get<float>();
    if (is_float(tensor.type) || tensor.shape.rank() != 2 || !parse_search(name, options)) continue;
    check(tensor.shape.size() > 0, "{}: '{}' is empty", expected.source(), tensor.name);
    const std::optional<std::int32_t> end = token("eos_token_id", vocabulary);
    check(end.has_value(), "{}: '{}' needs eos_token_id in config.json", expected.source(), tensor.name);
    options.end = *end;
    options.start = token("decoder_start_token_id", vocabulary).value_or(*end);
    const Json* bad_words = found_setting("bad_words_ids");
    if (bad_words && bad_words->is_array())
      for (const Json& word : *bad_words)
        if (word.is_array() && word.size() == 1 && word[0].is_number_integer())
          options.suppressed.push_back(word[0].get<std::int32_t>());
    const std::int64_t width = tensor.shape[1];
    // A row without an end was cut where the search was told to stop.
    const std::vector<std::int64_t> rows = expected.ints(tensor.name);
    bool cut = false;
    for (std::size_t row = 0; row < rows.size(); row += static_cast<std::size_t>(width))
      cut = cut || std::count(rows.begin() + static_cast<std::ptrdiff_t>(row) + 1,
                              rows.begin() + static_cast<std::ptrdiff_t>(row) + width, *end) == 0;
    const std::int64_t longest = cut ? width : setting("max_length").value_or(width);
    searches.push_back({.name = name,
                        .options = options,
                        .width = width,
                        .longest = std::max(width, longest),
                        .pad = token("pad_token_id", vocabulary).value_or(*end)});
  }
  return searches;
}

void VerifyCase::put_searched(const Search& search, const std::vector<std::vector<std::int64_t>>& rows) {
  std::size_t width = static_cast<std::size_t>(search.width);
  for (const auto& row : rows) width = std::max(width, row.size());
  std::vector<std::int64_t> all;
  for (const auto& row : rows) {
    all.insert(all.end(), row.begin(), row.end());
    all.resize(all.size() + width - row.size(), search.pad);
  }
  put_ints(search.name, {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(width)}, std::move(all));
}

nn::Sequences VerifyCase::behind_start(const Tensor& labels, std::int32_t start, std::int32_t pad) const {
  std::vector<std::int32_t> moved = download_ints(labels);
  const auto length = static_cast<std::size_t>(labels.dim(1));
  for (std::size_t i = moved.size(); i-- > 0;) {
    moved[i] = i % length ? moved[i - 1] : start;
    if (moved[i] == ops::CrossEntropyOptions{}.ignore) moved[i] = pad;
  }
  return {ints(labels.shape(), moved)};
}

void VerifyCase::put_written(Search search, std::int64_t texts, std::int64_t most, const Start& start) {
  const bool forced = setting("forced_eos_token_id").has_value();  // the last place is the end's
  check(search.width <= most, "{}: '{}' has {} tokens, and the model writes no more than {}", expected.source(),
        search.name, search.width, most);
  search.longest = std::min(search.longest, most);
  search.options.max_lengths.assign(static_cast<std::size_t>(texts), search.longest - (forced ? 2 : 1));
  Pass pass(backend);
  const std::unique_ptr<nn::StepModel> decoder = start(pass, search.options.beams);
  std::vector<std::vector<std::int64_t>> rows;
  ProducedTensor scores{{texts}, {}, {}};
  for (const auto& found : decode::beam_search(*decoder, search.options)) {
    const decode::Hypothesis& best = found.at(0);
    scores.floats.push_back(best.score);
    rows.push_back({search.options.start});
    rows.back().insert(rows.back().end(), best.tokens.begin(), best.tokens.end());
    if (best.finished || forced) rows.back().push_back(search.options.end);
  }
  put_searched(search, rows);
  keep(search.name + "_scores", scores);
  if (!wants(search.name + "_logprobs")) return;
  Pass again(backend);
  put_log_probabilities(search, rows, 1, *start(again, 1));
}

void VerifyCase::put_log_probabilities(const Search& search, const std::vector<std::vector<std::int64_t>>& rows,
                                       std::size_t begin, nn::StepModel& model) {
  const std::string name = search.name + "_logprobs";
  if (!wants(name) || rows.empty()) return;
  const std::size_t width = rows[0].size(), written = width - begin;
  ProducedTensor all{{static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(written)}, {}, {}};
  all.floats.resize(rows.size() * written);
  for (const auto& row : rows) check(row.size() == width, "{}: '{}' is of rows of one length", expected.source(), name);
  for (std::size_t at = begin; at < width; ++at) {
    std::vector<std::int32_t> newest;
    for (const auto& row : rows) newest.push_back(static_cast<std::int32_t>(row[at - 1]));
    const nn::StepModel::Scores scores = model.step(newest);
    const std::size_t vocabulary = scores.logits.size() / rows.size();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto logit = [&](std::int64_t id) {
        return static_cast<double>(scores.logits[i * vocabulary + static_cast<std::size_t>(id)]);
      };
      double left = 1;  // of the probability, without the tokens that are never written
      for (const std::int32_t id : search.options.suppressed)
        left -= std::exp(logit(id) - static_cast<double>(scores.log_sums[i]));
      all.floats[i * written + at - begin] =
          static_cast<float>(logit(rows[i][at]) - static_cast<double>(scores.log_sums[i]) - std::log(left));
    }
  }
  keep(name, all);
}

}  // namespace attend::verify
