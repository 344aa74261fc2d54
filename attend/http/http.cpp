#include "attend/http/http.h"

#include "attend/base/error.h"

#ifdef ATTEND_WITHOUT_BOOST

namespace attend::http {

struct Server::Core {};

namespace {
[[noreturn]] void fail_without_boost(const ServerOptions& options) {
  fail("{}: this program has no server: it was built where there was no Boost (install libboost-dev, build again)",
       options.command);
}
}  // namespace

bool has_http_server() { return false; }
Server::Server(ServerOptions options, Handler) { fail_without_boost(options); }
Server::Server(ServerOptions options, Dispatcher) { fail_without_boost(options); }
Server::~Server() = default;
int Server::port() const { return 0; }
std::size_t Server::connections() const { return 0; }
std::size_t Server::memory() const { return 0; }
void Server::run(const std::function<bool()>&) {}

}  // namespace attend::http

#else

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "attend/http/core.h"
#include "attend/http/exchange.h"
#include "attend/http/session.h"

namespace attend::http {

void Server::Core::listen() {
  check(options.port >= 0 && options.port <= 65535, "{}: a port is 0 to 65535, not {}", options.command, options.port);
  std::string host = options.host == "localhost" ? "127.0.0.1" : options.host;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  error_code error;
  const auto address = net::ip::make_address(host, error);
  check(!error, "{}: '{}' is no address of IPv4 or IPv6", options.command, options.host);
  const net::ip::tcp::endpoint endpoint(address, static_cast<std::uint16_t>(options.port));
  net::ip::tcp::acceptor acceptor(io);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(net::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
  check(!error, "{}: cannot listen on {}:{}: {}{}", options.command, options.host, options.port, error.message(),
        error == net::error::address_in_use ? "; --port 0 takes any free one" : "");
  port = acceptor.local_endpoint().port();
  tcp.push_back({std::move(acceptor)});
}

// A socket that a server left behind when it was killed is taken over, one that answers is not.
void Server::Core::listen_locally() {
  if (options.unix_path.empty()) return;
  error_code error;
  struct stat found {};
  net::local::stream_protocol::endpoint endpoint;
  try {
    endpoint = net::local::stream_protocol::endpoint(options.unix_path);
  } catch (const boost::system::system_error& wrong) {
    fail("{}: cannot listen on {}: {}", options.command, options.unix_path, wrong.code().message());
  }
  if (::lstat(options.unix_path.c_str(), &found) == 0) {
    check(S_ISSOCK(found.st_mode), "{}: {} is there and is no socket", options.command, options.unix_path);
    net::local::stream_protocol::socket probe(io);
    probe.connect(endpoint, error);
    check(!!error, "{}: somebody listens on {} already", options.command, options.unix_path);
    ::unlink(options.unix_path.c_str());
  }
  net::local::stream_protocol::acceptor acceptor(io);
  error = {};
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
  check(!error, "{}: cannot listen on {}: {}", options.command, options.unix_path, error.message());
  local.push_back({std::move(acceptor)});
}

namespace {
std::string name_of(const net::ip::tcp::socket& socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  return error ? "" : endpoint.address().to_string(error);
}
std::string name_of(const net::local::stream_protocol::socket&) { return "unix"; }
}  // namespace

// One that fails for want of a descriptor or of memory is tried again by look(): what is open may end soon.
template <class Acceptor>
void Server::Core::accept(const std::shared_ptr<Core>& self, Listener<Acceptor>& listener) {
  if (listener.waits || ends || open >= options.max_connections) return;
  listener.acceptor.async_accept([this, self, &listener](const error_code& error, auto socket) {
    listener.waits = false;
    if (ends || error) return;
    try {
      if constexpr (requires { typename std::decay_t<decltype(socket)>::protocol_type::resolver; }) {
        error_code ignored;
        socket.set_option(net::ip::tcp::no_delay(true), ignored);
      }
      std::string client = name_of(socket);
      start(self, Socket(std::move(socket)), std::move(client));
      accept(self, listener);
    } catch (const std::exception&) {  // that connection ends
    }
  });
  listener.waits = true;
}

void Server::Core::accept_all(const std::shared_ptr<Core>& self) {
  for (auto& listener : tcp) accept(self, listener);
  for (auto& listener : local) accept(self, listener);
}

void Server::Core::start(const std::shared_ptr<Core>& self, Socket socket, std::string client) {
  const std::shared_ptr<Session> session(new Session(self, std::move(socket), std::move(client)),
                                         [](Session* one) { left(one); });
  sessions.insert(session.get());
  session->start();
}

// Nothing is allocated that must be: look() finds them if nothing else does.
void Server::Core::left(Session* session) noexcept {
  const std::shared_ptr<Core> core = session->core();
  {
    const std::lock_guard lock(core->outgoing_mutex);
    if (!core->closed) {
      session->next_left = core->leaving;
      core->leaving = session;
      session = nullptr;
    }
  }
  if (session) {  // there is no thread any more that reads and writes
    delete session;
    return;
  }
  try {
    net::post(core->io, [core] {
      core->delete_left();
      core->accept_all(core);
    });
  } catch (const std::exception&) {
  }
}

void Server::Core::delete_left() {
  Session* all;
  {
    const std::lock_guard lock(outgoing_mutex);
    all = leaving.exchange(nullptr);
  }
  while (all) {
    Session* const one = std::exchange(all, all->next_left);
    sessions.erase(one);
    delete one;
  }
}

// Sees clients close their side while their answers are found, also behind requests that they have sent ahead.
void Server::Core::find_gone() {
  polled.clear(), answering.clear();
  for (Session* session : sessions)
    if (const int socket = session->answering(); socket >= 0) {
      polled.push_back({.fd = socket, .events = POLLRDHUP, .revents = 0});
      answering.push_back(session);
    }
  if (polled.empty() || ::poll(polled.data(), polled.size(), 0) <= 0) return;
  for (std::size_t i = 0; i < polled.size(); ++i)
    if (polled[i].revents & (POLLRDHUP | POLLHUP | POLLERR)) answering[i]->client_left();
}

void Server::Core::find_failed() {
  if (!any_failed.exchange(false)) return;
  for (Session* session : sessions)
    if (session->failed()) session->give_up();
}

// What is done every now and then; true at the end, which no want of memory puts off.
bool Server::Core::look(const std::shared_ptr<Core>& self, const std::function<bool()>& stop) {
  delete_left();
  if (!ends && stop()) {
    ends = true;
    deadline_ = Clock::now() + options.drain;
    close_listeners();
  }
  if (ends) {
    for (Session* session : sessions) session->end();
    if (sessions.empty()) return true;
    if (Clock::now() >= deadline_) {
      for (Session* session : sessions) session->close();
      return true;
    }
  }
  find_failed();
  find_gone();
  accept_all(self);
  return false;
}

void Server::Core::list(std::shared_ptr<Outbox> outbox) {
  {
    const std::lock_guard lock(outgoing_mutex);
    if (closed) return;
    outgoing.push_back(std::move(outbox));
    if (outgoing.size() > 1) return;  // it has been told
  }
  net::post(io, [this] { send_outgoing(); });
}

void Server::Core::send_outgoing() {
  std::vector<std::shared_ptr<Outbox> > all;
  {
    const std::lock_guard lock(outgoing_mutex);
    all.swap(outgoing);
  }
  for (const std::shared_ptr<Outbox>& outbox : all) try {
      outbox->empty();
    } catch (const std::exception&) {
      outbox->session().give_up();
    }
}

void Server::Core::close_listeners() {
  error_code ignored;
  for (auto& listener : tcp) listener.acceptor.close(ignored);
  for (auto& listener : local) listener.acceptor.close(ignored);
  if (!local.empty()) ::unlink(options.unix_path.c_str());
}

bool has_http_server() { return true; }

Server::Server(ServerOptions options, Dispatcher dispatcher) : core_(std::make_shared<Core>()) {
  core_->options = std::move(options);
  core_->dispatcher = std::move(dispatcher);
  core_->budget.set_limit(core_->options.max_memory ? core_->options.max_memory : default_memory_budget());
  core_->listen();
  core_->listen_locally();
}

Server::Server(ServerOptions options, Handler handler) : Server(std::move(options), Dispatcher()) {
  core_->workers = std::make_unique<Workers>(static_cast<std::size_t>(std::max(core_->options.workers, 1)));
  core_->dispatcher = [core = core_.get(), handler = std::move(handler)](Request request,
                                                                         std::shared_ptr<Exchange> exchange) {
    core->workers->add([&handler, request = std::move(request), exchange = std::move(exchange)] {
      try {
        exchange->answer(handler(request));
      } catch (const std::exception&) {  // an exchange that is let go answers for itself
      }
    });
  };
}

// Sessions refer to the core and the core to sessions: whoever is left is cut off.
Server::~Server() {
  core_->close_listeners();
  for (Session* session : core_->sessions) session->close();
  core_->workers.reset();
  core_->dispatcher = nullptr;
  std::vector<std::shared_ptr<Outbox> > outgoing;
  {
    const std::lock_guard lock(core_->outgoing_mutex);
    core_->closed = true;
    outgoing.swap(core_->outgoing);
  }
  outgoing.clear();
  try {
    core_->io.restart();
    core_->io.poll();
  } catch (const std::exception&) {  // one that has nothing to answer any more
  }
  core_->delete_left();
}

int Server::port() const { return core_->port; }
std::size_t Server::connections() const { return core_->open; }
std::size_t Server::memory() const { return core_->budget.used(); }

// A handler that throws has lost what it was to do next, and only that: here the clock, which is wound up again.
void Server::run(const std::function<bool()>& stop) {
  Core& core = *core_;
  net::steady_timer timer(core.io);
  bool over = false;
  const auto wind = [&](const auto& self) -> void {
    timer.expires_after(std::chrono::milliseconds(core.ends ? 10 : 50));
    timer.async_wait([&, self](const error_code& error) {
      if (error) return;
      over = core.look(core_, stop);
      if (over) return core.io.stop();
      self(self);
    });
  };
  core.accept_all(core_);
  while (!over) {
    core.io.restart();
    try {
      wind(wind);
      core.io.run();
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

}  // namespace attend::http

#endif
