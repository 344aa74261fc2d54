// From labelled images to a model folder that attend classify and Hugging Face's transformers read.
#include <fmt/core.h>

#include <optional>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/catalogue/catalogue.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/data/images/labelled_images.h"
#include "attend/models/hugging_face_config.h"
#include "attend/tasks/model_folder.h"
#include "attend/train/recipes/epochs.h"
#include "attend/train/recipes/images/dirac.h"
#include "attend/train/recipes/images/image_recipe.h"
#include "attend/train/recipes/images/image_start.h"
#include "attend/train/recipes/images/image_task.h"
#include "attend/train/recipes/images/whitening.h"
#include "attend/train/recipes/trainings.h"

namespace attend::train {

namespace {

std::vector<std::int64_t> all_of(const data::LabelledImages& images) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(images.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  return numbers;
}

// A list of images with what reads them.
struct Images {
  Images(const std::string& path, const data::LabelledImagesOptions& options, const data::ImageOptions& how)
      : list(path, options), reader(list, how.reading()) {}
  data::LabelledImages list;
  data::ImageReader reader;
};

class ImageClassificationJob : public JobOf<ImageTask> {
 public:
  ImageClassificationJob(const ImageRecipe& given, const RunContext& run)
      : given_(given), run_(run), training_(given.train, {}, given.images) {
    const std::vector<std::string>& classes = training_.list.classes();
    check(classes.size() >= 2, "{}: all images have the same label, '{}'", given.train,
          classes.empty() ? "" : classes.front());
    check(given.label_names.empty() || given.label_names.size() == classes.size(),
          "{}: has {} labels, but 'label_names' names {}", given.train, classes.size(), given.label_names.size());
    const std::vector<std::string>& labels = given.label_names.empty() ? classes : given.label_names;
    const data::LabelledImagesOptions same{.classes = classes, .unseen = true};
    split_ = given.valid.empty()
                 ? data::split_images(training_.list.size(), static_cast<double>(given.valid_share), given.seed)
                 : data::ImageSplit{all_of(training_.list), {}};
    if (!given.valid.empty()) validation_.emplace(given.valid, same, given.images);
    if (!given.test.empty()) test_.emplace(given.test, same, given.images);
    const std::string what = given.out + "/config.json";
    model_ = catalogue::make_image_model(image_config(run.from, given, labels, what), what);
    if (!given.teacher.empty()) find_teacher();
    stage_json(run.folder, "config.json", model_->config());
    stage_json(run.folder, "preprocessor_config.json", preprocessor_json(given.images));
    run.options.messages << fmt::format("{} images of {} labels to learn from, {} to validate on\n",
                                        split_.train.size(), labels.size(), valid_items().size());
    for (const auto* images : {&training_, validation_ ? &*validation_ : nullptr})
      if (images && !images->list.left_out().empty()) run.options.messages << images->list.left_out() << '\n';
  }

  JobFacts facts() override {
    const ImageRecipe recipe = with_epochs(given_, static_cast<std::int64_t>(split_.train.size()));
    return {.name = model_->config().value("model_type", "model"),
            .width = given_.width,
            .parts = {{model_->parameters()}},
            .settings = recipe,
            .recipe = to_json(recipe),
            .more = length_text(recipe),
            .sample = sample(),
            .tokens = patches() * recipe.batch};
  }

  void start(const std::vector<nn::Parameters*>& weights) override {
    if (run_.folder.resumed()) return;
    if (run_.from.empty()) {
      data::ValidationImages images(training_.reader, split_.train, given_.images.evaluation(),
                                    {.batch = given_.batch});
      whiten_patches(*weights[0], images, given_.whitening_floor);
      if (given_.dirac) copy_channels(*weights[0]);
      return;
    }
    const checkpoint::LoadReport report = load_image_start(run_.from, *weights[0]);
    run_.options.messages << fmt::format(
        "from {}{}\n", run_.from.string(),
        report.missing.empty() ? "" : fmt::format("; new: {}", joined(report.missing, ", ")));
  }

