// attend train: text files, or one recipe, become a model folder.
#include "attend/cli/commands/train.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/base/interrupt.h"
#include "attend/base/json.h"
#include "attend/base/old_names.h"
#include "attend/base/progress.h"
#include "attend/base/thread.h"
#include "attend/cli/commands/devices.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/device_flags.h"
#include "attend/cli/support/shell_word.h"
#include "attend/cli/support/train_choices.h"
#include "attend/cli/support/train_tasks.h"
#include "attend/http/http.h"
#include "attend/look/api/api.h"
#include "attend/look/api/run_reader.h"
#include "attend/look/inspect/run_painter.h"
#include "attend/train/loop/run_changes.h"

namespace attend::cli {

namespace {

struct TrainOptions {
  std::vector<std::string> paths;  // a recipe, or data that is recognised by looking
  AutomaticFlags automatic = {};
  bool resume = false, overwrite = false, allow_changes = false;
  bool look = false;
  int port = 8080;
  double timeout = 300;
  train::DistributedOptions distributed = {};
  Json given = Json::object();  // settings named by flags

  bool has_recipe() const { return !paths.empty() && is_recipe(paths); }
  bool has_data() const { return !paths.empty() && !has_recipe(); }
};

constexpr const char* kTrainExamples = R"(
  attend train --source train.en --target train.fr --out model # size, batches and steps are chosen for ten minutes
  attend train reviews.csv --out sentiment --quick # the task is recognised from the data; one minute
  attend train --source train.en --target train.fr --valid-source valid.en --valid-target valid.fr --out model
  attend train recipes/multi30k-en-de.json --device cuda --seed 2 # flags override the recipe
  attend train --resume --out model # resume an interrupted run
  attend train recipes/multi30k-en-de.json --look # watch curves, samples and attention in a browser
  attend train recipes/multi30k-en-de.json --model rnn-attention --hidden 512 --out rnn
  attend train --task language-model --text train.txt --valid-text valid.txt --out gpt --layers 6 --block 256
  attend train --task masked-lm --text wiki.txt --text more.txt --valid-text valid.txt --out bert
  attend train --task classify --from bert --train train.tsv --valid dev.tsv --out sentiment --epochs 3
  attend train --task classify --from bert --train sts.csv --valid dev.csv --regression --label-column score --out sts
  attend train --task classify --model bert --preset tiny --train train.tsv --valid dev.tsv --out small # from scratch
  attend train --task tag --from bert --train eng.train --valid eng.testa --out ner # CoNLL files
  attend train --task answer --from bert --train train-v1.1.json --valid dev-v1.1.json --out squad
  attend train --task classify-images --train photos/train --valid photos/valid --out vit --epochs 100
  attend train --task classify-images --from vit-base --train photos --image-size 224 --crop resized --out pets
  attend train --task describe --train captions_train.json --valid captions_valid.json --out captions --epochs 30
  attend train --task detect --train instances_train.json --valid instances_val.json --out detr --epochs 100
  attend train --task draw --train cifar10 --feature-model resnet --out sagan --device cuda)";

// The examples of one task; of all without one.
std::string examples_for(const std::string& task) {
  if (task.empty()) return kTrainExamples;
  std::string own, shared;
  for (std::string_view rest = kTrainExamples; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string line = std::string(rest.substr(0, end)) + '\n';
    rest.remove_prefix(std::min(rest.size(), end + 1));
    const std::size_t named = line.find("--task ");
    if (named != std::string::npos ? line.find(fmt::format("--task {} ", task)) == named : task == "translation")
      own += line;
    else if (line.find("--resume") != std::string::npos)
      shared += line;
  }
  return own + shared;
}

CommandName train_name(const std::string& task) {
  CommandName name{.name = "train", .help = "Train a model.", .examples = examples_for(task)};
  std::vector<HelpEntry> tasks = task_topics();
  for (const HelpEntry& one : tasks)
    if (one.names[0] == task) name.help = fmt::format("Train a model (--task {}). {}", task, one.text);
  name.notes = {"Ctrl-C saves the run and stops. --resume continues it, with the same weights as an uninterrupted run.",
                "recipe.json in --out holds the settings of the run."};
  if (!task.empty()) return name;
  name.topics = std::move(tasks);
  name.notes.insert(
      name.notes.begin(),
      "These flags are common to all tasks. attend train --task TASK --help shows all flags of a task with "
      "their defaults.");
  return name;
}

// The recipe of the run in the folder, or the file that was named, and the flags laid over it.
Json settings_of(const TrainOptions& options, bool leads, std::string& what) {
  Json settings = Json::object();
  if (options.has_recipe()) {
    what = options.paths[0];
    settings = read_json(what);
  } else if (options.resume && options.given.contains("out")) {
    const std::filesystem::path saved = std::filesystem::path(options.given["out"].get<std::string>()) / "recipe.json";
    check(!leads || train::has_run(saved.parent_path()), "train: there is no run in '{}'",
          saved.parent_path().string());
    what = saved.string();
    settings = read_json(saved);
  }
  check(settings.is_object(), "{}: a recipe is a JSON object", what);
  settings = with_current_names(std::move(settings), what);
  const std::filesystem::path recipes = std::filesystem::path(what).parent_path();
  if (const auto then = settings.find("then"); then != settings.end() && then->is_array())
    for (Json& line : *then)  // as the run keeps it, which knows nothing of the file
      if (line.is_string())
        line = with_word(line.get<std::string>(), "{recipes}", recipes.empty() ? "." : recipes.string());
  if (options.has_data()) return settings_of_data(options.paths, options.given);
  for (const auto& item : options.given.items()) settings[item.key()] = item.value();
  return settings;
}

// The training of the settings. What a recipe says of its data, and of what its model learns from it, is true of no
// others: where flags name another model or other files, it is left out.
train::Training training_of(const TrainedTask& task, Json settings, const TrainOptions& options,
                            const std::string& what) {
  train::Training training = task.training(settings, what);
  const auto given = [&](const train::DataFile& file) { return options.given.contains(file.key); };
  const bool reused = options.given.contains("model") || std::ranges::any_of(training.files, given);
  if (!options.has_recipe() || !reused) return training;
  for (const char* key : {"data", "command", "then", "compare"}) settings.erase(key);
  return task.training(settings, what);
}

// In the end: what to do with the model. Commands are on lines of their own (shell_word.h).
std::string what_next(const TrainedTask& task, const train::Training& training, const train::TrainingOutcome& result) {
  const train::RunSettings& run = training.settings;
  std::ostringstream out;
  out << fmt::format("To use it:\n  {}\n", use_command(task, training, result.sample));
  if (result.activation_bytes > 0)
    out << fmt::format("Activations and gradients of a step took {:.1f} MB.\n",
                       static_cast<double>(result.activation_bytes) / 1e6);
  out << result.flops_text << train::compared_runs(run);
  for (const std::string& line : run.then) out << with_word(line, "{out}", run.out) << '\n';
  std::string chart = "attend look --run " + shell_word(run.out);
  const std::string alone = chart;
  for (const std::string& other : run.compare)
    if (std::error_code ignored; std::filesystem::exists(std::filesystem::path(other) / "log.jsonl", ignored))
      chart += " --run " + shell_word(other);
  if (run.then.empty() || chart != alone) out << fmt::format("How it went:\n  {}\n", chart);
  return out.str();
}

// On the device that the run will have.
Json chosen_settings(const TrainedTask& task, const Json& settings, const TrainOptions& options,
                     std::ostream& messages) {
  check_files(settings);
  const std::string device = settings.value("device", std::string("cpu"));
  const auto backend = open_backend(
      device, {.threads = static_cast<int>(settings.value("threads", std::int64_t{0})), .batch_invariant = false});
  return train::automatic_settings({.task = task.name,
                                    .settings = settings,
                                    .budget = budget_of(options.automatic, settings),
                                    .training = task.training},
                                   *backend, messages);
}

// The page of attend look about the run in a folder, for as long as this lives.
class LiveRun {
 public:
  LiveRun(const std::filesystem::path& folder, int port)
      : run_(folder),
        api_({.run = &run_}, {.name = folder.filename().string()}),
        server_({.port = port}, [this](const http::Request& request) { return api_.handle(request); }),
        thread_(start_thread("attend look", [this] { server_.run([this] { return over_.load(); }); })) {}
  ~LiveRun() {
    over_ = true;
    thread_.join();
  }
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;
  int port() const { return server_.port(); }

