// The HTTP server against well-behaved and hostile clients. Nothing here waits longer than the limits it sets.
#include "attend/http/http.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>

#include "attend/base/error.h"
#include "tests/http/http_client.h"

namespace attend::http {
namespace {

using namespace std::chrono_literals;
using test::Answered;
using test::ask;
using test::Client;
using test::get_text;
using test::post_text;

// Says back what it was asked.
class Echo : public ::testing::Test {
 protected:
  Echo() {
    ServerOptions options;
    if (!has_http_server()) return;
    options.patience = 300ms, options.idle = 400ms, options.drain = 3000ms;
    options.max_body = 1 << 20;
    options.log = [this](const RequestRecord& record) {
      const std::lock_guard lock(mutex_);
      records_.push_back(record);
    };
    server_ = std::make_unique<Server>(
        options, Server::Dispatcher([this](Request request, std::shared_ptr<Exchange> exchange) {
          if (request.path == "/slow") {
            start([this, exchange] {
              std::this_thread::sleep_for(200ms);
              exchange->answer({.body = exchange->gone() ? "gone" : "slow"});
              ++slow_;
            });
          } else if (request.path == "/stream") {
            exchange->begin({.type = "text/event-stream"});
            start([this, exchange] {
              for (int i = 0; i < 1000 && exchange->write("data: x\n\n"); ++i)
                if (i > 20) std::this_thread::sleep_for(1ms);
              exchange->finish();
              ++streams_;
            });
          } else if (request.path == "/flood") {
            exchange->begin({.type = "text/plain"});
            start([this, exchange] {
              const std::string piece(10000, 'x');
              int written = 0;
              while (written < 10000 && exchange->write(piece)) ++written;
              flooded_ = written;
            });
          } else if (request.path != "/dropped") {
            exchange->answer({.body = request.method + " " + request.path + " " + request.query + " " + request.body});
          }
        }));
    thread_ = std::thread([this] { server_->run([this] { return stop_.load(); }); });
  }
  void SetUp() override {
    if (!has_http_server()) GTEST_SKIP() << "built without Boost";
  }
  ~Echo() override {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    for (std::thread& thread : finding_) thread.join();
  }
  // Finds an answer beside the thread of the server, and ends before what it uses does. Only the server's thread starts
  // any.
  template <class Body>
  void start(Body body) {
    finding_.emplace_back(std::move(body));
  }
  int port() const { return server_->port(); }

