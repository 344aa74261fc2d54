// attend serve in this process, for tests: models are loaded once for all tests of a suite.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "attend/backends.h"
#include "attend/serve/engine/engine.h"
#include "attend/serve/engine/served_model.h"
#include "attend/serve/server.h"
#include "tests/http/http_client.h"

namespace attend::serve {

// A server on two threads of the CPU.
class House {
 public:
  explicit House(ServerOptions options = {},
                 std::vector<std::string> names = {"en-fr", "bert", "bert-sst2", "shakespeare", "vit-fashion-mnist"},
                 std::int64_t kept_prompts = ServedOptions().kept_prompts)
      : models(engine, metrics,
               {.open_backend = [] { return std::shared_ptr<Backend>(open_backend("cpu", {.threads = 2})); },
                .max_batch_tokens = 256,
                .max_rows = 4,
                .kept_prompts = kept_prompts}) {
    for (const std::string& name : names) models.open(name, "models/" + name);
    options.http.patience = std::chrono::milliseconds(1000);
    options.http.max_body = 2 << 20, options.http.max_image = 20 << 20;
    if (options.http.drain == http::ServerOptions().drain) options.http.drain = std::chrono::milliseconds(60000);
    options.open_look_backend = [] { return open_backend("cpu", {.threads = 1}); };
    server = std::make_unique<Server>(std::move(options), models, metrics);
    thread = std::thread([this] { server->run([this] { return stop.load(); }); });
  }
  ~House() { end(); }
  // As SIGTERM.
  void end() {
    stop = true;
    if (thread.joinable()) thread.join();
    server.reset();
  }
  int port() const { return server->port(); }

  Metrics metrics;
  Engine engine;
  ServedModels models;
  std::unique_ptr<Server> server;
  std::atomic<bool> stop{false};
  std::thread thread;
};

// Tests that ask one such server.
class ServeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (http::has_http_server()) house_ = new House();
  }
  static void TearDownTestSuite() {
    delete house_;
    house_ = nullptr;
  }
  void SetUp() override {
    if (!house_) GTEST_SKIP() << "built without Boost";
  }
  static int port() { return house_->port(); }
  inline static House* house_ = nullptr;
};

// What shakespeare writes behind a prompt.
inline std::string completed(int port, const std::string& prompt, int seed) {
  const test::Answered answer = test::post_json(
      port, "/v1/completions", {{"model", "shakespeare"}, {"prompt", prompt}, {"max_tokens", 24}, {"seed", seed}});
  return answer.status == 200 ? answer.json().at("choices").at(0).at("text").text() : answer.body;
}

}  // namespace attend::serve
