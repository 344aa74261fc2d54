// From images with captions to a model folder that attend describe reads.
//   config.json  model.safetensors  tokenizer.json  preprocessor_config.json  recipe.json
#include <fmt/core.h>

#include <optional>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/catalogue/captioners.h"
#include "attend/data/images/captioned_images.h"
#include "attend/text/learn/word_level_trainer.h"
#include "attend/train/recipes/captions/caption_recipe.h"
#include "attend/train/recipes/captions/caption_task.h"
#include "attend/train/recipes/epochs.h"
#include "attend/train/recipes/images/image_start.h"
#include "attend/train/recipes/start_folder.h"
#include "attend/train/recipes/trainings.h"

namespace attend::train {

namespace {

std::vector<std::int64_t> numbers_below(std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  return numbers;
}

// Images with captions, and what reads them.
struct Captioned {
  Captioned(const std::string& path, const std::string& names, const CaptionRecipe& recipe)
      : set(data::read_captioned_images(path, {.images = recipe.images_folder, .names = names})),
        list(set.root, set.files),
        reader(list, recipe.images.reading()) {}
  data::CaptionedImages set;
  data::LabelledImages list;
  data::ImageReader reader;
};

std::string learn_words(const CaptionRecipe& recipe, const Captioned& training,
                        const std::vector<std::int64_t>& items) {
  text::WordLevelTrainer trainer(
      {.least = static_cast<std::uint64_t>(recipe.least_count), .threads = static_cast<int>(recipe.threads)});
  std::string lines;
  for (const std::int64_t item : items)
    for (const std::string& caption : training.set.captions[static_cast<std::size_t>(item)]) lines += caption + '\n';
  trainer.add_text(lines);
  return trainer.train();
}

class CaptionJob : public JobOf<CaptionTask> {
 public:
  CaptionJob(const CaptionRecipe& given, const RunContext& run)
      : given_(given), run_(run), training_(given.train, given.train_names, given) {
    split_ = given.valid.empty()
                 ? data::split_images(training_.list.size(), static_cast<double>(given.valid_share), given.seed)
                 : data::ImageSplit{numbers_below(training_.list.size()), {}};
    if (!given.valid.empty()) validation_.emplace(given.valid, given.valid_names, given);
    if (!given.test.empty()) test_.emplace(given.test, given.test_names, given);
    if (!run.folder.resumed())
      run.folder.stage("tokenizer.json", given.tokenizer.empty() ? learn_words(given, training_, split_.train)
                                                                 : given_tokenizer(given.tokenizer));
    tokenizer_.emplace(text::Tokenizer::load(run.folder.prepared() / "tokenizer.json"));
    model_ = catalogue::make_captioner(config(), given.out + "/config.json");
    stage_json(run.folder, "config.json", model_->config());
    stage_json(run.folder, "preprocessor_config.json", preprocessor_json(given.images));
    say();
  }

  JobFacts facts() override {
    CaptionRecipe recipe = with_epochs(given_, static_cast<std::int64_t>(split_.train.size()));
    const Json saved = to_json(recipe);
    if (recipe.encoder_rate != 1) {
      GroupSettings group{.match = "encoder.*"};
      if (recipe.encoder_rate == 0)
        group.frozen = true;
      else
        group.learning_rate = recipe.encoder_rate;
      recipe.parameter_groups.push_back(group);
    }
    return {.name = fmt::format("{} on {}", recipe.decoder, model_->encoder().config().value("model_type", "model")),
            .width = model_->encoder().width(),
            .parts = {{model_->parameters()}},
            .settings = recipe,
            .recipe = saved,
            .more = length_text(recipe),
            .sample = sample()};
  }

  void start(const std::vector<nn::Parameters*>& weights) override {
    if (!run_.folder.resumed() && !run_.from.empty()) load_encoder(*weights[0]);
    model_->place(run_.backend, run_.dtype);
  }

  std::unique_ptr<CaptionTask> make_task() override {
    const data::ValidationOptions once{.batch = given_.batch, .workers = given_.images.workers};
    const auto encoded = [&](const Captioned& images) {
      return encode_captions(images.set.captions, *tokenizer_, given_.max_length);
    };
    training_ids_ = encoded(training_);
    if (validation_) validation_ids_ = encoded(*validation_);
    if (test_) test_ids_ = encoded(*test_);
    batches_.emplace(training_.reader, split_.train, given_.images,
                     data::ImageBatchOptions{.batch = given_.batch, .seed = given_.seed});
    Captioned& evaluated = validation_ ? *validation_ : training_;
    const image::PreprocessorConfig seen = given_.images.evaluation();
    valid_.emplace(evaluated.reader, valid_items(), seen, once);
    if (test_) tested_.emplace(test_->reader, numbers_below(test_->list.size()), seen, once);
    return std::make_unique<CaptionTask>(
        CaptionTask::Parts{
            .model = *model_,
            .tokenizer = *tokenizer_,
            .backend = run_.backend,
            .dtype = run_.dtype,
            .training = *batches_,
            .captions = training_ids_,
            .validation = {*valid_, validation_ ? validation_ids_ : training_ids_, evaluated.set.captions},
            .batch = given_.batch},
        CaptionTaskOptions{.label_smoothing = given_.label_smoothing,
                           .seed = given_.seed,
                           .score_images = given_.score_images,
                           .select = given_.select});
  }

