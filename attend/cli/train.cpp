// attend train: text files, or one recipe, become a model folder.
#include "attend/cli/train.h"

#include <fmt/core.h>

#include <atomic>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/base/interrupt.h"
#include "attend/base/joined.h"
#include "attend/base/json.h"
#include "attend/base/progress.h"
#include "attend/base/thread.h"
#include "attend/cli/command.h"
#include "attend/cli/field_flags.h"
#include "attend/inspect/run_painter.h"
#include "attend/models/presets.h"
#include "attend/models/rnn_seq2seq.h"
#include "attend/serve/api.h"
#include "attend/serve/http.h"
#include "attend/serve/run_reader.h"
#include "attend/training/caption_recipe.h"
#include "attend/training/detect_recipe.h"
#include "attend/training/draw_recipe.h"
#include "attend/training/head_recipe.h"
#include "attend/training/language_recipe.h"
#include "attend/training/masked_recipe.h"
#include "attend/training/picture_recipe.h"
#include "attend/training/trainings.h"
#include "attend/training/translation_recipe.h"

namespace attend {

namespace {

// Flags that mean something to every task, and those that several share, under one help. Their defaults are the task's.
struct EveryTask : tasks::RunSettings {
  std::string task;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("task", task,
      "translation (unless told), language-model, masked-lm, classify, tag, answer, classify-images, describe, "
      "detect or draw");
    visit_run(v);
  }
};

struct SeveralTasks {
  std::string model, tokenizer, from, select;
  std::vector<std::string> text, valid_text;
  std::int64_t vocabulary_size = 0, width = 0, layers = 0, heads = 0, hidden = 0, max_length = 0, block = 0, batch = 0;
  float dropout = 0;

  template <class Visitor>
  void visit(Visitor&& v) {
    v("text", text, "language-model, masked-lm: the text, plain or .gz; may be given several times");
    v("valid_text", valid_text, "language-model, masked-lm: text to validate on");
    v("from", from, "masked-lm, fine-tuning: a model folder to go on from, of Hugging Face's hub or our own");
    v("model", model, "translation: transformer, rnn-attention or rnn-plain; masked-lm: bert or roberta");
    v("tokenizer", tokenizer, "a tokenizer.json to use; without it one is learned from the training text");
    v("vocabulary_size", vocabulary_size, "tokens to learn; language-model: 0 takes bytes, that is characters");
    v("width", width, "of the model");
    v("layers", layers, "how many (translation: --encoder-layers, --decoder-layers)");
    v("heads", heads, "of attention; they divide the width");
    v("hidden", hidden, "width inside the feed-forward layers");
    v("max_length", max_length, "longest text, in tokens; fine-tuning: what is behind is cut off");
    v("block", block, "language-model, masked-lm: tokens seen at once while training");
    v("batch", batch, "windows of the text, or labelled texts, a batch (translation: --tokens)");
    v("dropout", dropout, "of embeddings and of what each sublayer adds");
    v("select", select, "which weights are best: by bleu (translation), score (fine-tuning) or loss");
  }
};

struct TrainOptions {
  std::string recipe;
  bool resume = false, overwrite = false, allow_changes = false;
  bool look = false;
  int port = 8080;
  Json given = Json::object();  // settings named by flags
};

constexpr const char* kTrainExamples = R"(Examples:
  attend train --source train.en --target train.fr --valid-source valid.en --valid-target valid.fr --out model
  attend train recipes/multi30k-en-de.json --device cuda --seed 2       flags win over the recipe
  attend train --task language-model --text train.txt --valid-text valid.txt --out gpt --layers 6 --block 256
  attend train --task masked-lm --text wiki.txt --text more.txt --valid-text valid.txt --out bert
  attend train --task classify --from bert --train train.tsv --valid dev.tsv --out sentiment --epochs 3
  attend train --task classify --from bert --train sts.csv --valid dev.csv --regression --label-column score --out sts
  attend train --task tag --from bert --train eng.train --valid eng.testa --out ner             CoNLL files
  attend train --task answer --from bert --train train-v1.1.json --valid dev-v1.1.json --out squad
  attend train --task classify-images --train photos/train --valid photos/valid --out vit --epochs 100
  attend train --task classify-images --from vit-base --train photos --image-size 224 --crop resized --out pets
  attend train --task describe --train captions_train.json --valid captions_valid.json --out captions --epochs 30
  attend train --task detect --train instances_train.json --valid instances_val.json --out detr --epochs 100
  attend train --task draw --train cifar10 --judge resnet --out sagan --device cuda
  attend train recipes/multi30k-en-de.json --look                       watch it: curves, samples, attention
  attend train --resume --out model                                     goes on where a run was stopped
  attend train recipes/multi30k-en-de.json --model rnn-attention --hidden 512 --out rnn
Ctrl-C saves the run and ends; --resume goes on, to the same weights as if it had never stopped.
The folder then holds the model, for attend translate, generate, fill, classify, tag, answer, describe, detect or draw.)";

