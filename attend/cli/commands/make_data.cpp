#include "attend/cli/commands/make_data.h"

#include <fmt/core.h>

#include <filesystem>
#include <ostream>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/interrupt.h"
#include "attend/base/joined.h"
#include "attend/base/progress.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/shell_word.h"
#include "attend/data/synthetic/stories.h"
#include "attend/data/synthetic/text_folder.h"

namespace attend::cli {

namespace {

constexpr const char* kMakeDataExamples = R"(
  attend make-data dates --out .data/dates # "the 3rd of March 1987" to 1987-03-03, for recipes/minutes
  attend make-data scenes --out scenes # 20,000 training and 1,000 validation images with boxes and captions
  attend make-data grammar --out .data/grammar # a small English and an invented language with another word order
  attend make-data pronouns --out .data/pronouns # "it was too tired", "it was too wide": il or elle, for recipes/minutes
  attend make-data coreference --out .data/coreference # the same question in many English and French sentences, for translators
  attend make-data stories --out .data/stories # labelled examples for BERT's four tasks, for recipes/minutes
  attend make-data numbers --out numbers # "two thousand and seven" to 2007
  attend make-data reverse --out reverse # the words of a line in reverse order
  attend make-data recall --out recall --distance 512 --count 2000 # lines that end with their first letters
  attend make-data scenes --out scenes --count 20000 --size 128 --objects 6 --seed 1 --unseen 1000
  attend make-data scenes --out large --size 256 --objects 10 --format jpeg)";

constexpr const char* kScenesOnly = "Scenes";
constexpr const char* kStories = "stories";

const std::vector<std::pair<std::string, data::TextKind>>& text_kinds() {
  static const std::vector<std::pair<std::string, data::TextKind>> kKinds = {
      {"dates", data::TextKind::dates},
      {"numbers", data::TextKind::numbers},
      {"reverse", data::TextKind::reverse},
      {"grammar", data::TextKind::grammar},
      {"recall", data::TextKind::recall},
      {"pronouns", data::TextKind::pronouns},
      {"coreference", data::TextKind::coreference}};
  return kKinds;
}

void list_make_data_flags(Flags& flags, MakeDataOptions& options) {
  data::SceneFolderOptions& scenes = options.scenes;
  std::vector<std::string> kinds = {"scenes"};
  for (const auto& [name, kind] : text_kinds()) kinds.push_back(name);
  kinds.emplace_back(kStories);
  flags.add("what", options.what, "Dataset to generate: " + joined(kinds, ", ") + ".").one_of(kinds).required();
  flags.add("--out", options.out, "Folder to create. An existing folder must be empty.").takes("FOLDER").required();
  flags.add("--count", options.count, "Number of training images or lines.").between(0, data::kMostScenes);
  flags
      .add("--unseen", options.unseen,
           "Number of validation images or lines, and of test lines. They do not depend on --count.")
      .between(0, data::kMostScenes);
  flags.add("--seed", options.seed, "Random seed.");
  flags.add("--distance", options.distance, "recall: distance to the repeated letters, in characters.")
      .between(static_cast<double>(data::kLeastRecallDistance), static_cast<double>(data::kMostRecallDistance));
  flags.add("--size", scenes.scene.size, "Side of an image, in pixels.")
      .between(data::kLeastSceneSize, data::kMostSceneSize)
      .group(kScenesOnly);
  flags.add("--objects", scenes.scene.objects, "Maximum number of objects per image; at least one.")
      .between(1, data::kMostSceneObjects)
      .group(kScenesOnly);
  flags.add("--max-iou", scenes.scene.max_iou, "Maximum overlap (IoU) of two boxes, up to 0.33.")
      .between(0, 1)
      .group(kScenesOnly);
  flags
      .add("--format", scenes.format, {{"png", data::SceneFormat::png}, {"jpeg", data::SceneFormat::jpeg}},
           "Image format: png or jpeg.")
      .group(kScenesOnly);
  flags.add("--threads", scenes.threads, "CPU threads; 0 uses all cores.").between(0, 1024).group(kScenesOnly);
}

// Counts what is done, and ends where the user says so.
class Making {
 public:
  Making(const Streams& streams, const std::string& label, std::int64_t total)
      : progress_(streams.err, {.label = label, .total = total, .terminal = streams.err_terminal}) {}
  void done(std::int64_t count) {
    if (interrupt_.requested()) throw Interrupted{interrupt_.signal()};
    progress_.update(count);
  }
  void finish() { progress_.finish(); }

