#include "attend/cli/evaluate.h"

#include <fmt/core.h>

#include <algorithm>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/terminal.h"
#include "attend/cli/command.h"
#include "attend/cli/device_flags.h"
#include "attend/data/labelled_pictures.h"
#include "attend/data/labelled_text.h"
#include "attend/data/picture_batches.h"
#include "attend/metrics/confusion.h"
#include "attend/tasks/classifier.h"
#include "attend/tasks/model_folder.h"
#include "attend/tasks/picture_encoder.h"
#include "attend/training/picture_task.h"

namespace attend {

namespace {

struct EvaluateOptions : DeviceFlags {
  std::string model, data;
  std::int64_t batch = 64;
  bool json = false;
  data::LabelledOptions texts;
};

constexpr const char* kEvaluateExamples = R"(Examples:
  attend evaluate --model models/vit-cifar10 cifar10/test         a folder per class, a csv of path and label, MNIST's files
  attend evaluate --model models/bert-sst2 dev.tsv                labelled texts: csv, tsv, jsonl
  attend evaluate --model vit dev.csv --json                      one JSON object, the confusion table in it
Prints accuracy, for pictures top-5 as well, and for every label precision, recall, F1 and what it was taken for.)";

// What is said in the end.
struct Evaluation {
  Json json;
  std::string text;
  metrics::Confusion confusion;
};

Evaluation evaluate_pictures(const EvaluateOptions& options, const std::filesystem::path& folder, Backend& backend) {
  const tasks::PictureEncoder encoder(folder, catalogue::Task::classify_pictures, backend, options.format());
  const std::vector<std::string>& labels = encoder.model().labels();
  const data::LabelledPictures pictures(options.data, {.classes = labels, .unseen = true});
  std::vector<std::int64_t> all(static_cast<std::size_t>(pictures.size()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  data::PictureReader reader(pictures, {.cache_bytes = 0});
  data::ValidationPictures once(reader, std::move(all), encoder.preprocessor().config(), {.batch = options.batch});
  const auto verdict = tasks::PictureJudge(encoder.model(), backend, options.type())(once);
  metrics::Confusion confusion(labels);
  confusion.add(verdict.truth, verdict.predicted);
  return {verdict.json(),
          fmt::format("{} pictures: accuracy {:.2f} %, top-5 {:.2f} %, loss {:.4f}", verdict.pictures,
                      100 * verdict.top1, 100 * verdict.top5, verdict.loss),
          std::move(confusion)};
}

// A line as attend classify reads it: a pair has a tab between its texts.
std::string line_of(const data::LabelledText& text) {
  const auto flat = [](std::string part) {
    std::ranges::replace_if(
        part, [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    return part;
  };
  return text.has_pair ? flat(text.text) + '\t' + flat(text.pair) : flat(text.text);
}

Evaluation evaluate_texts(const EvaluateOptions& options, const std::filesystem::path& folder, Backend& backend) {
  const tasks::Classifier classifier(folder, backend, options.format());
  check(!classifier.regression(), "evaluate: {} answers numbers, not labels", folder.string());
  const data::LabelledFile file = data::read_labelled(options.data, options.texts);
  const std::vector<std::string>& labels = classifier.labels();
  const auto number_of = [&](const std::string& label) {
    return static_cast<std::size_t>(std::ranges::find(labels, label) - labels.begin());
  };
  // A file may have numbers where the model has names.
  const bool numbers = std::ranges::all_of(file.texts, [&](const data::LabelledText& text) {
    return number_of(text.label) == labels.size() && !text.label.empty() && text.label.size() < 7 &&
           std::ranges::all_of(text.label, [](char c) { return c >= '0' && c <= '9'; }) &&
           std::stoul(text.label) < labels.size();
  });
  std::vector<std::string> lines;
  metrics::Confusion confusion(labels);
  for (const data::LabelledText& text : file.texts) lines.push_back(line_of(text));
  const std::vector<tasks::Classified> results =
      classifier.classify(lines, {.top_k = 1, .batching = {.batch = options.batch}});
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string& label = file.texts[i].label;
    const std::size_t truth = numbers ? std::stoul(label) : number_of(label);
    check(truth < labels.size(), "{}:{}: the model has no label '{}'", options.data, file.texts[i].line, label);
    confusion.add(static_cast<std::int32_t>(truth), static_cast<std::int32_t>(number_of(results[i].labels[0].label)));
  }
  return {{{"texts", confusion.count()}, {"accuracy", confusion.accuracy()}},
          fmt::format("{} texts: accuracy {:.2f} %", confusion.count(), 100 * confusion.accuracy()),
          std::move(confusion)};
}

void run_evaluate(const EvaluateOptions& options, const Streams& streams) {
  const std::filesystem::path folder = tasks::find_model(options.model);
  const auto backend = options.open();
  const bool pictures = catalogue::read_config(folder).entry->family == catalogue::Family::pictures;
  const Evaluation result =
      pictures ? evaluate_pictures(options, folder, *backend) : evaluate_texts(options, folder, *backend);
  if (options.json) {
    Json json = result.json;
    json.update(result.confusion.json());
    streams.out << json.dump() << '\n';
    return;
  }
  streams.out << result.text << "\n\n" << result.confusion.text();
}

}  // namespace

void add_evaluate_command(Flags& program, const Streams& streams) {
  add_command<EvaluateOptions>(
      program, streams,
      {.name = "evaluate", .help = "How good a classifier's labels are.", .examples = kEvaluateExamples},
      [](Flags& flags, EvaluateOptions& options) {
        flags.add("--model", options.model, "folder of a classifier of texts or pictures, or a shipped one's name")
            .required();
        flags.add("data", options.data, "labelled pictures or texts").required();
        flags.add("--batch", options.batch, "computed together");
        flags.add("--json", options.json, "one JSON object");
        flags.add("--text-column", options.texts.text_column, "of a table of texts; found by usual names");
        flags.add("--pair-column", options.texts.pair_column, "of a second text");
        flags.add("--label-column", options.texts.label_column, "of the label");
        add_device_flags(flags, options);
        add_weights_flag(flags, options);
      },
      run_evaluate);
}

}  // namespace attend
