#include "attend/serve/api/tei.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "attend/base/error.h"
#include "attend/base/ranking.h"
#include "attend/http/json_request.h"
#include "attend/serve/api/texts.h"
#include "attend/tasks/reranker.h"

namespace attend::serve {

namespace tei {
namespace {

struct Call {
  const Work& work;
  Json body;
  TextTimes times = {};
  std::string model = {};

  ServedModelPtr choose_for(const Can& can, const char* what) const {
    ServedModelPtr chosen = choose(work.context.models, model, can);
    if (!chosen)
      refuse(424,
             model.empty() ? fmt::format("no model here can {}", what)
                           : fmt::format("the model '{}' is not here, or cannot {}", model, what),
             "Backend");
    return chosen;
  }
  TextOptions options() const { return {.truncate = http::flag(body, "truncate", false)}; }
  const Json& inputs() const {
    const Json* found = http::field(body, "inputs");
    check(found != nullptr, "missing field `inputs`");
    return *found;
  }
};

void check_filled(std::span<const std::string> texts) {
  if (texts.empty()) refuse(400, "`inputs` cannot be empty", "Empty");
}

std::string embed(Call& call) {
  const std::vector<std::string> texts = texts_of(call.work, call.inputs(), "inputs");
  check_filled(texts);
  const ServedModelPtr model = call.choose_for(embeds, "embed");
  const std::int64_t dimensions = http::whole(call.body, "dimensions", model->modules()->width());
  check(dimensions >= 1 && dimensions <= model->modules()->width(), "`dimensions` must be 1 to {}, not {}",
        model->modules()->width(), dimensions);
  TextOptions options = call.options();
  options.normalize = false;  // it is done below, behind a cut to fewer dimensions
  if (const Json* name = http::field(call.body, "prompt_name")) options.prompt_name = text_of(*name, "prompt_name");
  std::string json = "[";
  for (std::vector<float>& vector : embed_texts(call.work, *model, texts, options, call.times)) {
    vector.resize(static_cast<std::size_t>(dimensions));
    if (http::flag(call.body, "normalize", true)) tasks::normalize(vector);
    if (json.size() > 1) json += ',';
    append_floats(json, vector);
  }
  return json + "]";
}

std::string embed_all(Call& call) {
  const std::vector<std::string> texts = texts_of(call.work, call.inputs(), "inputs");
  check_filled(texts);
  const ServedModelPtr model = call.choose_for(embeds, "embed");
  const auto width = static_cast<std::size_t>(model->state_width());
  std::string json = "[";
  const auto add = [&](const std::vector<float>& states) {
    constexpr std::size_t kNumber = 2 * 16;  // as text, and as that on its way
    charge(*call.work.exchange, states.size() * kNumber);
    json += json.size() > 1 ? ",[" : "[";
    for (std::size_t at = 0; at < states.size(); at += width) {
      if (at > 0) json += ',';
      append_floats(json, std::span(states).subspan(at, width));
    }
    json += ']';
  };
  compute_texts(call.work, *model, *model->states, width, alone(texts), call.options(), call.times,
                [&](std::span<std::vector<float>> results) { std::ranges::for_each(results, add); });
  return json + "]";
}

std::string_view view_in(const Json& value) {
  check(value.is_string(), "'inputs' must be a string");
  return value.text();
}

TextPair pair_of(const Json& value) {
  if (value.is_string()) return {value.text()};
  check(value.is_array() && (value.size() == 1 || value.size() == 2),
        "an item of 'inputs' is a text, or one or two in a list");
  TextPair pair{view_in(value.at(0))};
  if (value.size() == 2) pair.second = view_in(value.at(1));
  return pair;
}

// TEI gives the only label of a model its sigmoid, also where that was trained as a regression.
models::ProblemType score_type(const tasks::Classifier& classifier) {
  return classifier.labels().size() == 1 ? models::ProblemType::multi_label : classifier.problem();
}

Json labels_json(const ServedModel& model, std::vector<float> logits, bool raw) {
  const tasks::Classifier& classifier = *model.classifier;
  Json list = Json::array();
  const auto label = [&](std::size_t i) {
    return i < classifier.labels().size() ? classifier.labels()[i] : fmt::format("LABEL_{}", i);
  };
  if (!raw) models::logits_to_scores(logits, score_type(classifier));
  for (const std::size_t i : largest(logits, static_cast<std::int64_t>(logits.size())))
    list.push_back({{"score", static_cast<double>(logits[i])}, {"label", label(i)}});
  return list;
}

// "a": one text; ["a", "b"]: one pair; [["a"], ["b"]] and [["a", "b"], ..]: a batch.
std::string predict(Call& call) {
  const Json& inputs = call.inputs();
  const bool batch = inputs.is_array() && !inputs.empty() && inputs.at(0).is_array();
  std::vector<TextPair> pairs;
  if (batch) call.work.check_batch(inputs.size());
  if (batch)
    for (const Json& item : inputs) pairs.push_back(pair_of(item));
  else if (inputs.is_array() && inputs.empty())
    refuse(400, "`inputs` cannot be empty", "Empty");
  else
    pairs.push_back(pair_of(inputs));
  const ServedModelPtr model = call.choose_for(classifies, "predict");
  const bool raw = http::flag(call.body, "raw_scores", false);
  Json result = Json::array();
  for (std::vector<float>& logits : classify_texts(call.work, *model, pairs, call.options(), call.times)) {
    Json labels = labels_json(*model, std::move(logits), raw);
    if (!batch) return labels.dump();
    result.push_back(std::move(labels));
  }
  return result.dump();
}

std::string rerank(Call& call) {
  const std::string query = text_of(call.body["query"], "query");
  const std::vector<std::string> texts = texts_of(call.work, call.body["texts"], "texts");
  if (texts.empty()) refuse(400, "`texts` cannot be empty", "Empty");
  const ServedModelPtr model = call.choose_for(
      [](const ServedModel& one) {
        return classifies(one) && tasks::RelevanceScore::fits(one.classifier->labels().size());
      },
      "rerank");
  std::vector<TextPair> pairs;
  for (const std::string& text : texts) pairs.push_back({query, text});
  const bool raw = http::flag(call.body, "raw_scores", false);
  std::vector<double> scores;
  const tasks::RelevanceScore relevance(model->config().json, model->classifier->labels().size(), model->config().path);
  for (const std::vector<float>& logits : classify_texts(call.work, *model, pairs, call.options(), call.times))
    scores.push_back(static_cast<double>(raw ? logits.back() : relevance(logits)));
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return scores[i]; });
  const bool with_text = http::flag(call.body, "return_text", false);
  Json result = Json::array();
  for (const std::size_t i : order) {
    Json one = {{"index", i}, {"score", scores[i]}};
    if (with_text) one["text"] = texts[i];
    result.push_back(std::move(one));
  }
  return result.dump();
}

std::string similarity(Call& call) {
  const Json& inputs = call.inputs();
  check(inputs.is_object(), "'inputs' must be an object");
  std::vector<std::string> texts = texts_of(call.work, inputs["sentences"], "sentences");
  if (texts.empty()) refuse(400, "`inputs.sentences` cannot be empty", "Empty");
  texts.insert(texts.begin(), text_of(inputs["source_sentence"], "source_sentence"));
  const ServedModelPtr model = call.choose_for(embeds, "embed");
  const Json* parameters = http::field(call.body, "parameters");
  const TextOptions options{.truncate = parameters && http::flag(*parameters, "truncate", false)};
  const auto vectors = embed_texts(call.work, *model, texts, options, call.times);
  Json result = Json::array();
  for (std::size_t i = 1; i < vectors.size(); ++i) result.push_back(tasks::cosine(vectors[0], vectors[i]));
  return result.dump();
}

// Of several models, the one that the other paths ask.
ServedModelPtr with_tokens(const Call& call, const char* what) {
  if (call.model.empty())
    if (ServedModelPtr reads =
            choose(call.work.context.models, {}, [](const ServedModel& one) { return one.reader() != nullptr; }))
      return reads;
  return call.choose_for([](const ServedModel& one) { return one.tokenizer() != nullptr; }, what);
}

std::string tokenize(Call& call) {
  const std::vector<std::string> texts = texts_of(call.work, call.inputs(), "inputs");
  check_filled(texts);
  const ServedModelPtr model = with_tokens(call, "tokenize");
  const bool around = http::flag(call.body, "add_special_tokens", true);
  std::string json = "[";
  for (const std::string& text : texts) {
    constexpr std::size_t kReading = 128, kToken = 256;  // bytes: of a letter, and of a token as JSON
    const Charged reading(*call.work.exchange, kReading * text.size());
    const text::Encoding encoding = call.work.piece(text.size(), [&] {
      return model->tokenizer()->encode(text, {.add_special_tokens = around, .truncate = false, .pad = false});
    });
    charge(*call.work.exchange, kToken * encoding.size());
    json += json.size() > 1 ? ",[" : "[";
    for (std::size_t i = 0; i < encoding.size(); ++i) {
      if (i % 4096 == 0 && call.work.stop.stop_requested()) throw Cancelled();
      const auto [begin, end] = encoding.offsets[i];
      if (i > 0) json += ',';
      json += fmt::format(R"({{"id":{},"text":{},"special":{},)", encoding.ids[i], Json(encoding.tokens[i]).dump(),
                          begin == end);
      json += begin == end ? R"("start":null,"stop":null})" : fmt::format(R"("start":{},"stop":{}}})", begin, end);
    }
    json += ']';
  }
  return json + "]";
}

std::string decode(Call& call) {
  const Json* given = http::field(call.body, "ids");
  check(given && given->is_array(), "'ids' must be a list of ids, or of such lists");
  const ServedModelPtr model = with_tokens(call, "decode");
  const bool skip = http::flag(call.body, "skip_special_tokens", true);
  Json result = Json::array();
  const auto add = [&](const Json& list) {
    std::vector<text::TokenId> tokens;
    for (const std::int32_t id : http::ids(list, "ids")) {
      check(id < static_cast<std::int32_t>(model->tokenizer()->id_limit()), "there is no token {}", id);
      tokens.push_back(id);
    }
    result.push_back(model->tokenizer()->decode(tokens, {.skip_special_tokens = skip}));
  };
  const bool lists = !given->empty() && given->at(0).is_array();
  if (lists) call.work.check_batch(given->size());
  for (const Json& list : lists ? *given : Json::array({*given})) call.work.piece(list.size(), [&] { add(list); });
  return result.dump();
}

std::string info(const Call& call) {
  const ServedModelPtr model =
      call.choose_for([](const ServedModel& one) { return one.reader() != nullptr; }, "embed or predict");
  Json type;
  if (classifies(*model)) {
    Json to_label = Json::object(), to_id = Json::object();
    const std::vector<std::string>& labels = model->classifier->labels();
    for (std::size_t i = 0; i < labels.size(); ++i) to_label[fmt::format("{}", i)] = labels[i], to_id[labels[i]] = i;
    type = Json::object();
    type["classifier"] = {{"id2label", to_label}, {"label2id", to_id}};
  } else {
    const auto pooling = model->modules() ? model->modules()->pooling() : std::span<const tasks::Pooling>();
    type = Json::object();
    type["embedding"] = Json::object();
    type["embedding"]["pooling"] = model->pooling()  ? tasks::name_of(*model->pooling())
                                   : pooling.empty() ? "none"
                                                     : tasks::name_of(pooling[0]);
  }
  return Json({{"model_id", model->name()},
               {"model_sha", nullptr},
               {"model_dtype", "float32"},
               {"model_type", type},
               {"max_concurrent_requests", call.work.context.max_concurrent},
               {"max_input_length", model->reader()->longest()},
               {"max_batch_tokens", call.work.context.max_batch_tokens},
               {"max_batch_requests", nullptr},
               {"max_client_batch_size", call.work.context.max_client_batch},
               {"auto_truncate", false},
               {"tokenization_workers", call.work.context.max_concurrent},
               {"version", call.work.context.version},
               {"sha", nullptr},
               {"docker_label", nullptr}})
      .dump();
}

std::string model_in(const http::Request& request) {
  std::string model;
  for (const auto& [name, value] : form_fields(request.query))
    if (name == "model") model = value;
  return model;
}

http::Headers time_headers(const TextTimes& times) {
  const double total = times.tokenization + times.queue.queue + times.queue.compute;
  const auto ms = [](double seconds) {
    return fmt::format("{}", static_cast<std::int64_t>(std::lround(seconds * 1e3)));
  };
  return {{"x-compute-type", "cpu"},
          {"x-compute-time", ms(total)},
          {"x-compute-characters", fmt::format("{}", times.characters)},
          {"x-compute-tokens", fmt::format("{}", times.tokens)},
          {"x-total-time", ms(total)},
          {"x-tokenization-time", ms(times.tokenization)},
          {"x-queue-time", ms(times.queue.queue)},
          {"x-inference-time", ms(times.queue.compute)}};
}

// What all that compute have around them: the body, the model that it or the address names, and the times.
ApiHandler timed(std::string (*answer)(Call& call)) {
  return [answer](const ApiCall& request) {
    Call call{request.work, json_body(request.request)};
    call.model = http::word(call.body, "model", model_in(request.request).c_str());
    http::Response response{.body = answer(call)};
    response.headers = time_headers(call.times);
    Metrics& metrics = request.context().metrics;
    metrics.observe("te_request_tokenization_duration", call.times.tokenization);
    metrics.observe("te_request_queue_duration", call.times.queue.queue);
    metrics.observe("te_request_inference_duration", call.times.queue.compute);
    return response;
  };
}

http::Response model_info(const ApiCall& request) {
  Call call{request.work, {}};
  call.model = model_in(request.request);
  return {.body = info(call)};
}

}  // namespace
}  // namespace tei

