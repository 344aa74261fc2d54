#include "attend/look/api/minute_tasks.h"

#include <fmt/core.h>

#include <array>
#include <ostream>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/joined.h"
#include "attend/base/json.h"
#include "attend/data/synthetic/text_folder.h"
#include "attend/look/inspect/run_painter.h"
#include "attend/train/recipes/trainings.h"

namespace attend::look {

namespace {

// Two layers of width 64: attention is learned in the first half minute.
Json settings_of(const MinuteTask& task, const MinuteTraining& training) {
  const std::filesystem::path data = training.folder / "data";
  Json settings = {{"task", "translation"},
                   {"out", (training.folder / "run").string()},
                   {"vocabulary_size", task.vocabulary},
                   {"preset", "tiny"},
                   {"pre_norm", true},
                   {"width", 64},
                   {"hidden", 128},
                   {"heads", 4},
                   {"encoder_layers", 2},
                   {"decoder_layers", 2},
                   {"max_length", 64},
                   {"dropout", 0.05},
                   {"label_smoothing", 0.05},
                   {"tokens", 1024},
                   {"steps", task.steps},
                   {"schedule", "cosine"},
                   {"learning_rate", 0.005},
                   {"warmup", 60},
                   {"log_every", 10},
                   {"validate_every", 100},
                   {"save_every", task.steps},
                   {"bleu_sentences", 0},
                   {"select", "loss"},
                   {"average", 1},
                   {"threads", training.threads}};
  for (const char* side : {"source", "target"}) {
    const std::string suffix = std::string(side) == "source" ? "src" : "tgt";
    settings[side] = (data / ("train." + suffix)).string();
    for (const char* set : {"valid", "test"})
      settings[fmt::format("{}_{}", set, side)] = (data / fmt::format("{}.{}", set, suffix)).string();
  }
  return settings;
}

constexpr std::int64_t kUnseen = 200;  // lines to validate with, and as many to test with

}  // namespace

std::span<const MinuteTask> minute_tasks() {
  static constexpr std::array<MinuteTask, 3> kTasks = {
      {{"reverse", "Reverse words", "rose lamp sea", "sea lamp rose", data::TextKind::reverse, 512, 600},
       {"dates", "Read dates", "the 3rd of March 1987", "1987-03-03", data::TextKind::dates, 260, 900},
       {"pronouns", "Resolve pronouns", "… because it was too wide.", "… parce qu'elle était trop large.",
        data::TextKind::pronouns, 1000, 600}}};
  return kTasks;
}

const MinuteTask& minute_task(std::string_view name) {
  std::vector<std::string> names;
  for (const MinuteTask& task : minute_tasks()) {
    if (task.name == name) return task;
    names.emplace_back(task.name);
  }
  fail("there is no training '{}' here; there are {}", name, joined(names, ", "));
}

bool train_minute_task(const MinuteTask& task, Backend& backend, const MinuteTraining& training) {
  data::write_texts(training.folder / "data", {.kind = task.kind, .unseen = kUnseen});
  const Json settings = settings_of(task, training);
  RunPainter painter(training.folder / "run");
  std::ostream nothing(nullptr);
  const train::TrainingOutcome outcome =
      train::run_training(train::translation_training(settings, "the page"), backend,
                          {.painter = &painter, .stopped = training.stopped, .messages = nothing});
  return !outcome.interrupted;
}

}  // namespace attend::look
