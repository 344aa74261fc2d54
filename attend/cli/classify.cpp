#include "attend/cli/classify.h"

#include <fmt/core.h>

#include <ostream>

#include "attend/base/json.h"
#include "attend/base/terminal.h"
#include "attend/cli/command.h"
#include "attend/cli/encoder_command.h"
#include "attend/tasks/classifier.h"

namespace attend {

namespace {

struct ClassifyCommand {
  EncoderFlags model;
  tasks::ClassifyOptions classify;
};

constexpr const char* kClassifyExamples = R"(Examples:
  echo "a gripping film" | attend classify --model distilbert-sst2          label, a tab, its probability
  attend classify --model mnli --top-k 0 --json pairs.tsv                   all labels of each pair
A line with a tab in it is a pair of texts. With --top-k above 1, labels and probabilities alternate, likeliest first.
A model that answers a number instead of labels prints that.)";

Json json_of(const std::string& line, const tasks::Classified& result, bool number) {
  if (number) return {{"text", line}, {"score", result.number}};
  Json labels = Json::array();
  for (const tasks::ClassLabel& label : result.labels)
    labels.push_back({{"label", label.label}, {"probability", label.probability}});
  return {{"text", line}, {"labels", std::move(labels)}};
}

std::string text_of(const tasks::Classified& result, bool number) {
  if (number) return fmt::format("{:.6g}", result.number);
  std::string text;
  for (const tasks::ClassLabel& label : result.labels)
    text += fmt::format("{}{}\t{:.4f}", text.empty() ? "" : "\t", printable(label.label), label.probability);
  return text;
}

void run_classify(const ClassifyCommand& options, const Streams& streams) {
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
      program, streams, {.name = "classify", .help = "A label for each line or pair.", .examples = kClassifyExamples},
      [](Flags& flags, ClassifyCommand& options) {
        add_encoder_flags(flags, options.model, "classifier");
        add_line_flags(flags, options.model);
        flags.add("--top-k", options.classify.top_k, "how many labels; 0: all");
      },
      run_classify);
}

}  // namespace attend
