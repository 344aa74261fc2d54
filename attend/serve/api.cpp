#include "attend/serve/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "attend/base/error.h"
#include "attend/serve/web_files.h"

namespace attend::serve {

namespace {

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

HttpResponse refused(int status, const std::string& why) {
  return {.status = status, .body = dumped(Json{{"error", why}})};
}

// Four digits: what a picture can show, at a third of the bytes.
Json rounded(float value) { return std::round(static_cast<double>(value) * 1e4) / 1e4; }

Json place_json(const tasks::AttentionPlace& place, std::int64_t heads) {
  return {{"stack", place.stack}, {"kind", place.kind}, {"layer", place.layer}, {"heads", heads}};
}

Json weights_json(const tasks::SeenAttention& seen) {
  Json heads = Json::array();
  const float* weight = seen.weights.data();
  for (std::int64_t h = 0; h < seen.heads; ++h) {
    Json matrix = Json::array();
    for (std::size_t r = 0; r < seen.rows; ++r) {
      Json row = Json::array();
      for (std::size_t c = 0; c < seen.columns; ++c) row.push_back(rounded(*weight++));
      matrix.push_back(std::move(row));
    }
    heads.push_back(std::move(matrix));
  }
  return heads;
}

// ---- Reading requests. Every value has the type it should have, or the request is refused.

const Json* field(const Json& object, const char* name) {
  check(object.is_object(), "the request must be an object");
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::int64_t whole(const Json& object, const char* name, std::int64_t otherwise) {
  const Json* value = field(object, name);
  if (!value) return otherwise;
  check(value->is_number_integer() && value->get<double>() > -1e9 && value->get<double>() < 1e9,
        "'{}' must be a whole number", name);
  return value->get<std::int64_t>();
}

std::string word(const Json& object, const char* name, const char* otherwise) {
  const Json* value = field(object, name);
  if (!value) return otherwise;
  check(value->is_string(), "'{}' must be a string", name);
  return value->get<std::string>();
}

std::vector<std::int32_t> ids(const Json& list, const char* name) {
  check(list.is_array() && list.size() <= 4096, "'{}' must be a list of ids", name);
  std::vector<std::int32_t> result;
  for (const Json& value : list) {
    check(value.is_number_integer() && value.get<double>() >= 0 && value.get<double>() < 1e9,
          "'{}' must be a list of ids", name);
    result.push_back(value.get<std::int32_t>());
  }
  return result;
}

const Json& items(const Json& object, const char* name) {
  static const Json kNone = Json::array();
  const Json* value = field(object, name);
  if (!value) return kNone;
  check(value->is_array() && value->size() <= 256, "'{}' must be a list", name);
  return *value;
}

tasks::AttentionPlace read_place(const Json& object) {
  return {word(object, "stack", "decoder"), word(object, "kind", "cross"), whole(object, "layer", 0)};
}

tasks::Ablation read_ablation(const Json& object) {
  tasks::Ablation result;
  for (const Json& head : items(object, "heads")) {
    const Json* scale = field(head, "scale");
    check(!scale || scale->is_number(), "'scale' must be a number");
    result.heads.push_back({read_place(head), whole(head, "head", 0), scale ? scale->get<float>() : 0.0f});
  }
  for (const Json& layer : items(object, "layers"))
    result.layers.push_back({word(layer, "stack", "encoder"), whole(layer, "layer", 0)});
  for (const std::int32_t token : ids(items(object, "masked"), "masked")) result.masked.push_back(token);
  if (const Json* positions = field(object, "positions")) {
    check(positions->is_boolean(), "'positions' must be true or false");
    result.positions = positions->get<bool>();
  }
  return result;
}

bool local_name(std::string_view host) {
  host = host.substr(0, host.rfind(':'));
  return host == "127.0.0.1" || host == "localhost";
}

}  // namespace

Json to_json(const tasks::Inspection& inspection) {
  Json steps = Json::array();
  for (const tasks::InspectedStep& step : inspection.steps) {
    Json candidates = Json::array();
    for (const tasks::Candidate& candidate : step.candidates)
      candidates.push_back(
          {{"id", candidate.id}, {"text", candidate.text}, {"probability", rounded(candidate.probability)}});
    steps.push_back(
        {{"chosen", step.chosen}, {"probability", rounded(step.probability)}, {"candidates", std::move(candidates)}});
  }
  Json attention = Json::array();
  for (const tasks::SeenAttention& seen : inspection.attention) {
    Json layer = place_json(seen.place, seen.heads);
    layer["weights"] = weights_json(seen);
    attention.push_back(std::move(layer));
  }
  return {{"source", {{"ids", inspection.source_ids}, {"pieces", inspection.source}}},
          {"target", {{"ids", inspection.target_ids}, {"pieces", inspection.target}}},
          {"text", inspection.text},
          {"score", rounded(inspection.score)},
          {"finished", inspection.finished},
          {"steps", std::move(steps)},
          {"attention", std::move(attention)}};
}

Json Api::model() const {
  const tasks::LoadedTranslator& loaded = inspector_.loaded();
  Json places = Json::array();
  for (const auto& [place, heads] : inspector_.places()) places.push_back(place_json(place, heads));
  return {{"name", options_.name},
          {"config", loaded.model->config()},
          {"vocabulary", loaded.model->vocabulary()},
          {"parameters", loaded.parameters.count()},
          {"attention", std::move(places)},
          {"limits", {{"text", options_.max_text}, {"tokens", inspector_.max_tokens()}}}};
}

Json Api::translate(const Json& request) {
  const std::string text = word(request, "text", "");
  check(text.size() <= options_.max_text, "the text has {} bytes, at most {} are taken", text.size(),
        options_.max_text);
  tasks::InspectOptions options{.beams = whole(request, "beams", 4)};
  if (const Json* ablation = field(request, "ablation")) options.ablation = read_ablation(*ablation);
  if (const Json* prefix = field(request, "prefix")) options.prefix = ids(*prefix, "prefix");
  return to_json(inspector_.inspect(text, options));
}

Json Api::trace(const Json& request) {
  const std::string text = word(request, "text", "");
  check(text.size() <= options_.max_text, "the text has {} bytes, at most {} are taken", text.size(),
        options_.max_text);
  return view::to_json(inspector_.trace(text, ids(items(request, "target"), "target"), read_place(request),
                                        whole(request, "head", 0), whole(request, "token", 0)));
}

HttpResponse Api::ask(const HttpRequest& request) {
  if (request.method != "POST") return refused(405, "ask with POST");
  if (!std::string_view(request.content_type).starts_with("application/json"))
    return refused(415, "the body must be application/json");
  try {
    const Json body = parse_json(request.body, "request");
    const std::lock_guard lock(model_);
    if (request.path == "/api/trace") return {.body = dumped(trace(body))};
    check(request.path != "/api/continue" || field(body, "prefix"), "'prefix' is missing");
    return {.body = dumped(translate(body))};
  } catch (const Error& error) {
    return refused(400, error.what());
  }
}

HttpResponse Api::handle(const HttpRequest& request) {
  if (options_.only_local_names && !local_name(request.host))
    return refused(403, "this server answers only to 127.0.0.1 and localhost");
  const std::string& path = request.path;
  if (path == "/api/translate" || path == "/api/continue" || path == "/api/trace") return ask(request);
  if (request.method != "GET" && request.method != "HEAD") return refused(405, "ask with GET");
  if (path == "/api/model") return {.body = dumped(model())};
  const WebFile* file = find_web_file(path == "/" ? "index.html" : std::string_view(path).substr(path.empty() ? 0 : 1));
  if (!file) return refused(404, "there is no such page");
  return {.type = std::string(file->type), .body = std::string(file->content)};
}

}  // namespace attend::serve
