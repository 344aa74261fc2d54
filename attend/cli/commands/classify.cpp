#include "attend/cli/commands/classify.h"

#include <fmt/core.h>

#include <algorithm>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/terminal.h"
#include "attend/catalogue/catalogue.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/encoder_command.h"
#include "attend/cli/support/image_input.h"
#include "attend/look/inspect/image.h"
#include "attend/look/inspect/image_page.h"
#include "attend/tasks/classifier.h"
#include "attend/tasks/image_encoder.h"
#include "attend/view/terminal_image.h"

namespace attend::cli {

namespace {

struct ClassifyCommand {
  EncoderFlags model;
  tasks::ClassifyOptions classify;
  bool show_attention = false, pairs = false;
};

constexpr const char* kClassifyExamples = R"(
  echo "a gripping film" | attend classify --model distilbert-sst2 # prints label and probability
  attend classify --model vit-base cat.jpg photos/ # classify images
  attend classify --model mnli --top-k 0 --json pairs.tsv # all labels of each sentence pair
  attend classify --model models/vit-cifar10 --top-k 5 --json photos/
  attend classify --model vit-base cat.jpg --show-attention # show the attention weights on the image)";

Json labels_json(const tasks::Classified& result) {
  Json labels = Json::array();
  for (const tasks::ClassLabel& label : result.labels)
    labels.push_back({{"label", label.label}, {"probability", label.probability}});
  return labels;
}

// read: what it was, "text" or "file". A model that answers a number has no labels.
Json json_of(const char* kind, const std::string& read, const tasks::Classified& result) {
  if (result.labels.empty()) return {{kind, read}, {"score", result.number}};
  return {{kind, read}, {"labels", labels_json(result)}};
}

std::string text_of(const tasks::Classified& result) {
  if (result.labels.empty()) return fmt::format("{:.6g}", result.number);
  std::string text;
  for (const tasks::ClassLabel& label : result.labels)
    text += fmt::format("{}{}\t{:.4f}", text.empty() ? "" : "\t", printable(label.label), label.probability);
  return text;
}

// Each image with where the model looked in it, one after another.
void show_classified_images(const ClassifyCommand& options, const Streams& streams) {
  check(!options.model.json, "classify: --show-attention draws for a person; leave --json out");
  const auto backend = options.model.open();
  look::ImageInspector inspector(options.model.model, *backend, options.model.type());
  const auto all = static_cast<std::size_t>(inspector.card().labels),
             asked = static_cast<std::size_t>(options.classify.top_k);
  check(all > 0, "classify: the model in {} has no labels", options.model.model);
  const ImageInput input{.arguments = options.model.files,
                         .batch = 1,
                         .max_pixels = options.model.max_pixels,
                         .command = "classify",
                         .prepare = [&](image::ImageRows& image) { return inspector.prepare(image); }};
  for_each_image_batch(input, streams, [&](const ImageBatch& batch) {
    const look::ImageInspection seen =
        inspector.inspect(batch.images[0], {.candidates = asked == 0 ? all : std::min(asked, all)});
    tasks::Classified labels;
    for (const look::Candidate& label : seen.labels) labels.labels.push_back({label.text, label.probability});
    const look::TellingHeat telling = look::telling_heat(seen);
    streams.out << printable(batch.files[0]) << '\t' << text_of(labels) << '\n'
                << view::draw(seen.seen, telling.heat(), streams.out_terminal)
                << (telling.title.empty() ? "this model has no attention" : telling.title) << "\n\n";
  });
}

void run_classify_images(const ClassifyCommand& options, const Streams& streams) {
  check(options.model.output.empty() && !options.model.resume, "classify: --output and --resume are for lines of text");
  const auto backend = options.model.open();
  const tasks::ImageEncoder encoder(options.model.model, catalogue::Task::classify_images, *backend,
                                    options.model.format());
  const ImageInput input{.arguments = options.model.files,
                         .batch = options.model.batch,
                         .max_pixels = options.model.max_pixels,
                         .command = "classify",
                         .prepare = [&](image::ImageRows& image) { return encoder.prepare(image); }};
  for_each_image_batch(input, streams, [&](const ImageBatch& batch) {
    const std::vector<tasks::Classified> results = encoder.classify(batch.images, options.classify.top_k);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (options.model.json)
        streams.out << json_of("file", batch.files[i], results[i]).dump() << '\n';
      else
        streams.out << printable(batch.files[i]) << '\t' << text_of(results[i]) << '\n';
  });
}

// A file of labels and texts, as classifiers are trained on, is not a file of pairs: a line whose first or second text
// is one of the model's labels.
void refuse_labels(std::span<const std::string> lines, const tasks::Classifier& classifier, const std::string& model) {
  const auto is_label = [&](std::string_view text) {
    return std::ranges::find(classifier.labels(), text) != classifier.labels().end() ||
           (text.size() == 1 && text[0] >= '0' && text[0] <= '9');
  };
  for (const std::string& line : lines) {
    const std::string_view text = line;
    const std::size_t tab = text.find('\t');
    if (tab == std::string_view::npos) continue;
    if (const auto label = is_label(text.substr(0, tab))    ? text.substr(0, tab)
                           : is_label(text.substr(tab + 1)) ? text.substr(tab + 1)
                                                            : std::string_view();
        !label.empty())
      fail(
          "classify: the line {} has a label ('{}') beside its text, and a line with a tab in it would be read as a "
          "pair "
          "of texts; attend evaluate --model {} FILE evaluates labelled texts, and --pairs reads them as pairs all the "
          "same",
          Json(line.substr(0, 60)).dump(), label, model);
  }
}

void run_classify(const ClassifyCommand& options, const Streams& streams) {
  if (catalogue::read_config(options.model.model).does(catalogue::Task::embed_images))
    return options.show_attention ? show_classified_images(options, streams) : run_classify_images(options, streams);
  check(!options.show_attention, "classify: --show-attention is for models that look at images; see attend look");
  const auto backend = options.model.open(*streams.world);
  const tasks::Classifier classifier(options.model.model, *backend, options.model.format());
  for_each_window(options.model, streams,
                  {{"command", "classify"}, {"top-k", options.classify.top_k}, {"pairs", options.pairs}},
                  [&](std::span<const std::string> lines, const auto& batching, std::ostream& out) {
                    tasks::ClassifyOptions classify = options.classify;
                    classify.batching = batching;
                    if (!options.pairs) refuse_labels(lines, classifier, options.model.model);
                    const std::vector<tasks::Classified> results = classifier.classify(lines, classify);
                    for (std::size_t i = 0; i < lines.size(); ++i)
                      if (options.model.json)
                        out << json_of("text", lines[i], results[i]).dump() << '\n';
                      else
                        out << text_of(results[i]) << '\n';
                  });
}

}  // namespace

void add_classify_command(Flags& program, const Streams& streams) {
  add_command<ClassifyCommand>(
      program, streams,
      {.name = "classify",
       .help = "Classify sentences, sentence pairs or images.",
       .examples = kClassifyExamples,
       .notes = {"A line with a tab is a sentence pair. With --top-k above 1, labels and probabilities alternate, most "
                 "likely first. A regression model prints its number."}},
      [](Flags& flags, ClassifyCommand& options) {
        add_encoder_flags(flags, options.model, "for sequence classification, or an image classifier");
        add_line_flags(flags, options.model);
        add_max_pixels_flag(flags, options.model.max_pixels);
        flags.add("--top-k", options.classify.top_k, "Number of labels to print; 0 prints all.").group("Output");
        flags
            .add("--pairs", options.pairs,
                 "Treat every line with a tab as a pair, even if one part looks like a label.")
            .group("Data");
        flags.add("--show-attention", options.show_attention, "Show each image with its attention weights.");
      },
      run_classify);
}

}  // namespace attend::cli
