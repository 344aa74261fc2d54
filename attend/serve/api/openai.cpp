#include "attend/serve/api/openai.h"

#include <fmt/core.h>

#include "attend/base/base64.h"
#include "attend/base/error.h"
#include "attend/http/json_request.h"
#include "attend/serve/api/texts.h"

namespace attend::serve {

namespace openai {
namespace {

constexpr std::string_view kModels = "/v1/models", kCompletions = "/v1/completions";

// "/models/NAME/v1/completions" -> NAME
std::string named_in(std::string_view path) {
  constexpr std::string_view kPrefix = "/models/";
  if (!path.starts_with(kPrefix) || !path.ends_with(kCompletions)) return {};
  path.remove_prefix(kPrefix.size());
  return std::string(path.substr(0, path.size() > kCompletions.size() ? path.size() - kCompletions.size() : 0));
}

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

}  // namespace
}  // namespace openai

bool OpenAiApi::takes(const http::Request& request) const {
  return request.path == openai::kModels || request.path.starts_with("/v1/") || !openai::named_in(request.path).empty();
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

http::Response OpenAiApi::models(const http::Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") refuse(405, "ask with GET");
  if (request.path.size() > openai::kModels.size()) {
    const std::string name = request.path.substr(openai::kModels.size() + 1);
    const ServedModelPtr model = context_.models.find(name);
    if (!model) refuse(404, fmt::format("The model '{}' does not exist", name), "model_not_found");
    return {.body = openai::model_json(*model).dump()};
  }
  Json list = Json::array();
  for (const ServedModelPtr& model : context_.models.all()) list.push_back(openai::model_json(*model));
  return {.body = Json({{"object", "list"}, {"data", list}}).dump()};
}

http::Response OpenAiApi::embeddings(const Json& body, const Work& work) const {
  const std::string name = http::word(body, "model", "");
  const ServedModelPtr model = choose(context_.models, name, embeds);
  if (!model)
    refuse(
        404,
        name.empty() ? "no model here embeds" : fmt::format("The model '{}' does not exist, or does not embed", name),
        "model_not_found");
  const std::string format = http::word(body, "encoding_format", "float");
  check(format == "float" || format == "base64", "'encoding_format' must be float or base64, not {}", format);
  const std::vector<std::string> texts = openai::inputs_of(work, body, *model);
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

std::optional<http::Response> OpenAiApi::answer(const http::Request& request,
                                                const std::shared_ptr<http::Exchange>& exchange) {
  if (request.path.starts_with(openai::kModels)) return models(request);
  const std::string named = openai::named_in(request.path);
  const bool completions = !named.empty() || request.path == openai::kCompletions;
  if (!completions && request.path != "/v1/embeddings")
    refuse(404, fmt::format("there is no {} here", request.path), "unknown_url");
  if (request.method != "POST") refuse(405, "ask with POST");
  const Json body = json_body(request);
  const Work work{context_, exchange};
  if (completions) return complete(body, named, work);
  return embeddings(body, work);
}

}  // namespace attend::serve
