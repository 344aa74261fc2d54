#include "attend/look/api/api.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/http/json_request.h"
#include "attend/look/api/export.h"
#include "attend/look/api/image_store.h"
#include "attend/look/api/inspection_json.h"
#include "attend/look/api/lessons.h"
#include "attend/look/api/read_place.h"
#include "attend/look/api/web_files.h"

namespace attend::look {

namespace {

std::string read_text(const Json& request, const ApiOptions& options) {
  std::string text = http::word(request, "text", "");
  check(text.size() <= options.max_text, "the text has {} bytes, at most {} are taken", text.size(), options.max_text);
  return text;
}

constexpr std::int64_t kPositionRows = 48;

bool local_name(std::string_view host) {
  host = host.substr(0, host.rfind(':'));
  return host == "127.0.0.1" || host == "localhost";
}

}  // namespace

Inspector& Api::inspector() const {
  check(parts_.inspector != nullptr, "there is no model here, only a run to look at");
  return *parts_.inspector;
}

Json Api::model() const {
  Json json = {{"name", options_.name}, {"run", parts_.run != nullptr}};
  if (parts_.images) {
    json.update(parts_.images->model());
    return json;
  }
  if (parts_.drawings) {
    json.update(parts_.drawings->model());
    return json;
  }
  if (!parts_.inspector) {
    json.update({{"kind", "run"}, {"attention", Json::array()}});
    return json;
  }
  const ModelCard& card = parts_.inspector->card();
  const Anatomy& anatomy = parts_.inspector->anatomy();
  Json places = Json::array();
  for (const Anatomy::Attention& attention : anatomy.attention)
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

ImageQuestions& Api::images() const {
  check(parts_.images != nullptr, "the model here does not look at images");
  return *parts_.images;
}

std::string Api::inspect(const Json& request) {
  if (parts_.images) return dumped(images().inspect(request));
  if (parts_.drawings) return dumped(parts_.drawings->inspect(request));
  const std::string text = read_text(request, options_);
  InspectOptions options{.beams = http::whole(request, "beams", 4), .tokens = http::whole(request, "tokens", 12)};
  if (const Json* ablation = http::field(request, "ablation")) options.ablation = read_ablation(*ablation);
  if (const Json* prefix = http::field(request, "prefix")) options.prefix = http::ids(*prefix, "prefix");
  return inspection_text(inspector().inspect(text, options));
}

Json Api::trace(const Json& request) {
  if (parts_.images) return images().trace(request);
  return view::to_json(inspector().trace(traced(request)));
}

Json Api::positions() const {
  if (parts_.images) return images().positions();
  const PositionTable table = inspector().positions(kPositionRows);
  Json rows = Json::array();
  for (std::size_t i = 0; i < table.values.size(); i += table.width) {
    Json row = Json::array();
    for (std::size_t j = 0; j < table.width; ++j) row.push_back(view::significant(table.values[i + j]));
    rows.push_back(std::move(row));
  }
  return {{"width", table.width}, {"rows", std::move(rows)}};
}

TraceRequest Api::traced(const Json& request) const {
  return {.text = read_text(request, options_),
          .target = http::ids(http::items(request, "target"), "target"),
          .place = read_place(request),
          .head = http::whole(request, "head", 0),
          .token = http::whole(request, "token", 0)};
}

Json Api::output(const Json& request) { return output_json(inspector().output(traced(request))); }

Json Api::states(const Json& request) {
  const std::string text = read_text(request, options_);
  const Json* order = http::field(request, "order");
  if (!order) return states_json(inspector().states({.text = text}));
  const std::vector<std::int32_t> wanted = http::ids(*order, "order");
  return compare_orders(inspector(), {.text = text, .order = {wanted.begin(), wanted.end()}});
}

Json Api::exact(const Json& request) {
  return exact_by_length(inspector(), http::word(request, "language", ""), http::whole(request, "count", 300));
}

Json Api::run(const Json& request) {
  constexpr std::size_t kNoImages = std::numeric_limits<std::size_t>::max();
  check(parts_.run != nullptr, "there is no run here, only a model");
  const auto count = [](std::int64_t number) { return static_cast<std::size_t>(std::max<std::int64_t>(0, number)); };
  Json answer =
      parts_.run->lines({.log = count(http::whole(request, "log", 0)), .look = count(http::whole(request, "look", 0))});
  if (parts_.others.empty()) return answer;
  std::vector<std::int32_t> known;  // lines of each
  if (const Json* given = http::field(request, "others")) known = http::ids(*given, "others");
  Json others = Json::array();
  for (std::size_t i = 0; i < parts_.others.size(); ++i) {
    Json other = parts_.others[i]->lines({.log = i < known.size() ? count(known[i]) : 0, .look = kNoImages});
    other["name"] = parts_.others[i]->name();
    others.push_back(std::move(other));
  }
  answer["others"] = std::move(others);
  return answer;
}

http::Response Api::ask(const http::Request& request) {
  if (request.method != "POST") return http::refused(405, "ask with POST");
  const bool upload = request.path == "/api/image";
  const std::string_view type = request.content_type;
  if (upload && !is_image_type(type))
    return http::refused(415, "the body must be an image: image/png, image/jpeg or image/webp");
  if (!upload && !type.starts_with("application/json")) return http::refused(415, "the body must be application/json");
  try {
    if (upload) {
      const std::lock_guard lock(model_);
      return {.body = dumped(images().keep(request.body))};
    }
    const Json body = parse_json(request.body, "request");
    const std::lock_guard lock(model_);
    if (request.path == "/api/run") return {.body = dumped(run(body))};
    if (request.path == "/api/trace") return {.body = dumped(trace(body))};
    if (request.path == "/api/output") return {.body = dumped(output(body))};
    if (request.path == "/api/states") return {.body = dumped(states(body))};
    if (request.path == "/api/exact") return {.body = dumped(exact(body))};
    if (request.path == "/api/attention") return {.body = dumped(images().attention(body))};
    if (request.path == "/api/positions") return {.body = dumped(positions())};
    return {.body = inspect(body)};
  } catch (const Error& error) {
    return http::refused(400, error.what());
  }
}

bool Api::answers_to(const std::string& host) const { return !options_.only_local_names || local_name(host); }

http::Response Api::handle(const http::Request& request) {
  if (!answers_to(request.host)) return http::refused(403, "this server answers only to 127.0.0.1 and localhost");
  const std::string& path = request.path;
  for (const char* question : {"/api/inspect", "/api/trace", "/api/positions", "/api/attention", "/api/image",
                               "/api/run", "/api/output", "/api/states", "/api/exact"})
    if (path == question) return ask(request);
  if (request.method != "GET" && request.method != "HEAD") return http::refused(405, "ask with GET");
  if (path == "/api/model") return {.body = dumped(model())};
  if (path == "/") return {.type = "text/html; charset=utf-8", .body = whole_page()};
  const WebFile* file = find_web_file(std::string_view(path).substr(path.empty() ? 0 : 1));
  if (!file && parts_.images && path.starts_with("/samples/"))
    if (const std::string png = ImageStore::sample_png(path.substr(std::string_view("/samples/").size())); !png.empty())
      return {.type = "image/png", .body = png};
  if (!file) return http::refused(404, "there is no such page");
  return {.type = std::string(file->type), .body = std::string(file->content)};
}

}  // namespace attend::look
