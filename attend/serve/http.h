// As much of HTTP/1.1 (RFC 9112) as one page on one's own machine needs: GET and POST with a length, one request a
// connection, limits on everything that is read. Debian's cpp-httplib is a shared library that brings OpenSSL and
// Brotli along and is not there for a cross build; this is 200 lines.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace attend::serve {

struct HttpRequest {
  std::string method, path;  // the path without what follows a '?'
  std::string host, content_type, body;
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json; charset=utf-8";
  std::string body = {};
};

// {"error": why}
HttpResponse refused(int status, const std::string& why);

struct HttpOptions {
  std::string host = "127.0.0.1";  // an IPv4 address, or localhost
  int port = 0;                    // 0: any free one
  std::size_t max_body = 64 << 10, max_head = 16 << 10;
  std::size_t max_picture = 0;               // bytes of a body of type image/..
  int workers = 4;                           // requests answered at once; others wait in the system's queue
  std::chrono::milliseconds patience{5000};  // for a request to arrive, and for an answer to leave
};

class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;
  // Listens from now on. Throws Error when the address is taken or is none. The handler is called by several threads.
  HttpServer(HttpOptions options, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  // Answers until stop() is true, which is asked ten times per second by every worker.
  void run(const std::function<bool()>& stop);

 private:
  void work(const std::function<bool()>& stop) const;
  void answer(int connection) const;

  HttpOptions options_;
  Handler handler_;
  int listener_ = -1, port_ = 0;
};

}  // namespace attend::serve
