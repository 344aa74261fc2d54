// From images with boxes to a DETR's folder that attend detect and Hugging Face's transformers read.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <ostream>

#include "attend/base/error.h"
#include "attend/catalogue/catalogue.h"
#include "attend/catalogue/timm.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/data/images/detection_batches.h"
#include "attend/data/images/labelled_images.h"
#include "attend/models/hugging_face_config.h"
#include "attend/train/recipes/detection/detect_recipe.h"
#include "attend/train/recipes/detection/detect_task.h"
#include "attend/train/recipes/epochs.h"
#include "attend/train/recipes/start_folder.h"
#include "attend/train/recipes/trainings.h"

namespace attend::train {

namespace {

using models::Detr;

// A set with what reads its images.
struct DetectionImages {
  DetectionImages(const std::string& path, const DetectRecipe& recipe)
      : set(path, {.images = recipe.images_folder, .masks = recipe.images.copy_paste > 0}),
        reader(data::images_of(set), recipe.images.reading()) {}
  data::DetectionSet set;
  data::ImageCache reader;

  std::vector<std::int64_t> all() const {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(set.size()));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }
};

// The layers of a ResNet that classifies, by transformers' or timm's names; all else stays new.
checkpoint::LoadReport load_backbone(const std::filesystem::path& folder, nn::Parameters& parameters) {
  const std::string own(Detr::kBackbone);
  const checkpoint::TensorFiles files = checkpoint::TensorFiles::open(folder);
  const catalogue::Spelling timm = catalogue::load_options(catalogue::read_config(folder), files).spelling;
  const auto spelling = [own, timm](const std::string& name) {
    if (!name.starts_with(own + ".")) return name;
    const std::string theirs = "resnet" + name.substr(own.size());
    return timm ? timm(theirs) : theirs;
  };
  return checkpoint::load_hugging_face(files, parameters, {.prefix = own, .spelling = spelling, .new_head = true});
}

// A DETR for the same labels, or for others: then the classifier stays new, also where it has as many.
checkpoint::LoadReport load_detr(const std::filesystem::path& folder, const std::vector<std::string>& labels,
                                 nn::Parameters& parameters) {
  const catalogue::ModelConfig start = catalogue::read_config(folder);
  const checkpoint::TensorFiles files = checkpoint::TensorFiles::open(folder);
  checkpoint::HuggingFaceOptions options = catalogue::load_options(start, files);
  options.new_head = true;
  if (models::labels_of(start.json, start.path) != labels)
    options.spelling = [known = options.spelling](const std::string& name) {
      if (name.starts_with("class_labels_classifier.")) return "other." + name;
      return known ? known(name) : name;
    };
  return checkpoint::load_hugging_face(files, parameters, options);
}

class DetectionJob : public JobOf<DetectTask> {
 public:
  DetectionJob(const DetectRecipe& given, const RunContext& run)
      : given_(given), run_(run), training_(given.train, given) {
    split_ = given.valid.empty()
                 ? data::split_images(training_.set.size(), static_cast<double>(given.valid_share), given.seed)
                 : data::ImageSplit{training_.all(), {}};
    if (!given.valid.empty()) validation_.emplace(given.valid, given);
    if (!given.test.empty()) test_.emplace(given.test, given);
    model_.emplace(make_config());
    const std::vector<std::string>& labels = model_->config().labels;
    training_.set.use_classes(labels);
    for (auto* other : {&validation_, &test_})
      if (*other) use_classes(**other, other == &test_ ? given.test : given.valid);
    check_objects();
    stage_json(run.folder, "config.json", models::detr_json(model_->config()));
    stage_json(run.folder, "preprocessor_config.json", detr_preprocessor_json(given.images));
    run.options.messages << fmt::format("{} images with objects of {} classes to learn from, {} to validate on\n",
                                        split_.train.size(), labels.size(), valid_items().size());
    for (const auto* images : {&training_, validation_ ? &*validation_ : nullptr})
      if (images && !images->set.left_out().empty()) run.options.messages << images->set.left_out() << '\n';
  }

  JobFacts facts() override {
    const DetectRecipe recipe = with_epochs(given_, static_cast<std::int64_t>(split_.train.size()));
    RunSettings settings = recipe;
    if (const float rate = given_.rate_of_backbone(); rate != 1)
      settings.parameter_groups.push_back(
          {.match = std::string(Detr::kBackbone) + ".*", .learning_rate = rate, .frozen = rate == 0});
    return {.name = "detr",
            .width = model_->config().width,
            .parts = {{model_->parameters()}},
            .settings = settings,
            .recipe = to_json(recipe),
            .more = length_text(recipe),
            .sample = sample()};
  }

