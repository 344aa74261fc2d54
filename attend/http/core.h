// What the parts of the server on Boost.Beast share: the listeners, the connections, and the answers on their way.
// These headers are http.cpp's alone, so that Boost is read once.
#pragma once

#include <poll.h>

#include <atomic>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "attend/http/http.h"
#include "attend/http/memory_budget.h"
#include "attend/http/workers.h"

namespace attend::http {

namespace net = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Socket = net::generic::stream_protocol::socket;

class Session;
class Outbox;

// bytes of a connection that waits: what it is itself, and room for a head
inline constexpr std::size_t kConnectionBytes = 16 << 10;

template <class Acceptor>
struct Listener {
  Acceptor acceptor;
  bool waits = false;  // for the next connection
};

struct Server::Core {
  ServerOptions options;
  Dispatcher dispatcher;
  MemoryBudget budget;
  net::io_context io{1};
  std::vector<Listener<net::ip::tcp::acceptor> > tcp;
  std::vector<Listener<net::local::stream_protocol::acceptor> > local;
  int port = 0;
  std::atomic<std::size_t> open{0};
  std::unordered_set<Session*> sessions;  // of the thread that reads and writes
  bool ends = false;                      // no new requests
  std::vector<pollfd> polled;
  std::vector<Session*> answering;      // that polled is about
  std::atomic<Session*> leaving{};      // a list of those that nobody has any more
  std::atomic<bool> any_failed{false};  // some session has an answer that no memory was left for
  std::mutex outgoing_mutex;
  std::vector<std::shared_ptr<Outbox> > outgoing;  // those that have something for their clients
  bool closed = false;                             // nobody takes it any more
  std::unique_ptr<Workers> workers;                // last: they end before what they work on

  void listen();
  void listen_locally();
  template <class Acceptor>
  void accept(const std::shared_ptr<Core>& self, Listener<Acceptor>& listener);
  void accept_all(const std::shared_ptr<Core>& self);
  void start(const std::shared_ptr<Core>& self, Socket socket, std::string client);
  // Any thread: nobody has the session any more.
  static void left(Session* session) noexcept;
  void delete_left();
  void find_gone();
  void find_failed();
  bool look(const std::shared_ptr<Core>& self, const std::function<bool()>& stop);
  void close_listeners();
  // Any thread: the one that reads and writes is to empty this.
  void list(std::shared_ptr<Outbox> outbox);
  void send_outgoing();

 private:
  Clock::time_point deadline_ = {};
};

using Core = Server::Core;

}  // namespace attend::http
