// /v1/completions: texts that go on where prompts end, whole or as server-sent events from the first token on.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>

#include "attend/base/error.h"
#include "attend/http/json_request.h"
#include "attend/serve/api/openai.h"
#include "attend/serve/api/texts.h"

namespace attend::serve {

namespace completions {
namespace {

struct Settings {
  std::vector<std::string> prompts;
  GenerationRequest request;
  std::int64_t samples = 1;  // that are told; request.samples are drawn
  bool stream = false, usage = false, echo = false;
};

float number(const Json& body, const char* name, float otherwise, double least, double most) {
  const double value = http::real(body, name, static_cast<double>(otherwise));
  check(value >= least && value <= most, "'{}' must be {} to {}, not {}", name, least, most, value);
  return static_cast<float>(value);
}

std::vector<std::string> prompts_of(const Work& work, const Json& body, const ServedModel& model) {
  const Json* prompt = http::field(body, "prompt");
  if (!prompt) return {""};
  const auto decoded = [&](const Json& list) {
    std::vector<text::TokenId> tokens;
    for (const std::int32_t id : http::ids(list, "prompt")) {
      check(id < static_cast<std::int32_t>(model.tokenizer()->id_limit()), "there is no token {}", id);
      tokens.push_back(id);
    }
    return model.tokenizer()->decode(tokens, {.skip_special_tokens = false});
  };
  if (prompt->is_array() && !prompt->empty() && prompt->at(0).is_number()) return {decoded(*prompt)};
  if (prompt->is_array() && !prompt->empty() && prompt->at(0).is_array()) {
    work.check_batch(prompt->size());
    std::vector<std::string> texts;
    for (const Json& list : *prompt) texts.push_back(decoded(list));
    return texts;
  }
  return texts_of(work, *prompt, "prompt");
}

Settings settings_of(const Work& work, const Json& body, const ServedModel& model) {
  Settings settings;
  settings.prompts = prompts_of(work, body, model);
  check(!settings.prompts.empty() && settings.prompts.size() <= 256, "'prompt' must have 1 to 256 texts, not {}",
        settings.prompts.size());
  GenerationRequest& request = settings.request;
  request.max_tokens = http::whole(body, "max_tokens", 16);
  check(request.max_tokens >= 1, "'max_tokens' must be at least 1, not {}", request.max_tokens);
  request.temperature = number(body, "temperature", 1, 0, 100);
  if (!http::flag(body, "do_sample", true)) request.temperature = 0;  // of Hugging Face's client
  request.top_p = number(body, "top_p", 1, 1e-6, 1);
  request.top_k = std::max<std::int64_t>(http::whole(body, "top_k", 0), 0);
  request.min_p = number(body, "min_p", 0, 0, 1);
  request.repetition_penalty = number(body, "repetition_penalty", 1, 0.01, 100);
  const std::int64_t now = std::chrono::steady_clock::now().time_since_epoch().count();
  request.seed = static_cast<std::uint64_t>(http::whole(body, "seed", now % 1000000007));
  settings.samples = http::whole(body, "n", 1);
  check(settings.samples >= 1 && settings.samples <= 128, "'n' must be 1 to 128, not {}", settings.samples);
  request.samples = std::clamp<std::int64_t>(http::whole(body, "best_of", 1), settings.samples, 128);
  if (const Json* stop = http::field(body, "stop")) request.stops = texts_of(*stop, "stop");
  std::erase(request.stops, "");
  check(request.stops.size() <= 16, "'stop' has {} texts, at most 16 are taken", request.stops.size());
  if (const Json* logprobs = http::field(body, "logprobs");
      logprobs && !(logprobs->is_boolean() && !logprobs->get<bool>()))
    request.logprobs = logprobs->is_boolean() ? 0 : http::whole(body, "logprobs", 0);
  check(request.logprobs <= 20, "'logprobs' must be at most 20, not {}", request.logprobs);
  settings.stream = http::flag(body, "stream", false);
  settings.echo = http::flag(body, "echo", false);
  if (const Json* options = http::field(body, "stream_options"))
    settings.usage = http::flag(*options, "include_usage", false);
  if (settings.stream) request.samples = settings.samples;  // nobody can choose the best of what is told already
  return settings;
}

Json logprobs_json(const std::vector<TokenScore>& scores, std::size_t& offset) {
  Json tokens = Json::array(), own = Json::array(), top = Json::array(), offsets = Json::array();
  for (const TokenScore& score : scores) {
    tokens.push_back(score.token), own.push_back(score.log_probability), offsets.push_back(offset);
    Json likeliest = Json::object();
    for (const auto& [token, value] : score.likeliest) likeliest[token] = value;
    top.push_back(std::move(likeliest));
    offset += score.token.size();
  }
  return {{"tokens", tokens}, {"token_logprobs", own}, {"top_logprobs", top}, {"text_offset", offsets}};
}

Json choice_json(std::size_t index, const std::string& text, Json logprobs, Json reason) {
  return {{"text", text}, {"index", index}, {"logprobs", std::move(logprobs)}, {"finish_reason", std::move(reason)}};
}

// What every object of one answer begins with.
struct Heading {
  std::string id, model;
  std::int64_t created = 0;

