#include "attend/tasks/describer.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/catalogue/captioners.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/decode/beam_search.h"
#include "attend/decode/sample.h"
#include "attend/tasks/image_encoder.h"
#include "attend/tasks/token_strings.h"
#include "attend/tasks/translator.h"
#include "attend/view/collector.h"

namespace attend::tasks {

namespace {

using decode::Hypothesis;

std::optional<std::int32_t> token_in(const Json& config, const char* key, std::int64_t vocabulary,
                                     std::string_view what) {
  const Json* found = config.find(key);
  if (found == config.end() || found->is_null()) return std::nullopt;
  check(found->is_number_integer() && found->get<std::int64_t>() >= 0 && found->get<std::int64_t>() < vocabulary,
        "{}: '{}' is {}, but the model has {} tokens", what, key, found->dump(), vocabulary);
  return static_cast<std::int32_t>(found->get<std::int64_t>());
}

// A caption is one line, whatever the model wrote.
std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == text.npos ? std::string() : text.substr(begin);
}

void check_options(const DescribeOptions& options) {
  check(options.beams >= 0 && options.beams <= limits::kMostBeams,
        "describe: the number of beams must be 1 to {}, not {}", limits::kMostBeams, options.beams);
  check(options.alpha <= 10, "describe: alpha must be 0 to 10, not {}", options.alpha);
  check(options.max_length >= 0, "describe: the longest caption cannot be {} tokens", options.max_length);
}

}  // namespace

Describer::Tokens Describer::tokens_of(const Json& config, const text::Tokenizer& tokenizer, std::int64_t vocabulary,
                                       std::string_view what) {
  const auto token = [&](const char* key, const char* name) {
    if (const auto id = token_in(config, key, vocabulary, what)) return *id;
    const auto id = tokenizer.token_to_id(name);
    check(id.has_value(), "{}: has no '{}', and the tokenizer no token {}", what, key, name);
    return static_cast<std::int32_t>(*id);
  };
  Tokens tokens{.start = token("decoder_start_token_id", kStartToken), .end = token("eos_token_id", kEndToken)};
  for (const char* name : {kPadToken, kStartToken, kUnknownToken})
    if (const auto id = tokenizer.token_to_id(name); id && *id != tokens.end) tokens.never.push_back(*id);
  return tokens;
}

Describer::Describer(const models::Captioner& model, const text::Tokenizer& tokenizer, Backend& backend, Tokens tokens)
    : model_(model), tokenizer_(tokenizer), backend_(backend), tokens_(std::move(tokens)) {
  const std::int64_t vocabulary = model.decoder().vocabulary();
  check(tokenizer.id_limit() <= vocabulary, "describe: the tokenizer has ids up to {}, the model only {} tokens",
        tokenizer.id_limit() - 1, vocabulary);
  // Rows of the table that stand for nothing.
  for (auto id = static_cast<std::int32_t>(tokenizer.id_limit()); id < vocabulary; ++id)
    if (id != tokens_.start && id != tokens_.end) tokens_.never.push_back(id);
}

std::vector<std::vector<Hypothesis>> Describer::search(const Tensor& pixels, const DescribeOptions& options) const {
  const std::int64_t count = pixels.dim(0), most = model_.decoder().max_length() - 1;
  const SearchDefaults& usual = tokens_.search;
  const std::int64_t told = usual.max_length > 1 ? std::min(usual.max_length - 1, most) : most;  // without the start
  const std::int64_t longest = options.max_length > 0 ? std::min(options.max_length, most) : told;
  const std::int64_t beams = options.beams > 0 ? options.beams : usual.beams;
  const bool own = options.alpha < 0;
  std::vector<std::int64_t> max_lengths(static_cast<std::size_t>(count), longest);
  Pass pass(backend_);
  const auto model = model_.start(pass, pass.input(pixels), options.sample ? 1 : beams);
  if (!options.sample)
    return decode::beam_search(*model, {.beams = beams,
                                        .penalty = own ? usual.penalty : decode::LengthPenalty::wu,
                                        .alpha = own ? usual.alpha : options.alpha,
                                        .start = tokens_.start,
                                        .end = tokens_.end,
                                        .suppressed = tokens_.never,
                                        .max_lengths = std::move(max_lengths)});
  std::vector<std::uint32_t> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(options.first + static_cast<std::uint32_t>(i));
  return decode::sample(*model, decode::greedy_at_zero({.temperature = options.temperature,
                                                        .top_k = options.top_k,
                                                        .top_p = options.top_p,
                                                        .seed = options.seed,
                                                        .alpha = own ? 0.6f : options.alpha,
                                                        .start = tokens_.start,
                                                        .end = tokens_.end,
                                                        .suppressed = tokens_.never,
                                                        .max_lengths = std::move(max_lengths),
                                                        .numbers = std::move(numbers)}));
}

