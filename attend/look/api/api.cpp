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
#include "attend/view/worked_json.h"

namespace attend::look {

namespace {

std::string read_text(const Json& request, const ApiOptions& options) {
  std::string text = http::word(request, "text", "");
  check(text.size() <= options.max_text, "the text has {} bytes, at most {} are taken", text.size(), options.max_text);
  return text;
}

constexpr std::int64_t kPositionRows = 48;
constexpr std::size_t kMostWorked = 1 << 14;  // numbers of a matrix that a person types

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
               {"scaled", anatomy.scaled()},
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
  return inspection_text(inspector().inspect(text, options), inspector().card().start);
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

Json Api::worked(const Json& request) {
  std::string q = http::word(request, "q", ""), k = http::word(request, "k", ""), v = http::word(request, "v", "");
  if (const std::string example = http::word(request, "example", ""); !example.empty()) {
    const view::WorkedExample& one = view::worked_example(example);
    q = one.q, k = one.k, v = one.v;
  }
  for (const auto& [name, text] : {std::pair{"q", &q}, {"k", &k}, {"v", &v}})
    check(!text->empty(), "{}: there are no numbers", name);
  const std::string w = http::word(request, "w", ""), mask = http::word(request, "mask", "none");
  const view::Score score = view::score_named(http::word(request, "score", "dot"));
  check(mask == "none" || mask == "causal", "mask: none or causal, not '{}'", mask);
  const auto read = [](const std::string& text, const char* name) {
    return text.empty() ? view::NamedMatrix{} : view::read_matrix(text, name, kMostWorked);
  };
  view::NamedMatrix queries = read(q, "q"), keys = read(k, "k"), values = read(v, "v");
  check(queries.rows * std::max(keys.rows, values.columns) <= kMostWorked,
        "{} queries, {} keys and values of {} numbers are too many for this page", queries.rows, keys.rows,
        values.columns);
  return view::page_json(view::work_attention(std::move(queries), std::move(keys), std::move(values), read(w, "w"),
                                              {.score = score,
                                               .scaled = http::flag(request, "scaled", score == view::Score::dot),
                                               .causal = mask == "causal"}));
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

Api::Api(const Parts& parts, ApiOptions options) : parts_(parts), options_(std::move(options)) {
  add_questions();
  add_files();
}

namespace {

// The answer's body; of an Error, 400.
http::Response answered(const std::function<std::string()>& answer) {
  try {
    return {.body = answer()};
  } catch (const Error& error) {
    return http::refused(400, error.what());
  }
}

}  // namespace

void Api::add_questions() {
  const auto path = [](std::string_view name) { return fmt::format("{}{}", kApiPrefix, name); };
  const auto question = [&](const char* name, const char* summary, std::function<std::string(const Json&)> answer) {
    routes_.add({.method = "POST", .path = path(name), .summary = summary, .example = "{}"},
                [this, answer = std::move(answer)](const http::Request& request, const http::PathValues&) {
                  if (!std::string_view(request.content_type).starts_with("application/json"))
                    return http::refused(415, "the body must be application/json");
                  return answered([&] {
                    const Json body = parse_json(request.body, "request");
                    const std::lock_guard lock(model_);
                    return answer(body);
                  });
                });
  };
  question("inspect", "A text or an image through the model: tokens, candidates, attention.",
           [this](const Json& body) { return inspect(body); });
  question("trace", "The numbers of one head at one place.", [this](const Json& body) { return dumped(trace(body)); });
  question("positions", "The position embeddings.", [this](const Json&) { return dumped(positions()); });
  question("attention", "What the model looks at in an image.",
           [this](const Json& body) { return dumped(images().attention(body)); });
  question("output", "What the output projection makes of a token.",
           [this](const Json& body) { return dumped(output(body)); });
  question("states", "The encoder's states, also in another order of the tokens.",
           [this](const Json& body) { return dumped(states(body)); });
  question("exact", "The share of exact answers by length.", [this](const Json& body) { return dumped(exact(body)); });
  question("worked", "Attention on given numbers, step by step.",
           [](const Json& body) { return dumped(worked(body)); });
  question("run", "New lines of the log of a training run.", [this](const Json& body) { return dumped(run(body)); });
  routes_.add({.method = "POST", .path = path("image"), .summary = "Keeps an image (PNG, JPEG or WebP as the body)."},
              [this](const http::Request& request, const http::PathValues&) {
                if (!is_image_type(request.content_type))
                  return http::refused(415, "the body must be an image: image/png, image/jpeg or image/webp");
                return answered([&] {
                  const std::lock_guard lock(model_);
                  return dumped(images().keep(request.body));
                });
              });
  routes_.add(
      {.method = "GET", .path = path("model"), .summary = "The model's kind, config and attention layers."},
      [this](const http::Request&, const http::PathValues&) -> http::Response { return {.body = dumped(model())}; });
}

void Api::add_files() {
  routes_.add({.method = "GET", .path = "/"}, [](const http::Request&, const http::PathValues&) -> http::Response {
    return {.type = "text/html; charset=utf-8", .body = whole_page()};
  });
  routes_.add({.method = "GET", .path = "/samples/{name}"},
              [this](const http::Request&, const http::PathValues& path) -> http::Response {
                std::string file = parts_.images ? parts_.images->samples().file(path.at("name")) : "";
                if (file.empty()) return http::refused(404, "there is no such page");
                const bool png = file.starts_with("\x89PNG");
                return {.type = png ? "image/png" : "image/jpeg", .body = std::move(file)};
              });
  routes_.add({.method = "GET", .path = "/{file}"},
              [](const http::Request&, const http::PathValues& path) -> http::Response {
                const WebFile* file = find_web_file(path.at("file"));
                if (!file) return http::refused(404, "there is no such page");
                return {.type = std::string(file->type), .body = std::string(file->content)};
              });
}

bool Api::answers_to(const std::string& host) const { return !options_.only_local_names || local_name(host); }

http::Response Api::handle(const http::Request& request) {
  if (!answers_to(request.host)) return http::refused(403, "this server answers only to 127.0.0.1 and localhost");
  const auto match = routes_.find(request);
  if (!match) return http::refused(404, "there is no such page");
  if (!match->wrong_method()) return routes_.handler(*match)(request, match->values);
  http::Response response = http::refused(405, match->ask_with());
  response.headers.push_back(match->allow());
  return response;
}

}  // namespace attend::look