// The recipe of the run in the folder, or the file that was named, and the flags laid over it.
Json settings_of(const TrainOptions& options, std::string& what) {
  Json settings = Json::object();
  if (!options.recipe.empty()) {
    what = options.recipe;
    settings = read_json(options.recipe);
  } else if (options.resume && options.given.contains("out")) {
    const std::filesystem::path saved = std::filesystem::path(options.given["out"].get<std::string>()) / "recipe.json";
    check(train::has_run(saved.parent_path()), "train: there is no run in '{}'", saved.parent_path().string());
    what = saved.string();
    settings = read_json(saved);
  }
  check(settings.is_object(), "{}: a recipe is a JSON object", what);
  for (const auto& item : options.given.items()) settings[item.key()] = item.value();
  return settings;
}

// The page of attend look about the run in a folder, for as long as this lives.
class LiveRun {
 public:
  LiveRun(const std::filesystem::path& folder, int port)
      : run_(folder),
        api_({.run = &run_}, {.name = folder.filename().string()}),
        server_({.port = port}, [this](const serve::HttpRequest& request) { return api_.handle(request); }),
        thread_(start_thread("attend look", [this] { server_.run([this] { return over_.load(); }); })) {}
  ~LiveRun() {
    over_ = true;
    thread_.join();
  }
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;
  int port() const { return server_.port(); }

 private:
  serve::RunReader run_;
  serve::Api api_;
  serve::HttpServer server_;
  std::atomic<bool> over_ = false;
  std::thread thread_;  // last: it works on what is above
};

// What can be trained, how, and which command uses the model then. The first is what a recipe without a task means.
struct TrainedTask {
  std::string_view name, use;
  tasks::Training (*training)(const Json& settings, std::string_view what);
};
constexpr TrainedTask kTasks[] = {{"translation", "translate", tasks::translation_training},
                                  {"language-model", "generate", tasks::language_training},
                                  {"masked-lm", "fill", tasks::masked_training},
                                  {"classify", "classify", tasks::head_training},
                                  {"tag", "tag", tasks::head_training},
                                  {"answer", "answer", tasks::head_training},
                                  {"classify-images", "classify", tasks::picture_training},
                                  {"describe", "describe", tasks::caption_training},
                                  {"detect", "detect", tasks::detect_training},
                                  {"draw", "draw", tasks::draw_training}};

const TrainedTask& task_of(const Json& settings, const std::string& what) {
  const auto found = settings.find("task");
  if (found == settings.end()) return kTasks[0];
  std::vector<std::string_view> names;
  for (const TrainedTask& task : kTasks) {
    if (*found == task.name) return task;
    names.push_back(task.name);
  }
  fail("{}: unknown task {}; there are {}", what, found->dump(), joined(names, ", "));
}

