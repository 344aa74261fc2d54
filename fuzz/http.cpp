// Any bytes as what a client sends to the HTTP server, through a socket, until it says no more.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "attend/http/http.h"
#include "fuzz/shared/target.h"

namespace attend::fuzz {

const Target kTarget = {.file = "request.txt"};

namespace {

struct Listening {
  std::string path = (folder() / "http.sock").string();
  std::atomic<bool> stop{false};
  http::Server server{{.max_body = 4096,
                       .max_head = 2048,
                       .patience = std::chrono::milliseconds(2000),
                       .idle = std::chrono::milliseconds(2000),
                       .unix_path = path},
                      http::Server::Dispatcher([](http::Request request, std::shared_ptr<http::Exchange> exchange) {
                        must(request.body.size() <= 4096, "a body has a limit");
                        exchange->answer({.body = request.method + request.path + request.body});
                      })};
  std::thread thread{[this] { server.run([this] { return stop.load(); }); }};
  ~Listening() {
    stop = true;
    thread.join();
  }
};

}  // namespace

void enter(const Input& input) {
  static Listening listening;
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, listening.path.c_str(), sizeof address.sun_path - 1);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const std::string& bytes = input.first().bytes;
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t sent = ::send(socket, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) break;
      at += static_cast<std::size_t>(sent);
    }
    ::shutdown(socket, SHUT_WR);
    std::string answer;
    char buffer[4096];
    for (ssize_t got; (got = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(got));
    must(answer.empty() || answer.starts_with("HTTP/1.1 "), "an answer is HTTP");
  }
  ::close(socket);
}

}  // namespace attend::fuzz
