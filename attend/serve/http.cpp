#include "attend/serve/http.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend::serve {

namespace {

using Clock = std::chrono::steady_clock;

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Internal Server Error";
  }
}

// A socket of a client, closed at the end, with one deadline for all that is read and one for all that is written.
class Connection {
 public:
  Connection(int socket, std::chrono::milliseconds patience) : socket_(socket), patience_(patience) { renew(); }
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void renew() { deadline_ = Clock::now() + patience_; }

  // More bytes behind text; false at the end, an error or the deadline.
  bool read(std::string& text) {
    char buffer[8192];
    if (!wait(POLLIN)) return false;
    const ssize_t got = ::recv(socket_, buffer, sizeof buffer, 0);
    if (got <= 0) return false;
    text.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  void write(std::string_view text) {
    while (!text.empty() && wait(POLLOUT)) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  // Who is still sending when we close would see a reset instead of the answer.
  void drain() {
    ::shutdown(socket_, SHUT_WR);
    deadline_ = std::min(deadline_, Clock::now() + std::chrono::milliseconds(200));
    std::string rest;
    while (rest.size() < (1 << 20) && read(rest)) {
    }
  }

 private:
  bool wait(short events) const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
    pollfd waiting{socket_, events, 0};
    return left > 0 && ::poll(&waiting, 1, static_cast<int>(left)) == 1;
  }

  int socket_;
  std::chrono::milliseconds patience_;
  Clock::time_point deadline_;
};

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// The value of a header; nothing when it is not there.
std::optional<std::string_view> header(std::string_view head, std::string_view name) {
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos && at + 2 < head.size();) {
    const std::size_t end = std::min(head.find("\r\n", at + 2), head.size());
    const std::string_view line = head.substr(at + 2, end - at - 2);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && same_name(line.substr(0, colon), name))
      return trimmed(line.substr(colon + 1));
    at = end == head.size() ? std::string_view::npos : end;
  }
  return std::nullopt;
}

// Reads one request. Returns what to answer when it is not one we take.
std::optional<HttpResponse> receive(Connection& connection, const HttpOptions& options, HttpRequest& request) {
  std::string text;
  std::size_t end;
  while ((end = text.find("\r\n\r\n")) == std::string::npos) {
    if (text.size() > options.max_head) return refused(431, "the head of the request is too large");
    if (!connection.read(text)) return refused(408, "the request did not arrive");
  }
  if (end > options.max_head) return refused(431, "the head of the request is too large");
  const std::string head = text.substr(0, end);
  const std::string_view line = std::string_view(head).substr(0, head.find("\r\n"));
  const std::size_t first = line.find(' '), second = line.rfind(' ');
  if (first == std::string_view::npos || second <= first || !line.substr(second + 1).starts_with("HTTP/1."))
    return refused(400, "this is not an HTTP request");
  request.method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, second - first - 1);
  request.path = target.substr(0, target.find('?'));
  request.host = header(head, "Host").value_or("");
  request.content_type = header(head, "Content-Type").value_or("");
  if (header(head, "Transfer-Encoding")) return refused(411, "a body needs a Content-Length");
  std::size_t length = 0;
  if (const auto given = header(head, "Content-Length")) {
    const auto [stop, error] = std::from_chars(given->data(), given->data() + given->size(), length);
    if (error == std::errc::result_out_of_range) return refused(413, "the body is too large");
    if (error != std::errc() || stop != given->data() + given->size()) return refused(400, "a bad Content-Length");
  } else if (request.method == "POST") {
    return refused(411, "a body needs a Content-Length");
  }
  const std::size_t most = request.content_type.starts_with("image/") ? options.max_picture : options.max_body;
  if (length > most) return refused(413, fmt::format("the body has {} bytes, at most {} are taken", length, most));
  request.body = text.substr(end + 4);
  while (request.body.size() < length)
    if (!connection.read(request.body)) return refused(408, "the body did not arrive");
  request.body.resize(length);
  return std::nullopt;
}

int listen_on(const std::string& host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  check(::inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host.c_str(), &address.sin_addr) == 1,
        "look: '{}' is no IPv4 address", host);
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  check(listener >= 0, "look: no socket: {}", std::strerror(errno));
  const int yes = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, 16) != 0) {
    const int error = errno;
    ::close(listener);
    fail("look: cannot listen on {}:{}: {}{}", host, port, std::strerror(error),
         error == EADDRINUSE ? "; --port 0 takes any free one" : "");
  }
  return listener;
}

}  // namespace

HttpResponse refused(int status, const std::string& why) {
  return {.status = status, .body = Json{{"error", why}}.dump()};
}

HttpServer::HttpServer(HttpOptions options, Handler handler)
    : options_(std::move(options)), handler_(std::move(handler)) {
  check(options_.port >= 0 && options_.port <= 65535, "look: a port is 0 to 65535, not {}", options_.port);
  listener_ = listen_on(options_.host, options_.port);
  sockaddr_in bound{};
  socklen_t size = sizeof bound;
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &size);
  port_ = ntohs(bound.sin_port);
}

HttpServer::~HttpServer() { ::close(listener_); }

// The caller is one of the workers, so that there is one even where the system gives no thread.
void HttpServer::run(const std::function<bool()>& stop) {
  std::vector<std::jthread> workers;
  try {
    for (int i = 1; i < options_.workers; ++i) workers.emplace_back([&] { work(stop); });
  } catch (const std::system_error&) {
  }
  work(stop);
}

void HttpServer::work(const std::function<bool()>& stop) const {
  while (!stop()) {
    pollfd waiting{listener_, POLLIN, 0};
    if (::poll(&waiting, 1, 100) != 1) continue;
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection >= 0)
      answer(connection);
    else if (errno != EAGAIN && errno != EWOULDBLOCK)  // no descriptor or memory left; else another worker had it
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void HttpServer::answer(int socket) const {
  Connection connection(socket, options_.patience);
  HttpRequest request;
  HttpResponse response;
  if (auto refusal = receive(connection, options_, request)) {
    response = std::move(*refusal);
  } else {
    try {
      response = handler_(request);
    } catch (const std::exception&) {
      response = refused(500, "something went wrong here");
    }
  }
  connection.renew();
  connection.write(
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n"
                  "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\r\n",
                  response.status, reason_of(response.status), response.type, response.body.size()));
  if (request.method != "HEAD") connection.write(response.body);
  connection.drain();
}

}  // namespace attend::serve
