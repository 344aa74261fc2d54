// A client that sends what it is told, byte by byte if need be, and reads what comes back.
#pragma once

#include <arpa/inet.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

#include "attend/base/json.h"

namespace attend::test {

struct Answered {
  int status = 0;
  std::string head, body;
  const Json json() const { return parse_json(body, "answer"); }  // constant: at(0) is then an element
  bool has(const std::string& text) const { return head.find(text) != std::string::npos; }
};

class Client {
 public:
  explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET, address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  explicit Client(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool send(const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t sent = ::send(socket_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      at += static_cast<std::size_t>(sent);
    }
    return true;
  }
  // Nothing more comes from here, but the answer is read.
  void half_close() { ::shutdown(socket_, SHUT_WR); }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  // As a process that was killed: the other side sees a reset.
  void reset() {
    const linger now{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }
  // One answer of a connection that may go on; status 0 when there is none.
  Answered read() {
    Answered answer;
    std::size_t end;
    while ((end = unread_.find("\r\n\r\n")) == std::string::npos)
      if (!more()) return answer;
    answer.head = unread_.substr(0, end);
    unread_.erase(0, end + 4);
    answer.status = std::stoi(answer.head.substr(9, 3));
    if (answer.status == 100) return read();
    if (answer.has("Transfer-Encoding: chunked")) {
      while (true) {
        while ((end = unread_.find("\r\n")) == std::string::npos)
          if (!more()) return answer;
        const std::size_t size = std::stoul(unread_.substr(0, end), nullptr, 16);
        while (unread_.size() < end + 2 + size + 2)
          if (!more()) return answer;
        answer.body += unread_.substr(end + 2, size);
        unread_.erase(0, end + 2 + size + 2);
        if (size == 0) return answer;
      }
    }
    const std::size_t at = answer.head.find("Content-Length: ");
    const std::size_t length = at == std::string::npos ? 0 : std::stoul(answer.head.substr(at + 16));
    while (unread_.size() < length)
      if (!more()) break;
    answer.body = unread_.substr(0, length);
    unread_.erase(0, std::min(length, unread_.size()));
    return answer;
  }
  // Until the server closes, or so much has come.
  std::string read_some(std::size_t bytes = SIZE_MAX) {
    while (unread_.size() < bytes && more()) {
    }
    return std::exchange(unread_, "");
  }

 private:
  bool more() {
    char buffer[4096];
    const ssize_t got = ::recv(socket_, buffer, sizeof buffer, 0);
    if (got > 0) unread_.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }
  int socket_;
  std::string unread_;
};

inline std::string post_text(const std::string& path, const std::string& body,
                             const std::string& type = "application/json", const std::string& more = "") {
  return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}\r\n{}", path,
                     type, body.size(), more, body);
}
inline std::string get_text(const std::string& path) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
}
inline Answered ask(int port, const std::string& request) {
  Client client(port);
  client.send(request);
  return client.read();
}
inline Answered post_json(int port, const std::string& path, const Json& body) {
  return ask(port, post_text(path, body.dump()));
}

}  // namespace attend::test
