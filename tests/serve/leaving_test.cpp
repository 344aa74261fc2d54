// Requests whose clients have gone, requests that are too many texts, and an end that waits for nobody for long: what
// nobody wants is not computed. What was computed is counted, so that nothing here depends on the clock.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "attend/base/files.h"
#include "attend/serve/api/libre_text.h"
#include "attend/serve/engine/turns.h"
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

// A sum that /metrics shows.
double counted(const House& house, const std::string& name) {
  const std::string text = house.metrics.text();
  const std::size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size() + 2));
}

// Minutes of work for a model that reads about 100 tokens in each text.
Json many_texts() {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "the old man went home ";
  return std::vector<std::string>(2000, text);
}
constexpr double kTokens = 2000 * 100;

template <class Done>
bool soon(Done done) {
  for (int i = 0; i < 1000 && !done(); ++i) std::this_thread::sleep_for(10ms);
  return done();
}

class Leaving : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!http::has_http_server()) GTEST_SKIP() << "built without Boost";
  }
};

TEST_F(Leaving, IsNotComputedForAnyMore) {
  House house({}, {"bert", "bert-sst2"});
  const Json texts = many_texts();
  Json pairs = Json::array();
  for (const Json& text : texts) pairs.push_back(Json::array({text}));
  const std::vector<std::pair<std::string, Json>> asked = {
      {"/embed", {{"inputs", texts}}},
      {"/embed_all", {{"inputs", texts}}},
      {"/predict", {{"inputs", pairs}}},
      {"/rerank", {{"query", "a"}, {"texts", texts}}},
      {"/similarity", {{"inputs", {{"source_sentence", "a"}, {"sentences", texts}}}}},
      {"/v1/embeddings", {{"model", "bert"}, {"input", texts}}},
      {"/models/bert", {{"inputs", texts}}},
      {"/models/bert-sst2", {{"inputs", texts}}}};
  double before = 0;
  for (const auto& [path, body] : asked) {
    for (const char* behind : {"", "G"}) {  // also one that has begun its next request
      {
        Client client(house.port());
        client.send(post_text(path, body.dump()) + behind);
        EXPECT_TRUE(soon([&] { return counted(house, "te_batch_next_tokens_sum") > before; })) << path;
        client.close();
      }
      EXPECT_TRUE(soon([&] {
        return ask(house.port(), get_text("/metrics")).body.find("requests_running 0\n") != std::string::npos;
      })) << path;
      const double now = counted(house, "te_batch_next_tokens_sum");
      EXPECT_LT(now - before, kTokens / 2) << path;
      before = now;
    }
  }
}

TEST_F(Leaving, EndsTranslationsAndTexts) {
  House house({}, {"en-fr", "shakespeare"});
  std::string sentences;
  for (int i = 0; i < 3000; ++i) sentences += "The old man reads a book. ";
  for (const auto& [path, body, model] : std::vector<std::tuple<std::string, Json, std::string>>{
           {"/translate", {{"q", sentences}, {"source", "en"}, {"target", "fr"}}, "en-fr"},
           {"/v1/completions",
            {{"model", "shakespeare"}, {"prompt", "a"}, {"n", 100}, {"max_tokens", 250}},
            "shakespeare"},
           {"/models/shakespeare",
            {{"inputs", "a"}, {"parameters", {{"num_return_sequences", 100}, {"max_new_tokens", 250}}}},
            "shakespeare"}}) {
    Client client(house.port());
    client.send(post_text(path, body.dump()));
    const ServedModelPtr served = house.models.find(model);
    EXPECT_TRUE(soon([&] { return served->waiting() > 0; })) << path;
    client.close();
    EXPECT_TRUE(soon([&] { return served->waiting() == 0; })) << path;
  }
}

TEST_F(Leaving, NobodyIsWaitedForWhenTheDrainIsOver) {
  House house({.http = {.drain = 50ms}}, {"bert"});
  Client client(house.port());
  client.send(post_text("/embed", Json({{"inputs", many_texts()}}).dump()));
  EXPECT_TRUE(soon([&] { return counted(house, "te_batch_next_tokens_sum") > 0; }));
  house.end();
  EXPECT_LT(counted(house, "te_batch_next_tokens_sum"), kTokens / 2);
}

// Others come in between the texts of one request.
TEST_F(Leaving, ManyTextsHoldNobodyUp) {
  House house({}, {"bert"});
  Client large(house.port());
  large.send(post_text("/embed", Json({{"inputs", many_texts()}}).dump()));
  EXPECT_TRUE(soon([&] { return counted(house, "te_batch_next_tokens_sum") > 0; }));
  EXPECT_EQ(post_json(house.port(), "/embed", {{"inputs", "a text"}}).status, 200);
  EXPECT_LT(counted(house, "te_batch_next_tokens_sum"), kTokens / 2);
  large.reset();
}