  Json with(Json choices) const {
    return {{"id", id},
            {"object", "text_completion"},
            {"created", created},
            {"model", model},
            {"choices", std::move(choices)}};
  }
};

Json usage_json(std::int64_t prompt, std::int64_t written) {
  return {{"prompt_tokens", prompt}, {"completion_tokens", written}, {"total_tokens", prompt + written}};
}

// Bytes of all that will be written, at most: as it grows, as JSON, and as that on its way.
std::size_t written_size(const Settings& settings, const GenerationQueue& queue) {
  const GenerationRequest& request = settings.request;
  constexpr std::size_t kToken = 64, kScore = 256, kLikely = 192;
  std::size_t token = kToken;
  if (request.logprobs >= 0) token += kScore + kLikely * static_cast<std::size_t>(request.logprobs);
  const std::int64_t longest = queue.generator().model().facts().max_length;
  std::size_t copies = 0;  // of prompts: as tokens, and where they are told again
  for (const std::string& prompt : settings.prompts)
    copies += 4 * std::min(prompt.size(), static_cast<std::size_t>(longest)) + (settings.echo ? 3 * prompt.size() : 0);
  constexpr std::size_t kSample = 2048, kLogit = 16;
  const auto vocabulary = static_cast<std::size_t>(queue.generator().tokenizer().id_limit());
  const auto tokens = static_cast<std::size_t>(std::min(request.max_tokens, longest));
  return static_cast<std::size_t>(request.samples) * (settings.prompts.size() * (kSample + tokens * token) + copies) +
         settings.prompts.size() * vocabulary * kLogit;
}

// One object, with logprobs or null, and choices[index].finish_reason.
std::string whole_answer(GenerationQueue& queue, const Settings& settings, const Heading& heading, const Work& work) {
  charge(*work.exchange, written_size(settings, queue));
  std::vector<GenerationRequest> requests;
  for (std::size_t i = 0; i < settings.prompts.size(); ++i) {
    requests.push_back(settings.request);
    requests.back().prompt = settings.prompts[i];
    requests.back().seed += i;
  }
  // All prompts are under way at once; their answers are put together in order.
  std::vector<GenerationQueue::Answer> answers = queue.run(requests, work.stop);
  Json choices = Json::array();
  std::int64_t prompt_tokens = 0, written = 0;
  std::size_t index = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    std::vector<GeneratedText>& texts = answers[i].texts;
    prompt_tokens += answers[i].prompt_tokens;
    for (const GeneratedText& text : texts) written += text.tokens;
    if (static_cast<std::int64_t>(texts.size()) > settings.samples)
      std::ranges::stable_sort(texts, std::ranges::greater(), &GeneratedText::score);
    texts.resize(static_cast<std::size_t>(settings.samples));
    for (const GeneratedText& text : texts) {
      const std::string before = settings.echo ? settings.prompts[i] : "";
      std::size_t offset = before.size();
      choices.push_back(choice_json(index++, before + text.text,
                                    settings.request.logprobs >= 0 ? logprobs_json(text.scores, offset) : Json(),
                                    text.finished ? "stop" : "length"));
    }
  }
  Json json = heading.with(std::move(choices));
  json["usage"] = usage_json(prompt_tokens, written);
  return json.dump();
}

// Lives as long as one of its texts is under way. Every token is an event of its own, so what they all share is
// written once.
struct Stream {
  std::shared_ptr<http::Exchange> exchange;
  Heading heading;
  bool usage = false, logprobs = false;
  std::size_t left = 0;
  std::int64_t prompt_tokens = 0, written = 0;
  std::vector<std::size_t> offsets = {};
  std::string opening = {};  // of an event, up to its one choice

