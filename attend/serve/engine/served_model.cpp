#include "attend/serve/engine/served_model.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "attend/base/error.h"
#include "attend/serve/engine/failure.h"
#include "attend/tensor/backend.h"

namespace attend::serve {

namespace {

std::vector<FileMark> marks_of(const std::filesystem::path& folder) {
  std::vector<FileMark> marks;
  for (const char* file : {"config.json", "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json", "tokenizer.json", "modules.json"}) {
    try {
      marks.push_back(mark_of(folder / file));
    } catch (const Error&) {
      marks.emplace_back();
    }
  }
  return marks;
}

// As the folder's config.json says, else as the model or the folder is called.
std::vector<models::Direction> directions_of(const catalogue::ModelConfig& config, const std::string& name,
                                             const std::filesystem::path& folder) {
  const Json* said = config.json.find("directions");
  if (said != config.json.end() && said->is_string() && !said->text().empty())
    return models::directions_of(said->text(), config.path);
  const auto directions = models::directions_in_name(name);
  return directions.empty() ? models::directions_in_name(folder.filename().string()) : directions;
}

std::int64_t tokens_of(const tasks::EncoderText& text) { return static_cast<std::int64_t>(text.ids.size()); }

// Rows of a batch of texts keep their caches for as long as the server runs.
// A GPU's memory is for this: there are as many as were asked for, or none.
std::int64_t rows_for(const Backend& backend, const models::LanguageModel::Facts& model, std::int64_t most) {
  if (!backend.on_host()) return most;
  constexpr std::int64_t kMostBytes = std::int64_t{2} << 30;
  return std::clamp<std::int64_t>(kMostBytes / std::max<std::int64_t>(model.row_bytes, 1), 1, most);
}

constexpr std::int64_t kImagesAtOnce = 8;

// Tokens of a batch, after which others have their turn. On two cores a token costs the same in a batch of 128 and of
// 4096 (69 µs in models/bert), so a batch need not be longer than what keeps the cores busy.
std::int64_t tokens_at_once(const Backend& backend, std::int64_t most) {
  constexpr std::int64_t kOfCore = 64, kLeast = 128;
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return backend.on_host() ? std::min(most, std::max(kLeast, kOfCore * cores)) : most;
}

// A forward that ends when nobody wants its results any more. Others may use the device in between.
class Interruptible {
 public:
  Interruptible(Backend& backend, const std::function<bool()>& unwanted) : backend_(backend) {
    backend.set_interrupt([&unwanted] {
      if (unwanted()) throw Cancelled();
    });
  }
  ~Interruptible() { backend_.set_interrupt({}); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  Backend& backend_;
};

// forward(items) on that device, which is kept for as long as the queue.
template <class Queue, class Forward>
auto interruptible(const std::shared_ptr<Backend>& backend, Forward forward) {
  return [backend, forward = std::move(forward)](typename Queue::Items items, const std::function<bool()>& unwanted) {
    const Interruptible interruptible(*backend, unwanted);
    return forward(items);
  };
}

}  // namespace

bool can_be_served(const std::filesystem::path& folder) {
  return catalogue::read_config(folder).task != catalogue::Task::draw;
}

ServedModel::ServedModel(std::string name, std::filesystem::path folder, const ServedOptions& options, Engine& engine,
                         Metrics& metrics)
    : backend_(options.open_backend()),
      name_(std::move(name)),
      folder_(std::move(folder)),
      config_(catalogue::read_config(folder_)),
      options_(options),
      engine_(engine),
      marks_(marks_of(folder_)) {
  created_ =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  backend_->set_tuning(false);  // requests have ever new sizes
  open_texts(engine, metrics);
  open_images(engine, metrics);
  check(!hosted_.empty(), "serve: {} is for attend {}, which is not served", folder_.string(),
        catalogue::name_of(config_.task));
}

// What the engine still does for others goes on; the models are held by the queues' functions.
ServedModel::~ServedModel() {
  for (const std::shared_ptr<Hosted>& hosted : hosted_) engine_.retire(hosted);
  engine_.wake();
}

bool ServedModel::changed() const { return marks_of(folder_) != marks_; }

std::size_t ServedModel::waiting() const {
  std::size_t sum = 0;
  const auto add = [&](const auto& queue) {
    if (queue) sum += queue->waiting();
  };
  add(states), add(logits), add(windows), add(generation), add(translation), add(images), add(boxes), add(descriptions);
  return sum;
}

void ServedModel::open_texts(Engine& engine, Metrics& metrics) {
  const auto text_queue = [&](auto forward) {
    auto queue = std::make_shared<TextQueue>(
        engine, metrics,
        TextQueue::Options{.budget = tokens_at_once(*backend_, options_.max_batch_tokens),
                           .cost = tokens_of,
                           .forward = interruptible<TextQueue>(backend_, std::move(forward))});
    host(queue, engine);
    return queue;
  };
  const auto backend = backend_;  // which the functions keep
  switch (config_.task) {
    case catalogue::Task::translate: {
      std::shared_ptr<const tasks::LoadedTranslator> loaded =
          tasks::load_translator(folder_, *backend_, options_.format);
      tokenizer_ = &loaded->tokenizer;
      directions_ = directions_of(config_, name_, folder_);
      translation = std::make_shared<TranslationQueue>(
          engine, metrics, std::shared_ptr<const tasks::LoadedTranslator>(loaded.get(), [backend, loaded](auto*) {}),
          TranslationQueue::Options{.budget = options_.max_batch_tokens});
      host(translation, engine);
      break;
    }
    case catalogue::Task::generate: {
      auto loaded = std::make_shared<const tasks::Generator>(folder_, *backend_, options_.format);
      tokenizer_ = &loaded->tokenizer();
      const std::int64_t rows = rows_for(*backend_, loaded->model().facts(), options_.max_rows);
      const std::int64_t kept = std::min(options_.kept_prompts, rows_for(*backend_, loaded->model().facts(), rows));
      generation = std::make_shared<GenerationQueue>(
          engine, metrics, std::shared_ptr<const tasks::Generator>(loaded.get(), [backend, loaded](auto*) {}),
          GenerationQueue::Options{.rows = rows, .kept_prompts = kept});
      host(generation, engine);
      break;
    }
    case catalogue::Task::fill:
      filler = std::make_shared<const tasks::Filler>(folder_, *backend_, options_.format);
      reader_ = &filler->encoder().reader();
      width_ = filler->encoder().config().width;
      logits = text_queue([model = filler](TextQueue::Items texts) { return model->logits(texts); });
      states =
          text_queue([model = filler](TextQueue::Items texts) { return tasks::states_of(model->encoder(), texts); });
      break;
    case catalogue::Task::classify:
      classifier = std::make_shared<const tasks::Classifier>(folder_, *backend_, options_.format);
      reader_ = &classifier->reader();
      logits = text_queue([model = classifier](TextQueue::Items texts) { return model->logits(texts); });
      break;
    case catalogue::Task::tag:
      tagger = std::make_shared<const tasks::Tagger>(folder_, *backend_, options_.format);
      reader_ = &tagger->encoder().reader();
      logits = text_queue([model = tagger](TextQueue::Items texts) { return model->logits(texts); });
      break;
    case catalogue::Task::answer:
      answerer = std::make_shared<const tasks::Answerer>(folder_, *backend_, options_.format);
      reader_ = &answerer->encoder().reader();
      windows = std::make_shared<WindowQueue>(
          engine, metrics,
          WindowQueue::Options{
              .budget = tokens_at_once(*backend_, options_.max_batch_tokens),
              .cost = tokens_of,
              .forward = interruptible<WindowQueue>(
                  backend_, [model = answerer](WindowQueue::Items texts) { return model->logits(texts); })});
      host(windows, engine);
      break;
    case catalogue::Task::embed:
      embedder = std::make_shared<const tasks::Embedder>(folder_, *backend_, options_.format);
      reader_ = &embedder->encoder().reader();
      width_ = embedder->encoder().config().width;
      states =
          text_queue([model = embedder](TextQueue::Items texts) { return tasks::states_of(model->encoder(), texts); });
      break;
    default:
      break;
  }
  if (reader_) tokenizer_ = &reader_->tokenizer();
  if (states) modules_ = std::make_unique<const tasks::SentenceModules>(folder_, width_);
}

void ServedModel::open_images(Engine& engine, Metrics& metrics) {
  const auto copies = [](auto items) {
    std::vector<image::Image> images;
    for (const image::Image* item : items) images.push_back(*item);
    return images;
  };
  switch (config_.task) {
    case catalogue::Task::classify_images:
      image_encoder = std::make_shared<const tasks::ImageEncoder>(folder_, config_.task, *backend_, options_.format);
      images = std::make_shared<ImageQueue>(
          engine, metrics,
          ImageQueue::Options{
              .budget = kImagesAtOnce,
              .cost = [](const image::Image&) { return std::int64_t{1}; },
              .forward = interruptible<ImageQueue>(backend_, [copies, model = image_encoder](auto items) {
                return model->classify(copies(items), 0);
              })});
      host(images, engine);
      break;
    case catalogue::Task::detect:
      detector = std::make_shared<const tasks::Detector>(folder_, *backend_, options_.format);
      boxes = std::make_shared<DetectQueue>(
          engine, metrics,
          DetectQueue::Options{.budget = 1,  // their sizes differ, and a batch would be filled up
                               .cost = [](const ToDetect&) { return std::int64_t{1}; },
                               .forward = interruptible<DetectQueue>(backend_, [model = detector](auto items) {
                                 std::vector<image::Image> prepared;
                                 std::vector<image::PixelSize> sizes;
                                 for (const ToDetect* item : items)
                                   prepared.push_back(item->prepared), sizes.push_back(item->size);
                                 return model->detect(prepared, sizes, 0);
                               })});
      host(boxes, engine);
      break;
    case catalogue::Task::describe: {
      std::shared_ptr<const tasks::LoadedDescriber> loaded = tasks::load_describer(folder_, *backend_, options_.format);
      describer = loaded;
      descriptions = std::make_shared<DescribeQueue>(
          engine, metrics,
          DescribeQueue::Options{.budget = kImagesAtOnce,
                                 .cost = [](const image::Image&) { return std::int64_t{1}; },
                                 .forward = interruptible<DescribeQueue>(backend_, [copies, loaded](auto items) {
                                   return loaded->describe(copies(items), {});
                                 })});
      host(descriptions, engine);
      break;
    }
    default:
      break;
  }
}

}  // namespace attend::serve
