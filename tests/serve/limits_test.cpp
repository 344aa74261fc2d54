// What one client, or many together, can make the server keep, and what happens when memory is missing all the same.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "attend/base/json.h"
#include "attend/base/memory.h"
#include "attend/http/http.h"
#include "attend/http/memory_budget.h"
#include "tests/http/http_client.h"
#include "tests/serve/serving_house.h"

namespace attend::serve {
namespace {

using namespace std::chrono_literals;
using test::Answered;
using test::ask;
using test::Client;
using test::get_text;
using test::post_text;

const char* const kChunked = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";

// A server that answers with the size of the body, and has the newest request.
class Limited {
 public:
  explicit Limited(http::ServerOptions options) {
    options.patience = 2000ms, options.idle = 2000ms, options.drain = 100ms;
    server_ = std::make_unique<http::Server>(options, http::Server::Handler([this](const http::Request& request) {
                                               const std::lock_guard lock(mutex_);
                                               newest_ = request;
                                               return http::Response{.body = fmt::format("{}", request.body.size())};
                                             }));
    thread_ = std::thread([this] { server_->run([this] { return stop_.load(); }); });
  }
  ~Limited() {
    stop_ = true;
    thread_.join();
  }
  http::Server& server() { return *server_; }
  int port() const { return server_->port(); }
  http::Request newest() {
    const std::lock_guard lock(mutex_);
    return newest_;
  }

 private:
  std::mutex mutex_;
  http::Request newest_;
  std::atomic<bool> stop_{false};
  std::unique_ptr<http::Server> server_;
  std::thread thread_;
};

class Limits : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!http::has_http_server()) GTEST_SKIP() << "built without Boost";
  }
};

// Not under TSan.
bool memory_can_fail() {
  const memory::FaultInjection none([](std::size_t) { return false; });
  try {
    const std::string text(memory::kLarge, 'x');
    return text.empty();
  } catch (const std::bad_alloc&) {
    return true;
  }
}

// Sends a beginning, and pieces until the server takes no more; the status it says so with.
int refused_at(int port, const std::string& begin, const std::string& piece) {
  constexpr std::size_t kPatience = 64 << 20;
  Client client(port);
  client.send(begin);
  for (std::size_t sent = 0; sent < kPatience && client.send(piece); sent += piece.size()) {
  }
  return client.read().status;
}

TEST_F(Limits, HoldForAllThatIsAroundABody) {
  Limited limited({.max_body = 1 << 20});
  const std::string chunked = kChunked, letters(65536, 'x');
  std::string fields, chunks;
  for (int i = 0; i < 4000; ++i) fields += "a: bcdefgh\r\n", chunks += "1;a=b\r\nx\r\n";
  EXPECT_EQ(refused_at(limited.port(), chunked + "1;a=", letters), 413) << "an extension";
  EXPECT_EQ(refused_at(limited.port(), chunked + "1;a=\"", letters), 413) << "a quoted one";
  EXPECT_EQ(refused_at(limited.port(), chunked, chunks), 413) << "many of them";
  EXPECT_EQ(refused_at(limited.port(), chunked + "0\r\n", fields), 413) << "trailers";
  EXPECT_EQ(refused_at(limited.port(), chunked + "0\r\na: ", letters), 413) << "a long trailer";
  EXPECT_EQ(refused_at(limited.port(), "GET / HTTP/1.1\r\n", fields), 431) << "a head";
  EXPECT_EQ(refused_at(limited.port(), "GET / HTTP/1.1\r\na: ", letters), 431) << "a long field";
  EXPECT_EQ(refused_at(limited.port(), "GET /", letters), 431) << "a long path";
  EXPECT_EQ(ask(limited.port(), chunked + "3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nT: u\r\n\r\n").body, "5");
}

TEST_F(Limits, TrailersAreNoHeaders) {
  Limited limited({});
  const Answered answer = ask(limited.port(), std::string(kChunked) + "1\r\nx\r\n0\r\nX-API-Key: secret\r\n\r\n");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(limited.newest().header("x-api-key"), "");
  EXPECT_EQ(limited.newest().header("host"), "x");
}

TEST_F(Limits, HoldForAllConnectionsTogether) {
  Limited limited({.max_body = 8 << 20, .max_memory = 2 << 20});
  EXPECT_EQ(ask(limited.port(), post_text("/a", std::string(4 << 20, 'x'))).status, 503);
  const std::string head = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 600000\r\n\r\n";
  std::vector<std::unique_ptr<Client>> holding;
  bool refused = false;
  while (!refused && holding.size() < 8) {
    holding.push_back(std::make_unique<Client>(limited.port()));
    holding.back()->send(head + std::string(590000, 'x'));
    for (int i = 0; i < 100 && limited.server().memory() < 500000 * holding.size(); ++i)
      std::this_thread::sleep_for(5ms);
    Client other(limited.port());
    other.send(post_text("/a", std::string(400000, 'x')));
    const Answered answer = other.read();
    refused = answer.status == 503;
    EXPECT_EQ(refused, answer.has("retry-after: 1"));
  }
  EXPECT_TRUE(refused) << "many that are small enough are too much together";
  EXPECT_EQ(ask(limited.port(), get_text("/a")).status, 200) << "small ones are answered";
  holding.clear();
  for (int i = 0; i < 200 && limited.server().memory() > 100000; ++i) std::this_thread::sleep_for(5ms);
  EXPECT_LT(limited.server().memory(), 100000u) << "what was taken is given back";
  EXPECT_EQ(ask(limited.port(), post_text("/a", std::string(400000, 'x'))).body, "400000");
}

