// A model's folder behind the queues of what it can be asked: opened once, for many clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attend/base/file_mark.h"
#include "attend/catalogue/catalogue.h"
#include "attend/image/image.h"
#include "attend/image/preprocessor.h"
#include "attend/models/directions.h"
#include "attend/serve/engine/batch_queue.h"
#include "attend/serve/engine/engine.h"
#include "attend/serve/engine/generation_queue.h"
#include "attend/serve/engine/metrics.h"
#include "attend/serve/engine/translation_queue.h"
#include "attend/tasks/answerer.h"
#include "attend/tasks/classifier.h"
#include "attend/tasks/describer.h"
#include "attend/tasks/detector.h"
#include "attend/tasks/embedder.h"
#include "attend/tasks/fill.h"
#include "attend/tasks/generator.h"
#include "attend/tasks/image_encoder.h"
#include "attend/tasks/tagger.h"
#include "attend/tasks/translator.h"

namespace attend::serve {

struct ServedOptions {
  // A device of its own for every model: what one loads does not meet what another computes.
  std::function<std::shared_ptr<Backend>()> open_backend;
  nn::ModelFormat format = {};
  std::int64_t max_batch_tokens = 4096;
  std::int64_t max_rows = 16;                  // texts that are generated at once
  std::int64_t kept_prompts = 4;               // whose keys and values are kept for prompts that begin alike
  std::optional<tasks::Pooling> pooling = {};  // of embeddings; else as each folder says
};

struct ToDetect {
  image::Image prepared;
  image::PixelSize size;  // before that
};

// Whether the model of a folder is one that clients can ask; one that draws is not. Throws Error for what is no model.
bool can_be_served(const std::filesystem::path& folder);

class ServedModel {
  std::shared_ptr<Backend> backend_;  // first: all below stands on it

 public:
  using TextQueue = BatchQueue<tasks::EncoderText, std::vector<float>>;
  using WindowQueue = BatchQueue<tasks::EncoderText, tasks::WindowLogits>;
  using ImageQueue = BatchQueue<image::Image, tasks::Classified>;
  using DetectQueue = BatchQueue<ToDetect, std::vector<tasks::Detected>>;
  using DescribeQueue = BatchQueue<image::Image, tasks::Description>;

  // Throws Error for a folder that is no model, or one that cannot be served.
  ServedModel(std::string name, std::filesystem::path folder, const ServedOptions& options, Engine& engine,
              Metrics& metrics);
  ~ServedModel();  // its queues leave the engine
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  const std::string& name() const { return name_; }
  const std::filesystem::path& folder() const { return folder_; }
  const catalogue::ModelConfig& config() const { return config_; }
  catalogue::Task task() const { return config_.task; }
  std::int64_t created() const { return created_; }  // seconds since 1970
  bool changed() const;                              // the files are not those that were read
  std::size_t waiting() const;                       // items, sentences or texts that are not done
  // Of a translator: as its config.json says, else en to fr for one called en-fr or opus-mt-en-fr, else none.
  const std::vector<models::Direction>& directions() const { return directions_; }

  // How it reads texts; null for a model that reads none, or goes on with them.
  const tasks::EncoderReader* reader() const { return reader_; }
  const text::Tokenizer* tokenizer() const { return tokenizer_; }
  std::int64_t state_width() const { return width_; }
  // How its states become a vector; null for a model without states.
  const tasks::SentenceModules* modules() const { return modules_.get(); }
  std::optional<tasks::Pooling> pooling() const { return options_.pooling; }  // instead of the folder's

  // What it can be asked; null is nothing of that kind.
  std::shared_ptr<TextQueue> states;  // [tokens, width] of a text
  std::shared_ptr<TextQueue> logits;  // of the head, as the task below reads them
  std::shared_ptr<WindowQueue> windows;
  std::shared_ptr<GenerationQueue> generation;
  std::shared_ptr<TranslationQueue> translation;
  std::shared_ptr<ImageQueue> images;
  std::shared_ptr<DetectQueue> boxes;
  std::shared_ptr<DescribeQueue> descriptions;

  std::shared_ptr<const tasks::Embedder> embedder;
  std::shared_ptr<const tasks::Filler> filler;
  std::shared_ptr<const tasks::Classifier> classifier;
  std::shared_ptr<const tasks::Tagger> tagger;
  std::shared_ptr<const tasks::Answerer> answerer;
  std::shared_ptr<const tasks::ImageEncoder> image_encoder;
  std::shared_ptr<const tasks::Detector> detector;
  std::shared_ptr<const tasks::LoadedDescriber> describer;

 private:
  void open_texts(Engine& engine, Metrics& metrics);
  void open_images(Engine& engine, Metrics& metrics);
  template <class Queue>
  void host(const std::shared_ptr<Queue>& queue, Engine& engine) {
    engine.add(queue);
    hosted_.push_back(queue);
  }

  std::string name_;
  std::filesystem::path folder_;
  catalogue::ModelConfig config_;
  ServedOptions options_;
  Engine& engine_;
  std::vector<FileMark> marks_;
  std::int64_t created_ = 0, width_ = 0;
  std::vector<models::Direction> directions_;
  const tasks::EncoderReader* reader_ = nullptr;
  const text::Tokenizer* tokenizer_ = nullptr;
  std::unique_ptr<const tasks::SentenceModules> modules_;
  std::vector<std::shared_ptr<Hosted>> hosted_;
};

}  // namespace attend::serve