void TeiApi::add_routes(ApiRoutes& routes) {
  add(routes, {"POST", "/embed", "A vector for each text.", R"({"inputs": ["a text", "another"], "normalize": true})"},
      tei::timed(tei::embed));
  add(routes, {"POST", "/embed_all", "A vector for each token.", R"({"inputs": "a text"})"},
      tei::timed(tei::embed_all));
  add(routes, {"POST", "/predict", "Labels of a text, a pair or a batch.", R"({"inputs": "a wonderful film"})"},
      tei::timed(tei::predict));
  add(routes, {"POST", "/rerank", "How well texts answer a query.", R"({"query": "film", "texts": ["one", "two"]})"},
      tei::timed(tei::rerank));
  add(routes,
      {"POST", "/similarity", "Cosines between a sentence and others.",
       R"({"inputs": {"source_sentence": "a", "sentences": ["b", "c"]}})"},
      tei::timed(tei::similarity));
  add(routes, {"POST", "/tokenize", "The tokens of texts.", R"({"inputs": "a text"})"}, tei::timed(tei::tokenize));
  add(routes, {"POST", "/decode", "The texts of tokens.", R"({"ids": [1, 2, 3]})"}, tei::timed(tei::decode));
  add(routes, {"GET", "/info", "The model behind these paths."}, tei::model_info);
}

http::Response TeiApi::refused(const Refusal& refusal) const {
  std::string kind = refusal.kind;
  if (kind.empty())
    kind = refusal.status == 429   ? "Overloaded"
           : refusal.status == 422 ? "Tokenizer"
           : refusal.status >= 500 ? "Backend"
                                   : "Validation";
  return {.status = refusal.status, .body = Json({{"error", refusal.why}, {"error_type", kind}}).dump()};
}

}  // namespace attend::serve
