#include "attend/train/trainer.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/interrupt.h"
#include "attend/base/progress.h"
#include "attend/checkpoint/model_file.h"
#include "attend/ops/arithmetic.h"
#include "attend/tensor/step_graph.h"
#include "attend/train/run_log.h"
#include "attend/train/run_recovery.h"
#include "attend/train/run_state.h"
#include "attend/train/snapshots.h"

namespace attend::train {

namespace {

using std::chrono::steady_clock;

constexpr const char* kModel = "model.safetensors";

class Run {
 public:
  Run(Task& task, nn::Parameters& parameters, const TrainerOptions& options)
      : task_(task),
        parameters_(parameters),
        options_(options),
        folder_(*options.folder),
        backend_(parameters.master().backend()),
        optimizer_(parameters, options.optimizer),
        pass_(backend_, {.recording = true, .recompute = options.recompute}),
        graph_(pass_),
        loss_sum_(make_tensor(backend_, {1}, DType::f32)) {
    backend_.fill(loss_sum_, 0);
    if (folder_.resumed()) {
      state_ = load_state(folder_.path() / kState, parameters, optimizer_);
      task.seek(state_.position);
      backend_.fill(loss_sum_, static_cast<float>(state_.since_log.loss));
    }
    folder_.begin();
    log_.emplace(folder_, "log.jsonl", state_.step);
    if (options.painter) snapshots_.emplace(task, options, state_.step);
  }

  TrainingResult train() {
    const InterruptGuard interrupt;
    Progress progress(
        *options_.messages,
        {.label = "training", .total = options_.steps, .start = state_.step, .terminal = options_.terminal});
    progress_ = &progress;
    started_ = logged_at_ = steady_clock::now();
    logged_at_ -=
        std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(state_.since_log.seconds));
    seconds_before_ = state_.seconds;
    if (snapshots_ && state_.step == 0) take_snapshot();
    while (state_.step < options_.steps && !result_.stopped_early) {
      step();
      const std::int64_t done = state_.step;
      const bool last = done == options_.steps;
      if (done % options_.log_every == 0 || last) log_losses();
      progress.update(done, text_);
      if (done % options_.validate_every == 0 || last)
        validate();
      else if (done % options_.save_every == 0)
        save();
      if (snapshots_ && (snapshots_->wants(done, elapsed()) || last)) take_snapshot();
      if (interrupt.requested() && !last && !result_.stopped_early) {
        save();
        result_.interrupted = interrupt.signal();
        break;
      }
    }
    progress.finish(text_);
    if (!result_.interrupted) choose_weights();
    result_.steps = state_.step;
    result_.seconds = elapsed();
    result_.activation_bytes = pass_.arena().slab_bytes();
    return result_;
  }

 private:
  void step() {
    const std::int64_t step = ++state_.step;
    optimizer_.set_rate(rate_ = options_.rate(step), step);
    for (std::int64_t i = 0; i < options_.accumulate; ++i) {
      const bool first = i == 0, last = i + 1 == options_.accumulate;
      const std::uint64_t key = task_.next_batch() * 4 + (first ? 2 : 0) + (last ? 1 : 0);
      state_.since_log.tokens += task_.batch_tokens();
      // Dropout of every batch of every step has a seed of its own.
      const std::uint64_t seed = options_.seed << 40 ^ static_cast<std::uint64_t>(step * options_.accumulate + i);
      graph_.run(key, seed, [&] { one_batch(first, last); });
    }
    state_.position = task_.position();
    ++state_.since_log.steps;
  }

  void one_batch(bool first, bool last) {
    const float share = 1.0f / static_cast<float>(options_.accumulate);
    if (first) parameters_.start_gradients();
    const Tensor loss = task_.loss(pass_);
    backend_.scale(loss, share, {loss_sum_, true});
    pass_.backward(options_.accumulate == 1 ? loss : ops::scale(loss, share));
    parameters_.finish_gradients();
    if (last) optimizer_.update();
  }

  double elapsed() const {
    return seconds_before_ + std::chrono::duration<double>(steady_clock::now() - started_).count();
  }

  // Reads the mean loss since the last time, which is the only wait for the device between validations.
  void log_losses() {
    if (state_.since_log.steps == 0) return;
    const double loss = static_cast<double>(download(loss_sum_)[0]) / static_cast<double>(state_.since_log.steps);
    const double norm = static_cast<double>(download(optimizer_.norm())[0]);
    backend_.fill(loss_sum_, 0);
    const auto now = steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - logged_at_).count();
    const double tokens_per_second = static_cast<double>(state_.since_log.tokens) / std::max(seconds, 1e-9);
    check(std::isfinite(loss) && std::isfinite(norm),
          "training: the loss is not a number any more (loss {}, gradient norm {}, between steps {} and {}). The last "
          "good state is kept in '{}'. A lower learning_rate, a longer warmup or clip_norm 1 usually helps",
          loss, norm, state_.step - state_.since_log.steps + 1, state_.step, folder_.path().string());
    text_ = fmt::format("loss {:.3f}  {} tokens  lr {:.2e}", loss, rate_text(tokens_per_second), rate_);
    log_->add({{"step", state_.step},
               {"loss", loss},
               {"learning_rate", rate_},
               {"gradient_norm", norm},
               {"tokens_per_second", std::round(tokens_per_second)},
               {"activation_bytes", pass_.arena().slab_bytes()},
               {"seconds", elapsed()}});
    state_.since_log = {};
    logged_at_ = now;
  }

