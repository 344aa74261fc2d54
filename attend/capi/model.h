// What the handles of attend/c.h stand for.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "attend/backends.h"
#include "attend/c.h"
#include "attend/capi/handle_table.h"
#include "attend/catalogue/catalogue.h"
#include "attend/tasks/answerer.h"
#include "attend/tasks/classifier.h"
#include "attend/tasks/describer.h"
#include "attend/tasks/detector.h"
#include "attend/tasks/embedder.h"
#include "attend/tasks/fill.h"
#include "attend/tasks/generator.h"
#include "attend/tasks/image_encoder.h"
#include "attend/tasks/image_generator.h"
#include "attend/tasks/tagger.h"
#include "attend/tasks/translator.h"

namespace attend::capi {

struct LoadedModel {
  std::mutex turn;                        // held by every call: a backend computes one thing at a time
  std::atomic<std::thread::id> caller{};  // who holds it
  std::unique_ptr<Backend> backend;
  catalogue::Task task = {};
  // The one that the task is.
  std::unique_ptr<tasks::LoadedTranslator> translator;
  std::unique_ptr<tasks::Generator> generator;
  std::unique_ptr<tasks::Classifier> classifier;
  std::unique_ptr<tasks::Tagger> tagger;
  std::unique_ptr<tasks::Answerer> answerer;
  std::unique_ptr<tasks::Filler> filler;
  std::unique_ptr<tasks::Embedder> embedder;
  std::unique_ptr<tasks::ImageEncoder> images;
  std::unique_ptr<tasks::Detector> detector;
  std::unique_ptr<tasks::LoadedDescriber> describer;
  std::unique_ptr<tasks::ImageGenerator> drawer;
};

struct Results {
  struct Item {
    std::string text = {}, label = {};
    double score = 0;
    std::int64_t begin = 0, end = 0;
    double box[4] = {};
  };
  std::vector<std::vector<Item>> lines;
};

// The data of a tensor that a function took the memory for.
struct Memory {
  std::unique_ptr<std::byte[]> bytes;
};

// All handles that are alive. Never destroyed: threads may still call when the program ends.
HandleTable& handles();

// What a handle of this type of attend/c.h stands for.
template <class Handle>
struct Held;
template <>
struct Held<attend_model> {
  using Type = LoadedModel;
  static constexpr auto kKind = HandleTable::Kind::model;
};
template <>
struct Held<attend_results> {
  using Type = Results;
  static constexpr auto kKind = HandleTable::Kind::results;
};
template <>
struct Held<attend_memory> {
  using Type = Memory;
  static constexpr auto kKind = HandleTable::Kind::memory;
};

// A new handle; what it stands for lives until it is released and no call has it any more.
template <class Handle>
Handle* keep(std::shared_ptr<typename Held<Handle>::Type> object) {
  return reinterpret_cast<Handle*>(handles().add(Held<Handle>::kKind, std::move(object)));
}

// Null where the handle is NULL, was released, or never was one.
template <class Handle>
std::shared_ptr<typename Held<Handle>::Type> held(const Handle* handle) {
  return std::static_pointer_cast<typename Held<Handle>::Type>(
      handles().find(Held<Handle>::kKind, reinterpret_cast<std::uintptr_t>(handle)));
}

template <class Handle>
void release(const Handle* handle) {
  handles().take(Held<Handle>::kKind, reinterpret_cast<std::uintptr_t>(handle));
}

// Reads the folder for what it does, or for options.task.
std::unique_ptr<LoadedModel> open_model(const std::string& path_or_name, const attend_open_options& options);

// The model of a handle, which a call keeps until it is over: one that is closed meanwhile, by another thread or by a
// callback, is gone only then. Throws ArgumentError for a handle that is not open.
std::shared_ptr<LoadedModel> opened(const char* who, const attend_model* handle);

// A call's turn on a model: waits for other threads. Throws ArgumentError for a handle that is not open, and where the
// thread has the turn already (a callback that calls its own model).
class Turn {
 public:
  Turn(const char* who, const attend_model* handle);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  LoadedModel& model() { return *model_; }

 private:
  std::shared_ptr<LoadedModel> model_;
};

// Drawings of one class, or where it has no name of all in turn. Throws Error when there is no such class, and for more
// than a thousand at once.
std::vector<image::Image> drawings(const tasks::ImageGenerator& drawer, const std::string& of_class, std::size_t count,
                                   std::uint64_t seed);

// Of a model that reads or writes text. Throws Error for others.
const text::Tokenizer& tokenizer_of(const LoadedModel& model);

}  // namespace attend::capi
