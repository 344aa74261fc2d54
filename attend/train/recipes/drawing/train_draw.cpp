// From labelled images to a model folder that attend draw reads.
#include <fmt/core.h>

#include <numeric>
#include <optional>
#include <ostream>

#include "attend/base/error.h"
#include "attend/data/images/labelled_images.h"
#include "attend/tasks/model_folder.h"
#include "attend/train/recipes/drawing/draw_recipe.h"
#include "attend/train/recipes/drawing/draw_task.h"
#include "attend/train/recipes/trainings.h"

namespace attend::train {

namespace {

std::vector<std::int64_t> numbers_of(const data::LabelledImages& images) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(images.size()));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  return numbers;
}

class DrawJob : public TrainingJob {
 public:
  DrawJob(const DrawRecipe& given, const RunContext& run)
      : given_(given), run_(run), training_(given.train), reader_(training_, given.images.reading()) {
    const std::vector<std::string>& labels = training_.classes();
    split_ = given.valid.empty()
                 ? data::split_images(training_.size(), static_cast<double>(given.valid_share), given.seed)
                 : data::ImageSplit{numbers_of(training_), {}};
    if (!given.valid.empty()) {
      validation_.emplace(given.valid, data::LabelledImagesOptions{.classes = labels, .unseen = true});
      valid_reader_.emplace(*validation_, given.images.reading());
      split_.valid = numbers_of(*validation_);
    }
    model_.emplace(draw_model_config(given, labels));
    stage_json(run.folder, "config.json", models::sagan_json(model_->config()));
    if (!given.feature_model.empty()) evaluator_.emplace(tasks::find_model(given.feature_model), run.backend, labels);
    run.options.messages << fmt::format("{} images of {} classes to learn from, {} to compare with\n",
                                        split_.train.size(), labels.size(), split_.valid.size());
  }

  JobFacts facts() override {
    return {.name = "sagan",
            .width = model_->config().generator_widths[0],
            .parts = {{.parameters = model_->discriminator_parameters(),
                       .name = models::Sagan::kDiscriminator,
                       .turns = given_.discriminator_turns,
                       .rate = given_.discriminator_rate / given_.learning_rate,
                       .averaged = false},
                      {.parameters = model_->generator_parameters(), .name = models::Sagan::kGenerator}},
            .settings = given_,
            .recipe = to_json(given_)};
  }

  std::unique_ptr<train::Task> task() override {
    batches_.emplace(reader_, split_.train, given_.images,
                     data::ImageBatchOptions{.batch = given_.batch, .seed = given_.seed});
    valid_.emplace(valid_reader_ ? *valid_reader_ : reader_, split_.valid, given_.images.evaluation(),
                   data::ValidationOptions{.batch = given_.batch, .workers = given_.images.workers});
    if (evaluator_) evaluator_->see(validation_ ? *validation_ : training_, split_.valid);
    return std::make_unique<DrawTask>(
        DrawTask::Parts{.model = *model_,
                        .backend = run_.backend,
                        .dtype = run_.dtype,
                        .training = *batches_,
                        .validation = *valid_,
                        .evaluator = evaluator_ ? &*evaluator_ : nullptr,
                        .batch = given_.batch,
                        .drawings = given_.drawings,
                        .discriminator_turns = given_.discriminator_turns,
                        .seed = given_.seed,
                        .diff_augment = diff_augment_named(given_.diff_augment, "training"),
                        .averaged = given_.ema > 0});
  }

 private:
  const DrawRecipe given_;
  const RunContext run_;
  data::LabelledImages training_;
  data::ImageReader reader_;
  std::optional<data::LabelledImages> validation_;
  std::optional<data::ImageReader> valid_reader_;
  data::ImageSplit split_;
  std::optional<models::Sagan> model_;
  std::optional<FrechetEvaluator> evaluator_;
  std::optional<data::ImageBatches> batches_;
  std::optional<data::ValidationImages> valid_;
};

}  // namespace

Training draw_training(const Json& settings, std::string_view what) {
  const DrawRecipe recipe = resolve_draw_recipe(settings, what);
  check(!recipe.train.empty() && !recipe.out.empty(), "training: 'train' and 'out' are needed");
  return {.settings = recipe,
          .recipe = to_json(recipe),
          .files = files_or_folders({{"train", recipe.train}, {"valid", recipe.valid}}),
          .prepare = [recipe](const RunContext& run) { return std::make_unique<DrawJob>(recipe, run); }};
}

}  // namespace attend::train
