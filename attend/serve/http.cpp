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

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cctype>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <random>
#include <unordered_set>

#include "attend/serve/workers.h"

namespace attend::serve {

namespace {

namespace net = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Socket = net::generic::stream_protocol::socket;

constexpr std::size_t kMostUnsent = 1 << 20;  // bytes of an answer that a client has not taken yet

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string_view view_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

bool has_huge_number(std::string_view head) {
  int digits = 0;
  for (const char c : head) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 18) return true;
  }
  return false;
}

// A name that another program chose is kept if it can stand in a header and a line of a log.
std::string id_of(std::string_view given) {
  const auto fine = [](char c) { return c > ' ' && c < 127 && c != '"' && c != '\\'; };
  if (!given.empty() && given.size() <= 128 && std::ranges::all_of(given, fine)) return std::string(given);
  static const std::uint64_t first = (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  static std::atomic<std::uint64_t> count{0};
  std::uint64_t x = first + 0x9E3779B97F4A7C15u * ++count;  // splitmix64
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return fmt::format("{:016x}", x ^ (x >> 31));
}

class Session;
class Outbox;

}  // namespace

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

namespace {

using Core = HttpServer::Core;

// One connection: a request is read, handed on, answered, and the next is read. Everything but atomics belongs to the
// thread that reads and writes.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(std::shared_ptr<Core> core, Socket socket, std::string client)
      : core_(std::move(core)), socket_(std::move(socket)), timer_(core_->io), client_(std::move(client)) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
  }

  void start() { await_request(core_->options.patience); }
  // No more requests: at once when none is running.
  void end() {
    ends_ = true;
    if (state_ == State::idle) close();
  }
  void close() {
    broken_ = true;
    error_code ignored;
    timer_.cancel();
    socket_.close(ignored);
  }
  const std::shared_ptr<Core>& core() const { return core_; }

  // For an outbox.
  void send(std::string_view bytes, bool last) {
    if (broken_) return;
    if (last) state_ = State::flushing;
    unsent_ += bytes.size();
    pending_ += bytes;
    if (!writing_) write_pending();
  }
  std::string head_of(const HttpResponse& response, std::optional<std::size_t> length);
  bool broken() const { return broken_; }
  std::size_t unsent() const { return unsent_; }
  bool chunked() const { return chunked_; }
  bool head_only() const { return head_only_; }
  void note(std::size_t bytes) { record_.sent += bytes; }

 private:
  enum class State { idle, reading, answering, flushing, lingering };

  void arm(std::chrono::milliseconds time) {
    timer_.expires_after(time);
    timer_.async_wait([self = shared_from_this(), turn = ++turn_](const error_code& error) {
      if (error || turn != self->turn_) return;
      self->late_ = true;
      error_code ignored;
      self->socket_.cancel(ignored);
    });
  }
  void disarm() {
    ++turn_;
    timer_.cancel();
  }

  // A connection may wait long for its next request, but a request that has begun may not take long.
  void await_request(std::chrono::milliseconds time) {
    state_ = State::idle, late_ = false;
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(core_->options.max_head));
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());  // until the head says what it is
    if (buffer_.size() > 0) return read_head();
    arm(time);
    socket_.async_read_some(buffer_.prepare(8192),
                            [self = shared_from_this()](const error_code& error, std::size_t bytes) {
                              self->disarm();
                              if (error) return self->finish();
                              self->buffer_.commit(bytes);
                              self->read_head();
                            });
  }

  void read_head() {
    state_ = State::reading;
    began_ = Clock::now();
    record_ = {.client = client_};
    chunked_ = head_only_ = false, keep_ = false, unsent_ = 0;
    huge_ = has_huge_number({static_cast<const char*>(buffer_.data().data()), buffer_.data().size()});
    arm(core_->options.patience);
    http::async_read_header(socket_, buffer_, *parser_,
                            [self = shared_from_this()](const error_code& error, std::size_t) {
                              if (error) return self->refuse(error);
                              self->take_head();
                            });
  }

  void take_head();
  void read_body() {
    http::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](const error_code& error, std::size_t) {
      self->disarm();
      if (error) return self->refuse(error);
      self->hand_on();
    });
  }
  void hand_on();
  void watch(const std::shared_ptr<std::atomic<bool> >& gone);
  void refuse(const error_code& error);
  void refuse(int status, const char* why);
  void write_pending();
  void written();
  // Who is still sending when we close would see a reset instead of the answer.
  void linger() {
    state_ = State::lingering;
    error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    arm(std::chrono::milliseconds(200));
    drop_more(std::size_t{1} << 20);
  }
  void drop_more(std::size_t left) {
    buffer_.clear();
    socket_.async_read_some(buffer_.prepare(8192),
                            [self = shared_from_this(), left](const error_code& error, std::size_t bytes) {
                              if (error || bytes >= left) return self->finish();
                              self->drop_more(left - bytes);
                            });
  }
  void finish() {
    broken_ = true;
    close();
  }

 public:
  ~Session() { core_->open.fetch_sub(1); }

 private:
  std::shared_ptr<Core> core_;  // first: it outlives the rest
  Socket socket_;
  net::steady_timer timer_;
  std::string client_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body> > parser_;
  State state_ = State::idle;
  std::uint64_t turn_ = 0;  // of the timer
  bool huge_ = false;       // a number that no machine has room for stands in the head
  bool late_ = false, keep_ = false, chunked_ = false, head_only_ = false, old_ = false;
  bool writing_ = false, ends_ = false;
  std::atomic<bool> broken_{false};
  std::atomic<std::size_t> unsent_{0};
  std::string pending_, sending_;  // bytes that wait, and those that the socket is being given
  Clock::time_point began_;
  HttpRecord record_;
};

