// What the parts of the server on Boost.Beast share: the listeners, the connections, and the answers on their way.
// These headers are http.cpp's alone, so that Boost is read once.
#pragma once

#include <atomic>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cctype>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "attend/serve/http.h"
#include "attend/serve/workers.h"

namespace attend::serve {

namespace net = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Socket = net::generic::stream_protocol::socket;

class Session;
class Outbox;

struct HttpServer::Core {
  HttpOptions options;
  Dispatcher dispatcher;
  net::io_context io{1};
  std::vector<net::ip::tcp::acceptor> tcp;
  std::vector<net::local::stream_protocol::acceptor> local;
  int port = 0;
  std::atomic<std::size_t> open{0};
  std::unordered_set<Session*> sessions;  // of the thread that reads and writes
  bool ends = false;                      // no new requests
  bool paused = false;                    // as many connections as may be
  std::mutex outgoing_mutex;
  std::vector<std::shared_ptr<Outbox> > outgoing;  // those that have something for their clients
  bool closed = false;                             // nobody takes it any more
  std::unique_ptr<Workers> workers;                // last: they end before what they work on

  void listen();
  void listen_locally();
  template <class Acceptor>
  void accept(std::shared_ptr<Core> self, Acceptor& acceptor);
  void accept_all(const std::shared_ptr<Core>& self);
  void start(std::shared_ptr<Core> self, Socket socket, std::string client);
  void left(const std::shared_ptr<Core>& self, Session* session);
  void close_listeners();
  // Any thread: the one that reads and writes is to empty this.
  void list(std::shared_ptr<Outbox> outbox);
  void send_outgoing();
};

using Core = HttpServer::Core;

inline std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace attend::serve
