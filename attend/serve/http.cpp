#include "attend/serve/http.h"

#include "attend/base/error.h"

#ifdef ATTEND_WITHOUT_BOOST

namespace attend::serve {

struct HttpServer::Core {};

namespace {
[[noreturn]] void fail_without_boost(const HttpOptions& options) {
  fail("{}: this program has no server: it was built where there was no Boost (install libboost-dev, build again)",
       options.command);
}
}  // namespace

bool has_http_server() { return false; }
HttpServer::HttpServer(HttpOptions options, Handler) { fail_without_boost(options); }
HttpServer::HttpServer(HttpOptions options, Dispatcher) { fail_without_boost(options); }
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return 0; }
std::size_t HttpServer::connections() const { return 0; }
void HttpServer::run(const std::function<bool()>&) {}

}  // namespace attend::serve

#else

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <mutex>
#include <optional>

#include "attend/serve/http/core.h"
#include "attend/serve/http/exchange.h"
#include "attend/serve/http/session.h"

namespace attend::serve {

void HttpServer::Core::listen() {
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
  tcp.push_back(std::move(acceptor));
}

// A socket that a server left behind when it was killed is taken over, one that answers is not.
void HttpServer::Core::listen_locally() {
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
  local.push_back(std::move(acceptor));
}

namespace {
std::string name_of(const net::ip::tcp::socket& socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  return error ? "" : endpoint.address().to_string(error);
}
std::string name_of(const net::local::stream_protocol::socket&) { return "unix"; }
}  // namespace

template <class Acceptor>
void HttpServer::Core::accept(std::shared_ptr<Core> self, Acceptor& acceptor) {
  acceptor.async_accept([this, self, &acceptor](const error_code& error, auto socket) {
    if (ends || error == net::error::operation_aborted) return;
    if (error) {  // no descriptor or memory left: what is open may end soon
      auto timer = std::make_shared<net::steady_timer>(io, std::chrono::milliseconds(50));
      timer->async_wait([this, self, &acceptor, timer](const error_code&) {
        if (!ends) accept(self, acceptor);
      });
      return;
    }
    if constexpr (requires { typename std::decay_t<decltype(socket)>::protocol_type::resolver; }) {
      error_code ignored;
      socket.set_option(net::ip::tcp::no_delay(true), ignored);
    }
    std::string client = name_of(socket);
    start(self, Socket(std::move(socket)), std::move(client));
    if (open >= options.max_connections)
      paused = true;
    else
      accept(self, acceptor);
  });
}

void HttpServer::Core::accept_all(const std::shared_ptr<Core>& self) {
  for (auto& acceptor : tcp) accept(self, acceptor);
  for (auto& acceptor : local) accept(self, acceptor);
}

void HttpServer::Core::start(std::shared_ptr<Core> self, Socket socket, std::string client) {
  ++open;
  const std::shared_ptr<Session> session(new Session(self, std::move(socket), std::move(client)), [](Session* one) {
    const std::shared_ptr<Core> core = one->core();
    net::post(core->io, [core, one] { core->left(core, one); });
  });
  sessions.insert(session.get());
  session->start();
}

// Nobody has the session any more.
void HttpServer::Core::left(const std::shared_ptr<Core>& self, Session* session) {
  sessions.erase(session);
  delete session;
  if (!paused || ends || open >= options.max_connections) return;
  paused = false;
  accept_all(self);
}

void HttpServer::Core::list(std::shared_ptr<Outbox> outbox) {
  {
    const std::lock_guard lock(outgoing_mutex);
    if (closed) return;
    outgoing.push_back(std::move(outbox));
    if (outgoing.size() > 1) return;  // it has been told
  }
  net::post(io, [this] { send_outgoing(); });
}

void HttpServer::Core::send_outgoing() {
  std::vector<std::shared_ptr<Outbox> > all;
  {
    const std::lock_guard lock(outgoing_mutex);
    all.swap(outgoing);
  }
  for (const std::shared_ptr<Outbox>& outbox : all) outbox->empty();
}

void HttpServer::Core::close_listeners() {
  error_code ignored;
  for (auto& acceptor : tcp) acceptor.close(ignored);
  for (auto& acceptor : local) acceptor.close(ignored);
  if (!local.empty()) ::unlink(options.unix_path.c_str());
}

bool has_http_server() { return true; }

HttpServer::HttpServer(HttpOptions options, Dispatcher dispatcher) : core_(std::make_shared<Core>()) {
  core_->options = std::move(options);
  core_->dispatcher = std::move(dispatcher);
  core_->listen();
  core_->listen_locally();
}

HttpServer::HttpServer(HttpOptions options, Handler handler) : HttpServer(std::move(options), Dispatcher()) {
  core_->workers = std::make_unique<Workers>(static_cast<std::size_t>(std::max(core_->options.workers, 1)));
  core_->dispatcher = [core = core_.get(), handler = std::move(handler)](HttpRequest request,
                                                                         std::shared_ptr<Exchange> exchange) {
    core->workers->add([&handler, request = std::move(request), exchange = std::move(exchange)] {
      try {
        exchange->answer(handler(request));
      } catch (const std::exception&) {
        exchange->answer(refused(500, "something went wrong here"));
      }
    });
  };
}

// Sessions refer to the core and the core to sessions: whoever is left is cut off.
HttpServer::~HttpServer() {
  core_->close_listeners();
  core_->workers.reset();
  core_->dispatcher = nullptr;
  for (Session* session : core_->sessions) session->close();
  std::vector<std::shared_ptr<Outbox> > left;
  {
    const std::lock_guard lock(core_->outgoing_mutex);
    core_->closed = true;
    left.swap(core_->outgoing);
  }
  left.clear();
  core_->io.restart();
  core_->io.poll();
}

int HttpServer::port() const { return core_->port; }
std::size_t HttpServer::connections() const { return core_->open; }

void HttpServer::run(const std::function<bool()>& stop) {
  Core& core = *core_;
  core.accept_all(core_);
  const auto tick = std::chrono::milliseconds(100);
  net::steady_timer timer(core.io);
  std::optional<Clock::time_point> deadline;
  std::function<void(const error_code&)> look = [&](const error_code&) {
    if (!core.ends && stop()) {
      core.ends = true;
      deadline = Clock::now() + core.options.drain;
      core.close_listeners();
    }
    if (core.ends) {
      const std::vector<Session*> all(core.sessions.begin(), core.sessions.end());
      for (Session* session : all) session->end();
      if (core.sessions.empty()) return core.io.stop();
      if (Clock::now() >= *deadline) {
        for (Session* session : all) session->close();
        return core.io.stop();
      }
    }
    timer.expires_after(core.ends ? std::chrono::milliseconds(10) : tick);
    timer.async_wait(look);
  };
  timer.expires_after(tick);
  timer.async_wait(look);
  core.io.restart();
  core.io.run();
}

}  // namespace attend::serve

#endif
