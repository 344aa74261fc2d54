#include "attend/train/loop/snapshots.h"
#include "attend/base/json.h"

#include <algorithm>
#include <chrono>

namespace attend::train {

namespace {

constexpr std::int64_t kImages = 40;           // evenly over the run, besides those of the beginning
constexpr double kShare = 0.02, kGrace = 0.5;  // of the run's time; seconds that are always allowed

// 1, 2, 5, 10, 20, 50, 100, ..
bool round_number(std::int64_t step) {
  while (step >= 10 && step % 10 == 0) step /= 10;
  return step == 1 || step == 2 || step == 5;
}

}  // namespace

Snapshots::Snapshots(Task& task, const TrainerOptions& options, std::int64_t step)
    : task_(task),
      painter_(*options.painter),
      log_(*options.folder, "look.jsonl", step),
      every_(std::max<std::int64_t>(1, options.steps / kImages)),
      every_seconds_(60 * options.minutes / kImages) {}

bool Snapshots::wants(std::int64_t step, double elapsed) const {
  const bool evenly = every_seconds_ > 0 ? elapsed >= due_ : step % every_ == 0;
  return (round_number(step) || evenly) && spent_ < kGrace + kShare * elapsed;
}

double Snapshots::add(std::int64_t step, double elapsed) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Example> examples = task_.examples(painter_.limits());
  if (!examples.empty()) log_.add({{"step", step}, {"seconds", elapsed}, {"examples", painter_.paint(examples)}});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  spent_ += seconds;
  due_ = elapsed + every_seconds_;
  return seconds;
}

}  // namespace attend::train