  void tell(const Json& json) { send(fmt::format("data: {}\n\n", json.dump())); }
  void tell_choice(std::size_t index, const std::string& text, const Json& logprobs, const char* reason) {
    std::string event = opening;
    // As choice_json() has it.
    event += fmt::format("{{\"text\":{},\"index\":{},\"logprobs\":{},\"finish_reason\":{}}}", Json(text).dump(), index,
                         logprobs.is_null() ? "null" : logprobs.dump(), reason ? Json(reason).dump() : "null");
    event += usage ? "],\"usage\":null}\n\n" : "]}\n\n";
    send(event);
  }
  // One that takes no more is stopped by the exchange.
  void send(std::string_view event) { exchange->write(event); }
};

void begin_stream(GenerationQueue& queue, const Settings& settings, const Heading& heading, const Work& work) {
  const std::shared_ptr<http::Exchange>& exchange = work.exchange;
  charge(*exchange, written_size(settings, queue));
  const auto stream = std::make_shared<Stream>();
  stream->exchange = exchange, stream->heading = heading, stream->usage = settings.usage;
  stream->logprobs = settings.request.logprobs >= 0;
  stream->opening = "data: " + heading.with(Json::array()).dump();
  stream->opening.resize(stream->opening.size() - std::string_view("]}").size());
  stream->left = settings.prompts.size();
  const auto samples = static_cast<std::size_t>(settings.samples);
  stream->offsets.resize(settings.prompts.size() * samples);
  // What is wrong with a request is said before an answer begins.
  for (const std::string& prompt : settings.prompts)
    work.piece(prompt.size(), [&] { queue.generator().read_prompt(prompt); });
  exchange->begin({.type = "text/event-stream; charset=utf-8"});
  for (std::size_t i = 0; i < settings.prompts.size(); ++i) {
    GenerationRequest request = settings.request;
    request.prompt = settings.prompts[i];
    request.seed += i;
    if (settings.echo)
      for (std::size_t k = 0; k < samples; ++k) stream->tell_choice(i * samples + k, request.prompt, {}, nullptr);
    queue.start(
        request,
        {.on_text =
             [stream, i, samples](std::size_t sample, const std::string& piece, const auto& scores) {
               const std::size_t index = i * samples + sample;
               stream->tell_choice(index, piece,
                                   stream->logprobs ? logprobs_json(scores, stream->offsets[index]) : Json(), nullptr);
             },
         .on_done =
             [stream, i, samples](const std::vector<GeneratedText>& texts, std::int64_t prompt) {
               for (std::size_t k = 0; k < texts.size(); ++k) {
                 stream->tell_choice(i * samples + k, "", {}, texts[k].finished ? "stop" : "length");
                 stream->written += texts[k].tokens;
               }
               stream->prompt_tokens += prompt;
               if (--stream->left > 0) return;
               if (stream->usage) {
                 Json json = stream->heading.with(Json::array());
                 json["usage"] = usage_json(stream->prompt_tokens, stream->written);
                 stream->tell(json);
               }
               stream->exchange->write("data: [DONE]\n\n");
               stream->exchange->finish();
             },
         .on_failure =
             [stream](const std::exception_ptr& failure) {
               std::string why = "something went wrong here";
               try {
                 std::rethrow_exception(failure);
               } catch (const std::exception& thrown) {
                 why = thrown.what();
               }
               Json error = Json::object();
               error["error"] = {{"message", why}, {"type", "server_error"}, {"param", nullptr}, {"code", nullptr}};
               stream->tell(error);
               stream->exchange->finish();
             },
         .stop = work.stop,
         .client = stream.get()});
  }
}

}  // namespace
}  // namespace completions

std::optional<http::Response> complete(const Json& body, const std::string& named, const Work& work) {
  const std::string name = named.empty() ? http::word(body, "model", "") : named;
  const ServedModelPtr model =
      choose(work.context.models, name, [](const ServedModel& one) { return one.generation != nullptr; });
  if (!model)
    refuse(404,
           name.empty() ? "no model here generates text"
                        : fmt::format("The model '{}' does not exist, or does not generate text", name),
           "model_not_found");
  const completions::Settings settings = completions::settings_of(work, body, *model);
  static std::atomic<std::uint64_t> count{0};
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const completions::Heading heading{fmt::format("cmpl-{:x}{:06x}", now, ++count), model->name(), now};
  if (!settings.stream)
    return http::Response{.body = completions::whole_answer(*model->generation, settings, heading, work)};
  completions::begin_stream(*model->generation, settings, heading, work);
  return std::nullopt;
}

}  // namespace attend::serve
