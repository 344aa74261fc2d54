// From labelled pictures to a model folder that attend classify and Hugging Face's transformers read.
#include <fmt/core.h>

#include <optional>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/catalogue/catalogue.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/data/images/labelled_pictures.h"
#include "attend/models/hugging_face_config.h"
#include "attend/train/recipes/epochs.h"
#include "attend/train/recipes/picture_recipe.h"
#include "attend/train/recipes/picture_start.h"
#include "attend/train/recipes/picture_task.h"
#include "attend/train/recipes/trainings.h"

namespace attend::train {

namespace {

std::vector<std::int64_t> all_of(const data::LabelledPictures& pictures) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(pictures.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  return numbers;
}

// A list of pictures with what reads them.
struct Pictures {
  Pictures(const std::string& path, const data::LabelledPicturesOptions& options, const data::PictureOptions& how)
      : list(path, options), reader(list, how.reading()) {}
  data::LabelledPictures list;
  data::PictureReader reader;
};

class PictureTrainee : public Trainee {
 public:
  PictureTrainee(const PictureRecipe& given, const RunContext& run)
      : given_(given), run_(run), training_(given.train, {}, given.pictures) {
    const std::vector<std::string>& classes = training_.list.classes();
    check(classes.size() >= 2, "{}: all pictures have the same label, '{}'", given.train,
          classes.empty() ? "" : classes.front());
    check(given.label_names.empty() || given.label_names.size() == classes.size(),
          "{}: has {} labels, but 'label_names' names {}", given.train, classes.size(), given.label_names.size());
    const std::vector<std::string>& labels = given.label_names.empty() ? classes : given.label_names;
    const data::LabelledPicturesOptions same{.classes = classes, .unseen = true};
    split_ = given.valid.empty()
                 ? data::split_pictures(training_.list.size(), static_cast<double>(given.valid_share), given.seed)
                 : data::PictureSplit{all_of(training_.list), {}};
    if (!given.valid.empty()) validation_.emplace(given.valid, same, given.pictures);
    if (!given.test.empty()) test_.emplace(given.test, same, given.pictures);
    const std::string what = given.out + "/config.json";
    model_ = catalogue::make_picture_model(picture_config(run.from, given, labels, what), what);
    stage_json(run.folder, "config.json", model_->config());
    stage_json(run.folder, "preprocessor_config.json", preprocessor_json(given.pictures));
    run.options.messages << fmt::format("{} pictures of {} labels to learn from, {} to validate on\n",
                                        split_.train.size(), labels.size(), valid_items().size());
    for (const auto* pictures : {&training_, validation_ ? &*validation_ : nullptr})
      if (pictures && !pictures->list.left_out().empty()) run.options.messages << pictures->list.left_out() << '\n';
  }

  TraineeFacts facts() override {
    const PictureRecipe recipe = with_epochs(given_, static_cast<std::int64_t>(split_.train.size()));
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
    if (run_.folder.resumed() || run_.from.empty()) return;
    const checkpoint::LoadReport report = load_picture_start(run_.from, *weights[0]);
    run_.options.messages << fmt::format(
        "from {}{}\n", run_.from.string(),
        report.missing.empty() ? "" : fmt::format("; new: {}", joined(report.missing, ", ")));
  }

  std::unique_ptr<train::Task> task() override {
    const data::ValidationOptions once{.batch = given_.batch, .workers = given_.pictures.workers};
    batches_.emplace(training_.reader, split_.train, given_.pictures,
                     data::PictureBatchOptions{.batch = given_.batch, .seed = given_.seed});
    const image::PreprocessorConfig seen = given_.pictures.evaluation();
    valid_.emplace(validation_ ? validation_->reader : training_.reader, valid_items(), seen, once);
    if (test_) tested_.emplace(test_->reader, all_of(test_->list), seen, once);
    return std::make_unique<PictureTask>(
        PictureTask::Parts{.model = *model_,
                           .backend = run_.backend,
                           .dtype = run_.dtype,
                           .training = *batches_,
                           .validation = *valid_,
                           .batch = given_.batch},
        PictureTaskOptions{.label_smoothing = given_.label_smoothing,
                           .mixed = given_.pictures.mixup > 0 || given_.pictures.cutmix > 0,
                           .select_by_loss = given_.select == "loss"});
  }

  void finish(train::Task& task) override {
    for (const std::string& broken : training_.reader.broken())
      run_.options.messages << fmt::format("left out: {}\n", broken);
    if (!tested_) return;
    report_test(run_, given_.test, dynamic_cast<PictureTask&>(task).judge(*tested_));
  }

 private:
  // Of a picture; 0 of a model whose layers do not all see the same ones.
  std::int64_t patches() const {
    const Json config = model_->config();
    const std::string type = config.value("model_type", std::string());
    const auto side = config.value("patch_size", std::int64_t{0});
    if ((type != "vit" && type != "deit") || side <= 0) return 0;
    return model_->size().h / side * (model_->size().w / side);
  }

  // Nothing where pictures are records of a file.
  std::string sample() const {
    const data::LabelledPictures& list = validation_ ? validation_->list : training_.list;
    const std::vector<std::int64_t> items = valid_items();
    return list.decoded() || items.empty() ? "" : list.name(items.front());
  }

  std::vector<std::int64_t> valid_items() const { return validation_ ? all_of(validation_->list) : split_.valid; }

  const PictureRecipe given_;
  const RunContext run_;
  Pictures training_;
  std::optional<Pictures> validation_, test_;
  data::PictureSplit split_;
  std::unique_ptr<models::PictureModel> model_;
  std::optional<data::PictureBatches> batches_;
  std::optional<data::ValidationPictures> valid_, tested_;
};

}  // namespace

Training picture_training(const Json& settings, std::string_view what) {
  const PictureRecipe recipe = resolve_picture_recipe(settings, what);
  check(!recipe.train.empty() && !recipe.out.empty(), "training: 'train' and 'out' are needed");
  return {.settings = recipe,
          .recipe = to_json(recipe),
          .files = files_or_folders({{"train", recipe.train}, {"valid", recipe.valid}, {"test", recipe.test}}),
          .from = recipe.from,
          .prepare = [recipe](const RunContext& run) { return std::make_unique<PictureTrainee>(recipe, run); }};
}

}  // namespace attend::train
