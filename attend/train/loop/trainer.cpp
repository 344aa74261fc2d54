#include "attend/train/loop/trainer.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <optional>
#include <ostream>
#include <span>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/interrupt.h"
#include "attend/base/progress.h"
#include "attend/checkpoint/model_file.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/tensor/backend.h"
#include "attend/train/loop/checkpoint_average.h"
#include "attend/train/loop/run_curves.h"
#include "attend/train/loop/run_log.h"
#include "attend/train/loop/run_recovery.h"
#include "attend/train/loop/run_state.h"
#include "attend/train/loop/snapshots.h"
#include "attend/train/loop/steps.h"

namespace attend::train {

namespace {

using std::chrono::steady_clock;

constexpr const char* kModel = "model.safetensors";

class Run {
 public:
  Run(Task& task, const std::vector<OptimizerTurn>& learners, const TrainerOptions& options)
      : task_(task),
        options_(options),
        folder_(*options.folder),
        steps_(task, learners, options),
        distributed_(steps_.distributed_step()) {
    if (folder_.resumed()) {
      steps_.load(folder_.path() / kState, state_);
      task.seek(state_.position);
      check_goes_on();
    }
    steps_.check_data();
    steps_.join();
    folder_.begin();
    if (!distributed_.is_root()) return;
    log_.emplace(folder_, "log.jsonl", state_.step);
    curves_.emplace(folder_, state_.step);
    if (options.painter) snapshots_.emplace(task, options, state_.step);
  }

  TrainingResult train() {
    const InterruptGuard interrupt;
    interrupt_ = &interrupt;
    seconds_before_ = done_.seconds = state_.seconds;
    const std::int64_t total = by_clock() ? std::llround(60 * options_.minutes) : options_.steps;
    Progress progress(*options_.messages, {.label = "training",
                                           .total = total,
                                           .start = by_clock() ? std::llround(seconds_before_) : state_.step,
                                           .by_time = by_clock(),
                                           .terminal = options_.terminal});
    progress_ = &progress;
    started_ = logged_at_ = steady_clock::now();
    logged_at_ -=
        std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(state_.since_log.seconds));
    if (snapshots_ && state_.step == 0) take_snapshot();
    for (bool last = ended(); !last && !result_.stopped_early;) {  // asked once a step: the clock goes on
      step();
      const std::int64_t done = state_.step;
      last = ended();
      if (done % options_.log_every == 0 || last) log_losses();
      if (by_clock())
        progress.update(std::llround(elapsed()), fmt::format("step {}  {}", with_commas(done), text_ + scores_));
      else
        progress.update(done, text_ + scores_);
      if (done % options_.validate_every == 0 || last)
        validate();
      else if (done % options_.save_every == 0)
        save();
      if (snapshots_ && (snapshots_->wants(done, elapsed()) || last)) take_snapshot();
      const bool stopped = options_.stopped && options_.stopped();
      const int signal = distributed_.distributed() ? done_.signal : stopped ? SIGINT : interrupt.signal();
      if (signal != 0 && !last && !result_.stopped_early) {
        save();
        result_.interrupted = signal;
        break;
      }
    }
    progress.finish(text_ + scores_);
    if (!result_.interrupted) choose_weights();
    if (curves_) curves_->write();
    result_.steps = state_.step;
    result_.seconds = elapsed();
    result_.flops = flops_so_far();
    result_.activation_bytes = steps_.activation_bytes();
    return result_;
  }

 private:
  bool by_clock() const { return options_.minutes > 0; }
  // A run that is over at once ends with the model it has.
  void check_goes_on() const {
    std::error_code ignored;
    if (std::filesystem::exists(folder_.path() / kModel, ignored)) return;
    const std::string path = folder_.path().string();
    check(by_clock() || state_.step < options_.steps,
          "training: the run in '{}' has done {} steps and has not been validated, so that there is no model yet: "
          "'steps' must be above that, not {}",
          path, state_.step, options_.steps);
    check(!by_clock() || state_.seconds < 60 * options_.minutes,
          "training: the run in '{}' has trained for {} and has not been validated, so that there is no model yet: "
          "'minutes' must be above that, not {}",
          path, duration_text(state_.seconds), options_.minutes);
  }
  // By one clock for all: they end at the same step.
  double clock() const { return distributed_.distributed() ? done_.seconds : elapsed(); }
  bool ended() const { return by_clock() ? clock() >= 60 * options_.minutes : state_.step >= options_.steps; }
  // Where the schedule of the learning rate stands.
  std::int64_t scheduled_step() const {
    if (!by_clock()) return state_.step;
    const double share = std::min(1.0, clock() / (60 * options_.minutes));
    return std::max<std::int64_t>(1, std::llround(share * static_cast<double>(options_.steps)));
  }

