// From labelled texts, and a pre-trained folder if there is one, to a folder for attend classify, tag or answer, and
// for transformers.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/joined.h"
#include "attend/base/json.h"
#include "attend/base/progress.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/models/hugging_face_config.h"
#include "attend/tasks/labelled_tasks.h"
#include "attend/train/recipes/heads/head_examples.h"
#include "attend/train/recipes/heads/head_recipe.h"
#include "attend/train/recipes/heads/head_task.h"
#include "attend/train/recipes/heads/new_model.h"
#include "attend/train/recipes/start_folder.h"
#include "attend/train/recipes/trainings.h"

namespace attend::train {

namespace {

// resolve_head_recipe() refuses other names.
const tasks::LabelledTask& task_of(const HeadRecipe& recipe) { return *tasks::labelled_task(recipe.task); }
tasks::TargetKind kind_of(const HeadRecipe& recipe) { return task_of(recipe).kind_for(recipe.regression); }

data::LabelledFile read_texts(const HeadRecipe& recipe, const std::string& path, std::ostream& messages) {
  data::LabelledFile file = data::read_labelled(path, {.labelling = task_of(recipe).labelling,
                                                       .format = recipe.format,
                                                       .header = recipe.header,
                                                       .text_column = recipe.text_column,
                                                       .pair_column = recipe.pair_column,
                                                       .label_column = recipe.label_column});
  messages << fmt::format("{}: {} texts{}{}\n", path, with_commas(static_cast<std::int64_t>(file.texts.size())),
                          file.bad.count() > 0 ? "; " : "", file.bad.text());
  return file;
}

// Moves a share of the texts from one file to a new one.
data::LabelledFile take_held_out(const HeadRecipe& recipe, data::LabelledFile& training) {
  std::vector<std::string_view> texts;
  for (const data::LabelledText& text : training.texts) texts.push_back(text.text);
  const std::vector<bool> held = held_out(texts, static_cast<double>(recipe.held_out.valid_share), recipe.seed);
  data::LabelledFile validation, rest;
  for (std::size_t i = 0; i < held.size(); ++i)
    (held[i] ? validation : rest).texts.push_back(std::move(training.texts[i]));
  training.texts = std::move(rest.texts);
  validation.path = training.path;
  return validation;
}

// The labels as the training file has them, in the order of the model's outputs. from is what it starts with.
std::vector<std::string> labels_for(const HeadRecipe& recipe, const data::LabelledFile& training,
                                    const catalogue::ModelConfig& from) {
  const tasks::TargetKind kind = kind_of(recipe);
  if (kind == tasks::TargetKind::span) return {};
  if (kind == tasks::TargetKind::number) return {"score"};
  std::vector<std::string> labels = labels_in(training, kind);
  const std::vector<std::string> before = models::labels_of(from.json, recipe.from);
  const auto known = [&](const std::string& label) { return std::ranges::find(before, label) != before.end(); };
  // A folder that has this head and knows all labels keeps its own.
  if (recipe.label_names.empty() && from.task == task_of(recipe).task && std::ranges::all_of(labels, known))
    return before;
  check(labels.size() >= 2, "{}: all texts have the same label, '{}'", training.path, labels.front());
  constexpr std::size_t kMostLabels = 10000;
  check(labels.size() <= kMostLabels, "{}: has {} different labels, more than {}; is it a number (--regression)?",
        training.path, labels.size(), kMostLabels);
  check(recipe.label_names.empty() || recipe.label_names.size() == labels.size(),
        "{}: has {} labels, but 'label_names' names {}", training.path, labels.size(), recipe.label_names.size());
  return labels;
}

EncodedTexts encode(const tasks::EncoderReader& reader, const data::LabelledFile& file, tasks::TargetKind kind,
                    const std::vector<std::string>& labels, std::ostream& messages) {
  EncodedTexts encoded = encode_texts(reader, file, kind, labels);
  if (encoded.cut > 0)
    messages << fmt::format("{}: {} texts are longer than {} tokens and were cut\n", file.path,
                            with_commas(encoded.cut), reader.longest());
  return encoded;
}

class HeadJob : public JobOf<HeadTask> {
 public:
  HeadJob(const HeadRecipe& given, const RunContext& run)
      : given_(given),
        run_(run),
        kind_(kind_of(given)),
        training_file_(read_texts(given, given.train, run.options.messages)),
        validation_file_(given.valid.empty() ? take_held_out(given, training_file_)
                                             : read_texts(given, given.valid, run.options.messages)),
        start_(run.from.empty() ? new_model(given, training_file_, run) : catalogue::read_config(run.from)) {
    if (!given.test.empty()) test_file_ = read_texts(given, given.test, run.options.messages);
    labels_ = labels_for(given, training_file_, start_);
    head_ = tasks::make_head(start_, task_of(given).task,
                             tasks::NewHead{.labels = given.label_names.empty() ? labels_ : given.label_names,
                                            .regression = given.regression,
                                            .dropout = given.dropout});
    Json config = head_->config();
    config["dtype"] = run.dtype == DType::bf16 ? "bfloat16" : "float32";
    if (!run.folder.resumed() && !run.from.empty()) copy_tokenizer(run.from, run.folder.prepared());
    stage_json(run.folder, "config.json", config);  // before the tokenizer is opened, which may look there
    reader_.emplace(run.folder.prepared(), "training", head_->texts());
    reader_->limit(given.max_length);
    training_ = encoded(training_file_), validation_ = encoded(validation_file_);
    if (test_file_) test_ = encoded(*test_file_);
  }

