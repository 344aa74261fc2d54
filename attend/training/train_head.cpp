// From a pre-trained folder and labelled texts to a folder for attend classify, tag or answer, and for transformers.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/fields.h"
#include "attend/base/joined.h"
#include "attend/base/json.h"
#include "attend/base/progress.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/models/hugging_face_config.h"
#include "attend/training/head_examples.h"
#include "attend/training/head_recipe.h"
#include "attend/training/head_task.h"
#include "attend/training/start_folder.h"

namespace attend::tasks {

namespace {

namespace fs = std::filesystem;

TargetKind kind_of(const HeadRecipe& recipe) {
  if (recipe.task == "tag") return TargetKind::tags;
  if (recipe.task == "answer") return TargetKind::span;
  return recipe.regression ? TargetKind::number : TargetKind::label;
}

data::LabelledFile read_texts(const HeadRecipe& recipe, const std::string& path, const TrainOptions& options) {
  const TargetKind kind = kind_of(recipe);
  const auto labelling = kind == TargetKind::tags   ? data::Labelling::words
                         : kind == TargetKind::span ? data::Labelling::answers
                                                    : data::Labelling::text;
  data::LabelledFile file = data::read_labelled(path, {.labelling = labelling,
                                                       .format = recipe.format,
                                                       .header = recipe.header,
                                                       .text_column = recipe.text_column,
                                                       .pair_column = recipe.pair_column,
                                                       .label_column = recipe.label_column});
  options.messages << fmt::format("{}: {} texts{}{}\n", path, with_commas(static_cast<std::int64_t>(file.texts.size())),
                                  file.bad.count() > 0 ? "; " : "", file.bad.text());
  return file;
}

// The labels as the training file has them, in the order of the model's outputs. from is what it starts with.
std::vector<std::string> labels_for(const HeadRecipe& recipe, const data::LabelledFile& training,
                                    const catalogue::ModelConfig& from) {
  const TargetKind kind = kind_of(recipe);
  if (kind == TargetKind::span) return {};
  if (kind == TargetKind::number) return {"score"};
  std::vector<std::string> labels = labels_in(training, kind);
  const catalogue::Task task = kind == TargetKind::tags ? catalogue::Task::tag : catalogue::Task::classify;
  const std::vector<std::string> before = models::labels_of(from.json, recipe.from);
  const auto known = [&](const std::string& label) { return std::ranges::find(before, label) != before.end(); };
  // A folder that has this head and knows all labels keeps its own.
  if (recipe.label_names.empty() && from.task == task && std::ranges::all_of(labels, known)) return before;
  check(labels.size() >= 2, "{}: all texts have the same label, '{}'", training.path, labels.front());
  constexpr std::size_t kMostLabels = 10000;
  check(labels.size() <= kMostLabels, "{}: has {} different labels, more than {}; is it a number (--regression)?",
        training.path, labels.size(), kMostLabels);
  check(recipe.label_names.empty() || recipe.label_names.size() == labels.size(),
        "{}: has {} labels, but 'label_names' names {}", training.path, labels.size(), recipe.label_names.size());
  return labels;
}

EncodedTexts encode(const EncoderReader& reader, const data::LabelledFile& file, TargetKind kind,
                    const std::vector<std::string>& labels, const TrainOptions& options) {
  EncodedTexts encoded = encode_texts(reader, file, kind, labels);
  if (encoded.cut > 0)
    options.messages << fmt::format("{}: {} texts are longer than {} tokens and were cut\n", file.path,
                                    with_commas(encoded.cut), reader.longest());
  return encoded;
}

}  // namespace

train::TrainingResult train_head(const HeadRecipe& given, Backend& backend, const TrainOptions& options) {
  check(!given.train.empty() && !given.valid.empty() && !given.out.empty() && !given.from.empty(),
        "training: 'from', 'train', 'valid' and 'out' are needed");
  const fs::path from = options.resume ? fs::path(given.out) : start_folder(given.from, given.out);
  std::vector<train::DataFile> data = {{"train", given.train}, {"valid", given.valid}};
  if (!given.test.empty()) data.push_back({"test", given.test});
  train::RunFolder folder(run_request(given, write_fields(given), std::move(data), options));
  const TargetKind kind = kind_of(given);
  const catalogue::ModelConfig start = catalogue::read_config(from);
  const data::LabelledFile training_file = read_texts(given, given.train, options),
                           validation_file = read_texts(given, given.valid, options);
  const std::optional<data::LabelledFile> test_file =
      given.test.empty() ? std::nullopt : std::optional(read_texts(given, given.test, options));
  const std::vector<std::string> labels = labels_for(given, training_file, start);

  const std::unique_ptr<Head> head = make_head(
      start, kind, NewHead{.labels = given.label_names.empty() ? labels : given.label_names, .dropout = given.dropout});
  const nn::ParametersOptions computed = parameters_options(given, backend);
  const DType dtype = computed.dtype;
  Json config = head->config();
  config["dtype"] = dtype == DType::bf16 ? "bfloat16" : "float32";
  if (!folder.resumed()) copy_tokenizer(from, folder.prepared());
  folder.stage("config.json", config.dump(2) + "\n");
  EncoderReader reader(folder.prepared(), "training", head->texts());
  reader.limit(given.max_length);
  const EncodedTexts training = encode(reader, training_file, kind, labels, options),
                     validation = encode(reader, validation_file, kind, labels, options),
                     test = test_file ? encode(reader, *test_file, kind, labels, options) : EncodedTexts{};
  const HeadRecipe recipe = for_texts(given, static_cast<std::int64_t>(training.examples.size()));
  folder.stage("recipe.json", write_fields(recipe).dump(2) + "\n");

  nn::Parameters parameters(backend, head->parameters(), computed);
  if (!options.resume) {
    const LoadReport report = load_hugging_face(TensorFiles::open(from), parameters,
                                                {.prefix = std::string(start.entry->prefix), .new_head = true});
    options.messages << fmt::format(
        "from {}{}\n", from.string(),
        report.missing.empty() ? "" : fmt::format("; new: {}", joined(report.missing, ", ")));
  }
  if (!labels.empty() && !recipe.regression)
    options.messages << fmt::format("{} labels: {}\n", labels.size(), joined(head->labels(), ", "));
  options.messages << fmt::format("{} with {:.1f} M weights, {} on {}, {} steps\n", start.entry->type,
                                  static_cast<double>(parameters.count()) / 1e6, name_of(dtype), backend.name(),
                                  recipe.steps);
  HeadTask task({.head = *head,
                 .reader = reader,
                 .backend = backend,
                 .kind = kind,
                 .training = training.examples,
                 .validation = validation.examples,
                 .validation_texts = validation_file.texts},
                {.batch = recipe.batch, .seed = recipe.seed, .select_by_loss = recipe.select == "loss"});
  const train::TrainingResult result =
      train::train(task, parameters, trainer_options(recipe, head->width(), folder, options));
  if (test_file && !result.interrupted) {
    const train::Validation tested = task.judge(test.examples, test_file->texts);
    options.messages << fmt::format("{}: {}\n", test_file->path, tested.text);
    folder.write("test.json", [&](const FileWriter& write) { write(tested.json.dump(2) + "\n"); });
  }
  return result;
}

}  // namespace attend::tasks
