// A server that computes nothing: it answers every request with the same stream of tokens, each an event and a write of
// its own, as fast as they are taken. Its rate is what clients can take at most.
#pragma once

#include <fmt/core.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace attend {

class LoadEcho {
 public:
  LoadEcho(std::int64_t tokens, int threads) : acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}) {
    pieces_.push_back(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n");
    // The fields and the length of ours.
    const std::string opening =
        R"(data: {"id":"cmpl-0000000000000","object":"text_completion","created":1700000000,"model":"echo","choices":[)";
    for (std::int64_t i = 0; i < tokens; ++i)
      pieces_.push_back(chunk(
          opening + R"({"text":" word","index":0,"logprobs":null,"finish_reason":null}],"usage":null})" + "\n\n"));
    pieces_.back() += chunk(opening + R"({"text":"","index":0,"logprobs":null,"finish_reason":"length"}]})" + "\n\n") +
                      chunk(fmt::format("{}],\"usage\":{{\"completion_tokens\":{}}}}}\n\n", opening, tokens)) +
                      chunk("data: [DONE]\n\n") + "0\r\n\r\n";
    accept();
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { io_.run(); });
  }
  ~LoadEcho() {
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
  }
  boost::asio::ip::tcp::endpoint address() const { return acceptor_.local_endpoint(); }

 private:
  static std::string chunk(const std::string& data) { return fmt::format("{:x}\r\n{}\r\n", data.size(), data); }

  struct Connection : std::enable_shared_from_this<Connection> {
    Connection(boost::asio::ip::tcp::socket socket, const std::vector<std::string>& pieces)
        : socket(std::move(socket)), pieces(pieces) {}

    void read() {
      parser.emplace();
      boost::beast::http::async_read(socket, buffer, *parser,
                                     [self = shared_from_this()](const auto& error, std::size_t) {
                                       if (!error) self->write(0);
                                     });
    }
    void write(std::size_t piece) {
      if (piece == pieces.size()) return read();
      boost::asio::async_write(socket, boost::asio::buffer(pieces[piece]),
                               [self = shared_from_this(), piece](const auto& error, std::size_t) {
                                 if (!error) self->write(piece + 1);
                               });
    }

    boost::asio::ip::tcp::socket socket;
    const std::vector<std::string>& pieces;
    boost::beast::flat_buffer buffer;
    std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser;
  };

  void accept() {
    acceptor_.async_accept([this](const auto& error, boost::asio::ip::tcp::socket socket) {
      if (error) return;
      socket.set_option(boost::asio::ip::tcp::no_delay(true));
      std::make_shared<Connection>(std::move(socket), pieces_)->read();
      accept();
    });
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::vector<std::string> pieces_;
  std::vector<std::thread> threads_;
};

}  // namespace attend
