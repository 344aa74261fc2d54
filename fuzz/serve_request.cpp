// Any request to any endpoint of attend serve: {"path", "type", "body"}, where a body that is a string is sent as it
// is. Models are those that come with attend, where they are found, but for the translator, which takes seconds here:
// how its texts are cut is tried alone. What they would write long is kept short.
#include <memory>

#include "attend/backends.h"
#include "attend/base/json.h"
#include "attend/base/paths.h"
#include "attend/serve/api/hugging_face.h"
#include "attend/serve/api/libre.h"
#include "attend/serve/api/libre_text.h"
#include "attend/serve/api/openai.h"
#include "attend/serve/api/tei.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

const Target kTarget = {
    .file = "request.json",
    .schema =
        R"({"path": ["/embed", "/embed_all", "/predict", "/rerank", "/similarity", "/tokenize", "/decode", "/info", "/translate", "/detect",
      "/languages", "/v1/models", "/v1/embeddings", "/v1/completions", "/models/bert", "/models/bert-sst2", "/models/en-fr",
      "/models/shakespeare", "/models/vit-fashion-mnist", "/models/bert/pipeline/feature-extraction", "/models/shakespeare/v1/completions"],
      "type": ["application/json", "application/x-www-form-urlencoded", "image/png", ""], "body": [{}, "", "q=a&source=en&target=fr", []],
      "inputs": ["a", ["a", "b"], [["a"], ["b", "c"]], "the [MASK]", {"source_sentence": "a", "sentences": ["b"]}, 3, null], "truncate": [true],
      "normalize": [false], "dimensions": [0, 1, 256, 257], "query": ["a"], "texts": [["a"], []], "raw_scores": [true], "return_text": [true],
      "ids": [[1, 2], [[1]], [-1], [99999999]], "q": ["One. Two!", ["a"], "<p>a &amp; b</p>", "\n"], "source": ["en", "auto", "xx"], "target": ["fr", "en"],
      "format": ["html", "text", "x"], "alternatives": [0, 1, "2", -1, 1e9], "model": ["bert", "shakespeare", "x"], "input": ["a", ["a"], [1], [[1]]],
      "encoding_format": ["float", "base64"], "prompt": ["a", ["a", "b"], [1, 2], [[1]], ""], "max_tokens": [1, 2, 0, -1], "n": [1, 2, 0], "best_of": [1, 3],
      "temperature": [0, 1, -1, 1e30], "top_p": [0.5, 0, 1], "top_k": [0, 1, 70], "min_p": [0.1], "seed": [1, -1], "stop": ["a", ["a", ""], []],
      "logprobs": [0, 3, true, 99], "stream": [true, false], "stream_options": [{"include_usage": true}], "echo": [true],
      "parameters": [{"top_k": 2}, {"max_new_tokens": 2}, {"aggregation_strategy": "none"}, {"num_beams": 2}], "api_key": ["x"]})"};

namespace {

class Silence : public http::Exchange {
 public:
  void answer(http::Response) override {}
  void begin(http::Response) override {}
  bool write(std::string_view) override { return true; }
  void finish() override {}
  std::stop_token stop_token() const override { return {}; }
};

struct House {
  serve::Metrics metrics;
  serve::Engine engine;
  serve::ServedModels models{
      engine,
      metrics,
      {.open_backend = [] { return std::shared_ptr<Backend>(open_backend("cpu", {.threads = 1})); }, .max_rows = 2}};
  serve::ApiContext context{.models = models, .metrics = metrics};
  std::vector<std::unique_ptr<serve::ApiAdapter>> adapters;
  serve::ApiRoutes routes;

  House() {
    for (const char* name : {"bert", "bert-sst2", "shakespeare", "vit-fashion-mnist"})
      if (path_exists(std::filesystem::path("models") / name / "config.json"))
        models.open(name, std::filesystem::path("models") / name);
    adapters.push_back(std::make_unique<serve::LibreTranslateApi>());
    adapters.push_back(std::make_unique<serve::TeiApi>());
    adapters.push_back(std::make_unique<serve::OpenAiApi>());
    adapters.push_back(std::make_unique<serve::HuggingFaceApi>());
    for (const auto& adapter : adapters) adapter->add_routes(routes);
  }
};

// What costs time and teaches nothing.
void keep_short(Json& body) {
  if (body.is_array() || body.is_object())
    for (Json& value : body) keep_short(value);
  if (!body.is_object()) return;
  for (const char* name : {"max_tokens", "max_new_tokens", "n", "best_of", "num_return_sequences", "num_beams"})
    if (const Json* value = body.find(name); value != body.end() && value->is_number() && value->get<double>() > 4)
      body[name] = 4;
}

}  // namespace

void enter(const Input& input) {
  static House house;
  const Json json = parse_json(input.first().bytes, "input");
  if (!json.is_object()) return;
  http::Request request;
  request.method = "POST";
  request.path = json["path"].is_string() ? json["path"].text() : "/embed";
  request.content_type = json["type"].is_string() ? json["type"].text() : "application/json";
  Json body = json["body"];
  keep_short(body);
  request.body = body.is_string() ? body.text() : body.dump();
  if (request.path.starts_with("/v1/models") || request.path == "/languages" || request.path == "/info")
    request.method = "GET";
  if (body.is_object() && body["q"].is_string()) {
    std::string joined;
    for (const serve::TextPiece& piece : serve::plain_pieces(body["q"].text())) joined += piece.text;
    must(joined == body["q"].text(), "the pieces of a text are the text");
    serve::html_pieces(body["q"].text());
  }
  const auto match = house.routes.find(request);
  if (!match || match->wrong_method()) return;
  const serve::Endpoint& endpoint = house.routes.handler(*match);
  try {
    const auto response = endpoint.answer(
        serve::ApiCall{request, match->values, serve::Work{house.context, std::make_shared<Silence>()}});
    must(!response || response->status < 500, "a request is never the server's fault");
    must(!response || Json::accept(response->body), "an answer is JSON");
  } catch (const serve::Refusal& refusal) {
    must(refusal.status < 500, "a request is never the server's fault");
    must(Json::accept(endpoint.adapter->refused(refusal).body), "a refusal is JSON");
  }
}

}  // namespace attend::fuzz
