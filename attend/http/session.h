// A connection.
#pragma once

#include <fmt/core.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "attend/http/core.h"
#include "attend/http/request_reader.h"

namespace attend::http {

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
      : core_(std::move(core)),
        socket_(std::move(socket)),
        timer_(core_->io),
        client_(std::move(client)),
        charge_(core_->budget) {
    charge_.note(kConnectionBytes);
    core_->open.fetch_add(1);
    error_code ignored;
    socket_.non_blocking(true, ignored);
  }
  ~Session() { core_->open.fetch_sub(1); }

  void start() { await_request(core_->options.patience); }
  // No more requests: at once when none is running.
  void end() {
    ends_ = true;
    if (state_ == State::idle) close();
  }
  // Whoever works for it stops.
  void close() {
    broken_ = true;
    error_code ignored;
    timer_.cancel();
    socket_.close(ignored);
    stop_.request_stop();
  }
  const std::shared_ptr<Core>& core() const { return core_; }
  MemoryCharge& charge() { return charge_; }

  // The socket of a session whose answer is being found, to see whether the client goes; -1 of others.
  int answering() { return state_ == State::answering && !stop_.stop_requested() ? socket_.native_handle() : -1; }
  void client_left() { stop_.request_stop(); }

  // Any thread: memory was missing for the answer. The thread that reads and writes gives it up soon.
  void fail() noexcept {
    failed_ = true;
    core_->any_failed = true;
  }
  bool failed() const { return failed_; }
  // Memory is missing, and this connection ends for it. What is said needs none.
  void give_up() noexcept;

  // For an outbox, which has charged so many of the bytes.
  void send(std::string bytes, std::size_t charged, bool last) {
    if (broken_) return;
    if (last) state_ = State::flushing;
    unsent_ += bytes.size();
    charge_.note(bytes.size() - std::min(charged, bytes.size()));
    if (pending_.empty())
      pending_ = std::move(bytes);
    else
      pending_ += bytes;
    if (!writing_) write_pending();
  }
  std::string head_of(const Response& response, std::optional<std::size_t> length);
  bool broken() const { return broken_ || failed_; }
  std::size_t unsent() const { return unsent_; }
  bool chunked() const { return chunked_; }
  bool head_only() const { return head_only_; }
  void note(std::size_t bytes) { record_.sent += bytes; }

 private:
  enum class State { idle, reading, answering, flushing, lingering };

  // What the socket or the timer calls: an exception ends this connection, and no other.
  template <class Body>
  auto guarded(Body body) {
    return [self = shared_from_this(), body = std::move(body)](const error_code& error, std::size_t bytes = 0) {
      try {
        body(*self, error, bytes);
      } catch (const std::exception&) {
        self->give_up();
      }
    };
  }

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

  void await_request(std::chrono::milliseconds time);
  void read_request();
  void read_more();
  void hand_on();
  void refuse(int status, const std::string& why);
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
    socket_.async_read_some(buffer_.prepare(8192), guarded([left](Session& self, const error_code& error, auto bytes) {
                              if (error || bytes >= left) return self.close();
                              self.drop_more(left - bytes);
                            }));
  }

  std::shared_ptr<Core> core_;  // first: it outlives the rest
  Socket socket_;
  net::steady_timer timer_;
  std::string client_;
  MemoryCharge charge_;
  boost::beast::flat_buffer buffer_;
  std::optional<RequestReader> reader_;
  std::stop_source stop_{std::nostopstate};  // of the request that is answered
  State state_ = State::idle;
  std::uint64_t turn_ = 0;  // of the timer
  bool late_ = false, keep_ = false, chunked_ = false, head_only_ = false, old_ = false;
  bool writing_ = false, ends_ = false, begun_ = false;
  std::atomic<bool> broken_{false}, failed_{false};
  std::atomic<std::size_t> unsent_{0};
  std::string pending_, sending_;  // bytes that wait, and those that the socket is being given
  Clock::time_point began_;
  RequestRecord record_;

 public:
  Session* next_left = nullptr;  // of Core::leaving
};