// What a request is answered, on its way: whoever finds the answer adds to it, and the thread that reads and writes
// takes all there is at once. So a stream costs a write to the socket for each token while that thread keeps up, and
// one for several when it does not; and a step that writes to many streams wakes it once.
class Outbox : public std::enable_shared_from_this<Outbox> {
 public:
  explicit Outbox(std::shared_ptr<Session> session) : session_(std::move(session)) {}

  struct Parts {
    std::optional<HttpResponse> head = {};  // of an answer whose body is below
    bool grows = false, last = false;
    std::string body = {};
  };
  template <class Change>
  void put(Change change) {
    bool first;
    {
      const std::lock_guard lock(mutex_);
      change(parts_);
      waiting_ = parts_.body.size();
      first = !std::exchange(listed_, true);
    }
    if (first) session_->core()->list(shared_from_this());
  }
  bool full() const { return session_->unsent() + waiting_ > kMostUnsent; }
  bool broken() const { return session_->broken(); }

  // By the thread that reads and writes.
  void empty() {
    Parts parts;
    {
      const std::lock_guard lock(mutex_);
      parts = std::exchange(parts_, {.grows = parts_.grows});
      waiting_ = 0;
      listed_ = false;
    }
    Session& session = *session_;
    const std::size_t size = parts.body.size();
    std::string bytes;
    if (parts.head) bytes = session.head_of(*parts.head, parts.grows ? std::nullopt : std::optional(size));
    session.note(size);
    const bool chunked = parts.grows && session.chunked();
    if (chunked && size > 0) bytes += fmt::format("{:x}\r\n", size);
    if (parts.grows || !session.head_only()) bytes += parts.body;
    if (chunked && size > 0) bytes += "\r\n";
    if (chunked && parts.last) bytes += "0\r\n\r\n";
    session.send(bytes, parts.last);
  }

 private:
  std::shared_ptr<Session> session_;
  std::mutex mutex_;
  Parts parts_;
  bool listed_ = false;
  std::atomic<std::size_t> waiting_{0};  // bytes of the body
};

// The answer to one request.
class SessionExchange : public Exchange {
 public:
  SessionExchange(std::shared_ptr<Session> session, std::shared_ptr<std::atomic<bool> > gone)
      : outbox_(std::make_shared<Outbox>(std::move(session))), gone_(std::move(gone)) {}
  ~SessionExchange() override {
    if (begun_ && !done_) finish();
    if (!begun_ && !done_) answer(refused(500, "something went wrong here"));
  }

  void answer(HttpResponse response) override {
    if (done_.exchange(true)) return;
    outbox_->put([&](Outbox::Parts& parts) {
      parts.body = std::move(response.body);
      parts.head = std::move(response);
      parts.last = true;
    });
  }
  void begin(HttpResponse head) override {
    if (begun_.exchange(true)) return;
    outbox_->put([&](Outbox::Parts& parts) { parts.head = std::move(head), parts.grows = true; });
  }
  bool write(std::string_view piece) override {
    if (done_ || outbox_->broken() || outbox_->full()) return false;
    if (!piece.empty()) outbox_->put([&](Outbox::Parts& parts) { parts.body += piece; });
    return true;
  }
  void finish() override {
    if (done_.exchange(true)) return;
    outbox_->put([](Outbox::Parts& parts) { parts.last = true; });
  }
  bool gone() const override { return gone_->load() || outbox_->broken(); }

 private:
  std::shared_ptr<Outbox> outbox_;
  std::shared_ptr<std::atomic<bool> > gone_;
  std::atomic<bool> begun_{false}, done_{false};
};

// Two ways to say where a body ends are a way past a proxy that believes the other one.
void Session::take_head() {
  const auto& message = parser_->get();
  const std::string_view coding = view_of(message[http::field::transfer_encoding]);
  if (message.count(http::field::content_length) > 1) return refuse(400, "two Content-Lengths");
  if (message.count(http::field::transfer_encoding) > 1 || (!coding.empty() && lower(coding) != "chunked"))
    return refuse(501, "of transfer codings only chunked is known");
  const bool picture = lower(view_of(message[http::field::content_type])).starts_with("image/");
  const std::size_t most = picture ? core_->options.max_picture : core_->options.max_body;
  if (const auto length = parser_->content_length(); length && *length > most)
    return refuse(413, fmt::format("the body has {} bytes, at most {} are taken", *length, most).c_str());
  parser_->body_limit(most);
  if (parser_->is_done()) {
    disarm();
    return hand_on();
  }
  if (lower(view_of(message[http::field::expect])) == "100-continue" && buffer_.size() == 0) {
    net::async_write(socket_, net::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")),
                     [self = shared_from_this()](const error_code& error, std::size_t) {
                       if (error) return self->finish();
                       self->read_body();
                     });
    return;
  }
  read_body();
}