  static std::string checkpoint_name(std::int64_t step) { return fmt::format("checkpoints/step-{}.safetensors", step); }

  void save_model() {
    folder_.write(kModel, [&](const FileWriter& write) {
      produce_weights(write, parameters_, SavedWeights::values,
                      {{"format", "pt"}, {"step", std::to_string(state_.step)}});
    });
  }

  void validate() {
    log_losses();
    const Validation now = task_.validate();
    Json line = {{"step", state_.step}, {"validation", now.json}, {"seconds", elapsed()}};
    log_->add(line);
    const bool better = now.score > state_.best_score;
    progress_->print(fmt::format("step {:>6}  {}{}", state_.step, now.text, better ? "  (best so far)" : ""));
    if (better) {
      state_.best_score = now.score, state_.best_loss = now.loss, state_.best_step = state_.step;
      state_.validations_since_best = 0;
      result_.best = now;
      save_model();
    } else {
      ++state_.validations_since_best;
    }
    if (options_.average > 1) {
      folder_.write(checkpoint_name(state_.step),
                    [&](const FileWriter& write) { produce_weights(write, parameters_, SavedWeights::masters); });
      state_.checkpoints.push_back(state_.step);
    }
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
  }

  void take_snapshot() {
    const std::chrono::duration<double> seconds(snapshots_->add(state_.step, elapsed()));
    logged_at_ += std::chrono::duration_cast<steady_clock::duration>(seconds);  // it is not training time
  }

  void save() {
    state_.seconds = elapsed();
    state_.since_log.loss = static_cast<double>(download(loss_sum_)[0]);
    state_.since_log.seconds = std::chrono::duration<double>(steady_clock::now() - logged_at_).count();
    folder_.write(kState, [&](const FileWriter& write) { produce_state(write, state_, parameters_, optimizer_); });
    folder_.state_saved();
  }

  // The average of the last checkpoints, as in section 6.1 of the paper, unless the best one has both the lower loss
  // and the higher score.
  void choose_weights() {
    if (state_.checkpoints.size() > 1) {
      average_checkpoints();
      const Validation averaged = task_.validate();
      log_->add({{"step", state_.step}, {"averaged", state_.checkpoints}, {"validation", averaged.json}});
      progress_->print(fmt::format("average of {} checkpoints: {}", state_.checkpoints.size(), averaged.text));
      if (averaged.score >= state_.best_score || averaged.loss <= state_.best_loss) {
        result_.averaged = true;
        result_.best = averaged;
        return save_model();
      }
    }
    load_weights(Safetensors::open((folder_.path() / kModel).string()), parameters_);
  }

  void average_checkpoints() {
    const auto share = 1.0 / static_cast<double>(state_.checkpoints.size());
    std::vector<Safetensors> files;
    for (std::int64_t step : state_.checkpoints)
      files.push_back(Safetensors::open((folder_.path() / checkpoint_name(step)).string()));
    std::vector<std::vector<double>> sums(parameters_.entries().size());
    for (const Safetensors& file : files) {
      load_weights(file, parameters_);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const std::vector<float> values = parameters_.read(parameters_.entries()[i]);
        sums[i].resize(values.size());
        for (std::size_t j = 0; j < values.size(); ++j) sums[i][j] += share * static_cast<double>(values[j]);
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
      parameters_.write(parameters_.entries()[i], std::vector<float>(sums[i].begin(), sums[i].end()));
  }

  Task& task_;
  nn::Parameters& parameters_;
  const TrainerOptions& options_;
  RunFolder& folder_;
  Backend& backend_;
  Optimizer optimizer_;
  Pass pass_;
  StepGraph graph_;
  Tensor loss_sum_;
  RunState state_;
  TrainingResult result_;
  std::optional<RunLog> log_;
  std::optional<Snapshots> snapshots_;
  Progress* progress_ = nullptr;
  std::string text_;
  float rate_ = 0;
  double seconds_before_ = 0;
  steady_clock::time_point started_, logged_at_;
};

}  // namespace

TrainingResult train(Task& task, nn::Parameters& parameters, const TrainerOptions& options) {
  check(options.steps >= 1 && options.accumulate >= 1 && options.log_every >= 1 && options.validate_every >= 1 &&
            options.save_every >= 1,
        "training: steps, accumulate, log_every, validate_every and save_every must be at least 1");
  return Run(task, parameters, options).train();
}

}  // namespace attend::train