TEST_F(Limits, NothingIsSetAsideForALengthThatIsOnlyClaimed) {
  Limited limited({.max_body = 8 << 20, .max_memory = 16 << 20});
  Client client(limited.port());
  client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\nabc");
  std::this_thread::sleep_for(50ms);
  EXPECT_LT(limited.server().memory(), 200000u);
}

// A body of short values takes many times its size.
TEST_F(Limits, CountWhatABodyIsDecodedTo) {
  Limited limited({.max_body = 1 << 20, .max_memory = 8 << 20});
  std::string values = "[";
  for (int i = 0; i < 100000; ++i) values += "[],";
  EXPECT_EQ(ask(limited.port(), post_text("/a", values + "[]]")).status, 503);
  EXPECT_EQ(ask(limited.port(), post_text("/a", std::string(300000, 'x'))).status, 200);
  EXPECT_EQ(ask(limited.port(), post_text("/a", std::string(300000, ','), "image/png")).status, 413);
}

TEST_F(Limits, OneConnectionEndsWhereMemoryIsMissing) {
  if (!memory_can_fail()) GTEST_SKIP() << "the operator new of a sanitizer";
  Limited limited({.max_body = 8 << 20});
  const std::string request = post_text("/a", std::string(3 << 20, 'x'));
  {
    const memory::FaultInjection none([](std::size_t bytes) { return bytes < (1 << 20); });
    EXPECT_EQ(ask(limited.port(), request).status, 503);
    EXPECT_EQ(ask(limited.port(), get_text("/a")).status, 200);
  }
  EXPECT_EQ(ask(limited.port(), request).status, 200);
}

// Every allocation that is large enough to be asked about fails once, on both sides of a request.
TEST_F(Limits, AnyAllocationMayFail) {
  if (!memory_can_fail()) GTEST_SKIP() << "the operator new of a sanitizer";
  Limited limited({.max_body = 1 << 20});
  const std::string request = post_text("/a", std::string(200000, 'x'));
  int failed = 0;
  for (int nth = 0; nth < 12; ++nth) {
    std::atomic<int> left{nth};
    const memory::FaultInjection one([&](std::size_t) { return left.fetch_sub(1) != 0; });
    const int status = ask(limited.port(), request).status;
    EXPECT_TRUE(status == 200 || status == 503 || status == 500) << status;
    failed += status != 200;
  }
  EXPECT_GT(failed, 0);
  EXPECT_EQ(ask(limited.port(), request).body, "200000");
}

TEST_F(Limits, ComesFromTheMachine) {
  EXPECT_GE(http::default_memory_budget(), std::size_t{16} << 20);
  http::MemoryBudget budget;
  budget.set_limit(100000);
  {
    http::MemoryCharge charge(budget);
    EXPECT_TRUE(charge.add(60000));
    EXPECT_FALSE(charge.add(60000));
    EXPECT_FALSE(charge.add(SIZE_MAX));
    http::MemoryCharge other(budget);
    EXPECT_TRUE(other.add(http::MemoryCharge::kAlways)) << "a little, always";
    EXPECT_FALSE(other.add(60000));
    other.remove(http::MemoryCharge::kAlways);
    charge.remove(1000000);
    EXPECT_EQ(budget.used(), 0u);
    charge.note(200);
    EXPECT_EQ(budget.used(), 200u);
    charge.set(7);
    EXPECT_EQ(budget.used(), 7u);
  }
  EXPECT_EQ(budget.used(), 0u);
}

TEST_F(Limits, OutOfMemoryIsNotTheRequestsFault) {
  if (!memory_can_fail()) GTEST_SKIP() << "the operator new of a sanitizer";
  House house({}, {"bert", "en-fr", "shakespeare"});
  std::string words;  // whose states are a large answer, on any machine
  for (int i = 0; i < 60; ++i) words += "word ";
  const std::vector<std::pair<const char*, std::string>> asked = {
      {"/embed_all", R"({"inputs": ")" + words + R"("})"},
      {"/embed", R"({"inputs": "a text of some words"})"},
      {"/v1/embeddings", R"({"model": "bert", "input": "a text of some words"})"},
      {"/models/bert", R"({"inputs": "a text of some [MASK]"})"},
      {"/models/shakespeare", R"({"inputs": "a text"})"},
      {"/v1/completions", R"({"model": "shakespeare", "prompt": "a text"})"},
      {"/translate", R"({"q": "This is a text.", "source": "en", "target": "fr"})"}};
  for (const auto& [path, body] : asked) {
    const std::string request = post_text(path, body);
    Answered answer;
    {
      const memory::FaultInjection none([](std::size_t) { return false; });
      answer = ask(house.port(), request);
    }
    const int refused = answer.status;
    if (std::string(path) == "/embed_all") {
      EXPECT_EQ(refused, 503);
      EXPECT_EQ(answer.json().at("error_type"), "Backend");
    }
    EXPECT_TRUE(refused == 200 || refused == 500 || refused == 503) << path << " " << refused;
    EXPECT_EQ(ask(house.port(), post_text(path, body)).status, 200) << path << ", when there is memory again";
  }
}

}  // namespace
}  // namespace attend::serve
