#include "attend/capi/model.h"

#include <algorithm>
#include <span>

#include "attend/base/error.h"
#include "attend/capi/guard.h"
#include "attend/tasks/model_folder.h"

namespace attend::capi {

namespace {

using catalogue::Task;

// The task of this name, of a model whose own is `own`: classify and embed are of texts or of images.
Task task_named(std::string_view name, Task own) {
  const bool sees = own == Task::classify_images || own == Task::embed_images;
  if (name == "classify") return sees ? Task::classify_images : Task::classify;
  if (name == "embed") return sees ? Task::embed_images : Task::embed;
  for (int i = 0; i <= static_cast<int>(Task::draw); ++i)
    if (name == catalogue::name_of(static_cast<Task>(i))) return static_cast<Task>(i);
  fail("model: there is no task '{}'", name);
}

}  // namespace

HandleTable& handles() {
  static auto* all = new HandleTable;
  return *all;
}

std::shared_ptr<LoadedModel> opened(const char* who, const attend_model* handle) {
  check_argument(handle, "{}: the model is null (not opened, or closed)", who);
  auto model = held(handle);
  check_argument(model != nullptr, "{}: the model is not open (closed, or never opened)", who);
  return model;
}

Turn::Turn(const char* who, const attend_model* handle) : model_(opened(who, handle)) {
  check_argument(model_->caller != std::this_thread::get_id(),
                 "{}: called from a callback of a call on the same model, which is not over", who);
  model_->turn.lock();
  model_->caller = std::this_thread::get_id();
}

Turn::~Turn() {
  model_->caller = std::thread::id();
  model_->turn.unlock();
}

std::unique_ptr<LoadedModel> open_model(const std::string& path_or_name, const attend_open_options& options) {
  const std::filesystem::path folder = tasks::find_model(path_or_name);
  auto model = std::make_unique<LoadedModel>();
  model->task = catalogue::read_config(folder).task;
  if (options.task && *options.task) model->task = task_named(options.task, model->task);
  model->backend = open_backend(options.device ? options.device : "cpu", {.threads = options.threads});
  const nn::ModelFormat format(DType::f32,
                               options.weights ? nn::weight_form_named(options.weights) : nn::WeightForm::stored);
  Backend& on = *model->backend;
  switch (model->task) {
    case Task::translate:
      model->translator = tasks::load_translator(folder, on, format);
      break;
    case Task::generate:
      model->generator = std::make_unique<tasks::Generator>(folder, on, format);
      break;
    case Task::classify:
      model->classifier = std::make_unique<tasks::Classifier>(folder, on, format);
      break;
    case Task::tag:
      model->tagger = std::make_unique<tasks::Tagger>(folder, on, format);
      break;
    case Task::answer:
      model->answerer = std::make_unique<tasks::Answerer>(folder, on, format);
      break;
    case Task::fill:
      model->filler = std::make_unique<tasks::Filler>(folder, on, format);
      break;
    case Task::embed:
      model->embedder = std::make_unique<tasks::Embedder>(folder, on, format);
      break;
    case Task::classify_images:
    case Task::embed_images:
      model->images = std::make_unique<tasks::ImageEncoder>(folder, model->task, on, format);
      break;
    case Task::detect:
      model->detector = std::make_unique<tasks::Detector>(folder, on, format);
      break;
    case Task::describe:
      model->describer = tasks::load_describer(folder, on, format);
      break;
    case Task::draw:
      model->drawer = std::make_unique<tasks::ImageGenerator>(folder, on);
      break;
  }
  return model;
}

std::vector<image::Image> drawings(const tasks::ImageGenerator& drawer, const std::string& of_class, std::size_t count,
                                   std::uint64_t seed) {
  constexpr std::size_t kMost = 1000;
  check(count <= kMost, "draw: {} images at once, but {} are the most", count, kMost);
  const std::size_t classes = drawer.model().config().labels.size();
  std::vector<tasks::DrawingPlan> plans;
  for (std::size_t i = 0; i < count; ++i)
    plans.push_back(of_class.empty() ? drawer.plan(i % classes, seed, i / classes)
                                     : drawer.plan(drawer.class_named(of_class), seed, i));
  std::vector<image::Image> drawn;
  constexpr std::size_t kBatch = 16;
  for (std::size_t first = 0; first < count; first += kBatch) {
    const std::span<const tasks::DrawingPlan> batch(&plans[first], std::min(kBatch, count - first));
    for (image::Image& image : drawer.draw(batch)) drawn.push_back(std::move(image));
  }
  return drawn;
}

const text::Tokenizer& tokenizer_of(const LoadedModel& model) {
  if (model.translator) return model.translator->tokenizer;
  if (model.generator) return model.generator->tokenizer();
  if (model.classifier) return model.classifier->reader().tokenizer();
  if (model.tagger) return model.tagger->encoder().reader().tokenizer();
  if (model.answerer) return model.answerer->encoder().reader().tokenizer();
  if (model.filler) return model.filler->encoder().reader().tokenizer();
  if (model.describer) return model.describer->tokenizer;
  if (model.embedder) return model.embedder->encoder().reader().tokenizer();
  fail("model: one that does {} has no tokenizer", catalogue::name_of(model.task));
}

}  // namespace attend::capi
