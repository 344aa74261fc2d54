// What the adapters of attend serve share. An adapter speaks as one family of servers does, so that its clients notice
// no difference: its paths, its JSON, and its errors in its own shape.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/base/json.h"
#include "attend/base/limits.h"
#include "attend/http/http.h"
#include "attend/http/routes.h"
#include "attend/serve/engine/metrics.h"
#include "attend/serve/engine/served_models.h"
#include "attend/serve/engine/turns.h"

namespace attend::serve {

// Thrown by an adapter: what to answer instead.
struct Refusal {
  int status = 400;
  std::string why;
  std::string kind = {};  // a word of the family's own: "Validation", "model_not_found"
};
[[noreturn]] void refuse(int status, std::string why, std::string kind = {});

struct ApiContext {
  ServedModels& models;
  Metrics& metrics;
  std::vector<std::string> keys = {};  // those that let in; none: everybody
  std::int64_t max_concurrent = 512, max_batch_tokens = 4096, max_client_batch = 2048;
  std::int64_t max_pixels = limits::kMostPixels;  // of an image that is decoded
  std::string version = {};
  std::span<const http::Route> routes = {};  // of all adapters, for documentation
  // Of pieces of work that take little, and of those that take long, which hold up only one another.
  std::shared_ptr<Turns> turns = std::make_shared<Turns>(), long_turns = std::make_shared<Turns>(1);

  // Whether the key of the request's headers (Authorization: Bearer, or X-API-Key) lets in.
  bool lets_in(const http::Request& request) const;
  bool knows(std::string_view key) const;
};

// Bytes that work on a request takes, before it takes them: a refusal with 503 where there is no room for them.
void charge(http::Exchange& exchange, std::size_t bytes);
// The same for as long as it lives.
class Charged {
 public:
  Charged(http::Exchange& exchange, std::size_t bytes) : exchange_(exchange), bytes_(bytes) { charge(exchange, bytes); }
  ~Charged() { exchange_.discharge(bytes_); }
  Charged(const Charged&) = delete;
  Charged& operator=(const Charged&) = delete;
  void more(std::size_t bytes) {
    charge(exchange_, bytes);
    bytes_ += bytes;
  }

 private:
  http::Exchange& exchange_;
  std::size_t bytes_;
};

// What is done for one request.
struct Work {
  const ApiContext& context;
  std::shared_ptr<http::Exchange> exchange;
  std::stop_token stop = exchange->stop_token();

  mutable std::size_t prepared = 0;  // bytes, so far; by one thread

  // A piece of what the model does not do itself, on so many bytes: waits for its turn, unless the request has asked
  // for little yet, which takes less than waiting. Throws serving::Cancelled when nobody waits for the answer any more.
  template <class Piece>
  auto piece(std::size_t bytes, Piece done) const {
    constexpr std::size_t kLittle = 4 << 10, kLong = 64 << 10;
    if ((prepared += bytes) < kLittle && !stop.stop_requested()) return done();
    return (bytes < kLong ? context.turns : context.long_turns)->take(stop, std::move(done));
  }
  // Texts of one request have a limit: 413, in the words of TEI.
  void check_batch(std::size_t texts) const;
};

// A request on its way to the function that answers it.
struct ApiCall {
  const http::Request& request;
  const http::PathValues& path;  // what stood for {id}, and the like
  Work work;

  const ApiContext& context() const { return work.context; }
  const std::string& at(std::string_view name) const { return path.find(name)->second; }
};
// May wait, so it has a thread of its own. Nothing: the exchange is answered as it goes on. Throws Refusal, or Error
// for what in the request makes no sense.
using ApiHandler = std::function<std::optional<http::Response>(const ApiCall& call)>;

class ApiAdapter;
struct Endpoint {
  ApiAdapter* adapter = nullptr;  // without one it is the server's own: for everybody, and answered at once
  ApiHandler answer;
};
using ApiRoutes = http::RouteTable<Endpoint>;

class ApiAdapter {
 public:
  ApiAdapter() = default;
  virtual ~ApiAdapter() = default;
  ApiAdapter(const ApiAdapter&) = delete;
  ApiAdapter& operator=(const ApiAdapter&) = delete;

  virtual std::string family() const = 0;  // whose clients it answers, for documentation
  // All its endpoints, once, at the start. Of two patterns that fit a path, the one that was added first is taken.
  virtual void add_routes(ApiRoutes& routes) = 0;
  virtual http::Response refused(const Refusal& refusal) const = 0;
  // Of an Error.
  virtual int bad_request() const { return 400; }
  // Lets in by a key in the body as well, and looks at it itself.
  virtual bool reads_keys() const { return false; }

 protected:
  void add(ApiRoutes& routes, http::Route route, ApiHandler answer) {
    route.family = family();
    routes.add(std::move(route), {this, std::move(answer)});
  }
};

// The model of that name; without a name the first that can do what is asked. Null when there is none.
using Can = std::function<bool(const ServedModel&)>;
ServedModelPtr choose(const ServedModels& models, const std::string& name, const Can& can);

// A body of JSON; Error where it is none.
Json json_body(const http::Request& request);
// application/x-www-form-urlencoded, as of bodies and of what follows a '?'. Of a name given twice, the last.
std::vector<std::pair<std::string, std::string>> form_fields(std::string_view text);

// 0.1.0's vectors are f32: numbers are written as short as they can be read back.
void append_floats(std::string& json, std::span<const float> values);
std::string floats_json(std::span<const float> values);

}  // namespace attend::serve