 private:
  const InterruptGuard interrupt_;
  Progress progress_;
};

void make_scenes(const MakeDataOptions& options, const Streams& streams) {
  data::SceneFolderOptions scenes = options.scenes;
  scenes.count = options.count, scenes.unseen = options.unseen, scenes.scene.seed = options.seed;
  Making making(streams, "painting", scenes.count + scenes.unseen);
  scenes.on_progress = [&](std::int64_t done) { making.done(done); };
  const data::SceneFolderSummary made = data::write_scenes(options.out, scenes);
  making.finish();
  streams.out << fmt::format("{}: {} images ({:.1f} MB), {} objects, {} captions\n", options.out,
                             with_commas(made.images), static_cast<double>(made.bytes) / 1e6, with_commas(made.objects),
                             with_commas(made.captions));
  const std::string command =
      "  attend train --task detect --train {out}/instances_train.json --valid {out}/instances_valid.json --out detr\n";
  streams.out << "To learn from them:\n" << called_as(streams.program, with_word(command, "{out}", options.out));
}

// recipes/minutes knows these folders; of another, and where there are no recipes, the flags say where it is.
std::string how_to_learn(const std::string& what, const std::string& out) {
  const std::string recipe = what == "dates" && out == ".data/dates"       ? "recipes/minutes/dates-rnn-attention.json"
                             : what == "grammar" && out == ".data/grammar" ? "recipes/minutes/grammar-gpt.json"
                             : what == "pronouns" && out == ".data/pronouns" ? "recipes/minutes/pronouns.json"
                                                                             : "";
  std::error_code ignored;
  if (!recipe.empty() && std::filesystem::exists(recipe, ignored)) return "attend train " + recipe;
  const bool recall = what == "recall";
  const std::string command =
      recall ? "attend train --task language-model --text {out}/lines.txt --valid-text {out}/lines.valid.txt --lines "
               "--prompt-end = --vocabulary-size 0 --out recall-gpt"
             : "attend train --source {out}/train.src --target {out}/train.tgt --valid-source {out}/valid.src "
               "--valid-target {out}/valid.tgt --preset tiny --out " +
                   what + "-model";
  return with_word(command, "{out}", out);
}

void refuse_scene_flags(const MakeDataOptions& options) {
  const data::SceneFolderOptions untouched, &scenes = options.scenes;
  check(scenes.scene.size == untouched.scene.size && scenes.scene.objects == untouched.scene.objects &&
            scenes.scene.max_iou == untouched.scene.max_iou && scenes.format == untouched.format,
        "make-data: --size, --objects, --max-iou and --format are for scenes, not for {}", options.what);
}

void make_stories(const MakeDataOptions& options, const Streams& streams) {
  refuse_scene_flags(options);
  constexpr int kTasks = 4;
  Making making(streams, "writing", kTasks * (options.count + 2 * options.unseen));
  const std::int64_t bytes = data::write_stories(
      options.out,
      {.count = options.count, .unseen = options.unseen, .seed = options.seed, .on_progress = [&](std::int64_t done) {
         making.done(done);
       }});
  making.finish();
  streams.out << fmt::format(
      "{}: for each of four tasks {} texts to learn from, {} to validate and {} to test with "
      "({:.1f} MB)\n",
      options.out, with_commas(options.count), with_commas(options.unseen), with_commas(options.unseen),
      static_cast<double>(bytes) / 1e6);
  const std::string command =
      "  attend train --task classify --from bert --train {out}/pairs.train.tsv --valid {out}/pairs.valid.tsv --out "
      "pairs\n";
  streams.out << "To learn from them:\n" << called_as(streams.program, with_word(command, "{out}", options.out));
}

void make_texts(const MakeDataOptions& options, data::TextKind kind, const Streams& streams) {
  refuse_scene_flags(options);
  Making making(streams, "writing", options.count + 2 * options.unseen);
  const std::int64_t bytes =
      data::write_texts(options.out, {.kind = kind,
                                      .count = options.count,
                                      .unseen = options.unseen,
                                      .seed = options.seed,
                                      .distance = options.distance,
                                      .on_progress = [&](std::int64_t done) { making.done(done); }});
  making.finish();
  streams.out << fmt::format("{}: {} pairs to learn from, {} to validate and {} to test with ({:.1f} MB)\n",
                             options.out, with_commas(options.count), with_commas(options.unseen),
                             with_commas(options.unseen), static_cast<double>(bytes) / 1e6);
  streams.out << "To learn from them:\n"
              << called_as(streams.program, "  " + how_to_learn(options.what, options.out) + "\n");
}

}  // namespace

void run_make_data(const MakeDataOptions& options, const Streams& streams) {
  for (const auto& [name, kind] : text_kinds())
    if (name == options.what) return make_texts(options, kind, streams);
  if (options.what == kStories) return make_stories(options, streams);
  make_scenes(options, streams);
}

void add_make_data_command(Flags& program, const Streams& streams) {
  add_command<MakeDataOptions>(
      program, streams,
      {.name = "make-data",
       .help = "Generate synthetic training data: scenes with captions, text pairs, or labelled texts.",
       .examples = kMakeDataExamples,
       .notes =
           {"Scenes are discs, squares, triangles and digits in ten colours. Each image has boxes, outlines and five "
            "captions, in COCO files: train/, instances_train.json, captions_train.json, valid/, instances_valid.json, "
            "captions_valid.json.",
            "Text pairs go to train.src and train.tgt, valid.src and valid.tgt, test.src and test.tgt, line by line. "
            "No line is in two sets. grammar and recall also write lines.txt and lines.valid.txt for language models.",
            "stories has labelled texts in the formats of MNLI, CoLA, SQuAD and CoNLL-2003: pairs.train.tsv, "
            "sentences.train.tsv, questions.train.json, tags.train.conll, and the same with valid and test.",
            "In recall, the last three letters of a line repeat the first three, --distance positions earlier. Train "
            "on it with attend train --lines --prompt-end =.",
            "The same seed gives the same files on any number of threads."}},
      list_make_data_flags, run_make_data);
}

}  // namespace attend::cli