  // The run has ended: the page says so, and stays until Ctrl-C.
  void end() { run_.end(); }
  void stay() const {
    InterruptGuard interrupt;
    while (!interrupt.requested()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }

 private:
  look::RunReader run_;
  look::Api api_;
  http::Server server_;
  std::atomic<bool> over_ = false;
  std::thread thread_;  // last: it works on what is above
};

// Bytes of the device; 0: unknown.
std::size_t memory_of(const Backend& backend) {
  if (backend.on_host()) return total_memory();
  const std::vector<std::string> names = backend_names();  // "cpu" first
  const auto found = std::find(names.begin(), names.end(), backend.name());
  const auto number = static_cast<std::size_t>(found - names.begin());
  const std::vector<Gpu> there = gpus();
  return number >= 1 && number <= there.size() ? there[number - 1].memory : 0;
}

void run_train(const TrainOptions& options, const Streams& streams) {
  world::World& world = *streams.world;
  world.set_timeout(options.timeout);
  std::ostream nothing(nullptr);
  std::ostream& messages = world.is_root() ? streams.err : nothing;
  std::string what = "train";
  // What a killed run has left is settled by one, before the others look.
  if (!world.is_root()) world.barrier();
  Json settings = settings_of(options, world.is_root(), what);
  if (world.is_root()) world.barrier();
  const TrainedTask& task = trained_task(settings, what);
  check_flags_fit(task, options.given, settings);
  const bool fresh = !options.has_recipe() && !options.resume;
  const bool chooses =
      fresh && world.size() == 1 && chooses_settings(options.automatic, std::string(task.name), settings);
  if (fresh && !chooses) check_needs(task, settings, what);  // a file has keys, not flags
  std::optional<LiveRun> live;
  std::optional<look::RunPainter> painter;
  if (options.look && world.is_root()) {
    const auto out = settings.find("out");
    check(out != settings.end() && out->is_string(), "{}: --look needs the folder of the run, 'out'", what);
    live.emplace(out->get<std::string>(), options.port);
    painter.emplace(out->get<std::string>());
    streams.err << fmt::format("attend look: http://127.0.0.1:{}/  while it trains\n", live->port());
  }
  if (chooses) settings = chosen_settings(task, settings, options, messages);
  const train::Training training = training_of(task, settings, options, what);
  const train::RunSettings& run = training.settings;
  std::string device = run.device;
  int threads = static_cast<int>(run.threads);
  share_host(world, device, threads);
  if (!options.resume && world.is_root())
    train::check_data(training.files, run.data);  // who has no data needs no device
  const auto backend =
      open_backend(device, {.threads = threads, .fast_products = run.dtype == "bf16x3", .batch_invariant = false});
  const train::TrainingOutcome result = train::run_training(training, *backend,
                                                            {.resume = options.resume,
                                                             .overwrite = options.overwrite,
                                                             .allow_changes = options.allow_changes,
                                                             .examples = chooses,
                                                             .painter = painter ? &*painter : nullptr,
                                                             .messages = messages,
                                                             .terminal = streams.err_terminal,
                                                             .memory = memory_of(*backend),
                                                             .world = &world,
                                                             .distributed = options.distributed});
  if (live) live->end();
  if (!world.is_root()) {
    if (result.interrupted) throw Interrupted{result.interrupted};
    return;
  }
  if (result.interrupted) {
    streams.out << fmt::format("Stopped at step {}. To resume:\n", result.steps)
                << called_as(streams.program, "  attend train --resume --out " + shell_word(run.out) + "\n")
                << std::flush;
    throw Interrupted{result.interrupted};
  }
  streams.out << fmt::format(
      "{} after {} step{} and {}{}: {}.\n", result.stopped_early ? "Stopped early" : "Done", with_commas(result.steps),
      result.steps == 1 ? "" : "s", duration_text(result.seconds),
      result.best.text.empty() ? "" : fmt::format(" ({})", result.best.text),
      result.averaged ? "the average of the last checkpoints is the model" : "the best checkpoint is the model");
  streams.out << examples_text(result.examples);
  streams.out << called_as(streams.program, what_next(task, training, result));
  if (chooses)
    streams.out << called_as(streams.program, "To look inside:\n  attend look --model " + shell_word(run.out) + "\n");
  if (!live || !streams.err_terminal.interactive) return;  // in a script the run is over when the command is
  streams.out << fmt::format("The page stays at http://127.0.0.1:{}/ until Ctrl-C.\n", live->port()) << std::flush;
  live->stay();
}

}  // namespace

void add_train_command(Flags& program, const Streams& streams, const std::vector<std::string>& words) {
  add_command<TrainOptions>(
      program, streams, train_name(task_in(words)),
      [&](Flags& flags, TrainOptions& options) {
        flags.add(
            "recipe", options.paths,
            "Recipe: a JSON file with any of these settings. Flags override it. Or data, recognised by looking: a "
            "table, two text files, a folder of images, a COCO file.");
        flags.add("--auto", options.automatic.automatic, "Choose all settings that no flag names, to fit --minutes.")
            .group("Training");
        flags.add("--quick", options.automatic.quick, "Choose settings for one minute of training.").group("Training");
        flags.add("--thorough", options.automatic.thorough, "Choose settings for an hour of training.")
            .group("Training");
        flags.add("--resume", options.resume, "Resume the run in --out.").group("Training");
        flags.add("--overwrite", options.overwrite,
                  "Replace the run in --out. The old one is kept until the first save.");
        flags.add("--allow-changes", options.allow_changes, "With --resume: accept changed model settings or data.")
            .group("Training");
        const Flag look =
            flags.add("--look", options.look, "Serve a web page about the run during training, and record its data.")
                .group("Output");
        flags.add("--port", options.port, "Port of the --look page; 0 picks a free one.").group("Output").needs(look);
        flags
            .add("--timeout", options.timeout,
                 "Seconds without an answer from a process (mpirun, srun) before the run ends; 0 means no limit.")
            .group("Distributed");
        flags
            .add("--wire", options.distributed.wire, {{"f32", world::Wire::f32}, {"bf16", world::Wire::bf16}},
                 "Type of gradients sent between processes: f32, or bf16 for half the traffic.")
            .group("Distributed");
        flags
            .add("--shard-optimizer", options.distributed.shard_optimizer,
                 "Shard the optimiser state over the processes (ZeRO-1). Same result, less memory, more messages.")
            .group("Distributed");
        flags
            .add("--sync-batch-norm", options.distributed.sync_batch_norm,
                 "Image models: compute batch-norm statistics over the batches of all processes.")
            .group("Distributed");
        add_task_flags(flags, options.given, words);
      },
      run_train);
}

}  // namespace attend::cli
