#include "attend/serve/api.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/serve/inspection_json.h"
#include "attend/serve/web_files.h"

namespace attend::serve {

namespace {

HttpResponse refused(int status, const std::string& why) {
  return {.status = status, .body = dumped(Json{{"error", why}})};
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

std::string read_text(const Json& request, const ApiOptions& options) {
  std::string text = word(request, "text", "");
  check(text.size() <= options.max_text, "the text has {} bytes, at most {} are taken", text.size(), options.max_text);
  return text;
}

constexpr std::int64_t kPositionRows = 48;

bool local_name(std::string_view host) {
  host = host.substr(0, host.rfind(':'));
  return host == "127.0.0.1" || host == "localhost";
}

}  // namespace

tasks::Inspector& Api::inspector() const {
  check(parts_.inspector != nullptr, "there is no model here, only a run to look at");
  return *parts_.inspector;
}

Json Api::model() const {
  Json json = {{"name", options_.name}, {"run", parts_.run != nullptr}};
  if (!parts_.inspector) {
    json.update({{"kind", "run"}, {"attention", Json::array()}});
    return json;
  }
  const tasks::ModelCard& card = parts_.inspector->card();
  const tasks::Anatomy& anatomy = parts_.inspector->anatomy();
  Json places = Json::array();
  for (const tasks::Anatomy::Attention& attention : anatomy.attention)
    places.push_back(place_json(attention.place, attention.heads));
  json.update({{"kind", card.kind},
               {"config", card.config},
               {"vocabulary", card.vocabulary},
               {"parameters", card.parameters},
               {"positions", card.positions},
               {"mask", card.mask},
               {"start", card.start},
               {"example", card.example},
               {"layers", anatomy.has_layers()},
               {"attention", std::move(places)},
               {"limits", {{"text", options_.max_text}, {"tokens", card.max_tokens}}}});
  return json;
}

std::string Api::inspect(const Json& request) {
  const std::string text = read_text(request, options_);
  tasks::InspectOptions options{.beams = whole(request, "beams", 4), .tokens = whole(request, "tokens", 12)};
  if (const Json* ablation = field(request, "ablation")) options.ablation = read_ablation(*ablation);
  if (const Json* prefix = field(request, "prefix")) options.prefix = ids(*prefix, "prefix");
  return inspection_text(inspector().inspect(text, options));
}

Json Api::trace(const Json& request) {
  return view::to_json(inspector().trace({.text = read_text(request, options_),
                                          .target = ids(items(request, "target"), "target"),
                                          .place = read_place(request),
                                          .head = whole(request, "head", 0),
                                          .token = whole(request, "token", 0)}));
}

Json Api::positions() const {
  const tasks::PositionTable table = inspector().positions(kPositionRows);
  Json rows = Json::array();
  for (std::size_t i = 0; i < table.values.size(); i += table.width) {
    Json row = Json::array();
    for (std::size_t j = 0; j < table.width; ++j) row.push_back(view::significant(table.values[i + j]));
    rows.push_back(std::move(row));
  }
  return {{"width", table.width}, {"rows", std::move(rows)}};
}

Json Api::run(const Json& request) {
  check(parts_.run != nullptr, "there is no run here, only a model");
  return parts_.run->lines({.log = static_cast<std::size_t>(std::max<std::int64_t>(0, whole(request, "log", 0))),
                            .look = static_cast<std::size_t>(std::max<std::int64_t>(0, whole(request, "look", 0)))});
}

HttpResponse Api::ask(const HttpRequest& request) {
  if (request.method != "POST") return refused(405, "ask with POST");
  if (!std::string_view(request.content_type).starts_with("application/json"))
    return refused(415, "the body must be application/json");
  try {
    const Json body = parse_json(request.body, "request");
    const std::lock_guard lock(model_);
    if (request.path == "/api/run") return {.body = dumped(run(body))};
    if (request.path == "/api/trace") return {.body = dumped(trace(body))};
    if (request.path == "/api/positions") return {.body = dumped(positions())};
    return {.body = inspect(body)};
  } catch (const Error& error) {
    return refused(400, error.what());
  }
}

HttpResponse Api::handle(const HttpRequest& request) {
  if (options_.only_local_names && !local_name(request.host))
    return refused(403, "this server answers only to 127.0.0.1 and localhost");
  const std::string& path = request.path;
  for (const char* question : {"/api/inspect", "/api/trace", "/api/positions", "/api/run"})
    if (path == question) return ask(request);
  if (request.method != "GET" && request.method != "HEAD") return refused(405, "ask with GET");
  if (path == "/api/model") return {.body = dumped(model())};
  const WebFile* file = find_web_file(path == "/" ? "index.html" : std::string_view(path).substr(path.empty() ? 0 : 1));
  if (!file) return refused(404, "there is no such page");
  return {.type = std::string(file->type), .body = std::string(file->content)};
}

}  // namespace attend::serve