TEST_F(Leaving, TextsOfARequestAreCounted) {
  House house({.max_client_batch = 3}, {"bert", "bert-sst2", "en-fr", "shakespeare"});
  const Json many = {"a", "b", "c", "d"};
  Json pairs = Json::array();
  for (const Json& text : many) pairs.push_back(Json::array({text}));
  for (const auto& [path, body] : std::vector<std::pair<std::string, Json>>{
           {"/embed", {{"inputs", many}}},
           {"/embed_all", {{"inputs", many}}},
           {"/tokenize", {{"inputs", many}}},
           {"/predict", {{"inputs", pairs}}},
           {"/rerank", {{"query", "a"}, {"texts", many}}},
           {"/similarity", {{"inputs", {{"source_sentence", "a"}, {"sentences", many}}}}},
           {"/decode", {{"ids", Json(std::vector<std::vector<int>>(4, {5}))}}},
           {"/v1/embeddings", {{"model", "bert"}, {"input", many}}},
           {"/v1/completions", {{"model", "shakespeare"}, {"prompt", many}}},
           {"/models/bert", {{"inputs", many}}},
           {"/models/bert-sst2", {{"inputs", many}}},
           {"/models/en-fr", {{"inputs", many}}},
           {"/translate", {{"q", many}, {"source", "en"}, {"target", "fr"}}}}) {
    const Answered answer = post_json(house.port(), path, body);
    EXPECT_EQ(answer.status, 413) << path;
    EXPECT_NE(answer.body.find("batch size 4 > maximum allowed batch size 3"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(ask(house.port(), get_text("/info")).json().at("max_client_batch_size"), 3);
}

// Slices of a request, and texts of which only the beginning is read, change no number.
TEST_F(Leaving, WhatIsCutIsWhatItWas) {
  House house({.max_batch_tokens = 16}, {"bert"});
  const ServedModelPtr model = house.models.find("bert");
  std::string text;
  for (int i = 0; i < 9000; ++i) text += i % 7 ? "old man " : "reads a ";
  const std::vector<std::string> texts = {"a text", text, "another one, of more words", "the end"};
  const Answered answer =
      post_json(house.port(), "/embed", {{"inputs", Json(texts)}, {"normalize", false}, {"truncate", true}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const tasks::EncoderText read = model->reader()->read(texts[i], 1, {});
    const std::vector<float> vector =
        tasks::pooled(model->states->run(std::span(&read, 1))[0], static_cast<std::size_t>(model->state_width()),
                      tasks::Pooling::mean);
    for (std::size_t k = 0; k < vector.size(); ++k)
      ASSERT_EQ(static_cast<float>(answer.json().at(i).at(k).get<double>()), vector[k]) << i << " " << k;
  }
  EXPECT_EQ(post_json(house.port(), "/embed", {{"inputs", text}}).status, 413);
}

TEST_F(Leaving, TurnsAreTakenInOrder) {
  Turns turns(1);
  std::stop_source gone;
  std::atomic<int> waiting{0}, done{0};
  std::vector<std::thread> threads;
  turns.take({}, [&] {
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&, i] {
        ++waiting;
        if (i == 1)
          EXPECT_THROW(turns.take(gone.get_token(), [&] { ++done; }), Cancelled);
        else
          turns.take({}, [&] { ++done; });
      });
    soon([&] { return waiting == 3; });
    gone.request_stop();
    threads[1].join();
    EXPECT_EQ(done, 0);
  });
  threads[0].join(), threads[2].join();
  EXPECT_EQ(done, 2);
}

// Took minutes and more: every tag was held against every sentence, and every '&' looked for its ';' to the end.
TEST_F(Leaving, HostileTextsAreCutInTimeThatGrowsWithThem) {
  std::string tags, marks(1 << 20, '&');
  for (int i = 0; i < 100000; ++i) tags += "<b>a. b</b>";
  EXPECT_GT(html_pieces(tags).size(), 500u);
  EXPECT_EQ(html_pieces(marks).size(), 1u);
}

// SIGHUPs that come while models are opened: one at a time, and the newest is not lost.
TEST_F(Leaving, OneReloadAtATime) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "attend-serve-reloads";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  Metrics metrics;
  Engine engine;
  std::atomic<int> opened{0}, at_once{0}, most{0};
  std::atomic<bool> hold{false};
  ServedModels models(engine, metrics, {.open_backend = [&] {
                        most = std::max(most.load(), ++at_once);
                        ++opened;
                        while (hold) std::this_thread::sleep_for(1ms);
                        --at_once;
                        return std::shared_ptr<Backend>(open_backend("cpu", {.threads = 1}));
                      }});
  const auto change = [&](const char* name) {
    write_file(folder / name / "config.json", read_file(folder / name / "config.json") + "\n");
  };
  for (const char* name : {"a", "b"}) {
    std::filesystem::copy("models/bert", folder / name);
    models.open(name, folder / name);
  }
  change("b");
  hold = true;
  std::vector<std::string> said;
  std::thread first([&] { said = models.reload(); });
  EXPECT_TRUE(soon([&] { return opened == 3; }));
  change("a");  // which it has looked at already
  std::vector<std::thread> others;
  std::atomic<int> returned{0};
  for (int i = 0; i < 4; ++i)
    others.emplace_back([&] {
      models.reload();
      ++returned;
    });
  EXPECT_TRUE(soon([&] { return returned == 4; })) << "they do not wait";
  EXPECT_EQ(opened, 3) << "nor do they open anything";
  hold = false;
  first.join();
  for (std::thread& other : others) other.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(opened, 4);
  EXPECT_EQ(said, (std::vector<std::string>{"b: opened anew", "a: opened anew"}));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace attend::serve
