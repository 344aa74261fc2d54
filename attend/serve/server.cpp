#include "attend/serve/server.h"

#include <fmt/core.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "attend/base/error.h"
#include "attend/serve/api/hugging_face.h"
#include "attend/serve/api/libre.h"
#include "attend/serve/api/look_api.h"
#include "attend/serve/api/openai.h"
#include "attend/serve/api/openapi.h"
#include "attend/serve/api/tei.h"
#include "attend/serve/engine/failure.h"

namespace attend::serve {

// An exchange that is counted for as long as somebody has it.
class Server::Counted : public http::Exchange {
 public:
  Counted(Server& server, std::shared_ptr<http::Exchange> inner)
      : server_(server), running_(server.running_), inner_(std::move(inner)) {
    ++*running_;
  }
  ~Counted() override { --*running_; }

  void answer(http::Response response) override {
    count(response.status);
    const http::Headers common = server_.common_headers();
    response.headers.insert(response.headers.end(), common.begin(), common.end());
    inner_->answer(std::move(response));
  }
  void begin(http::Response head) override {
    count(head.status);
    const http::Headers common = server_.common_headers();
    head.headers.insert(head.headers.end(), common.begin(), common.end());
    inner_->begin(std::move(head));
  }
  bool write(std::string_view piece) override { return inner_->write(piece); }
  void finish() override { inner_->finish(); }
  std::stop_token stop_token() const override { return inner_->stop_token(); }
  bool charge(std::size_t bytes) override { return inner_->charge(bytes); }
  void discharge(std::size_t bytes) override { inner_->discharge(bytes); }

 private:
  void count(int status) {
    Metrics& metrics = server_.metrics_;
    metrics.count(status < 400 ? "te_request_success" : "te_request_failure",
                  status < 400 ? "" : fmt::format("err=\"{}\"", status));
    metrics.observe("te_request_duration",
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count());
  }