  void step() {
    const std::int64_t step = ++state_.step;
    done_ = steps_.run({.step = step, .signal = interrupt_->signal(), .seconds = elapsed()}, scheduled_step());
    state_.position = task_.position();
    state_.items += done_.items;
    state_.since_log.items += done_.items;
    ++state_.since_log.steps;
  }

  double flops_so_far() const { return options_.flops_per_item * static_cast<double>(state_.items); }

  double elapsed() const {
    return seconds_before_ + std::chrono::duration<double>(steady_clock::now() - started_).count();
  }

  // Reads the mean loss since the last time, which is the only wait for the device between validations.
  void log_losses() {
    if (state_.since_log.steps == 0) return;
    const std::vector<float> sums = steps_.losses();
    const auto mean = [&](std::size_t i) {
      return static_cast<double>(sums[i]) / static_cast<double>(state_.since_log.steps);
    };
    double whole[] = {mean(0)};
    distributed_.tell(whole);
    const double loss = whole[0], norm = steps_.gradient_norm();
    steps_.clear_losses();
    const auto now = steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - logged_at_).count();
    const double items_per_second = static_cast<double>(state_.since_log.items) / std::max(seconds, 1e-9);
    check(std::isfinite(loss) && std::isfinite(norm),
          "training: the loss is not a number any more (loss {}, gradient norm {}, between steps {} and {}). The last "
          "good state is kept in '{}'. A lower learning_rate, a longer warmup or clip_norm 1 usually helps",
          loss, norm, state_.step - state_.since_log.steps + 1, state_.step, folder_.path().string());
    text_ = fmt::format("loss {:.3f}  {} {}  lr {:.2e}", loss, rate_text(items_per_second), task_.items(), done_.rate);
    Json line = {{"step", state_.step},
                 {"loss", loss},
                 {"learning_rate", done_.rate},
                 {"gradient_norm", norm},
                 {task_.items() + "_per_second", std::round(items_per_second)},
                 {"activation_bytes", steps_.activation_bytes()},
                 {"seconds", elapsed()}};
    if (options_.flops_per_item > 0) {
      line["flops_per_step"] = options_.flops_per_item * static_cast<double>(state_.since_log.items) /
                               static_cast<double>(state_.since_log.steps);
      line["flops"] = flops_so_far();
    }
    if (distributed_.distributed()) tell_of_messages(line, seconds);
    for (std::size_t i = 0; i < steps_.names().size(); ++i) line["losses"][steps_.names()[i]] = mean(i + 1);
    add_to_log(line);
    state_.since_log = {};
    logged_at_ = now;
  }

  // Of the time since the last line: the share in which rank 0 did nothing but wait for messages, that in which
  // messages were on their way while it computed, and who was waited for: the one that waited least itself.
  void tell_of_messages(Json& line, double seconds) {
    const DistributedStep::Messages before = std::exchange(messages_, distributed_.messages());
    const double whole = std::max(seconds, 1e-9), waited = messages_.waited - before.waited;
    std::vector<double> all(static_cast<std::size_t>(options_.world->size()));
    all[static_cast<std::size_t>(options_.world->rank())] = waited;
    distributed_.world().all_reduce(std::span<double>(all));
    const auto slowest = std::min_element(all.begin(), all.end()) - all.begin();
    const double hidden = std::max(0.0, messages_.seconds - before.seconds - waited);
    line["processes"] = options_.world->size();
    line["communication"] = waited / whole;
    line["communication_hidden"] = hidden / whole;
    line["slowest"] = slowest;
    text_ += fmt::format("  {} ranks, {:.0f} % in messages, slowest {}", options_.world->size(), 100 * waited / whole,
                         slowest);
  }

  void add_to_log(const Json& line) {
    if (!distributed_.is_root()) return;
    log_->add(line);
    curves_->add(line);
  }

  static std::string checkpoint_name(std::int64_t step) { return fmt::format("checkpoints/step-{}.safetensors", step); }

  void save_model() {
    folder_.write(kModel, [&](const FileWriter& write) {
      checkpoint::produce_weights(write, steps_.parameters(), checkpoint::SavedWeights::values,
                                  {{"format", "pt"}, {"step", std::to_string(state_.step)}});
    });
  }

  // "  score 81.25, best 84": of tasks that only have a loss that.
  static std::string score_text(const Validation& now, double best_score, double best_loss) {
    if (now.score == -now.loss) return fmt::format("  validation {:.4g}, best {:.4g}", now.loss, best_loss);
    return fmt::format("  score {:.4g}, best {:.4g}", now.score, best_score);
  }

  // By all; what it says is rank 0's, so that all decide alike also where one rounds otherwise.
  Validation evaluated() {
    Validation now = task_.validate(distributed_.world());
    double found[] = {now.loss, now.score};
    distributed_.tell(found);
    now.loss = found[0], now.score = found[1];
    return now;
  }