  void start(const std::vector<nn::Parameters*>& weights) override {
    if (run_.folder.resumed() || !given_.pretrained()) return;
    const bool whole = !given_.from.empty();
    const std::filesystem::path folder = whole ? run_.from : start_folder(given_.backbone, given_.out);
    const checkpoint::LoadReport report =
        whole ? load_detr(folder, model_->config().labels, *weights[0]) : load_backbone(folder, *weights[0]);
    run_.options.messages << fmt::format("{} {}{}\n", whole ? "from" : "backbone of", folder.string(),
                                         whole && !report.missing.empty() ? "; the classifier is new" : "");
  }

  std::unique_ptr<DetectTask> make_task() override {
    batches_.emplace(data::DetectionSource{training_.set, training_.reader, split_.train}, given_.images,
                     data::ImageBatchOptions{.batch = given_.batch, .seed = given_.seed});
    DetectionImages& seen = validation_ ? *validation_ : training_;
    valid_.emplace(data::DetectionSource{seen.set, seen.reader, valid_items()}, given_.images, given_.batch);
    if (test_)
      tested_.emplace(data::DetectionSource{test_->set, test_->reader, test_->all()}, given_.images, given_.batch);
    return std::make_unique<DetectTask>(
        DetectTask::Parts{.model = *model_,
                          .backend = run_.backend,
                          .dtype = run_.dtype,
                          .training = *batches_,
                          .validation = *valid_,
                          .batch = given_.batch,
                          .image_size = given_.images.image_size},
        DetectTask::Options{.auxiliary = given_.auxiliary, .select_by_loss = given_.select == "loss"});
  }

  void finish_task(DetectTask& task) override {
    report_broken(run_, training_.reader.broken());
    if (!tested_) return;
    report_test(run_, given_.test, task.evaluate(*tested_));
  }

 private:
  // Labels that the start has for all classes stay its own, and with them its head; else they are the set's.
  models::DetrConfig make_config() const {
    const std::vector<std::string>& classes = training_.set.classes();
    if (run_.from.empty()) return new_detr(given_, classes);
    const catalogue::ModelConfig start = catalogue::read_config(run_.from, catalogue::Task::detect, "train");
    const std::vector<std::string> known = models::labels_of(start.json, start.path);
    const bool has_all = std::ranges::all_of(
        classes, [&](const std::string& name) { return std::ranges::find(known, name) != known.end(); });
    return changed_detr(start.json, given_, has_all ? known : classes);
  }

  void use_classes(DetectionImages& images, const std::string& path) const {
    try {
      images.set.use_classes(model_->config().labels);
    } catch (const Error& error) {
      fail("{}: {}", path, error.what());
    }
  }

  // More objects than queries are possible, and some are then never found.
  void check_objects() const {
    std::size_t most = 0;
    for (const std::int64_t item : split_.train) most = std::max(most, training_.set.boxes(item).size());
    check(most > 0, "{}: there is not one box to learn from", given_.train);
    if (given_.images.copy_paste > 0) training_.set.check_masks(split_.train);
    if (static_cast<std::int64_t>(most) > model_->config().queries)
      run_.options.messages << fmt::format(
          "an image has {} objects, more than the {} queries of the model, which finds as many at most\n", most,
          model_->config().queries);
  }

  std::string sample() const {
    const std::vector<std::int64_t> items = valid_items();
    return items.empty() ? "" : (validation_ ? *validation_ : training_).set.name(items.front());
  }
  std::vector<std::int64_t> valid_items() const { return validation_ ? validation_->all() : split_.valid; }

  const DetectRecipe given_;
  const RunContext run_;
  DetectionImages training_;
  std::optional<DetectionImages> validation_, test_;
  data::ImageSplit split_;
  std::optional<models::Detr> model_;
  std::optional<data::DetectionBatches> batches_;
  std::optional<data::ValidationDetections> valid_, tested_;
};

}  // namespace

Training detect_training(const Json& settings, std::string_view what) {
  const DetectRecipe recipe = resolve_detect_recipe(settings, what);
  check(!recipe.train.empty() && !recipe.out.empty(), "training: 'train' and 'out' are needed");
  return {.settings = recipe,
          .recipe = to_json(recipe),
          .files = files_or_folders({{"train", recipe.train}, {"valid", recipe.valid}, {"test", recipe.test}}),
          .from = recipe.from,
          .prepare = [recipe](const RunContext& run) { return std::make_unique<DetectionJob>(recipe, run); }};
}

}  // namespace attend::train
