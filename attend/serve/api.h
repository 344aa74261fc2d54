// The page's questions and the model's answers, as JSON (docs/look.md has the format). Knows nothing of sockets.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

#include "attend/base/json.h"
#include "attend/serve/http.h"
#include "attend/tasks/inspect.h"

namespace attend::serve {

struct ApiOptions {
  std::string name;              // of the model, for the page
  std::size_t max_text = 2000;   // bytes
  bool only_local_names = true;  // refuses a Host header that is not this machine's: another site's page sent it
};

class Api {
 public:
  // inspector must outlive it.
  Api(tasks::Inspector& inspector, ApiOptions options) : inspector_(inspector), options_(std::move(options)) {}

  // Any thread. Never throws for what a request says: that is an answer with 4xx and {"error": ".."}.
  HttpResponse handle(const HttpRequest& request);

  Json model() const;
  // Throw Error for requests that make no sense.
  Json translate(const Json& request);
  Json trace(const Json& request);

 private:
  HttpResponse ask(const HttpRequest& request);

  tasks::Inspector& inspector_;
  ApiOptions options_;
  std::mutex model_;  // one computation at a time; the server's workers bound how many wait
};

Json to_json(const tasks::Inspection& inspection);

}  // namespace attend::serve