  void validate() {
    log_losses();
    steps_.exchange_averages();
    Validation now = evaluated();
    Json line = {{"step", state_.step}, {"validation", now.json}, {"seconds", elapsed()}};
    add_to_log(line);
    const bool better =
        now.score > state_.best_score || (now.score == state_.best_score && now.loss < state_.best_loss);
    progress_->print(fmt::format("step {:>6}  {}{}", state_.step, now.text, better ? "  (best so far)" : ""));
    scores_ = score_text(now, better ? now.score : state_.best_score, better ? now.loss : state_.best_loss);
    if (better) {
      state_.best_score = now.score, state_.best_loss = now.loss, state_.best_step = state_.step;
      state_.validations_since_best = 0;
      result_.best = now;
      save_model();
    } else {
      ++state_.validations_since_best;
    }
    if (options_.average > 1) {
      steps_.make_whole();
      folder_.write(checkpoint_name(state_.step), [&](const FileWriter& write) {
        checkpoint::produce_weights(write, steps_.parameters(), checkpoint::SavedWeights::masters);
      });
      state_.checkpoints.push_back(state_.step);
      steps_.keep_parts();
    }
    steps_.exchange_averages();
    std::vector<std::int64_t> dropped;
    while (static_cast<std::int64_t>(state_.checkpoints.size()) > options_.average) {
      dropped.push_back(state_.checkpoints.front());
      state_.checkpoints.erase(state_.checkpoints.begin());
    }
    save();
    // Only now: until the new state was in place, a resumed run would have asked for them.
    for (std::int64_t step : dropped) folder_.remove(checkpoint_name(step));
    result_.stopped_early = options_.patience > 0 && state_.validations_since_best >= options_.patience;
    logged_at_ = steady_clock::now();  // validation is not training time
    messages_ = distributed_.messages();
  }

  // By rank 0 alone, which shows the weights themselves where it has only a part of their average.
  void take_snapshot() {
    const bool averaged = steps_.averages_whole();
    if (averaged) steps_.exchange_averages();
    const std::chrono::duration<double> seconds(snapshots_->add(state_.step, elapsed()));
    if (averaged) steps_.exchange_averages();
    logged_at_ += std::chrono::duration_cast<steady_clock::duration>(seconds);  // it is not training time
  }

  void save() {
    if (curves_) curves_->write();
    state_.seconds = elapsed();
    const std::vector<float> sums = steps_.losses();
    state_.since_log.losses.assign(sums.begin(), sums.end());
    state_.since_log.seconds = std::chrono::duration<double>(steady_clock::now() - logged_at_).count();
    steps_.save(folder_, state_);
    folder_.state_saved();
  }

  // The average of the last checkpoints, as in section 6.1 of the paper, unless the best one has the lower loss and at
  // least the same score.
  void choose_weights() {
    steps_.make_whole();
    if (distributed_.distributed()) distributed_.world().barrier_after_work();  // the files are there
    if (state_.checkpoints.size() > 1) {
      std::vector<std::filesystem::path> files;
      for (std::int64_t step : state_.checkpoints) files.push_back(folder_.path() / checkpoint_name(step));
      load_average(files, steps_.parameters());
      const Validation averaged = evaluated();
      add_to_log({{"step", state_.step}, {"averaged", state_.checkpoints}, {"validation", averaged.json}});
      progress_->print(fmt::format("average of {} checkpoints: {}", state_.checkpoints.size(), averaged.text));
      if (averaged.score > state_.best_score || averaged.loss <= state_.best_loss) {
        result_.averaged = true;
        result_.best = averaged;
        return save_model();
      }
    }
    checkpoint::load_weights(checkpoint::Safetensors::open((folder_.path() / kModel).string()), steps_.parameters());
  }

  Task& task_;
  const TrainerOptions& options_;
  RunFolder& folder_;
  Steps steps_;
  DistributedStep& distributed_;
  Steps::StepResult done_;  // of the last step
  const InterruptGuard* interrupt_ = nullptr;
  RunState state_;
  TrainingResult result_;
  std::optional<RunLog> log_;
  std::optional<RunCurves> curves_;
  std::optional<Snapshots> snapshots_;
  Progress* progress_ = nullptr;
  std::string text_, scores_;  // of the bar: the last steps, the last validation
  double seconds_before_ = 0;
  DistributedStep::Messages messages_;  // until the last line of the log
  steady_clock::time_point started_, logged_at_;
};

}  // namespace

TrainingResult train(Task& task, nn::Parameters& parameters, const TrainerOptions& options) {
  return train(task, {{.parameters = &parameters, .optimizer = options.optimizer, .rate = options.rate}}, options);
}

TrainingResult train(Task& task, const std::vector<OptimizerTurn>& learners, const TrainerOptions& options) {
  check(!learners.empty(), "training: nobody learns");
  check(options.steps >= 1 && options.accumulate >= 1 && options.log_every >= 1 && options.validate_every >= 1 &&
            options.save_every >= 1,
        "training: steps, accumulate, log_every, validate_every and save_every must be at least 1");
  return Run(task, learners, options).train();
}

}  // namespace attend::train