void Session::hand_on() {
  state_ = State::answering;
  auto message = parser_->release();
  HttpRequest request;
  request.method = view_of(message.method_string());
  const std::string_view target = view_of(message.target());
  request.path = target.substr(0, target.find('?'));
  if (const std::size_t mark = target.find('?'); mark != std::string_view::npos)
    request.query = target.substr(mark + 1);
  for (const auto& field : message)
    request.headers.emplace_back(lower(view_of(field.name_string())), std::string(view_of(field.value())));
  request.host = request.header("host");
  request.content_type = request.header("content-type");
  request.id = id_of(request.header("x-request-id"));
  request.client = client_;
  request.body = std::move(message.body());
  record_.id = request.id, record_.method = request.method, record_.path = request.path;
  record_.received = request.body.size();
  head_only_ = request.method == "HEAD";
  old_ = message.version() < 11;
  keep_ = message.keep_alive() && !ends_;
  auto gone = std::make_shared<std::atomic<bool> >(false);
  if (buffer_.size() == 0) watch(gone);
  core_->dispatcher(std::move(request), std::make_shared<SessionExchange>(shared_from_this(), gone));
}

// Sees the client close its side while an answer is being found.
void Session::watch(const std::shared_ptr<std::atomic<bool> >& gone) {
  socket_.async_wait(Socket::wait_read, [self = shared_from_this(), gone](const error_code& error) {
    if (error || self->state_ != State::answering) return;
    char byte;
    const ssize_t got = ::recv(self->socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK)) *gone = true;
  });
}

void Session::refuse(const error_code& error) {
  if (late_) return refuse(408, "the request did not arrive in time");
  if (error == http::error::header_limit) return refuse(431, "the head of the request is too large");
  if (error == http::error::body_limit) return refuse(413, "the body is too large");
  if (error == http::error::bad_content_length) {
    // A number that no machine has room for is a length all the same.
    return huge_ ? refuse(413, "the body is too large") : refuse(400, "a bad Content-Length");
  }
  if (error == http::error::partial_message || error == http::error::end_of_stream)
    return parser_ && parser_->got_some() ? refuse(400, "the request ends too early") : finish();
  if (error.category() == http::make_error_code(http::error::bad_value).category())
    return refuse(400, "this is not an HTTP request");
  finish();
}

void Session::refuse(int status, const char* why) {
  disarm();
  state_ = State::answering;
  keep_ = false;
  if (record_.id.empty()) record_.id = id_of({});
  const HttpResponse response = refused(status, why);
  note(response.body.size());
  send(head_of(response, response.body.size()) + response.body, true);
}

std::string Session::head_of(const HttpResponse& response, std::optional<std::size_t> length) {
  record_.status = response.status;
  chunked_ = !length && !old_;
  if (!length && old_) keep_ = false;
  keep_ = keep_ && !ends_;
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
  if (response.status != 204) head += fmt::format("Content-Type: {}\r\n", response.type);
  if (length && response.status != 204) head += fmt::format("Content-Length: {}\r\n", *length);
  if (chunked_) head += "Transfer-Encoding: chunked\r\n";
  head += keep_ ? (old_ ? "Connection: keep-alive\r\n" : "") : "Connection: close\r\n";
  head += fmt::format("x-request-id: {}\r\n", record_.id);
  bool cached = false;
  for (const auto& [name, value] : response.headers) {
    head += fmt::format("{}: {}\r\n", name, value);
    cached = cached || lower(name) == "cache-control";
  }
  if (!cached) head += "Cache-Control: no-store\r\n";
  return head + "X-Content-Type-Options: nosniff\r\n\r\n";
}

// The socket mostly has room for all of it; only what it has no room for is waited for, and not for ever.
void Session::write_pending() {
  if (!pending_.empty()) {
    error_code error;
    const std::size_t sent = socket_.write_some(net::buffer(pending_), error);
    if (error && error != net::error::would_block && error != net::error::try_again) return finish();
    unsent_ -= std::min(unsent_.load(), sent);
    if (sent < pending_.size()) {
      sending_ = std::exchange(pending_, {});
      writing_ = true;
      arm(core_->options.patience);
      net::async_write(socket_, net::buffer(sending_) + sent,
                       [self = shared_from_this()](const error_code& failed, std::size_t bytes) {
                         self->disarm();
                         self->writing_ = false;
                         self->unsent_ -= std::min(self->unsent_.load(), bytes);
                         if (failed) return self->finish();
                         self->write_pending();
                       });
      return;
    }
    pending_.clear();
  }
  written();
}

// All that there is so far.
void Session::written() {
  if (state_ != State::flushing) return;
  record_.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  if (core_->options.log) core_->options.log(record_);
  if (keep_ && !ends_) return await_request(core_->options.idle);
  linger();
}

}  // namespace

// ---- The server.

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
