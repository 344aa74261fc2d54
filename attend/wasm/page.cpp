// The page's questions in a browser: the models and the routes of attend look, compiled to WebAssembly. A worker
// (worker.js) puts the files of models under /models and calls these functions; there is one thread and one page.
#include <emscripten/emscripten.h>

#include <cstddef>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "attend/backends.h"
#include "attend/http/http.h"
#include "attend/look/api/live_training.h"
#include "attend/look/api/minute_tasks.h"
#include "attend/look/api/model_registry.h"
#include "attend/look/api/shown_model.h"

namespace attend::wasm {

namespace {

// A worker of its own trains (trainer.js), so that questions are answered meanwhile and ending it frees its memory.
EM_JS(void, start_worker, (const char* task, const char* folder, const char* model),
      { Module["startTraining"](UTF8ToString(task), UTF8ToString(folder), UTF8ToString(model)); });
EM_JS(void, end_worker, (), { Module["endTraining"](); });
EM_JS(void, report_files, (), { Module["reportTraining"](); });

class WorkerTraining : public look::LiveTraining {
 public:
  WorkerTraining() : LiveTraining("/training") {}
  using LiveTraining::end;

 private:
  void begin(const look::MinuteTask& task, const std::filesystem::path& folder) override {
    start_worker(std::string(task.name).c_str(), folder.c_str(), model_name().c_str());
  }
  void halt() override { end_worker(); }
};

class Page {
 public:
  explicit Page(const std::string& name)
      : backend_(open_backend("cpu", {.threads = 1})),
        first_({.name = name}, *backend_, DType::f32, false),
        shelf_(
            first_.api(), name, look::shipped_entries(),
            [this](const look::ModelEntry& model) {
              return std::make_unique<look::ChosenModel>(model, *backend_, DType::f32, false);
            },
            &training_) {}
  http::Response handle(const http::Request& request) { return shelf_.handle(request); }
  WorkerTraining& training() { return training_; }

 private:
  std::unique_ptr<Backend> backend_;
  WorkerTraining training_;
  look::ChosenModel first_;
  look::ModelRegistry shelf_;
};

std::unique_ptr<Page> page;
http::Response answer;  // the newest

template <class Work>
int answered(Work&& work) {
  try {
    answer = work();
  } catch (const std::bad_alloc&) {
    answer = http::refused(500, "there is not enough memory for this");
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

// In a worker that trains: returns when the model of this task is trained, in /training/run. Module.reportTraining() is
// called after every step.
EMSCRIPTEN_KEEPALIVE int attend_train(const char* task) {
  return answered([&]() -> attend::http::Response {
    const auto backend = attend::open_backend("cpu", {.threads = 1, .batch_invariant = false});
    const auto report = [] {
      attend::wasm::report_files();
      return false;
    };
    attend::look::train_minute_task(attend::look::minute_task(task), *backend,
                                    {.folder = "/training", .threads = 1, .stopped = report});
    return {};
  });
}

// In the page's worker: the training has ended. error "": with a model.
EMSCRIPTEN_KEEPALIVE void attend_trained(const char* error) {
  if (attend::wasm::page) attend::wasm::page->training().end(*error == 0, error);
}

EMSCRIPTEN_KEEPALIVE const char* attend_type() { return answer.type.c_str(); }
EMSCRIPTEN_KEEPALIVE const char* attend_body() { return answer.body.data(); }
EMSCRIPTEN_KEEPALIVE std::size_t attend_size() { return answer.body.size(); }
}
