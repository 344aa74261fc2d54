// A client of /v1/completions that streams one text after another over one connection, and what clients see.
#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attend {

// The time that counts, and what happened in it.
struct LoadWindow {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin, end;

  bool counts(Clock::time_point now) const { return now >= begin && now <= end; }
};

struct LoadSeen {
  std::vector<double> first, between, whole;    // seconds to the first token, between tokens, and of a request
  std::int64_t events = 0;                      // pieces of text
  std::int64_t all_events = 0, all_tokens = 0;  // of requests that ended, in the window or not
  std::int64_t errors = 0;
  std::string why;  // of the last error

  void add(const LoadSeen& other) {
    for (const auto part : {&LoadSeen::first, &LoadSeen::between, &LoadSeen::whole})
      (this->*part).insert((this->*part).end(), (other.*part).begin(), (other.*part).end());
    events += other.events, all_events += other.all_events, all_tokens += other.all_tokens, errors += other.errors;
    if (!other.why.empty()) why = other.why;
  }
};

// All clients of one thread share its io_context and its LoadSeen. Requests are bytes, sent in turn from `next` on.
class LoadClient {
 public:
  using Clock = LoadWindow::Clock;
  LoadClient(boost::asio::io_context& io, const boost::asio::ip::tcp::endpoint& server, const LoadWindow& window,
             const std::vector<std::string>& requests, std::size_t next, LoadSeen& seen)
      : socket_(io), pause_(io), server_(server), window_(window), requests_(requests), next_(next), seen_(seen) {}

  void start() {
    socket_.async_connect(server_, [this](const auto& error) {
      if (error) return fail(error.message());
      socket_.set_option(boost::asio::ip::tcp::no_delay(true));
      ask();
    });
  }

 private:
  void ask() {
    parser_.emplace();
    parser_->body_limit(boost::none);
    parser_->eager(true);
    events_ = 0, tail_.clear(), begun_ = last_ = Clock::now();
    const std::string& request = requests_[next_++ % requests_.size()];
    boost::asio::async_write(socket_, boost::asio::buffer(request), [this](const auto& error, std::size_t) {
      if (error) return fail(error.message());
      read();
    });
  }

  // Beast's own read would wait for more where a chunk ends with the bytes that are there.
  void read() {
    socket_.async_read_some(buffer_.prepare(kBytes), [this](const auto& error, std::size_t bytes) {
      if (error) return fail(error.message());
      buffer_.commit(bytes);
      boost::system::error_code wrong;
      while (buffer_.size() > 0 && !wrong && !parser_->is_done()) buffer_.consume(parser_->put(buffer_.data(), wrong));
      if (wrong && wrong != boost::beast::http::error::need_more) return fail(wrong.message());
      if (parser_->is_header_done()) take(parser_->get().body());
      if (!parser_->is_done()) return read();
      if (parser_->get().result_int() != 200) return fail("status " + std::to_string(parser_->get().result_int()));
      end();
    });
  }

  // Server-sent events, which may be cut anywhere.
  void take(std::string& body) {
    const auto now = Clock::now();
    tail_ += body;
    body.clear();
    std::size_t at = 0;
    for (std::size_t gap; (gap = tail_.find("\n\n", at)) != std::string::npos; at = gap + 2)
      take_event(std::string_view(tail_).substr(at, gap - at), now);
    tail_.erase(0, at);
  }

  void take_event(std::string_view event, Clock::time_point now) {
    constexpr std::string_view kUsage = "\"completion_tokens\":";
    if (const std::size_t usage = event.find(kUsage); usage != std::string_view::npos)
      tokens_ = std::strtoll(event.data() + usage + kUsage.size(), nullptr, 10);
    if (event.find("\"finish_reason\":null") == std::string_view::npos) return;
    if (window_.counts(now)) {
      ++seen_.events;
      (events_ == 0 ? seen_.first : seen_.between).push_back(std::chrono::duration<double>(now - last_).count());
    }
    last_ = now;
    ++events_;
  }

  void end() {
    const auto now = Clock::now();
    if (tokens_ == 0) return fail("a stream without its usage");
    if (window_.counts(now)) seen_.whole.push_back(std::chrono::duration<double>(now - begun_).count());
    seen_.all_events += events_, seen_.all_tokens += std::exchange(tokens_, 0);
    if (now >= window_.end) return;
    parser_->keep_alive() ? ask() : connect_again(std::chrono::milliseconds(0));
  }

  void fail(const std::string& why) {
    if (Clock::now() >= window_.end) return;
    ++seen_.errors, seen_.why = why;
    connect_again(std::chrono::milliseconds(100));
  }

  void connect_again(std::chrono::milliseconds later) {
    boost::system::error_code ignored;
    socket_.close(ignored);
    buffer_.clear();
    pause_.expires_after(later);
    pause_.async_wait([this](const auto& error) {
      if (!error) start();
    });
  }

  static constexpr std::size_t kBytes = 1 << 16;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer pause_;
  boost::asio::ip::tcp::endpoint server_;
  const LoadWindow& window_;
  const std::vector<std::string>& requests_;
  std::size_t next_;
  LoadSeen& seen_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::response_parser<boost::beast::http::string_body>> parser_;
  std::string tail_;
  Clock::time_point begun_, last_;
  std::int64_t events_ = 0, tokens_ = 0;
};

}  // namespace attend
