// One request, read from bytes as they come. Every part of it has a limit that holds before anybody knows who sends
// it: the head, the body, the extensions of chunks (RFC 9112, 7.1.1), what chunks cost beside their bytes, and
// trailers.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/optional.hpp>
#include <boost/system/error_code.hpp>
#include <cctype>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "attend/http/http.h"
#include "attend/http/memory_budget.h"

namespace attend::http {

namespace http = boost::beast::http;
using boost::system::error_code;

inline std::string_view view_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

inline std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

inline error_code not_enough_memory() { return make_error_code(boost::system::errc::not_enough_memory); }

// A body that is charged as it grows. Nothing is set aside for a length that is only claimed.
struct ChargedBody {
  struct value_type {
    std::string bytes = {};
    MemoryCharge* charge = nullptr;
    std::uint64_t length = std::numeric_limits<std::uint64_t>::max();  // as claimed
    std::size_t charged = 0;
  };
  class reader {
   public:
    template <bool request, class Fields>
    reader(http::header<request, Fields>&, value_type& body) : body_(body) {}
    void init(const boost::optional<std::uint64_t>& length, error_code& error) {
      if (length) body_.length = *length;
      error = {};
    }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, error_code& error) {
      error = {};
      const std::size_t more = boost::asio::buffer_size(buffers), size = body_.bytes.size() + more;
      if (size > body_.charged) {
        const std::uint64_t twice = std::max<std::uint64_t>(2 * body_.charged, 4096);
        const auto room = static_cast<std::size_t>(std::max<std::uint64_t>(size, std::min(twice, body_.length)));
        if (!body_.charge->add(room - body_.charged)) {
          error = not_enough_memory();
          return 0;
        }
        body_.charged = room;
        body_.bytes.reserve(room);
      }
      for (auto at = boost::asio::buffer_sequence_begin(buffers); at != boost::asio::buffer_sequence_end(buffers); ++at)
        body_.bytes.append(static_cast<const char*>((*at).data()), (*at).size());
      return more;
    }
    void finish(error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

class RequestReader {
 public:
  struct Limits {
    std::size_t head = 0, body = 0, image = 0;
  };
  RequestReader(const Limits& limits, MemoryCharge& charge) : limits_(limits), charge_(charge) {
    parser_.header_limit(static_cast<std::uint32_t>(limits.head));
    parser_.body_limit(std::numeric_limits<std::uint64_t>::max());  // until the head says what it is
    parser_.on_chunk_header(extensions_);
    parser_.get().body().charge = &charge;
    extensions_.most = limits.head;
  }
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  enum class Step {
    more,     // bytes are missing
    go_on,    // the head is there, and the client waits for a 100 before it sends the rest
    done,     // request() has it
    refused,  // with status() and why()
    closed    // there was nothing to answer
  };
  Step read(boost::beast::flat_buffer& buffer);
  // There will be no more bytes.
  Step end() { return parser_.got_some() ? refuse(400, "the request ends too early") : Step::closed; }

  bool in_body() const { return head_done_; }
  int status() const { return status_; }
  const std::string& why() const { return why_; }
  bool keep_alive() const { return keep_alive_; }
  bool old() const { return old_; }  // before HTTP/1.1
  Request take_request() {
    request_.body = std::move(parser_.get().body().bytes);
    return std::move(request_);
  }

 private:
  struct Extensions {
    std::size_t most = 0, bytes = 0;
    void operator()(std::uint64_t, boost::beast::string_view text, error_code& error) {
      bytes += text.size();
      if (bytes > most) error = http::error::body_limit;
    }
  };
  Step refuse(int status, std::string why) {
    status_ = status, why_ = std::move(why);
    return Step::refused;
  }
  Step refuse(const error_code& error);
  bool take_head();

  static constexpr std::size_t kFieldCost = 32;    // bytes kept for a byte of a head of many short fields
  static constexpr std::size_t kSmallHead = 1024;  // is never refused: a server whose budget is spent still answers

  Limits limits_;
  MemoryCharge& charge_;
  Extensions extensions_;
  http::request_parser<ChargedBody> parser_;
  Request request_;
  std::size_t received_ = 0, most_ = 0;  // bytes of the head, later of the body with all that is around it
  bool head_done_ = false, huge_ = false, waits_ = false, keep_alive_ = false, old_ = false;
  int status_ = 0;
  std::string why_;
};

// A number that no machine has room for is a length all the same, and gets the answer of one.
inline bool has_huge_number(std::string_view head) {
  int digits = 0;
  for (const char c : head) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 18) return true;
  }
  return false;
}

inline RequestReader::Step RequestReader::read(boost::beast::flat_buffer& buffer) {
  while (buffer.size() > 0) {
    error_code error;
    const bool head = head_done_;
    if (!head) huge_ = has_huge_number({static_cast<const char*>(buffer.data().data()), buffer.data().size()});
    const std::size_t used = parser_.put(buffer.data(), error);
    buffer.consume(used);
    received_ += used;
    if (error && error != http::error::need_more) return refuse(error);
    if (!head && received_ > kSmallHead && !charge_.add(kFieldCost * used)) return refuse(not_enough_memory());
    if (!head && parser_.is_header_done()) {
      head_done_ = true;
      if (!take_head()) return Step::refused;
      received_ = 0;
      parser_.eager(true);
      if (!parser_.is_done() && waits_ && buffer.size() == 0) return Step::go_on;
    }
    // What is left of the buffer when more is needed is a line that has no end yet, or trailers that have none.
    const std::size_t unfinished = error ? buffer.size() : 0;
    if (!head_done_ && received_ + unfinished > limits_.head) return refuse(http::error::header_limit);
    if (head_done_ && (received_ > most_ || unfinished > limits_.head))
      return refuse(413, "what is around the body is too large: extensions of chunks, or trailers");
    if (parser_.is_done()) return Step::done;
    if (error || used == 0) return Step::more;
  }
  return Step::more;
}

// Two ways to say where a body ends are a way past a proxy that believes the other one. Fields are taken here, so that
// trailers, which may say anything, do not become fields of the request (RFC 9110, 6.5.1).
inline bool RequestReader::take_head() {
  const auto& message = parser_.get();
  const auto no = [&](int status, std::string why) {
    refuse(status, std::move(why));
    return false;
  };
  const std::string_view coding = view_of(message[http::field::transfer_encoding]);
  if (message.count(http::field::content_length) > 1) return no(400, "two Content-Lengths");
  if (message.count(http::field::transfer_encoding) > 1 || (!coding.empty() && lower(coding) != "chunked"))
    return no(501, "of transfer codings only chunked is known");
  const bool image = lower(view_of(message[http::field::content_type])).starts_with("image/");
  const std::size_t most = image ? limits_.image : limits_.body;
  if (const auto length = parser_.content_length(); length && *length > most)
    return no(413, fmt::format("the body has {} bytes, at most {} are taken", *length, most));
  parser_.body_limit(most);
  most_ = most + limits_.head;
  request_.method = view_of(message.method_string());
  const std::string_view target = view_of(message.target());
  request_.path = target.substr(0, target.find('?'));
  if (const std::size_t mark = target.find('?'); mark != std::string_view::npos)
    request_.query = target.substr(mark + 1);
  for (const auto& field : message)
    request_.headers.emplace_back(lower(view_of(field.name_string())), std::string(view_of(field.value())));
  request_.host = request_.header("host");
  request_.content_type = request_.header("content-type");
  waits_ = lower(request_.header("expect")) == "100-continue";
  keep_alive_ = message.keep_alive();
  old_ = message.version() < 11;
  return true;
}

inline RequestReader::Step RequestReader::refuse(const error_code& error) {
  if (error == http::error::header_limit) return refuse(431, "the head of the request is too large");
  if (error == http::error::body_limit || (error == http::error::bad_content_length && huge_))
    return refuse(413, "the body is too large");
  if (error == http::error::bad_content_length) return refuse(400, "a bad Content-Length");
  if (error == not_enough_memory()) return refuse(503, "requests occupy as much memory as they may; try again");
  return refuse(400, "this is not an HTTP request");
}

}  // namespace attend::http
