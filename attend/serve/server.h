// attend serve: the adapters behind one HTTP server, with what is common to all of them: keys, limits on how much runs
// at once, counts, origins of pages that may ask.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attend/base/limits.h"
#include "attend/http/http.h"
#include "attend/http/workers.h"
#include "attend/serve/api/api_adapter.h"

namespace attend::serve {

struct ServerOptions {
  http::ServerOptions http = {};
  std::vector<std::string> keys = {};
  std::string cors_origin = {};  // "*", or one; empty: pages of other sites are not let in
  std::int64_t max_concurrent = 512, max_batch_tokens = 4096, max_client_batch = 2048;
  std::int64_t max_pixels = limits::kMostPixels;  // of an image that is decoded
  std::string version = {};
  std::function<std::unique_ptr<Backend>()> open_look_backend = {};  // empty: no /look
};

// Pages that are free, to the system.
void give_back_memory();

class Server {
 public:
  // What it is given must outlive it.
  Server(ServerOptions options, ServedModels& models, Metrics& metrics);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const { return http_->port(); }
  // As Server's; later() is run beside requests, by a thread of its own.
  void run(const std::function<bool()>& stop);
  void later(std::function<void()> work) { workers_->add(std::move(work)); }
  // Whether and what a request is answered without waiting; tests and fuzzers call it without a socket.
  void dispatch(http::Request request, std::shared_ptr<http::Exchange> exchange);

 private:
  class Counted;
  void add_adapters();
  void add_own_routes();
  http::Response metrics_text();
  void answer(const http::RouteMatch& match, const http::Request& request,
              const std::shared_ptr<http::Exchange>& exchange) noexcept;
  http::Headers common_headers() const;

  ServerOptions options_;
  ServedModels& models_;
  Metrics& metrics_;
  ApiContext context_;
  std::vector<std::unique_ptr<ApiAdapter>> adapters_;
  ApiRoutes routes_;
  // Those under way; a stream that was cut off at the end may outlive the server.
  std::shared_ptr<std::atomic<std::int64_t>> running_ = std::make_shared<std::atomic<std::int64_t>>(0);
  std::atomic<bool> ends_{false};
  std::unique_ptr<http::Server> http_;
  std::unique_ptr<http::Workers> workers_;  // last
};

}  // namespace attend::serve