  JobFacts facts() override {
    const HeadRecipe recipe = for_texts(given_, static_cast<std::int64_t>(training_.examples.size()));
    return {.name = std::string(start_.entry->type),
            .width = head_->width(),
            .parts = {{head_->parameters()}},
            .settings = recipe,
            .recipe = to_json(recipe),
            .more = length_text(recipe),
            .tokens = tokens_of_a_text() * recipe.batch,
            .length = tokens_of_a_text()};
  }

  void start(const std::vector<nn::Parameters*>& weights) override {
    if (!run_.folder.resumed() && !run_.from.empty()) {
      const checkpoint::LoadReport report = checkpoint::load_hugging_face(
          checkpoint::TensorFiles::open(run_.from), *weights[0],
          {.prefix = std::string(start_.entry->prefix), .head = std::string(start_.entry->head), .new_head = true});
      run_.options.messages << fmt::format(
          "from {}{}\n", run_.from.string(),
          report.missing.empty() ? "" : fmt::format("; new: {}", joined(report.missing, ", ")));
    }
    if (!labels_.empty() && !given_.regression)
      run_.options.messages << fmt::format("{} labels: {}\n", labels_.size(), joined(head_->labels(), ", "));
  }

  std::unique_ptr<HeadTask> make_task() override {
    return std::make_unique<HeadTask>(
        HeadTask::Parts{.head = *head_,
                        .reader = *reader_,
                        .backend = run_.backend,
                        .kind = kind_,
                        .training = training_.examples,
                        .validation = validation_.examples,
                        .validation_texts = validation_file_.texts},
        HeadTaskOptions{.batch = given_.batch, .seed = given_.seed, .select_by_loss = given_.select == "loss"});
  }

  void finish_task(HeadTask& task) override {
    if (!test_file_) return;
    report_test(run_, test_file_->path, task.evaluate(test_.examples, test_file_->texts));
  }

 private:
  // The mean.
  std::int64_t tokens_of_a_text() const {
    std::size_t tokens = 0;
    for (const HeadExample& example : training_.examples) tokens += example.text.ids.size();
    return static_cast<std::int64_t>(tokens / std::max<std::size_t>(1, training_.examples.size()));
  }
  EncodedTexts encoded(const data::LabelledFile& file) const {
    return encode(*reader_, file, kind_, labels_, run_.options.messages);
  }

  const HeadRecipe given_;
  const RunContext run_;
  const tasks::TargetKind kind_;
  data::LabelledFile training_file_;
  const data::LabelledFile validation_file_;
  const catalogue::ModelConfig start_;  // the body that gets a head
  std::optional<data::LabelledFile> test_file_;
  std::vector<std::string> labels_;
  std::unique_ptr<tasks::Head> head_;
  std::optional<tasks::EncoderReader> reader_;
  EncodedTexts training_, validation_, test_;
};

}  // namespace

Training head_training(const Json& settings, std::string_view what) {
  const HeadRecipe recipe = resolve_head_recipe(settings, what);
  const bool validated = !recipe.valid.empty() || recipe.held_out.valid_share > 0;
  check(!recipe.train.empty() && validated && !recipe.out.empty(), "training: 'train', 'valid' and 'out' are needed");
  std::vector<train::DataFile> files = {{"train", recipe.train}};
  if (!recipe.valid.empty()) files.push_back({"valid", recipe.valid});
  if (!recipe.test.empty()) files.push_back({"test", recipe.test});
  return {.settings = recipe,
          .recipe = to_json(recipe),
          .files = std::move(files),
          .from = recipe.from,
          .prepare = [recipe](const RunContext& run) { return std::make_unique<HeadJob>(recipe, run); }};
}

}  // namespace attend::train
