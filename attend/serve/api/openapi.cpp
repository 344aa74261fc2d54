#include "attend/serve/api/openapi.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <vector>

#include "attend/base/json.h"

namespace attend::serve {

namespace {

std::vector<http::Route> listed(std::span<const http::Route> routes) {
  std::vector<http::Route> list;
  std::ranges::copy_if(routes, std::back_inserter(list),
                       [](const http::Route& route) { return !route.summary.empty(); });
  return list;
}

std::string lower(std::string_view method) {
  std::string text(method);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::string openapi_json(std::string_view version, std::span<const http::Route> routes) {
  Json paths = Json::object();
  for (const http::Route& route : listed(routes)) {
    Json operation = Json::object();
    operation["tags"] = Json::array({Json(route.family)});
    operation["summary"] = route.summary;
    Json parameters = Json::array();
    for (const std::string& name : http::path_names(route.path)) {
      Json schema = Json::object();
      schema["type"] = "string";
      parameters.push_back({{"name", name}, {"in", "path"}, {"required", true}, {"schema", schema}});
    }
    operation["parameters"] = std::move(parameters);
    if (!route.example.empty()) {
      Json content = Json::object();
      content["schema"] = Json::object();
      content["schema"]["type"] = "object";
      content["example"] = parse_json(route.example, "example");
      Json types = Json::object();
      types["application/json"] = std::move(content);
      operation["requestBody"] = Json::object();
      operation["requestBody"]["required"] = true;
      operation["requestBody"]["content"] = std::move(types);
    }
    Json described = Json::object();
    described["description"] = "the answer";
    operation["responses"] = Json::object();
    operation["responses"]["200"] = described;
    paths[route.path][lower(route.method)] = std::move(operation);
  }
  return Json({{"openapi", "3.0.3"},
               {"info", {{"title", "attend serve"}, {"version", std::string(version)}}},
               {"paths", std::move(paths)}})
      .dump();
}

std::string page_head(std::string_view title) {
  return fmt::format(
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light "
      "dark\"><title>{0}</title>"
      "<style>body{{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}}"
      "code,pre{{font-family:ui-monospace,monospace}}"
      "pre{{background:#8882;border-radius:8px;padding:.6rem;white-space:pre-wrap;overflow-wrap:anywhere}}"
      "h2{{margin-top:2rem}}h3{{margin-bottom:0}}h3+p{{margin-top:.2rem}}li{{margin:.3rem 0}}</style><h1>{0}</h1>",
      title);
}

std::string docs_page(std::string_view version, std::string_view host, std::span<const http::Route> routes) {
  // What a client sends as its host is text of a stranger.
  const bool plain = !host.empty() && std::ranges::all_of(host, [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == ':' || c == '-' || c == '[' || c == ']';
  });
  std::string html = page_head("attend serve");
  html += fmt::format(
      "<p>{} &middot; <a href=\"/openapi.json\">openapi.json</a> &middot; <a href=\"/look\">look</a> &middot; "
      "<a href=\"/metrics\">metrics</a></p>",
      version);
  std::string family;
  for (const http::Route& route : listed(routes)) {
    if (route.family != family) html += fmt::format("<h2>{}</h2>", family = route.family);
    html += fmt::format("<h3><code>{} {}</code></h3><p>{}</p>", route.method, route.path, route.summary);
    if (!route.example.empty())
      html += fmt::format("<pre>curl -s {}{} -H 'content-type: application/json' -d '{}'</pre>",
                          plain ? host : "localhost:8080", route.path, route.example);
  }
  return html;
}

}  // namespace attend::serve
