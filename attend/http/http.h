// HTTP/1.1 (RFC 9112) on Boost.Beast, which http.cpp alone sees: connections that are kept, bodies in chunks both ways,
// answers that grow (server-sent events), TCP of both families and Unix sockets, limits on everything that is read, and
// an end at which running requests finish. One thread reads and writes; answers are found by others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attend::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method, path;  // the path without what follows a '?'
  std::string host, content_type, body;
  std::string query = {};   // what follows it
  Headers headers = {};     // names in lower case
  std::string id = {};      // the client's x-request-id, or one of ours
  std::string client = {};  // its address

  // The first of that name (in lower case); empty when there is none.
  std::string_view header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string type = "application/json; charset=utf-8";
  std::string body = {};
  Headers headers = {};
};

// {"error": why}
Response refused(int status, const std::string& why);
const char* reason_of(int status);

// What is left to do for one request: its answer, at once or piece by piece, by any thread. One that is let go without
// an answer is answered with 500.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void answer(Response response) = 0;
  // An answer that grows: begin, write .., finish. write() is false when nobody takes it any more: the client has gone,
  // or lets more than a megabyte wait.
  virtual void begin(Response head) = 0;
  virtual bool write(std::string_view piece) = 0;
  virtual void finish() = 0;
  // Stopped when the client has closed its side (it may still read, but most do not), when it takes no more, and when
  // the server ends. Whatever works for the request looks at it between pieces.
  virtual std::stop_token stop_token() const = 0;
  bool gone() const { return stop_token().stop_requested(); }
  // Counts so many more bytes for this request, until it is answered or they are discharged; false: there is no room
  // for them (ServerOptions::max_memory), and nothing was counted.
  virtual bool charge(std::size_t) { return true; }
  virtual void discharge(std::size_t) {}
};

// What is known of a request when it has been answered.
struct RequestRecord {
  std::string id = {}, client = {}, method = {}, path = {};
  int status = 0;
  std::size_t received = 0, sent = 0;  // bytes of the bodies
  double seconds = 0;
};

struct ServerOptions {
  std::string host = "127.0.0.1";  // an address of IPv4 or IPv6, or localhost
  int port = 0;                    // 0: any free one
  std::size_t max_body = 64 << 10, max_head = 16 << 10;
  std::size_t max_image = 0;                 // bytes of a body of type image/..
  std::size_t max_memory = 0;                // of all requests together; 0: default_memory_budget()
  int workers = 4;                           // requests answered at once by a Handler; others wait
  std::chrono::milliseconds patience{5000};  // for a request to arrive, and for an answer to leave
  std::chrono::milliseconds idle{5000};      // for the next request of a connection
  std::chrono::milliseconds drain{1000};     // for running requests, once it ends
  std::size_t max_connections = 1024;        // others wait in the system's queue
  std::string unix_path = {};                // a Unix socket as well
  std::string command = "look";              // opens messages
  std::function<void(const RequestRecord&)> log = {};
};

class Server {
 public:
  using Handler = std::function<Response(const Request&)>;
  // Called by the thread that reads and writes, so it only hands on.
  using Dispatcher = std::function<void(Request request, std::shared_ptr<Exchange> exchange)>;
  // Listens from now on. Throws Error when the address is taken or is none. A handler is called by several threads.
  Server(ServerOptions options, Handler handler);
  Server(ServerOptions options, Dispatcher dispatcher);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;
  std::size_t connections() const;  // open now
  std::size_t memory() const;       // bytes that requests occupy
  // Answers until stop() is true, which is asked twenty times per second; then takes no new requests, and returns when
  // the running ones are answered, or stopped because options.drain is over. Where memory is missing, it is the one
  // connection that ends.
  void run(const std::function<bool()>& stop);

  struct Core;  // of http.cpp

 private:
  std::shared_ptr<Core> core_;
};

// False where the program was built without Boost: then there is no server, and making one throws Error.
bool has_http_server();

}  // namespace attend::http
