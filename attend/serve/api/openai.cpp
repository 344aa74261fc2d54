#include "attend/serve/api/openai.h"

#include <fmt/core.h>

#include "attend/base/base64.h"
#include "attend/base/error.h"
#include "attend/http/json_request.h"
#include "attend/serve/api/texts.h"

namespace attend::serve {

namespace openai {
namespace {

Json model_json(const ServedModel& model) {
  return {{"id", model.name()}, {"object", "model"}, {"created", model.created()}, {"owned_by", "attend"}};
}

// Strings, or lists of ids, which are read as their text is.
std::vector<std::string> inputs_of(const Work& work, const Json& body, const ServedModel& model) {
  const Json* input = http::field(body, "input");
  check(input != nullptr, "missing field `input`");
  const auto decoded = [&](const Json& list) {
    std::vector<text::TokenId> tokens;
    for (const std::int32_t id : http::ids(list, "input")) {
      check(id < static_cast<std::int32_t>(model.tokenizer()->id_limit()), "there is no token {}", id);
      tokens.push_back(id);
    }
    return model.tokenizer()->decode(tokens);
  };
  if (input->is_array() && !input->empty() && input->at(0).is_number()) return {decoded(*input)};
  if (input->is_array() && !input->empty() && input->at(0).is_array()) {
    work.check_batch(input->size());
    std::vector<std::string> texts;
    for (const Json& list : *input) texts.push_back(decoded(list));
    return texts;
  }
  return texts_of(work, *input, "input");
}

http::Response list_models(const ApiCall& call) {
  Json list = Json::array();
  for (const ServedModelPtr& model : call.context().models.all()) list.push_back(model_json(*model));
  return {.body = Json({{"object", "list"}, {"data", list}}).dump()};
}

http::Response one_model(const ApiCall& call) {
  const std::string& name = call.at("id");
  const ServedModelPtr model = call.context().models.find(name);
  if (!model) refuse(404, fmt::format("The model '{}' does not exist", name), "model_not_found");
  return {.body = model_json(*model).dump()};
}

http::Response embeddings(const ApiCall& call) {
  const Json body = json_body(call.request);
  const Work& work = call.work;
  const std::string name = http::word(body, "model", "");
  const ServedModelPtr model = choose(call.context().models, name, embeds);
  if (!model)
    refuse(
        404,
        name.empty() ? "no model here embeds" : fmt::format("The model '{}' does not exist, or does not embed", name),
        "model_not_found");
  const std::string format = http::word(body, "encoding_format", "float");
  check(format == "float" || format == "base64", "'encoding_format' must be float or base64, not {}", format);
  const std::vector<std::string> texts = inputs_of(work, body, *model);
  check(!texts.empty(), "'input' cannot be empty");
  const std::int64_t dimensions = http::whole(body, "dimensions", model->modules()->width());
  check(dimensions >= 1 && dimensions <= model->modules()->width(), "'dimensions' must be 1 to {}, not {}",
        model->modules()->width(), dimensions);
  TextTimes times;
  std::vector<std::vector<float>> vectors;
  try {
    vectors = embed_texts(work, *model, texts, {.normalize = false}, times);
  } catch (Refusal& refusal) {  // here a text that is too long is one of many bad requests
    if (refusal.status != 413) throw;
    refuse(400, refusal.why, "context_length_exceeded");
  }
  std::string json = R"({"object":"list","data":[)";
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    vectors[i].resize(static_cast<std::size_t>(dimensions));
    tasks::normalize(vectors[i]);
    json += i > 0 ? "," : "";
    json += R"({"object":"embedding","embedding":)";
    if (format == "float")
      append_floats(json, vectors[i]);
    else
      json += '"' + base64({reinterpret_cast<const char*>(vectors[i].data()), vectors[i].size() * sizeof(float)}) + '"';
    json += fmt::format(R"(,"index":{}}})", i);
  }
  json += fmt::format(R"(],"model":{},"usage":{{"prompt_tokens":{},"total_tokens":{}}}}})", Json(model->name()).dump(),
                      times.tokens, times.tokens);
  return {.body = json};
}

http::Response unknown(const ApiCall& call) {
  refuse(404, fmt::format("there is no {} here", call.request.path), "unknown_url");
}

}  // namespace
}  // namespace openai

void OpenAiApi::add_routes(ApiRoutes& routes) {
  add(routes, {"GET", "/v1/models", "All models."}, openai::list_models);
  add(routes, {"GET", "/v1/models/{id}", "One model."}, openai::one_model);
  add(routes, {"POST", "/v1/embeddings", "A vector for each text.", R"({"input": "a text", "model": "bert"})"},
      openai::embeddings);
  add(routes,
      {"POST", "/v1/completions", "Goes on with a text; streams with \"stream\": true.",
       R"({"model": "shakespeare", "prompt": "ROMEO:", "max_tokens": 40})"},
      [](const ApiCall& call) { return complete(json_body(call.request), "", call.work); });
  add(routes,
      {"POST", "/models/{id}/v1/completions", "The same with the model in the path.",
       R"({"prompt": "ROMEO:", "max_tokens": 40})"},
      [](const ApiCall& call) { return complete(json_body(call.request), call.at("id"), call.work); });
  add(routes, {"", "/v1/{path}"}, openai::unknown);
}

http::Response OpenAiApi::refused(const Refusal& refusal) const {
  const int status = refusal.status;
  const char* type = status == 401                   ? "authentication_error"
                     : status == 429                 ? "rate_limit_exceeded"
                     : status >= 400 && status < 500 ? "invalid_request_error"
                                                     : "server_error";
  Json error = {{"message", refusal.why}, {"type", type}, {"param", nullptr}};
  error["code"] = refusal.kind.empty() ? (status == 429 ? Json("rate_limit_exceeded") : Json()) : Json(refusal.kind);
  Json body = Json::object();
  body["error"] = std::move(error);
  return {.status = status, .body = body.dump()};
}

}  // namespace attend::serve