void run_train(const TrainOptions& options, const Streams& streams) {
  std::string what = "train";
  const Json settings = settings_of(options, what);
  std::optional<LiveRun> live;
  std::optional<tasks::RunPainter> painter;
  if (options.look) {
    const auto out = settings.find("out");
    check(out != settings.end() && out->is_string(), "{}: --look needs the folder of the run, 'out'", what);
    live.emplace(out->get<std::string>(), options.port);
    painter.emplace(out->get<std::string>());
    streams.err << fmt::format("attend look: http://127.0.0.1:{}/  while it trains\n", live->port());
  }
  const TrainedTask& task = task_of(settings, what);
  const tasks::Training training = task.training(settings, what);
  const tasks::RunSettings& run = training.settings;
  const auto backend =
      open_backend(run.device, {.threads = static_cast<int>(run.threads), .fast_products = run.dtype == "bf16x3"});
  const train::TrainingResult result = tasks::run_training(training, *backend,
                                                           {.resume = options.resume,
                                                            .overwrite = options.overwrite,
                                                            .allow_changes = options.allow_changes,
                                                            .painter = painter ? &*painter : nullptr,
                                                            .messages = streams.err,
                                                            .terminal = streams.err_terminal});
  if (result.interrupted) {
    streams.out << fmt::format("Stopped at step {}. To go on: attend train --resume --out {}\n", result.steps, run.out)
                << std::flush;
    throw Interrupted{result.interrupted};
  }
  streams.out << fmt::format(
      "{} after {} steps and {}: {}. To use it: attend {} --model {}\n",
      result.stopped_early ? "Stopped early" : "Done", result.steps, duration_text(result.seconds),
      result.averaged ? "the average of the last checkpoints is the model" : "the best checkpoint is the model",
      task.use, run.out);
  if (result.activation_bytes > 0)
    streams.out << fmt::format("Activations and gradients of a step took {:.1f} MB.\n",
                               static_cast<double>(result.activation_bytes) / 1e6);
  if (options.look) streams.out << fmt::format("How it went: attend look --run {}\n", run.out);
}

}  // namespace

void add_train_command(Flags& program, const Streams& streams) {
  add_command<TrainOptions>(
      program, streams,
      {.name = "train",
       .help = "Trains a model: to translate, to write, to guess, to label, to draw.",
       .examples = kTrainExamples},
      [](Flags& flags, TrainOptions& options) {
        flags.add("recipe", options.recipe, "a JSON file with any of the settings below");
        flags.add("--resume", options.resume, "go on with the run in --out");
        flags.add("--overwrite", options.overwrite,
                  "start anew although --out holds a run, which goes when the new one has saved its first state");
        flags.add("--allow-changes", options.allow_changes,
                  "with --resume: go on although the model's settings or the texts are others than the run's");
        const Flag look = flags.add("--look", options.look,
                                    "serve a page about the run while it goes on, and record it with the run");
        flags.add("--port", options.port, "of that page; 0 is any free one").needs(look);
        // A flag that several tasks have stands where it is listed first.
        add_field_flags(flags, EveryTask{}, options.given,
                        {.group = "Every task (recipe.json in --out has what a run used)", .show_defaults = false});
        add_field_flags(flags, SeveralTasks{}, options.given, {.group = "Several tasks", .show_defaults = false});
        add_field_flags(flags, tasks::TranslationRecipe{}, options.given, {.group = "--task translation"});
        models::TransformerConfig transformer = models::transformer_preset("small");
        add_field_flags(flags, transformer, options.given, {.group = "Translation's Transformer (--preset small)"});
        add_field_flags(flags, models::RnnConfig{}, options.given, {.group = "Translation's RNN"});
        add_field_flags(flags, tasks::LanguageRecipe{}, options.given, {.group = "--task language-model"});
        add_field_flags(flags, tasks::MaskedRecipe{}, options.given, {.group = "--task masked-lm"});
        add_field_flags(flags, tasks::HeadRecipe{}, options.given, {.group = "--task classify, tag, answer"});
        add_field_flags(flags, tasks::PictureRecipe{}, options.given, {.group = "--task classify-images"});
        add_field_flags(flags, tasks::CaptionRecipe{}, options.given, {.group = "--task describe"});
        add_field_flags(flags, tasks::DetectRecipe{}, options.given, {.group = "--task detect"});
        add_field_flags(flags, tasks::DrawRecipe{}, options.given, {.group = "--task draw"});
      },
      run_train);
}

}  // namespace attend