  Server& server_;
  std::shared_ptr<std::atomic<std::int64_t>> running_;
  std::shared_ptr<http::Exchange> inner_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

void give_back_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

Server::Server(ServerOptions options, ServedModels& models, Metrics& metrics)
    : options_(std::move(options)),
      models_(models),
      metrics_(metrics),
      context_{.models = models,
               .metrics = metrics,
               .keys = options_.keys,
               .max_concurrent = options_.max_concurrent,
               .max_batch_tokens = options_.max_batch_tokens,
               .max_client_batch = options_.max_client_batch,
               .max_pixels = options_.max_pixels,
               .version = options_.version} {
  add_adapters();
  options_.http.command = "serve";
  http_ = std::make_unique<http::Server>(
      options_.http, http::Server::Dispatcher([this](http::Request request, std::shared_ptr<http::Exchange> exchange) {
        dispatch(std::move(request), std::move(exchange));
      }));
  workers_ = std::make_unique<http::Workers>(static_cast<std::size_t>(options_.max_concurrent) + 1);
}

void Server::add_adapters() {
  adapters_.push_back(std::make_unique<LibreTranslateApi>());
  adapters_.push_back(std::make_unique<TeiApi>());
  adapters_.push_back(std::make_unique<OpenAiApi>());
  adapters_.push_back(std::make_unique<HuggingFaceApi>());
  if (options_.open_look_backend) {
    const std::string& host = options_.http.host;
    adapters_.push_back(std::make_unique<LookApi>(
        LookApi::Options{.open_backend = options_.open_look_backend,
                         .only_local_names = host == "localhost" || host.starts_with("127.")}));
  }
  for (const auto& adapter : adapters_) adapter->add_routes(routes_);
  add_own_routes();
  context_.routes = routes_.routes();
}

// Workers first: they answer through the HTTP server.
Server::~Server() {
  workers_.reset();
  http_.reset();
}

void Server::run(const std::function<bool()>& stop) {
  std::size_t most = 0;
  http_->run([&] {
    const bool now = stop();
    if (now) ends_ = true;
    // What requests have left behind is kept by the C library for later, in pieces, unless it is told.
    constexpr std::size_t kMuch = 32 << 20;
    const std::size_t used = http_->memory();
    most = std::max(most, used);
    if (most > used + kMuch) {
      most = used;
      later(give_back_memory);
    }
    return now;
  });
}

http::Headers Server::common_headers() const {
  if (options_.cors_origin.empty()) return {};
  return {{"access-control-allow-origin", options_.cors_origin}, {"vary", "origin"}};
}

http::Response Server::metrics_text() {
  std::size_t waiting = 0;
  for (const ServedModelPtr& model : models_.all()) {
    const std::size_t own = model->waiting();
    metrics_.set("attend_queue_size", static_cast<double>(own), fmt::format("model=\"{}\"", model->name()));
    waiting += own;
  }
  metrics_.set("te_queue_size", static_cast<double>(waiting));
  metrics_.set("attend_connections", static_cast<double>(http_->connections()));
  metrics_.set("attend_memory_bytes", static_cast<double>(http_->memory()));
  metrics_.set("attend_requests_running", static_cast<double>(running_->load()));
  return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_.text()};
}

void Server::add_own_routes() {
  const auto add = [this](const char* path, const char* summary, ApiHandler answer) {
    routes_.add({.method = "GET", .path = path, .summary = summary, .family = "attend"},
                {.adapter = nullptr, .answer = std::move(answer)});
  };
  const auto docs = [this](const ApiCall& call) {
    return http::Response{.type = "text/html; charset=utf-8",
                          .body = docs_page(options_.version, call.request.host, routes_.routes())};
  };
  add("/health", "200 as long as the server runs.",
      [](const ApiCall&) { return http::Response{.body = R"({"status":"ok"})"}; });
  add("/ready", "200 when models are loaded, 503 before and at the end.", [this](const ApiCall&) {
    return ends_ ? http::refused(503, "the server ends") : http::Response{.body = R"({"status":"ready"})"};
  });
  add("/version", "The program's version.", [this](const ApiCall&) {
    Json version = Json::object();
    version["version"] = options_.version;
    return http::Response{.body = version.dump()};
  });
  add("/metrics", "Counts for Prometheus.", [this](const ApiCall&) { return metrics_text(); });
  add("/", "", docs);
  add("/docs", "These paths as a page.", docs);
  add("/openapi.json", "These paths as OpenAPI 3.",
      [this](const ApiCall&) { return http::Response{.body = openapi_json(options_.version, routes_.routes())}; });
}

void Server::dispatch(http::Request request, std::shared_ptr<http::Exchange> exchange) {
  const auto say = [&](http::Response response) {
    const http::Headers common = common_headers();
    response.headers.insert(response.headers.end(), common.begin(), common.end());
    exchange->answer(std::move(response));
  };
  if (request.method == "OPTIONS") {
    http::Response response{.status = 204};
    if (!options_.cors_origin.empty())
      response.headers = {{"access-control-allow-methods", "GET, POST, OPTIONS"},
                          {"access-control-allow-headers", "authorization, content-type, x-api-key, x-request-id"},
                          {"access-control-max-age", "86400"}};
    return say(std::move(response));
  }
  auto match = routes_.find(request);
  if (!match)
    return say(http::refused(404, fmt::format("there is no {} here; /docs lists what there is", request.path)));
  const Endpoint& endpoint = routes_.handler(*match);
  if (!endpoint.adapter) {
    if (!match->wrong_method()) return say(*endpoint.answer(ApiCall{request, match->values, Work{context_, exchange}}));
    http::Response response = http::refused(405, match->ask_with());
    response.headers.push_back(match->allow());
    return say(std::move(response));
  }
  const ApiAdapter& adapter = *endpoint.adapter;
  const bool get = request.method == "GET" || request.method == "HEAD";
  metrics_.count("te_request_count", fmt::format("method=\"{}\"", get ? "get" : "post"));
  const bool reads_keys = adapter.reads_keys() && !get;
  if (!reads_keys && !context_.lets_in(request)) {
    http::Response response =
        adapter.refused({401, "this server wants a key: Authorization: Bearer KEY", "invalid_api_key"});
    response.headers.emplace_back("www-authenticate", "Bearer");
    return say(std::move(response));
  }
  if (*running_ >= options_.max_concurrent) {
    http::Response response = adapter.refused({429, "as many requests are running as may; try again", ""});
    response.headers.emplace_back("retry-after-ms", "100");
    response.headers.emplace_back("retry-after", "1");
    metrics_.count("te_request_failure", "err=\"overloaded\"");
    return say(std::move(response));
  }
  auto counted = std::make_shared<Counted>(*this, std::move(exchange));
  workers_->add([this, match = std::move(*match), request = std::move(request), counted = std::move(counted)] {
    answer(match, request, counted);
  });
}

namespace {

// The one place that says whose fault it was. Call it while an exception is handled.
Refusal refusal_of(const ApiAdapter& adapter) {
  try {
    throw;
  } catch (const Refusal& refusal) {
    return refusal;
  } catch (const Cancelled&) {
    return {499, "the client has gone, or the server ends", ""};
  } catch (const std::bad_alloc&) {
    return {503, "out of memory", ""};
  } catch (const ComputeFailure& failure) {
    return {500, failure.what(), ""};
  } catch (const Error& error) {
    return {adapter.bad_request(), error.what(), ""};
  } catch (const std::exception&) {
    return {500, "something went wrong here", ""};
  }
}

}  // namespace

// An exchange that is let go without an answer, because there is no memory even for a refusal, ends its connection.
void Server::answer(const http::RouteMatch& match, const http::Request& request,
                    const std::shared_ptr<http::Exchange>& exchange) noexcept {
  const Endpoint& endpoint = routes_.handler(match);
  try {
    try {
      if (exchange->gone()) throw Cancelled();
      if (match.wrong_method()) refuse(405, match.ask_with());
      if (auto response = endpoint.answer(ApiCall{request, match.values, Work{context_, exchange}}))
        exchange->answer(std::move(*response));
    } catch (...) {
      http::Response response = endpoint.adapter->refused(refusal_of(*endpoint.adapter));
      if (response.status == 503) response.headers.emplace_back("retry-after", "1");
      if (match.wrong_method()) response.headers.push_back(match.allow());
      exchange->answer(std::move(response));
    }
  } catch (const std::exception&) {
  }
}

}  // namespace attend::serve
