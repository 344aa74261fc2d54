#include "attend/cli/classify.h"

#include <fmt/core.h>

#include <ostream>

#include "attend/base/json.h"
#include "attend/base/terminal.h"
#include "attend/cli/command.h"
#include "attend/cli/encoder_command.h"
#include "attend/cli/picture_input.h"
#include "attend/tasks/classifier.h"
#include "attend/tasks/picture_encoder.h"

namespace attend {

namespace {

struct ClassifyCommand {
  EncoderFlags model;
  tasks::ClassifyOptions classify;
};

constexpr const char* kClassifyExamples = R"(Examples:
  echo "a gripping film" | attend classify --model distilbert-sst2          label, a tab, its probability
  attend classify --model mnli --top-k 0 --json pairs.tsv                   all labels of each pair
  attend classify --model vit-base cat.jpg photos/                          file, label, probability
  attend classify --model models/vit-cifar10 --top-k 5 --json photos/
A line with a tab in it is a pair of texts. With --top-k above 1, labels and probabilities alternate, likeliest first.
A model that answers a number instead of labels prints that.)";

Json labels_json(const tasks::Classified& result) {
  Json labels = Json::array();
  for (const tasks::ClassLabel& label : result.labels)
    labels.push_back({{"label", label.label}, {"probability", label.probability}});
  return labels;
}

Json json_of(const std::string& line, const tasks::Classified& result, bool number) {
  if (number) return {{"text", line}, {"score", result.number}};
  return {{"text", line}, {"labels", labels_json(result)}};
}

std::string text_of(const tasks::Classified& result, bool number) {
  if (number) return fmt::format("{:.6g}", result.number);
  std::string text;
  for (const tasks::ClassLabel& label : result.labels)
    text += fmt::format("{}{}\t{:.4f}", text.empty() ? "" : "\t", printable(label.label), label.probability);
  return text;
}

void run_classify_pictures(const ClassifyCommand& options, const Streams& streams) {
  const auto backend = options.model.open();
  const tasks::PictureEncoder encoder(options.model.model, catalogue::Task::classify_pictures, *backend,
                                      options.model.format());
  const PictureInput input{.arguments = options.model.files,
                           .batch = options.model.batch,
                           .command = "classify",
                           .prepare = [&](const image::Image& picture) { return encoder.prepare(picture); }};
  for_each_picture_batch(input, streams, [&](const PictureBatch& batch) {
    const std::vector<tasks::Classified> results = encoder.classify(batch.pictures, options.classify.top_k);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (options.model.json)
        streams.out << Json({{"file", batch.files[i]}, {"labels", labels_json(results[i])}}).dump() << '\n';
      else
        streams.out << printable(batch.files[i]) << '\t' << text_of(results[i], false) << '\n';
  });
}

void run_classify(const ClassifyCommand& options, const Streams& streams) {
  if (catalogue::read_config(options.model.model).entry->family == catalogue::Family::pictures)
    return run_classify_pictures(options, streams);
  const auto backend = options.model.open();
  const tasks::Classifier classifier(options.model.model, *backend, options.model.format());
  for_each_window(options.model, streams, [&](std::span<const std::string> lines, const auto& batching) {
    tasks::ClassifyOptions classify = options.classify;
    classify.batching = batching;
    const std::vector<tasks::Classified> results = classifier.classify(lines, classify);
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (options.model.json)
        streams.out << json_of(lines[i], results[i], classifier.regression()).dump() << '\n';
      else
        streams.out << text_of(results[i], classifier.regression()) << '\n';
  });
}

}  // namespace

void add_classify_command(Flags& program, const Streams& streams) {
  add_command<ClassifyCommand>(
      program, streams,
      {.name = "classify", .help = "A label for each line, pair or picture.", .examples = kClassifyExamples},
      [](Flags& flags, ClassifyCommand& options) {
        add_encoder_flags(flags, options.model, "classifier");
        add_line_flags(flags, options.model);
        flags.add("--top-k", options.classify.top_k, "how many labels; 0: all");
      },
      run_classify);
}

}  // namespace attend
