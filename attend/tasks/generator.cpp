#include "attend/tasks/generator.h"

#include <algorithm>
#include <cmath>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/decode/beam_search.h"
#include "attend/decode/sample.h"
#include "attend/decode/speculate.h"
#include "attend/models/config_checks.h"
#include "attend/tasks/growing_text.h"

namespace attend::tasks {

namespace {

Tensor ids_tensor(Backend& backend, std::span<const std::int32_t> ids) {
  Tensor tensor = make_tensor(backend, {1, static_cast<std::int64_t>(ids.size())}, DType::i32);
  upload(tensor, ids);
  return tensor;
}

}  // namespace

double Perplexity::value() const { return std::exp(nats); }

Generator::~Generator() = default;

Generator::Generator(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format)
    : Generator(folder, catalogue::read_config(folder, catalogue::Task::generate), backend, format) {}

Generator::Generator(const std::filesystem::path& folder, const catalogue::ModelConfig& config, Backend& backend,
                     const nn::ModelFormat& format)
    : backend_(backend),
      tokenizer_(text::Tokenizer::load(folder)),
      model_(catalogue::make_language_model(config.json, config.path)),
      parameters_(backend, model_->parameters(), checkpoint::run_options(folder, format)) {
  checkpoint::load_hugging_face(checkpoint::TensorFiles::open(folder), parameters_,
                                {.prefix = std::string(config.entry->prefix)});
  tokenizer_.fit(model_->facts().vocabulary, folder.string());
}

std::vector<std::int32_t> Generator::read_prompt(std::string_view prompt) const {
  std::vector<std::int32_t> ids = tokenizer_.encode_ids(prompt);
  const models::LanguageModel::Facts config = model_->facts();
  if (ids.empty()) {
    models::check_token_used("generate", "bos_token_id of config.json", config.start, config.vocabulary);
    ids.push_back(static_cast<std::int32_t>(config.start));
  }
  check(static_cast<std::int64_t>(ids.size()) < config.max_length,
        "generate: the prompt has {} tokens, and the model reads no more than {}", ids.size(), config.max_length);
  return ids;
}

// Rows of the table that stand for no token.
std::vector<std::int32_t> Generator::meaningless() const {
  std::vector<std::int32_t> ids;
  for (auto id = static_cast<std::int32_t>(tokenizer_.id_limit()); id < model_->facts().vocabulary; ++id)
    ids.push_back(id);
  return ids;
}

bool Generator::has_stop(std::span<const std::int32_t> written, const std::vector<std::string>& stops) const {
  return find_stop(tokenizer_.decode(written), stops) != std::string::npos;
}

Generated Generator::finished(const decode::Hypothesis& result, const std::vector<std::string>& stops) const {
  std::string text = tokenizer_.decode(result.tokens);
  text.resize(std::min(text.size(), find_stop(text, stops)));
  return {
      .text = std::move(text), .tokens = static_cast<std::int64_t>(result.tokens.size()), .finished = result.finished};
}

std::vector<Generated> Generator::generate(std::string_view prompt, const GenerateOptions& options,
                                           const Generator* draft) const {
  check(options.max_tokens >= 1, "generate: max-tokens must be at least 1, not {}", options.max_tokens);
  check(options.samples >= 1 && options.samples <= limits::kMostSamples, "generate: 1 to {} samples, not {}",
        limits::kMostSamples, options.samples);
  check(options.beams >= 0 && options.beams <= limits::kMostBeams,
        "generate: the number of beams must be 0 (none) to {}, not {}", limits::kMostBeams, options.beams);
  const bool ahead = draft || options.speculate != 0;
  check(!ahead || (options.beams == 0 && options.samples == 1),
        "generate: speculative decoding writes one sample, without beams");
  const std::vector<std::int32_t> ids = read_prompt(prompt);
  const models::LanguageModel::Facts config = model_->facts();
  const std::int64_t longest = std::min(options.max_tokens, config.max_length - static_cast<std::int64_t>(ids.size()));
  const auto end = static_cast<std::int32_t>(config.end);
  const std::vector<std::int32_t> suppressed = meaningless();

  Pass pass(backend_);
  std::vector<decode::Hypothesis> results;
  std::int64_t steps = 0;
  GrowingText growing(tokenizer_, options.stops);
  if (options.beams > 0) {
    const auto decoder = model_->start(pass, ids_tensor(backend_, ids), options.beams, longest);
    results = decode::beam_search(*decoder, {.beams = options.beams,
                                             .penalty = decode::LengthPenalty::power,
                                             .alpha = 1,
                                             .start = ids.back(),
                                             .end = end,
                                             .suppressed = suppressed,
                                             .max_lengths = {longest},
                                             .results = std::min(options.samples, options.beams)})
                  .front();
  } else {
    const auto stop = [&](std::size_t, std::size_t, std::span<const std::int32_t> written) {
      const bool stopped = growing.add(written);
      if (options.on_text && options.samples == 1)
        if (const std::string piece = growing.take(); !piece.empty()) options.on_text(piece);
      return stopped || (options.interrupted && options.interrupted());
    };
    const decode::SampleOptions drawing = decode::greedy_at_zero({.temperature = options.temperature,
                                                                  .top_k = options.top_k,
                                                                  .top_p = options.top_p,
                                                                  .min_p = options.min_p,
                                                                  .repetition_penalty = options.repetition_penalty,
                                                                  .prompt = ids,
                                                                  .seed = options.seed,
                                                                  .samples = options.samples,
                                                                  .start = ids.back(),
                                                                  .end = end,
                                                                  .suppressed = suppressed,
                                                                  .max_lengths = {longest},
                                                                  .stop = stop});
    if (ahead) {
      decode::Speculated found = speculated(drawing, options.speculate, draft);
      results.push_back(std::move(found.hypothesis));
      steps = found.steps;
    } else {
      const auto decoder = model_->start(pass, ids_tensor(backend_, ids), options.samples, longest);
      results = decode::sample(*decoder, drawing).front();
    }
  }
  std::vector<Generated> generated;
  for (const decode::Hypothesis& result : results) generated.push_back(finished(result, options.stops));
  if (ahead) generated[0].steps = steps;
  if (options.on_text && generated.size() == 1)
    if (const std::string rest = options.beams > 0 ? generated[0].text : growing.take_rest(); !rest.empty())
      options.on_text(rest);
  return generated;
}

Perplexity Generator::perplexity(std::string_view text, std::int64_t context, const SeenToken& seen) const {
  const std::vector<std::int32_t> ids = tokenizer_.encode_ids(text);
  const std::int64_t window = model_->facts().max_length, size = static_cast<std::int64_t>(ids.size());
  check(size >= 2, "perplexity: a text of {} tokens has nothing to predict", size);
  if (context == 0) context = window / 2;
  check(context >= 1 && context < window, "perplexity: a context of {} in windows of {}", context, window);
  Perplexity result;
  Pass pass(backend_);
  for (std::int64_t begin = 0, counted = 1; counted < size; begin += window - context) {
    const std::int64_t end = std::min(begin + window, size);
    std::vector<std::int32_t> labels(static_cast<std::size_t>(end - begin), -100);
    // Position i answers token i + 1; tokens that an earlier window predicted with more context do not count again.
    for (std::int64_t next = std::max(counted, begin + 1); next < end; ++next)
      labels[static_cast<std::size_t>(next - begin - 1)] = ids[static_cast<std::size_t>(next)];
    counted = end;
    const auto part = std::span(ids).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    const nn::Sequences texts{ids_tensor(backend_, part)};
    const ops::Loss loss = model_->loss(texts.in(pass), pass.input(ids_tensor(backend_, labels)));
    const std::vector<float> total = download(loss.total);
    result.nats += static_cast<double>(total[0]) * static_cast<double>(total[1]);
    result.tokens += static_cast<std::int64_t>(total[1]);
    if (seen) {
      const std::vector<float> losses = download(loss.losses);
      for (std::size_t i = 0; i < labels.size(); ++i)
        if (labels[i] >= 0) seen(ids, static_cast<std::size_t>(begin) + i + 1, losses[i]);
    }
    if (end == size) break;
  }
  result.nats /= static_cast<double>(result.tokens);
  return result;
}

}  // namespace attend::tasks
