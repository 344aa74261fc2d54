#include "attend/serve/api/openapi.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "attend/base/json.h"

namespace attend::serve {

namespace {

constexpr RouteDoc kRouteDocs[] = {
    {"LibreTranslate", "post", "/translate", "Translates a text or a list of texts.",
     R"({"q": "I am a student.", "source": "en", "target": "fr", "format": "text", "alternatives": 0})"},
    {"LibreTranslate", "post", "/detect", "Which of the served languages a text is in.",
     R"({"q": "Where is the station?"})"},
    {"LibreTranslate", "get", "/languages", "Languages, and what each can become."},
    {"LibreTranslate", "get", "/frontend/settings", "What a page needs to know of the server."},
    {"LibreTranslate", "get", "/spec", "This file."},
    {"text-embeddings-inference", "post", "/embed", "A vector for each text.",
     R"({"inputs": ["a text", "another"], "normalize": true})"},
    {"text-embeddings-inference", "post", "/embed_all", "A vector for each token.", R"({"inputs": "a text"})"},
    {"text-embeddings-inference", "post", "/predict", "Labels of a text, a pair or a batch.",
     R"({"inputs": "a wonderful film"})"},
    {"text-embeddings-inference", "post", "/rerank", "How well texts answer a query.",
     R"({"query": "film", "texts": ["one", "two"]})"},
    {"text-embeddings-inference", "post", "/similarity", "Cosines between a sentence and others.",
     R"({"inputs": {"source_sentence": "a", "sentences": ["b", "c"]}})"},
    {"text-embeddings-inference", "post", "/tokenize", "The tokens of texts.", R"({"inputs": "a text"})"},
    {"text-embeddings-inference", "post", "/decode", "The texts of tokens.", R"({"ids": [1, 2, 3]})"},
    {"text-embeddings-inference", "get", "/info", "The model behind these paths."},
    {"OpenAI", "get", "/v1/models", "All models."},
    {"OpenAI", "post", "/v1/embeddings", "A vector for each text.", R"({"input": "a text", "model": "bert"})"},
    {"OpenAI", "post", "/v1/completions", "Goes on with a text; streams with \"stream\": true.",
     R"({"model": "shakespeare", "prompt": "ROMEO:", "max_tokens": 40})"},
    {"Hugging Face", "post", "/models/{id}",
     "What the model does, with {\"inputs\", \"parameters\"} or an image's bytes.",
     R"({"inputs": "a wonderful film"})"},
    {"Hugging Face", "post", "/models/{id}/pipeline/{task}", "The same with the task said.", R"({"inputs": "a text"})"},
    {"attend", "get", "/health", "200 as long as the server runs."},
    {"attend", "get", "/ready", "200 when models are loaded, 503 before and at the end."},
    {"attend", "get", "/version", "The program's version."},
    {"attend", "get", "/metrics", "Counts for Prometheus."},
    {"attend", "get", "/docs", "These paths as a page."},
    {"attend", "get", "/openapi.json", "These paths as OpenAPI 3."},
    {"attend", "get", "/look", "The attention of every model at work."},
};

}  // namespace

std::span<const RouteDoc> route_docs() { return kRouteDocs; }

std::string openapi_json(std::string_view version) {
  Json paths = Json::object();
  for (const RouteDoc& route : kRouteDocs) {
    Json operation = Json::object();
    operation["tags"] = Json::array({Json(route.family)});
    operation["summary"] = route.summary;
    Json parameters = Json::array();
    for (const std::string_view name : {"id", "task"})
      if (route.path.find(fmt::format("{{{}}}", name)) != std::string_view::npos) {
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
    paths[route.path][route.method] = std::move(operation);
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

std::string docs_page(std::string_view version, std::string_view host) {
  // What a client sends as its host is text of a stranger.
  const bool plain = !host.empty() && std::ranges::all_of(host, [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == ':' || c == '-' || c == '[' || c == ']';
  });
  std::string html = page_head("attend serve");
  html += fmt::format(
      "<p>{} &middot; <a href=\"/openapi.json\">openapi.json</a> &middot; <a href=\"/look\">look</a> &middot; "
      "<a href=\"/metrics\">metrics</a></p>",
      version);
  std::string_view family;
  for (const RouteDoc& route : kRouteDocs) {
    if (route.family != family) html += fmt::format("<h2>{}</h2>", family = route.family);
    html += fmt::format("<h3><code>{} {}</code></h3><p>{}</p>", route.method == "get" ? "GET" : "POST", route.path,
                        route.summary);
    if (!route.example.empty())
      html += fmt::format("<pre>curl -s {}{} -H 'content-type: application/json' -d '{}'</pre>",
                          plain ? host : "localhost:8080", route.path, route.example);
  }
  return html;
}

}  // namespace attend::serve