// A connection may wait long for its next request, but a request that has begun may not take long.
inline void Session::await_request(std::chrono::milliseconds time) {
  constexpr std::size_t kRoom = 8192;
  state_ = State::idle, late_ = false, begun_ = false;
  const ServerOptions& options = core_->options;
  reader_.reset();
  if (buffer_.size() == 0 && buffer_.capacity() > kRoom) buffer_ = {};
  charge_.set(kConnectionBytes);
  reader_.emplace(RequestReader::Limits{options.max_head, options.max_body, options.max_image}, charge_);
  chunked_ = head_only_ = false, keep_ = false, unsent_ = 0;
  record_ = {.client = client_};
  if (buffer_.size() > 0) return read_request();
  arm(time);
  socket_.async_read_some(buffer_.prepare(kRoom), guarded([](Session& self, const error_code& error, auto bytes) {
                            self.disarm();
                            if (error) return self.close();
                            self.buffer_.commit(bytes);
                            self.read_request();
                          }));
}

// What is there of it; the clock runs from now on.
inline void Session::read_request() {
  using Step = RequestReader::Step;
  if (state_ == State::idle) {
    state_ = State::reading;
    began_ = Clock::now();
    arm(core_->options.patience);
  }
  switch (reader_->read(buffer_)) {
    case Step::more:
      return read_more();
    case Step::go_on:
      return net::async_write(socket_, net::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")),
                              guarded([](Session& self, const error_code& error, auto) {
                                if (error) return self.close();
                                self.read_more();
                              }));
    case Step::done:
      disarm();
      return hand_on();
    case Step::refused:
      return refuse(reader_->status(), reader_->why());
    case Step::closed:
      return close();
  }
}

inline void Session::read_more() {
  constexpr std::size_t kHeadPiece = 8192, kBodyPiece = 65536;
  const std::size_t piece = reader_->in_body() ? kBodyPiece : kHeadPiece;
  if (buffer_.capacity() < piece && !charge_.add(piece))
    return refuse(503, "requests occupy as much memory as they may; try again");
  socket_.async_read_some(buffer_.prepare(piece), guarded([](Session& self, const error_code& error, auto bytes) {
                            if (self.late_) return self.refuse(408, "the request did not arrive in time");
                            if (error == net::error::eof && self.reader_->end() == RequestReader::Step::refused)
                              return self.refuse(self.reader_->status(), self.reader_->why());
                            if (error) return self.close();
                            self.buffer_.commit(bytes);
                            self.read_request();
                          }));
}

inline void Session::refuse(int status, const std::string& why) {
  disarm();
  state_ = State::answering;
  keep_ = false;
  if (record_.id.empty()) record_.id = id_of({});
  Response response = refused(status, why);
  if (status == 503) response.headers.emplace_back("retry-after", "1");
  note(response.body.size());
  send(head_of(response, response.body.size()) + response.body, 0, true);
}

inline void Session::give_up() noexcept {
  constexpr std::string_view kSaid =
      "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 25\r\nRetry-After: 1\r\n"
      "Connection: close\r\n\r\n{\"error\":\"out of memory\"}";
  try {
    stop_.request_stop();
    disarm();
    if (!broken_ && !begun_ && (state_ == State::reading || state_ == State::answering)) {
      begun_ = true;
      error_code ignored;
      socket_.write_some(net::buffer(kSaid), ignored);
      return linger();
    }
  } catch (const std::exception&) {  // then it just ends
  }
  close();
}

inline std::string Session::head_of(const Response& response, std::optional<std::size_t> length) {
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
    begun_ = true;
    error_code error;
    const std::size_t sent = socket_.write_some(net::buffer(pending_), error);
    if (error && error != net::error::would_block && error != net::error::try_again) return close();
    const auto taken = [](Session& self, std::size_t bytes) {
      self.unsent_ -= std::min(self.unsent_.load(), bytes);
      self.charge_.remove(bytes);
    };
    taken(*this, sent);
    if (sent < pending_.size()) {
      sending_ = std::exchange(pending_, {});
      writing_ = true;
      arm(core_->options.patience);
      net::async_write(socket_, net::buffer(sending_) + sent,
                       guarded([taken](Session& self, const error_code& failed, auto bytes) {
                         self.disarm();
                         self.writing_ = false;
                         self.sending_ = {};
                         taken(self, bytes);
                         if (failed) return self.close();
                         self.write_pending();
                       }));
      return;
    }
    constexpr std::size_t kKept = 65536;  // so that a connection does not keep the room of a large answer
    pending_.capacity() > kKept ? std::string().swap(pending_) : pending_.clear();
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

}  // namespace attend::http
