// The page's questions and the model's answers, as JSON (docs/look.md has the format). Knows nothing of sockets.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/json.h"
#include "attend/http/http.h"
#include "attend/http/routes.h"
#include "attend/look/api/drawing_api.h"
#include "attend/look/api/image_questions.h"
#include "attend/look/api/run_reader.h"
#include "attend/look/inspect/inspect.h"

namespace attend::look {

inline constexpr std::string_view kApiPrefix = "/api/";  // of the page's questions; all else are its files

struct ApiOptions {
  std::string name;              // of the model, for the page
  std::size_t max_text = 2000;   // bytes
  bool only_local_names = true;  // refuses a Host header that is not this machine's: another site's page sent it
};

class Api {
 public:
  // What it is given must outlive it; without an inspector or a run, what asks for one is refused.
  struct Parts {
    Inspector* inspector = nullptr;
    ImageQuestions* images = nullptr;  // of a model that reads images, instead of an inspector
    DrawingApi* drawings = nullptr;    // of one that draws
    RunReader* run = nullptr;
    std::vector<RunReader*> others = {};  // runs to compare it with
  };
  Api(const Parts& parts, ApiOptions options);
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  // Whether a request with this Host header is this machine's own, or any may ask.
  bool answers_to(const std::string& host) const;

  // Any thread. Never throws for what a request says: that is an answer with 4xx and {"error": ".."}.
  http::Response handle(const http::Request& request);
  std::span<const http::Route> routes() const { return routes_.routes(); }

  Json model() const;
  // Throw Error for requests that make no sense.
  std::string inspect(const Json& request);
  Json trace(const Json& request);
  Json positions() const;
  Json output(const Json& request);
  Json states(const Json& request);  // also in another order, compared with this one
  Json exact(const Json& request);
  static Json worked(const Json& request);  // attention on given numbers, without a model
  Json run(const Json& request);

 private:
  TraceRequest traced(const Json& request) const;
  using Handler = std::function<http::Response(const http::Request& request, const http::PathValues& path)>;
  void add_questions();
  void add_files();
  Inspector& inspector() const;
  ImageQuestions& images() const;

  Parts parts_;
  ApiOptions options_;
  http::RouteTable<Handler> routes_;
  std::mutex model_;  // one computation at a time; the server's workers bound how many wait
};

}  // namespace attend::look
