// The page's questions in a browser: the models and the routes of attend look, compiled to WebAssembly. A worker
// (worker.js) puts the files of models under /models and calls these functions; there is one thread and one page.
#include <emscripten/emscripten.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "attend/backends.h"
#include "attend/http/http.h"
#include "attend/look/api/model_registry.h"
#include "attend/look/api/shown_model.h"

namespace attend::wasm {

namespace {

class Page {
 public:
  explicit Page(const std::string& name)
      : backend_(open_backend("cpu", {.threads = 1})),
        first_(name, *backend_, DType::f32, false),
        shelf_(first_.api(), name, look::shipped_entries(), [this](const std::string& other) {
          return std::make_unique<look::ChosenModel>(other, *backend_, DType::f32, false);
        }) {}
  http::Response handle(const http::Request& request) { return shelf_.handle(request); }

 private:
  std::unique_ptr<Backend> backend_;
  look::ChosenModel first_;
  look::ModelRegistry shelf_;
};

std::unique_ptr<Page> page;
http::Response answer;  // the newest

template <class Work>
int answered(Work&& work) {
  try {
    answer = work();
  } catch (const std::exception& error) {
    answer = http::refused(500, error.what());
  }
  return answer.status;
}

}  // namespace

}  // namespace attend::wasm

extern "C" {

using attend::wasm::answer;
using attend::wasm::answered;
using attend::wasm::Page;

// Opens a page about the model of this name. Like attend_ask it returns an HTTP status; what there is to say about it
// is attend_body().
EMSCRIPTEN_KEEPALIVE int attend_open(const char* name) {
  return answered([&]() -> attend::http::Response {
    attend::wasm::page = nullptr;  // its memory first
    attend::wasm::page = std::make_unique<Page>(name);
    return {};
  });
}

EMSCRIPTEN_KEEPALIVE int attend_ask(const char* method, const char* path, const char* type, const char* body,
                                    std::size_t size) {
  return answered([&]() -> attend::http::Response {
    if (!attend::wasm::page) return attend::http::refused(503, "no model is open yet");
    return attend::wasm::page->handle(
        {.method = method, .path = path, .host = "localhost", .content_type = type, .body = std::string(body, size)});
  });
}

EMSCRIPTEN_KEEPALIVE const char* attend_type() { return answer.type.c_str(); }
EMSCRIPTEN_KEEPALIVE const char* attend_body() { return answer.body.data(); }
EMSCRIPTEN_KEEPALIVE std::size_t attend_size() { return answer.body.size(); }
}
