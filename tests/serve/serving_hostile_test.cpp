// attend serve and those who mean no good, leave early, come in crowds, have no key; and models that change under it.
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "tests/http/http_client.h"
#include "tests/serve/serving_house.h"

namespace attend::serve {
namespace {

using namespace std::chrono_literals;
using test::Answered;
using test::ask;
using test::Client;
using test::get_text;
using test::post_json;
using test::post_text;

class ServeHostile : public ServeTest {};

TEST_F(ServeHostile, NoBodyBreaksADoor) {
  const std::string deep(60000, '['), wide = "{\"inputs\":" + deep;
  const std::vector<std::string> bodies = {"",
                                           "{",
                                           "[]",
                                           "null",
                                           "3",
                                           deep,
                                           wide,
                                           "{\"inputs\": \"\xff\xfe\"}",
                                           "{\"inputs\": 1e999}",
                                           "{\"inputs\": -1}",
                                           R"({"inputs": {"a": 1}})",
                                           R"({"inputs": [null]})",
                                           R"({"inputs": [[["a"]]]})",
                                           R"({"inputs": "\u0000"})",
                                           R"({"inputs": "\ud800"})",
                                           R"({"q": "a", "source": 3, "target": "fr"})",
                                           R"({"q": {"a": 1}, "source": "en", "target": "fr"})",
                                           R"({"q": "a", "source": "en", "target": "fr", "alternatives": -1})",
                                           R"({"q": "a", "source": "en", "target": "fr", "alternatives": 1e30})",
                                           R"({"model": "shakespeare", "prompt": "a", "max_tokens": -1})",
                                           R"({"model": "shakespeare", "prompt": "a", "n": 100000})",
                                           R"({"model": "shakespeare", "prompt": "a", "temperature": -3})",
                                           R"({"model": "shakespeare", "prompt": "a", "top_p": 0})",
                                           R"({"model": "shakespeare", "prompt": "a", "logprobs": 1000})",
                                           R"({"model": "shakespeare", "prompt": [99999999]})",
                                           R"({"model": "shakespeare", "prompt": [-1]})",
                                           R"({"model": "shakespeare", "prompt": "a", "stop": [1]})",
                                           R"({"model": "shakespeare", "prompt": "a", "stream": "yes"})",
                                           R"({"model": "shakespeare", "prompt": "a", "stream_options": 3})",
                                           R"({"ids": [-1]})",
                                           R"({"ids": [99999999]})",
                                           R"({"ids": "x"})",
                                           R"({"query": 1, "texts": [1]})",
                                           R"({"model": 3, "input": "a"})",
                                           R"({"model": "bert", "input": "a", "dimensions": 100000})",
                                           R"({"model": "bert", "input": [[]]})",
                                           R"({"inputs": {"question": "a"}})",
                                           R"({"inputs": {"source_sentence": 1, "sentences": [2]}})",
                                           R"({"inputs": "a", "parameters": 3})"};
  for (const char* path : {"/embed", "/embed_all", "/predict", "/rerank", "/similarity", "/tokenize", "/decode",
                           "/translate", "/detect", "/v1/embeddings", "/v1/completions", "/models/bert",
                           "/models/bert-sst2", "/models/en-fr", "/models/shakespeare", "/models/vit-fashion-mnist"}) {
    Client client(port());
    for (const std::string& body : bodies) {
      client.send(post_text(path, body));
      const Answered answer = client.read();
      EXPECT_GE(answer.status, 200) << path << " " << body.substr(0, 80);
      EXPECT_LT(answer.status, 500) << path << " " << body.substr(0, 80) << answer.body;
      EXPECT_TRUE(Json::accept(answer.body) || answer.body.starts_with("data:")) << path << " " << body.substr(0, 80);
    }
  }
}

TEST_F(ServeHostile, AClientThatLeavesLeavesItsRow) {
  for (int i = 0; i < 8; ++i) {
    Client client(port());
    client.send(post_text("/v1/completions",
                          R"({"model": "shakespeare", "prompt": "ROMEO:", "max_tokens": 240, "stream": true})"));
    client.read_some(300);
    client.reset();
  }
  EXPECT_FALSE(completed(port(), "ROMEO:", 1).empty());
  for (int i = 0; i < 500 && house_->models.find("shakespeare")->waiting() > 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(house_->models.find("shakespeare")->waiting(), 0u);
}

TEST(ServeAlone, WantsKeysAndSaysWhoMayAsk) {
  if (!http::has_http_server()) GTEST_SKIP() << "built without Boost";
  House house({.keys = {"secret", "other"}, .cors_origin = "https://example.org"}, {"bert", "en-fr"});
  const std::string body = R"({"inputs": "a"})";
  const int port = house.port();
  EXPECT_EQ(ask(port, get_text("/health")).status, 200);
  EXPECT_EQ(ask(port, post_text("/embed", body)).status, 401);
  EXPECT_EQ(ask(port, post_text("/embed", body, "application/json", "authorization: Bearer wrong\r\n")).status, 401);
  const Answered in = ask(port, post_text("/embed", body, "application/json", "authorization: Bearer secret\r\n"));
  EXPECT_EQ(in.status, 200);
  EXPECT_TRUE(in.has("access-control-allow-origin: https://example.org"));
  EXPECT_EQ(ask(port, post_text("/embed", body, "application/json", "x-api-key: other\r\n")).status, 200);
  EXPECT_EQ(ask(port, post_text("/v1/embeddings", body)).json().at("error").at("code"), "invalid_api_key");
  Json translate = {{"q", "Yes."}, {"source", "en"}, {"target", "fr"}};
  EXPECT_EQ(post_json(port, "/translate", translate).status, 403);
  translate["api_key"] = "secret";
  EXPECT_EQ(post_json(port, "/translate", translate).status, 200);
  EXPECT_EQ(ask(port, "OPTIONS /embed HTTP/1.1\r\nHost: x\r\nOrigin: https://example.org\r\n\r\n").status, 204);
}

TEST(ServeAlone, SaysSoWhenItIsFullAndFinishesAtTheEnd) {
  if (!http::has_http_server()) GTEST_SKIP() << "built without Boost";
  House house({.max_concurrent = 2}, {"shakespeare"});
  const std::string long_one =
      post_text("/v1/completions", R"({"prompt": "ROMEO:", "max_tokens": 200, "stream": true, "seed": 1})");
  Client one(house.port()), two(house.port());
  one.send(long_one), two.send(long_one);
  one.read_some(20), two.read_some(20);
  const Answered full = post_json(house.port(), "/v1/completions", Json{{"prompt", "a"}, {"max_tokens", 1}});
  EXPECT_EQ(full.status, 429);
  EXPECT_TRUE(full.has("retry-after-ms: "));
  EXPECT_EQ(full.json().at("error").at("code"), "rate_limit_exceeded");
  EXPECT_EQ(ask(house.port(), get_text("/health")).status, 200);
  house.stop = true;
  EXPECT_NE(one.read_some().find("[DONE]"), std::string::npos) << "what runs at the end is finished";
  EXPECT_NE(two.read_some().find("[DONE]"), std::string::npos);
}

TEST(ServeAlone, OpensChangedModelsAnew) {
  if (!http::has_http_server()) GTEST_SKIP() << "built without Boost";
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "attend-serve-reload";
  std::filesystem::remove_all(folder);
  std::filesystem::copy("models/bert", folder);
  Metrics metrics;
  Engine engine;
  ServedModels models(engine, metrics,
                      {.open_backend = [] { return std::shared_ptr<Backend>(open_backend("cpu", {.threads = 1})); }});
  models.open("m", folder);
  const ServedModelPtr before = models.find("m");
  EXPECT_EQ(models.reload(), std::vector<std::string>{"no model has changed"});
  const std::string config = read_file(folder / "config.json");
  write_file(folder / "config.json", "{}");
  EXPECT_NE(models.reload().at(0).find("stays as it was"), std::string::npos);
  EXPECT_EQ(models.find("m"), before);
  write_file(folder / "config.json", config + "\n");
  EXPECT_EQ(models.reload().at(0), "m: opened anew");
  EXPECT_NE(models.find("m"), before);
  // Who has the old one goes on with it.
  const tasks::EncoderText text = before->reader()->read("a text", 1, {});
  EXPECT_EQ(before->states->run(std::span(&text, 1)), models.find("m")->states->run(std::span(&text, 1)));
  EXPECT_THROW(models.open("m", folder), Error);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace attend::serve