  std::atomic<bool> stop_{false};
  std::atomic<int> slow_{0}, streams_{0}, flooded_{-1};
  std::mutex mutex_;
  std::vector<RequestRecord> records_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
  std::vector<std::thread> finding_;
};

TEST_F(Echo, KeepsAConnectionForManyRequests) {
  Client client(port());
  for (int i = 0; i < 100; ++i) {
    client.send(post_text("/a?x=1", "body" + std::to_string(i)));
    const Answered answer = client.read();
    ASSERT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "POST /a x=1 body" + std::to_string(i));
  }
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(Echo, AnswersRequestsThatWereSentTogetherInOrder) {
  Client client(port());
  client.send(get_text("/slow") + get_text("/b") + post_text("/c", "x"));
  EXPECT_EQ(client.read().body, "slow");
  EXPECT_EQ(client.read().body, "GET /b  ");
  EXPECT_EQ(client.read().body, "POST /c  x");
}

TEST_F(Echo, ReadsAndWritesChunks) {
  Client client(port());
  client.send("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  std::this_thread::sleep_for(20ms);
  client.send("A;note=1\r\n0123456789\r\n0\r\n\r\n");
  EXPECT_EQ(client.read().body, "POST /a  abc0123456789");
  client.send(get_text("/stream"));
  const Answered stream = client.read();
  EXPECT_TRUE(stream.has("text/event-stream"));
  EXPECT_EQ(stream.body.size(), 1000 * std::string("data: x\n\n").size());
  client.send("GET /stream HTTP/1.0\r\n\r\n");  // knows no chunks: the end of the connection is the end
  EXPECT_NE(client.read_some().find("data: x\n\ndata: x"), std::string::npos);
}

TEST_F(Echo, RefusesWhatTwoReadersMayReadDifferently) {
  for (const char* head :
       {"Content-Length: 3\r\nContent-Length: 3", "Content-Length: 3\r\nContent-Length: 4",
        "Content-Length: 3\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 3",
        "Content-Length: +3", "Content-Length: 0x3", "Content-Length: 3, 4", "Content-Length: ", "Content-Length : 3",
        "Host : x"}) {
    const Answered answer =
        ask(port(), fmt::format("POST /a HTTP/1.1\r\nHost: x\r\n{}\r\n\r\n3\r\nabc\r\n0\r\n\r\n", head));
    EXPECT_EQ(answer.status, 400) << head;
    EXPECT_TRUE(answer.has("Connection: close")) << head;
  }
  for (const char* head : {"Transfer-Encoding: gzip", "Transfer-Encoding: gzip, chunked",
                           "Transfer-Encoding: chunked, identity", "Transfer-Encoding: xchunked"})
    EXPECT_EQ(ask(port(), fmt::format("POST /a HTTP/1.1\r\nHost: x\r\n{}\r\n\r\n0\r\n\r\n", head)).status, 501) << head;
  EXPECT_EQ(ask(port(), "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n").status, 400);
  EXPECT_EQ(
      ask(port(), "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n").status,
      400);
}

TEST_F(Echo, HasLimits) {
  EXPECT_EQ(ask(port(), "GET /" + std::string(20000, 'a') + " HTTP/1.1\r\n\r\n").status, 431);
  EXPECT_EQ(ask(port(), post_text("/a", std::string((1 << 20) + 1, 'x'))).status, 413);
  EXPECT_EQ(ask(port(), post_text("/a", std::string(1 << 20, 'x'))).status, 200);
  // A body that does not say how long it is.
  std::string chunks = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 20; ++i) chunks += "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  EXPECT_EQ(ask(port(), chunks + "0\r\n\r\n").status, 413);
}

TEST_F(Echo, DoesNotWaitForSlowClients) {
  {
    Client client(port());  // a head that never ends
    client.send("GET / HTTP/1.1\r\nX: ");
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(50ms);
      client.send("y");
    }
    EXPECT_EQ(client.read().status, 408);
  }
  {
    Client client(port());  // a body that never ends
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc");
    EXPECT_EQ(client.read().status, 408);
  }
  {
    Client client(port());  // nothing at all
    EXPECT_EQ(client.read_some(), "");
  }
  {
    Client client(port());  // an answer that nobody reads
    client.send(get_text("/flood"));
    for (int i = 0; i < 100 && flooded_ < 0; ++i) std::this_thread::sleep_for(20ms);
    EXPECT_GE(flooded_, 0);
    EXPECT_LT(flooded_, 10000) << "a server must not keep what nobody takes";
  }
}

TEST_F(Echo, SurvivesClientsThatLeave) {
  for (int i = 0; i < 20; ++i) {
    Client reset(port());
    reset.send(get_text("/slow"));
    reset.reset();
    Client half(port());
    half.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc");
    half.close();
    Client stream(port());
    stream.send(get_text("/stream"));
    stream.read_some(10);
    stream.reset();
  }
  Client half(port());  // has said all it wants to say, and listens
  half.send(get_text("/a"));
  half.half_close();
  EXPECT_EQ(half.read().body, "GET /a  ");
  EXPECT_EQ(ask(port(), get_text("/a")).status, 200);
  EXPECT_EQ(ask(port(), get_text("/dropped")).status, 500) << "an exchange that is let go is answered";
  for (int i = 0; i < 200 && (slow_ < 20 || streams_ < 20); ++i) std::this_thread::sleep_for(20ms);
  EXPECT_EQ(slow_, 20);
  EXPECT_EQ(streams_, 20);
}

TEST_F(Echo, NamesRequests) {
  EXPECT_TRUE(ask(port(), post_text("/a", "", "text/plain", "x-request-id: abc-1\r\n")).has("x-request-id: abc-1"));
  const Answered other = ask(port(), post_text("/a", "", "text/plain", "x-request-id: a\"b\r\n"));
  EXPECT_FALSE(other.has("a\"b"));
  EXPECT_TRUE(other.has("x-request-id: "));
  for (int i = 0; i < 100; ++i) {
    const std::lock_guard lock(mutex_);
    if (records_.size() == 2) break;
    std::this_thread::sleep_for(5ms);
  }
  const std::lock_guard lock(mutex_);
  ASSERT_EQ(records_.size(), 2u);
  EXPECT_EQ(records_[0].id, "abc-1");
  EXPECT_EQ(records_[0].status, 200);
  EXPECT_EQ(records_[0].client, "127.0.0.1");
}

TEST_F(Echo, FinishesWhatRunsAtTheEnd) {
  Client running(port()), idle(port());
  idle.send(get_text("/a"));
  EXPECT_EQ(idle.read().status, 200);
  running.send(get_text("/slow"));
  std::this_thread::sleep_for(50ms);
  stop_ = true;
  thread_.join();
  EXPECT_EQ(running.read().body, "slow");
  EXPECT_EQ(idle.read_some(), "");
}

TEST(Http, ListensOnUnixSocketsAndIPv6) {
  if (!has_http_server()) GTEST_SKIP() << "built without Boost";
  const std::string path = (std::filesystem::temp_directory_path() / "attend-http-test.sock").string();
  const auto echo = [](const Request& request) { return Response{.body = request.client}; };
  std::atomic<bool> stop{false};
  {
    Server server({.unix_path = path}, echo);
    EXPECT_THROW(Server({.unix_path = path}, echo), Error);
    EXPECT_THROW(Server({.port = server.port()}, echo), Error);
    std::thread thread([&] { server.run([&] { return stop.load(); }); });
    Client client(path);
    client.send(get_text("/"));
    EXPECT_EQ(client.read().body, "unix");
    stop = true;
    thread.join();
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THROW(Server({.host = "no.address"}, echo), Error);
  EXPECT_THROW(Server({.port = 70000}, echo), Error);
  EXPECT_THROW(Server({.unix_path = std::string(300, 'x')}, echo), Error);
  try {
    Server six({.host = "::1"}, echo);
    EXPECT_GT(six.port(), 0);
  } catch (const Error& error) {  // a machine without IPv6
    EXPECT_NE(std::string(error.what()).find("::1"), std::string::npos);
  }
}

// More than may be open wait, and are answered when others leave.
TEST(Http, OthersWaitWhenEnoughAreOpen) {
  if (!has_http_server()) GTEST_SKIP() << "built without Boost";
  std::atomic<bool> stop{false};
  Server server({.idle = 2000ms, .max_connections = 2}, [](const Request&) { return Response{.body = "ok"}; });
  std::thread thread([&] { server.run([&] { return stop.load(); }); });
  auto one = std::make_unique<Client>(server.port());
  Client two(server.port()), three(server.port());
  for (Client* client : {one.get(), &two}) {
    client->send(get_text("/"));
    EXPECT_EQ(client->read().body, "ok");
  }
  three.send(get_text("/"));
  std::this_thread::sleep_for(50ms);
  EXPECT_LE(server.connections(), 2u);
  one.reset();
  EXPECT_EQ(three.read().body, "ok");
  stop = true;
  thread.join();
}

}  // namespace
}  // namespace attend::http