  void finish_task(CaptionTask& task) override {
    report_broken(run_, training_.reader.broken());
    if (!tested_) return;
    const EvaluatedCaptions evaluated{*tested_, test_ids_, test_->set.captions};
    Json result = {{"images", test_->list.size()}, {"loss", task.loss_on(evaluated)}};
    for (const std::int64_t beams : {1, 4}) {
      const metrics::CaptionScores scores = task.evaluate(evaluated, test_->list.size(), beams);
      result[beams == 1 ? "greedy" : "beams_4"] = {
          {"bleu", scores.bleu}, {"rouge_l", scores.rouge_l}, {"cider", scores.cider}};
      run_.options.messages << fmt::format("{}: {} BLEU-4 {:.2f}, ROUGE-L {:.3f}, CIDEr {:.3f}\n", given_.test,
                                           beams == 1 ? "greedy" : "4 beams", 100 * scores.bleu[3], scores.rouge_l,
                                           scores.cider);
    }
    run_.folder.write("test.json", [&](const FileWriter& write) { write(result.dump(2) + "\n"); });
  }

 private:
  std::string sample() const {
    const std::vector<std::int64_t> items = valid_items();
    return items.empty() ? "" : (validation_ ? *validation_ : training_).list.name(items.front());
  }
  std::vector<std::int64_t> valid_items() const {
    return validation_ ? numbers_below(validation_->list.size()) : split_.valid;
  }

  // Rows of tables come in eights: GPU products like that.
  Json config() const {
    if (run_.folder.resumed()) return read_json(run_.from / "config.json");
    const ImageRecipe encoder = encoder_recipe(given_);
    const std::vector<std::string> labels = {"0", "1"};  // of a head that is left out
    Json json = {{"model_type", "captioner"},
                 {"decoder", given_.decoder},
                 {"vocabulary", (tokenizer_->id_limit() + 7) / 8 * 8},
                 {"max_length", given_.max_length + 1}};
    json.update(given_.decoder_config);
    json["encoder"] = image_config(run_.from, encoder, labels, given_.out + "/config.json: encoder");
    return json;
  }

  // The folder's weights, through a model of the encoder's shape that has its head, too.
  void load_encoder(nn::Parameters& weights) {
    const Json config = model_->config()["encoder"];
    const std::string what = given_.out + "/config.json";
    const auto whole = catalogue::make_image_model(config, what);
    nn::Parameters loaded(run_.backend, whole->parameters(), {.trained = false});
    load_image_start(run_.from, loaded);
    const auto named = catalogue::encoder_parameters(*whole, catalogue::entry_of(config, what));
    for (const nn::Parameters::Entry& entry : weights.entries())
      for (const nn::Parameters::Entry& from : named)
        if (from.name == entry.name)
          for (const nn::Parameters::Entry& each : loaded.entries())
            if (each.parameter == from.parameter) weights.write(entry, loaded.read(each));
    run_.options.messages << fmt::format("the encoder is from {}\n", run_.from.string());
  }

  void say() const {
    run_.options.messages << fmt::format("{} images to learn from, {} to validate on, {} tokens\n", split_.train.size(),
                                         valid_items().size(), tokenizer_->vocabulary_size());
    for (const auto* images : {&training_, validation_ ? &*validation_ : nullptr, test_ ? &*test_ : nullptr})
      if (images && !images->set.left_out.empty()) run_.options.messages << images->set.left_out << '\n';
  }

  const CaptionRecipe given_;
  const RunContext run_;
  Captioned training_;
  std::optional<Captioned> validation_, test_;
  data::ImageSplit split_;
  std::optional<text::Tokenizer> tokenizer_;
  std::unique_ptr<models::Captioner> model_;
  CaptionIds training_ids_, validation_ids_, test_ids_;
  std::optional<data::ImageBatches> batches_;
  std::optional<data::ValidationImages> valid_, tested_;
};

}  // namespace

Training caption_training(const Json& settings, std::string_view what) {
  const CaptionRecipe recipe = resolve_caption_recipe(settings, what);
  check(!recipe.train.empty() && !recipe.out.empty(), "training: 'train' and 'out' are needed");
  std::vector<train::DataFile> files;
  for (const auto& [key, path] : {std::pair<const char*, std::string>{"train", recipe.train},
                                  {"train_names", recipe.train_names},
                                  {"valid", recipe.valid},
                                  {"valid_names", recipe.valid_names},
                                  {"test", recipe.test},
                                  {"test_names", recipe.test_names}})
    if (!path.empty()) files.push_back({key, path});
  return {.settings = recipe,
          .recipe = to_json(recipe),
          .files = std::move(files),
          .from = recipe.encoder,
          .prepare = [recipe](const RunContext& run) { return std::make_unique<CaptionJob>(recipe, run); }};
}

}  // namespace attend::train
