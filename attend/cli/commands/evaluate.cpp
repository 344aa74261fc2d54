#include "attend/cli/commands/evaluate.h"

#include <fmt/core.h>

#include <algorithm>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/terminal.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/evaluation.h"
#include "attend/cli/support/model_flag.h"
#include "attend/tasks/labelled_tasks.h"

namespace attend::cli {

namespace {

constexpr const char* kEvaluateExamples = R"(
  attend evaluate --model en-fr test.en test.fr # BLEU, chrF, exact match; more references may follow
  attend evaluate --model bert-sst2 dev.tsv # accuracy and F1 on csv, tsv or jsonl data
  attend evaluate --model vit-cifar10 cifar10/test # a folder per class, a csv of path and label, MNIST files
  attend evaluate --model ner eng.testa # F1 of named entities, CoNLL files
  attend evaluate --model squad dev-v1.1.json # exact match and F1 of answers
  attend evaluate --model shakespeare valid.txt # GPT-2: perplexity, and the least expected tokens
  attend evaluate --model bert valid.txt # BERT: accuracy on masked words
  attend evaluate --model detr instances_val.json # COCO AP of boxes
  attend evaluate --model captions captions_val.json --json # BLEU-4, ROUGE-L, CIDEr as JSON)";

Evaluation evaluated(const EvaluatedModel& model) {
  using catalogue::Task;
  if (tasks::labelled_task(model.config.task)) return evaluate_texts(model);
  switch (model.config.task) {
    case Task::translate:
      return evaluate_translation(model);
    case Task::generate:
      return evaluate_language_model(model);
    case Task::fill:
      return evaluate_masked(model);
    case Task::classify_images:
      return evaluate_images(model);
    case Task::detect:
      return evaluate_detection(model);
    case Task::describe:
      return evaluate_captions(model);
    case Task::draw:
      fail(
          "evaluate: {} draws, and drawings have no right answer; attend train --task draw --feature-model compares "
          "them",
          model.options.model);
    default:
      fail("evaluate: {} is a {} without a head (for attend {}), which gives no answers to compare",
           model.options.model, model.config.entry->type, name_of(model.config.task));
  }
}

void print_lines(std::string_view text, std::ostream& out) {
  for (std::size_t end = 0; end != std::string_view::npos; text.remove_prefix(std::min(text.size(), end + 1))) {
    end = text.find('\n');
    out << printable(text.substr(0, end)) << '\n';
    if (end == std::string_view::npos) return;
  }
}

void run_evaluate(const EvaluateOptions& options, const Streams& streams) {
  check(options.batch >= 1, "evaluate: --batch must be at least 1, not {}", options.batch);
  const catalogue::ModelConfig config = catalogue::read_config(options.model);
  const auto backend = options.open();
  Evaluation result = evaluated({options, config, *backend, streams});
  std::ranges::stable_sort(result.worst, std::ranges::greater{}, &WorstExample::badness);
  result.worst.resize(std::min(result.worst.size(), static_cast<std::size_t>(options.worst)));
  if (options.json) {
    Json worst = Json::array();
    for (WorstExample& example : result.worst) worst.push_back(std::move(example.json));
    result.json["worst"] = std::move(worst);
    streams.out << result.json.dump() << '\n';
    return;
  }
  streams.out << result.text << '\n';
  if (!result.table.empty()) streams.out << '\n' << result.table;
  if (result.worst.empty()) return;
  streams.out << "\nthe worst:\n";
  for (const WorstExample& example : result.worst) print_lines(example.text, streams.out);
}

}  // namespace

void EvaluatedModel::expect_files(std::size_t least, std::size_t most, std::string_view which) const {
  check(options.data.size() >= least && options.data.size() <= most,
        "evaluate: {} is for attend {}, which needs {}; {}", options.model, name_of(config.task), which,
        options.data.empty() ? "none is given" : fmt::format("{} are given", options.data.size()));
}

void add_evaluate_command(Flags& program, const Streams& streams) {
  add_command<EvaluateOptions>(
      program, streams,
      {.name = "evaluate",
       .help = "Evaluate a model on labelled data and show its worst predictions.",
       .examples = kEvaluateExamples,
       .notes = {"Prints the metrics, a table per class for classifiers, and the worst predictions (--worst)."}},
      [](Flags& flags, EvaluateOptions& options) {
        add_model_flag(flags, options.model, "Model folder").required();
        flags.add("data", options.data, "Labelled data. For translation: source file, then reference files.");
        flags.add("--worst", options.worst, "Number of worst predictions to show.").group("Output").between(0, 10000);
        flags.add("--batch", options.batch, "Examples per batch.");
        flags.add("--beams", options.beams, "Translation and captioning: beam size.")
            .between(1, 1000)
            .shown_as("4, or num_beams in generation_config.json");
        flags.add("--masked", options.masked, "BERT: share of the tokens to mask.").group("Data").between(0.01, 0.9);
        flags.add("--json", options.json, "Print one JSON object.");
        flags.add("--text-column", options.texts.text_column, "Column of the text. Common names are recognised.");
        flags.add("--pair-column", options.texts.pair_column, "Column of the second text.");
        flags.add("--label-column", options.texts.label_column, "Column of the label.");
        flags.add("--format", options.texts.format, "Format of labelled text. auto uses the file name.")
            .one_of({"auto", "csv", "tsv", "jsonl", "conll", "squad"});
        flags.add("--header,!--no-header", options.texts.header,
                  "The first row of csv and tsv files names the columns.");
        flags
            .add("--images", options.images, "Detection and captioning: folder of the images, if not next to the file.")
            .takes("FOLDER");
        flags
            .add("--test-time-flip", options.test_time_flip,
                 "Image classification: average the scores of each image and its mirror image.")
            .group("Data");
        flags
            .add("--test-time-shift", options.test_time_shift,
                 "Image classification: also average each image moved by so many pixels, up and left, and down and "
                 "right; 0 disables it.")
            .group("Data")
            .between(0, 64);
        add_device_flags(flags, options);
        add_weights_flag(flags, options);
      },
      run_evaluate);
}

}  // namespace attend::cli