// By one pass over the finished captions.
void Describer::look(const Tensor& pixels, const std::vector<std::vector<Hypothesis>>& hypotheses,
                     std::vector<Description>& results) const {
  const std::string label = model_.decoder().attention_label();
  std::size_t longest = 0;
  for (const auto& found : hypotheses) longest = std::max(longest, found.at(0).tokens.size() + 1);
  std::vector<std::int32_t> ids;
  for (const auto& found : hypotheses) {
    ids.push_back(tokens_.start);
    const std::vector<std::int32_t>& written = found.at(0).tokens;
    ids.insert(ids.end(), written.begin(), written.end());
    ids.resize(ids.size() + longest - written.size() - 1, tokens_.end);
  }
  const Tensor captions = make_tensor(backend_, {pixels.dim(0), static_cast<std::int64_t>(longest)}, DType::i32);
  upload(captions, ids);
  view::Collector collector(label);
  {
    Pass pass(backend_, {.probe = &collector});
    model_.decoder().decode(model_.regions(pass.input(pixels)), {.ids = pass.input(captions)});
  }
  const view::AttentionWeights& seen = collector.at(label);
  const auto regions = static_cast<std::size_t>(seen.shape[3]),
             front = static_cast<std::size_t>(model_.tokens_in_front());
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    Description& result = results[i];
    result.tokens = token_strings(tokenizer_, hypotheses[i][0].tokens);
    if (result.finished) result.tokens.push_back(fmt::format(" {}", kEndToken));
    result.grid = model_.grid(seen.shape[3]);
    const std::vector<float> weights = seen.matrix(static_cast<std::int64_t>(i));
    for (std::size_t t = 0; t < result.tokens.size(); ++t)
      result.looks.insert(result.looks.end(), weights.begin() + static_cast<std::ptrdiff_t>(t * regions + front),
                          weights.begin() + static_cast<std::ptrdiff_t>((t + 1) * regions));
  }
}

std::vector<Description> Describer::describe(const Tensor& pixels, const DescribeOptions& options) const {
  check_options(options);
  check(!options.attention || !model_.decoder().attention_label().empty(),
        "describe: the model has no attention to show");
  const std::vector<std::vector<Hypothesis>> hypotheses = search(pixels, options);
  std::vector<Description> results;
  for (const auto& found : hypotheses) {
    const Hypothesis& best = found.at(0);
    results.push_back({.text = one_line(tokenizer_.decode(best.tokens)),
                       .score = best.score,
                       .finished = best.finished,
                       .ids = best.tokens});
  }
  if (options.attention) look(pixels, hypotheses, results);
  return results;
}

namespace {
Describer::Tokens with_search(Describer::Tokens tokens, const std::filesystem::path& folder,
                              const catalogue::ModelConfig& config, std::int64_t vocabulary) {
  if (!config.entry->generation_config) return tokens;
  tokens.search = search_defaults(folder, config.json, vocabulary);
  constexpr std::int64_t kUsual = 20;  // of transformers' generate()
  if (tokens.search.max_length == 0) tokens.search.max_length = kUsual;
  tokens.never.insert(tokens.never.end(), tokens.search.never.begin(), tokens.search.never.end());
  return tokens;
}
}  // namespace

LoadedDescriber::~LoadedDescriber() = default;

LoadedDescriber::LoadedDescriber(const std::filesystem::path& folder, const catalogue::ModelConfig& config,
                                 Backend& device, const nn::ModelFormat& format)
    : backend(device),
      dtype(format.dtype),
      tokenizer(text::Tokenizer::load(folder)),
      preprocessor(image::Preprocessor::load(folder)),
      model(catalogue::make_captioner(config.json, config.path)),
      parameters(device, model->parameters(), checkpoint::run_options(folder, format)),
      describer(*model, tokenizer.fit(model->decoder().vocabulary(), folder.string()), device,
                with_search(Describer::tokens_of(config.json, tokenizer, model->decoder().vocabulary(), config.path),
                            folder, config, model->decoder().vocabulary())) {
  check(model->encoder().channels() == 3, "{}: the model reads images of {} channels; only colours (3) are known",
        config.path, model->encoder().channels());
  catalogue::load_captioner(folder, config, parameters);
  model->place(device, format.dtype);
}

image::Image LoadedDescriber::prepare(const image::Image& image) const {
  return prepare_for(model->encoder(), preprocessor, image);
}

image::Image LoadedDescriber::prepare(image::ImageRows& image) const {
  return prepare_for(model->encoder(), preprocessor, image);
}

std::vector<Description> LoadedDescriber::describe(std::span<const image::Image> prepared,
                                                   const DescribeOptions& options) const {
  if (prepared.empty()) return {};
  return describer.describe(pixels_for(model->encoder(), preprocessor, prepared, backend, dtype), options);
}

std::unique_ptr<LoadedDescriber> load_describer(const std::filesystem::path& folder, Backend& backend,
                                                const nn::ModelFormat& format) {
  return std::make_unique<LoadedDescriber>(folder, catalogue::read_config(folder, catalogue::Task::describe), backend,
                                           format);
}

}  // namespace attend::tasks
