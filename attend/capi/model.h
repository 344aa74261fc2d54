// What the handles of attend/c.h are.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "attend/backends.h"
#include "attend/c.h"
#include "attend/catalogue/catalogue.h"
#include "attend/tasks/answerer.h"
#include "attend/tasks/classifier.h"
#include "attend/tasks/describer.h"
#include "attend/tasks/detector.h"
#include "attend/tasks/drawer.h"
#include "attend/tasks/embedder.h"
#include "attend/tasks/fill.h"
#include "attend/tasks/generator.h"
#include "attend/tasks/picture_encoder.h"
#include "attend/tasks/tagger.h"
#include "attend/tasks/translator.h"

struct attend_model {
  std::mutex turn;                        // held by every call: a backend computes one thing at a time
  std::atomic<std::thread::id> caller{};  // who holds it
  std::unique_ptr<attend::Backend> backend;
  attend::catalogue::Task task = {};
  // The one that the task is.
  std::unique_ptr<attend::tasks::LoadedTranslator> translator;
  std::unique_ptr<attend::tasks::Generator> generator;
  std::unique_ptr<attend::tasks::Classifier> classifier;
  std::unique_ptr<attend::tasks::Tagger> tagger;
  std::unique_ptr<attend::tasks::Answerer> answerer;
  std::unique_ptr<attend::tasks::Filler> filler;
  std::unique_ptr<attend::tasks::Embedder> embedder;
  std::unique_ptr<attend::tasks::PictureEncoder> pictures;
  std::unique_ptr<attend::tasks::Detector> detector;
  std::unique_ptr<attend::tasks::LoadedDescriber> describer;
  std::unique_ptr<attend::tasks::Drawer> drawer;
};

struct attend_results {
  struct Item {
    std::string text = {}, label = {};
    double score = 0;
    std::int64_t begin = 0, end = 0;
    double box[4] = {};
  };
  std::vector<std::vector<Item>> lines;
};

namespace attend::capi {

// Reads the folder for what it does, or for options.task.
std::unique_ptr<attend_model> open_model(const std::string& path_or_name, const attend_open_options& options);

// The handles that are open. A call keeps its model until it is over, so that one that is closed meanwhile, by another
// thread or by a callback, is gone only then; a handle that was closed is an error.
attend_model* keep_open(std::unique_ptr<attend_model> model);
void close(attend_model* handle);
std::shared_ptr<attend_model> opened(const char* who, const attend_model* handle);

// A call's turn on a model: waits for other threads. Throws ArgumentError for a handle that is not open, and where the
// thread has the turn already (a callback that calls its own model).
class Turn {
 public:
  Turn(const char* who, const attend_model* handle);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  attend_model& model() { return *model_; }

 private:
  std::shared_ptr<attend_model> model_;
};

// Results, or the data of a tensor, that a caller gets: what is not among them (freed, or a stranger's) is neither read
// as results nor freed.
void lend(void* memory);

// Drawings of one class, or where it has no name of all in turn. Throws Error when there is no such class, and for more
// than a thousand at once.
std::vector<attend::image::Image> drawings(const attend::tasks::Drawer& drawer, const std::string& of_class,
                                           std::size_t count, std::uint64_t seed);

// Of a model that reads or writes text. Throws Error for others.
const Tokenizer& tokenizer_of(const attend_model& model);

}  // namespace attend::capi
