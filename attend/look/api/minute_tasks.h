// Trainings of about a minute that the page offers: a made-up language (attend make-data) and a small Transformer that
// learns to translate it. docs/minutes.md has longer ones for the command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "attend/data/synthetic/text_makers.h"
#include "attend/tensor/backend.h"

namespace attend::look {

struct MinuteTask {
  std::string_view name, title;
  std::string_view reads, writes;  // an example
  data::TextKind kind;
  std::int64_t vocabulary, steps;
};
std::span<const MinuteTask> minute_tasks();
const MinuteTask& minute_task(std::string_view name);  // throws Error naming those there are

struct MinuteTraining {
  std::filesystem::path folder;        // to be made; the run is in run/, what it learns from in data/
  int threads = 0;                     // 0: all cores
  std::function<bool()> stopped = {};  // asked after every step
};
// Returns whether it was trained to its end; then run/ is a model folder.
bool train_minute_task(const MinuteTask& task, Backend& backend, const MinuteTraining& training);

}  // namespace attend::look