  std::unique_ptr<ImageTask> make_task() override {
    const data::ValidationOptions once{.batch = given_.batch, .workers = given_.images.workers};
    batches_.emplace(training_.reader, split_.train, given_.images,
                     data::ImageBatchOptions{.batch = given_.batch, .seed = given_.seed});
    const image::PreprocessorConfig seen = given_.images.evaluation();
    valid_.emplace(validation_ ? validation_->reader : training_.reader, valid_items(), seen, once);
    if (test_) tested_.emplace(test_->reader, all_of(test_->list), seen, once);
    return std::make_unique<ImageTask>(ImageTask::Parts{.model = *model_,
                                                        .backend = run_.backend,
                                                        .dtype = run_.dtype,
                                                        .training = *batches_,
                                                        .validation = *valid_,
                                                        .batch = given_.batch,
                                                        .names = valid_names(),
                                                        .teacher = teacher_.get()},
                                       ImageTaskOptions{.label_smoothing = given_.label_smoothing,
                                                        .mixed = given_.images.mixup > 0 || given_.images.cutmix > 0,
                                                        .mix_until = given_.images.mix_until,
                                                        .select_by_loss = given_.select == "loss",
                                                        .test_time = given_.test_time()});
  }

  void finish_task(ImageTask& task) override {
    report_broken(run_, training_.reader.broken());
    if (!tested_) return;
    report_test(run_, given_.test, task.evaluate(*tested_));
  }

 private:
  void find_teacher() {
    const std::filesystem::path folder = tasks::find_model(given_.teacher);
    const image::PreprocessorConfig images = given_.images.evaluation();
    teacher_ = std::make_unique<ImageTeacher>(folder, ImageTeacher::Student{*model_, images, run_.backend, run_.dtype},
                                              DistillationOptions{.hard = given_.distillation == "hard",
                                                                  .weight = given_.distillation_weight,
                                                                  .temperature = given_.distillation_temperature});
    run_.options.messages << fmt::format("teacher: {}, {} distillation\n", folder.string(), given_.distillation);
  }

  // Of an image; 0 of a model whose layers do not all see the same ones.
  std::int64_t patches() const {
    const Json config = model_->config();
    const std::string type = config.value("model_type", std::string());
    const auto side = config.value("patch_size", std::int64_t{0});
    if ((type != "vit" && type != "deit") || side <= 0) return 0;
    return model_->size().h / side * (model_->size().w / side);
  }

  std::vector<std::string> valid_names() const {
    const data::LabelledImages& list = validation_ ? validation_->list : training_.list;
    std::vector<std::string> names;
    for (const std::int64_t i : valid_items()) names.push_back(list.name(i));
    return names;
  }

  // Nothing where images are records of a file.
  std::string sample() const {
    const data::LabelledImages& list = validation_ ? validation_->list : training_.list;
    const std::vector<std::int64_t> items = valid_items();
    return list.decoded() || items.empty() ? "" : list.name(items.front());
  }

  std::vector<std::int64_t> valid_items() const { return validation_ ? all_of(validation_->list) : split_.valid; }

  const ImageRecipe given_;
  const RunContext run_;
  Images training_;
  std::optional<Images> validation_, test_;
  data::ImageSplit split_;
  std::unique_ptr<models::ImageModel> model_;
  std::unique_ptr<ImageTeacher> teacher_;
  std::optional<data::ImageBatches> batches_;
  std::optional<data::ValidationImages> valid_, tested_;
};

}  // namespace

Training image_training(const Json& settings, std::string_view what) {
  const ImageRecipe recipe = resolve_image_recipe(settings, what);
  check(!recipe.train.empty() && !recipe.out.empty(), "training: 'train' and 'out' are needed");
  return {.settings = recipe,
          .recipe = to_json(recipe),
          .files = files_or_folders({{"train", recipe.train}, {"valid", recipe.valid}, {"test", recipe.test}}),
          .from = recipe.from,
          .prepare = [recipe](const RunContext& run) { return std::make_unique<ImageClassificationJob>(recipe, run); }};
}

}  // namespace attend::train
