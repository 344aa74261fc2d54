// A connection.
#pragma once

#include <fmt/core.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "attend/serve/http/core.h"

namespace attend::serve {

namespace http = boost::beast::http;

inline std::string_view view_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

inline bool has_huge_number(std::string_view head) {
  int digits = 0;
  for (const char c : head) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 18) return true;
  }
  return false;
}

// A name that another program chose is kept if it can stand in a header and a line of a log.
inline std::string id_of(std::string_view given) {
  const auto fine = [](char c) { return c > ' ' && c < 127 && c != '"' && c != '\\'; };
  if (!given.empty() && given.size() <= 128 && std::ranges::all_of(given, fine)) return std::string(given);
  static const std::uint64_t first = (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  static std::atomic<std::uint64_t> count{0};
  std::uint64_t x = first + 0x9E3779B97F4A7C15u * ++count;  // splitmix64
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return fmt::format("{:016x}", x ^ (x >> 31));
}

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

// Two ways to say where a body ends are a way past a proxy that believes the other one.
inline void Session::take_head() {
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

// Sees the client close its side while an answer is being found.
inline void Session::watch(const std::shared_ptr<std::atomic<bool> >& gone) {
  socket_.async_wait(Socket::wait_read, [self = shared_from_this(), gone](const error_code& error) {
    if (error || self->state_ != State::answering) return;
    char byte;
    const ssize_t got = ::recv(self->socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK)) *gone = true;
  });
}

inline void Session::refuse(const error_code& error) {
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

inline void Session::refuse(int status, const char* why) {
  disarm();
  state_ = State::answering;
  keep_ = false;
  if (record_.id.empty()) record_.id = id_of({});
  const HttpResponse response = refused(status, why);
  note(response.body.size());
  send(head_of(response, response.body.size()) + response.body, true);
}

inline std::string Session::head_of(const HttpResponse& response, std::optional<std::size_t> length) {
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
inline void Session::write_pending() {
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
inline void Session::written() {
  if (state_ != State::flushing) return;
  record_.seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  if (core_->options.log) core_->options.log(record_);
  if (keep_ && !ends_) return await_request(core_->options.idle);
  linger();
}

}  // namespace attend::serve
