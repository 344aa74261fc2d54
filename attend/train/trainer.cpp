#include "attend/train/trainer.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/interrupt.h"
#include "attend/base/progress.h"
#include "attend/checkpoint/model_file.h"
#include "attend/ops/arithmetic.h"
#include "attend/tensor/step_graph.h"
#include "attend/tensor/storage.h"
#include "attend/train/run_curves.h"
#include "attend/train/run_log.h"
#include "attend/train/run_recovery.h"
#include "attend/train/run_state.h"
#include "attend/train/snapshots.h"
#include "attend/train/together.h"

namespace attend::train {

namespace {

using std::chrono::steady_clock;

constexpr const char* kModel = "model.safetensors";

class Run {
 public:
  Run(Task& task, const std::vector<Learner>& learners, const TrainerOptions& options)
      : task_(task),
        learners_(learners),
        options_(options),
        folder_(*options.folder),
        backend_(learners[0].parameters->master().backend()),
        together_(*options.world, backend_, options.together),
        pass_(backend_, {.recording = true, .recompute = options.recompute}),
        graph_(pass_),
        loss_sums_(make_tensor(backend_, {1 + Loss::kMostParts}, DType::f32)) {
    for (const Learner& learner : learners) {
      OptimizerOptions optimizer = learner.optimizer;
      optimizer.part = together_.part_of(learner.parameters->gradient().size());
      optimizers_.push_back(std::make_unique<Optimizer>(*learner.parameters, optimizer));
      buckets_.push_back(std::make_unique<GradientBuckets>(*learner.parameters));
      learning_.push_back({*learner.parameters, *optimizers_.back(), learner.name});
      parameters_.push_back(learner.parameters);
    }
    backend_.fill(loss_sums_, 0);
    if (together_.several() && options.together.sync_batch_norm) pass_.set_batch_sums(&together_);
    if (together_.several())
      task.take_shard(
          {static_cast<std::uint64_t>(options.world->rank()), static_cast<std::uint64_t>(options.world->size())});
    if (folder_.resumed()) {
      for (const auto& optimizer : optimizers_) optimizer->whole_moments();
      state_ = load_state(folder_.path() / kState, learning_);
      for (const auto& optimizer : optimizers_) optimizer->keep_part();
      task.seek(state_.position);
      std::vector<float> sums(1 + Loss::kMostParts);
      const std::vector<double>& kept = state_.since_log.losses;
      std::copy_n(kept.begin(), std::min(kept.size(), sums.size()), sums.begin());
      if (together_.leads()) upload(loss_sums_, sums);
    }
    if (together_.several()) join();
    keep_parts();
    folder_.begin();
    if (!together_.leads()) return;
    log_.emplace(folder_, "log.jsonl", state_.step);
    curves_.emplace(folder_, state_.step);
    if (options.painter) snapshots_.emplace(task, options, state_.step);
  }

  TrainingResult train() {
    const InterruptGuard interrupt;
    interrupt_ = &interrupt;
    seconds_before_ = agreed_.seconds = state_.seconds;
    const std::int64_t total = by_clock() ? std::llround(60 * options_.minutes) : options_.steps;
    Progress progress(*options_.messages, {.label = "training",
                                           .total = total,
                                           .start = by_clock() ? std::llround(seconds_before_) : state_.step,
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
        progress.update(std::llround(elapsed()), fmt::format("step {}  {}", with_commas(done), text_));
      else
        progress.update(done, text_);
      if (done % options_.validate_every == 0 || last)
        validate();
      else if (done % options_.save_every == 0)
        save();
      if (snapshots_ && (snapshots_->wants(done, elapsed()) || last)) take_snapshot();
      const int signal = together_.several() ? agreed_.signal : interrupt.signal();
      if (signal != 0 && !last && !result_.stopped_early) {
        save();
        result_.interrupted = signal;
        break;
      }
    }
    progress.finish(text_);
    if (!result_.interrupted) choose_weights();
    if (curves_) curves_->write();
    result_.steps = state_.step;
    result_.seconds = elapsed();
    result_.activation_bytes = pass_.arena().slab_bytes();
    return result_;
  }

 private:
  // All have read what is there, and begin with the same weights, before one changes the folder.
  void join() {
    for (const nn::Parameters* parameters : parameters_)
      check(!parameters->units8().defined(), "training: dtype fp8 is for one process; take bf16 for several");
    together_.world().barrier_after_work();
    for (nn::Parameters* parameters : parameters_) together_.copy_from_first(*parameters);
  }

  bool by_clock() const { return options_.minutes > 0; }
  // By one clock for all: they end at the same step.
  double clock() const { return together_.several() ? agreed_.seconds : elapsed(); }
  bool ended() const { return by_clock() ? clock() >= 60 * options_.minutes : state_.step >= options_.steps; }
  // Where the schedule of the learning rate stands.
  std::int64_t scheduled_step() const {
    if (!by_clock()) return state_.step;
    const double share = std::min(1.0, clock() / (60 * options_.minutes));
    return std::max<std::int64_t>(1, std::llround(share * static_cast<double>(options_.steps)));
  }

  void step() {
    const std::int64_t step = ++state_.step;
    std::uint64_t batch = 0;  // of the step
    for (std::size_t who = 0; who < learners_.size(); ++who) {
      const float rate = learners_[who].rate(scheduled_step());
      if (who == 0) rate_ = rate;
      for (std::int64_t turn = 0; turn < learners_[who].turns; ++turn) {
        task_.begin_turn(who);
        optimizers_[who]->set_rate(rate, (step - 1) * learners_[who].turns + turn + 1);
        for (std::int64_t i = 0; i < options_.accumulate; ++i) run_batch(who, i, batch++);
      }
    }
    state_.position = task_.position();
    ++state_.since_log.steps;
  }

  // Number i of those whose gradients are added up.
  void run_batch(std::size_t who, std::int64_t i, std::uint64_t batch) {
    const bool first = i == 0, last = i + 1 == options_.accumulate;
    const std::uint64_t shape = task_.next_batch() * 4 + (first ? 2 : 0) + (last ? 1 : 0);
    const std::uint64_t key = shape * learners_.size() + who;
    mine_ = {.weights = task_.batch_weights(),
             .items = task_.batch_items(),
             .signal = interrupt_->signal(),
             .seconds = elapsed(),
             .shape = !last || buckets_[who]->knows(key) ? static_cast<double>(key) : -1};
    together_.start_agreeing(mine_, 1.0f / static_cast<float>(options_.accumulate));
    asked_ = true;
    // A captured step finds it in place; where nothing is captured it is on its way while the forward pass runs.
    if (!backend_.on_host()) agree();
    // Dropout of every batch of every step has a seed of its own.
    const auto ranks = static_cast<std::uint64_t>(options_.world->size());
    const auto number = (static_cast<std::uint64_t>(state_.step) * batches_per_step() + batch) * ranks +
                        static_cast<std::uint64_t>(options_.world->rank());
    const bool exchange = last && together_.sums(), by_host = exchange && !together_.in_stream();
    const StepGraph::Stage stages[] = {{[&] { task_.forward(pass_); }},
                                       {[&] { agree(), task_.on_host(); }, true},
                                       {[&] {
                                         learn(who, first, exchange ? &key : nullptr);
                                         if (last && !by_host) update(who);
                                       }},
                                       {[&] { together_.finish_sums(*learners_[who].parameters); }, true},
                                       {[&] { optimizers_[who]->update(); }},
                                       {[&] { together_.share_updates(*learners_[who].parameters); }, true}};
    const std::size_t begin = task_.needs_host() ? 0 : 2;
    const std::size_t end = !by_host ? 3 : optimizers_[who]->in_parts() ? 6 : 5;
    const auto needed = std::span(stages).subspan(begin, end - begin);
    others_learn(who, false);
    graph_.run(2 * key + (backend_.on_host() || sends_early() ? 0 : 1), options_.seed << 40 ^ number, needed);
    others_learn(who, true);
    state_.since_log.items += agreed_.items;
  }

  // On how much the batches weigh: once for each, when it must be known.
  void agree() {
    if (!std::exchange(asked_, false)) return;
    agreed_ = together_.agreed();
    task_.weigh(mine_.weights, agreed_.weights);
  }

  // Statistics of batch norm and gradients must come in the same order for all.
  bool sends_early() const { return !pass_.batch_sums() || agreed_.alike; }

  // In the order of the device, with sums where there are any.
  void update(std::size_t who) {
    if (together_.sums()) together_.finish_sums(*learners_[who].parameters);
    optimizers_[who]->update();
    if (optimizers_[who]->in_parts()) together_.share_updates(*learners_[who].parameters);
  }

  // Masters in shards, and whole for a while.
  void keep_parts() {
    for (nn::Parameters* parameters : parameters_) together_.keep_part(*parameters);
  }
  void make_whole() {
    for (nn::Parameters* parameters : parameters_) together_.make_whole(*parameters);
  }

  std::uint64_t batches_per_step() const {
    std::int64_t turns = 0;
    for (const Learner& learner : learners_) turns += learner.turns;
    return static_cast<std::uint64_t>(turns * options_.accumulate);
  }

  // What does not learn now gets no gradients; what is frozen anyway stays so.
  void others_learn(std::size_t who, bool on) {
    for (std::size_t other = 0; other < learners_.size() && learners_.size() > 1; ++other) {
      if (other == who) continue;
      for (const nn::Parameters::Entry& entry : learners_[other].parameters->entries()) {
        if (!entry.learned()) continue;
        Storage* storage = entry.parameter->value.storage();
        if (!on && storage->differentiable) paused_.push_back(storage);
        if (!on) storage->differentiable = false;
      }
    }
    if (!on) return;
    for (Storage* storage : paused_) storage->differentiable = true;
    paused_.clear();
  }

  // exchanged: the gradients go to the other processes, by the plan of this key.
  void learn(std::size_t who, bool first, const std::uint64_t* exchanged) {
    const float share = 1.0f / static_cast<float>(options_.accumulate);
    nn::Parameters& parameters = *learners_[who].parameters;
    if (first) parameters.start_gradients();
    if (mine_.weights.size() > 1) agree();  // the loss asks for it
    const Loss loss = task_.loss(pass_);
    agree();
    check(loss.parts.size() <= Loss::kMostParts, "training: a loss of {} parts, more than {}", loss.parts.size(),
          Loss::kMostParts);
    add_up(0, loss.total, share);
    names_.resize(std::max(names_.size(), loss.parts.size()));
    for (std::size_t i = 0; i < loss.parts.size(); ++i) {
      names_[i] = loss.parts[i].first;
      add_up(i + 1, loss.parts[i].second, share);
    }
    GradientBuckets& buckets = *buckets_[who];
    const bool first_ever = buckets.order().empty();
    if (exchanged)
      buckets.begin(*exchanged, sends_early() ? GradientBuckets::When::complete : GradientBuckets::When::at_end,
                    [&](const Tensor& gradients) { together_.start_sum(gradients); });
    pass_.set_watch(exchanged ? &buckets : nullptr);
    pass_.backward(together_.several()        ? ops::multiply(loss.total, pass_.input(together_.share()))
                   : options_.accumulate == 1 ? loss.total
                                              : ops::scale(loss.total, share));
    pass_.set_watch(nullptr);
    parameters.finish_gradients();
    if (!exchanged) return;
    buckets.finish();
    if (first_ever) together_.copy_order(buckets.order());
  }

  void add_up(std::size_t index, const Tensor& value, float share) {
    const Grad sum{loss_sums_.slice_first(static_cast<std::int64_t>(index), 1), true};
    if (!together_.several()) return backend_.scale(value, share, sum);
    backend_.scale(ops::multiply(value, pass_.input(together_.share())), 1, sum);
  }

  double elapsed() const {
    return seconds_before_ + std::chrono::duration<double>(steady_clock::now() - started_).count();
  }

  // Reads the mean loss since the last time, which is the only wait for the device between validations.
  void log_losses() {
    if (state_.since_log.steps == 0) return;
    together_.collect(loss_sums_);
    const std::vector<float> sums = download(loss_sums_);
    const auto mean = [&](std::size_t i) {
      return static_cast<double>(sums[i]) / static_cast<double>(state_.since_log.steps);
    };
    double whole[] = {mean(0)};
    together_.tell(whole);
    const double loss = whole[0], norm = static_cast<double>(download(optimizers_[0]->norm())[0]);
    backend_.fill(loss_sums_, 0);
    const auto now = steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - logged_at_).count();
    const double items_per_second = static_cast<double>(state_.since_log.items) / std::max(seconds, 1e-9);
    check(std::isfinite(loss) && std::isfinite(norm),
          "training: the loss is not a number any more (loss {}, gradient norm {}, between steps {} and {}). The last "
          "good state is kept in '{}'. A lower learning_rate, a longer warmup or clip_norm 1 usually helps",
          loss, norm, state_.step - state_.since_log.steps + 1, state_.step, folder_.path().string());
    text_ = fmt::format("loss {:.3f}  {} {}  lr {:.2e}", loss, rate_text(items_per_second), task_.items(), rate_);
    Json line = {{"step", state_.step},
                 {"loss", loss},
                 {"learning_rate", rate_},
                 {"gradient_norm", norm},
                 {task_.items() + "_per_second", std::round(items_per_second)},
                 {"activation_bytes", pass_.arena().slab_bytes()},
                 {"seconds", elapsed()}};
    if (together_.several()) tell_of_messages(line, seconds);
    for (std::size_t i = 0; i < names_.size(); ++i) line["losses"][names_[i]] = mean(i + 1);
    add_to_log(line);
    state_.since_log = {};
    logged_at_ = now;
  }

  // Of the time since the last line: the share in which rank 0 did nothing but wait for messages, that in which
  // messages were on their way while it computed, and who was waited for: the one that waited least itself.
  void tell_of_messages(Json& line, double seconds) {
    const Together::Messages before = std::exchange(messages_, together_.messages());
    const double whole = std::max(seconds, 1e-9), waited = messages_.waited - before.waited;
    std::vector<double> all(static_cast<std::size_t>(options_.world->size()));
    all[static_cast<std::size_t>(options_.world->rank())] = waited;
    together_.world().all_reduce(std::span<double>(all));
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
    if (!together_.leads()) return;
    log_->add(line);
    curves_->add(line);
  }

  static std::string checkpoint_name(std::int64_t step) { return fmt::format("checkpoints/step-{}.safetensors", step); }

  void save_model() {
    folder_.write(kModel, [&](const FileWriter& write) {
      produce_weights(write, parameters_, SavedWeights::values,
                      {{"format", "pt"}, {"step", std::to_string(state_.step)}});
    });
  }

  // By all; what it says is rank 0's, so that all decide alike also where one rounds otherwise.
  Validation judged() {
    Validation now = task_.validate(together_.world());
    double found[] = {now.loss, now.score};
    together_.tell(found);
    now.loss = found[0], now.score = found[1];
    return now;
  }

  void validate() {
    log_losses();
    exchange_averages();
    Validation now = judged();
    Json line = {{"step", state_.step}, {"validation", now.json}, {"seconds", elapsed()}};
    add_to_log(line);
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
      make_whole();
      folder_.write(checkpoint_name(state_.step),
                    [&](const FileWriter& write) { produce_weights(write, parameters_, SavedWeights::masters); });
      state_.checkpoints.push_back(state_.step);
      keep_parts();
    }
    exchange_averages();
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
    messages_ = together_.messages();
  }

  // What is judged, shown and kept is the average, where there is one; done again, training goes on.
  void exchange_averages() {
    for (std::size_t i = 0; i < optimizers_.size(); ++i)
      if (optimizers_[i]->exchange_average() && optimizers_[i]->in_parts())
        together_.share_updates(*learners_[i].parameters);
  }

  // By rank 0 alone, which shows the weights themselves where it has only a part of their average.
  void take_snapshot() {
    const bool averaged = !optimizers_.back()->in_parts();
    if (averaged) exchange_averages();
    const std::chrono::duration<double> seconds(snapshots_->add(state_.step, elapsed()));
    if (averaged) exchange_averages();
    logged_at_ += std::chrono::duration_cast<steady_clock::duration>(seconds);  // it is not training time
  }

  void save() {
    if (curves_) curves_->write();
    state_.seconds = elapsed();
    together_.collect(loss_sums_);
    const std::vector<float> sums = download(loss_sums_);
    state_.since_log.losses.assign(sums.begin(), sums.end());
    state_.since_log.seconds = std::chrono::duration<double>(steady_clock::now() - logged_at_).count();
    for (const auto& optimizer : optimizers_) together_.make_whole(*optimizer);
    make_whole();
    folder_.write(kState, [&](const FileWriter& write) { produce_state(write, state_, learning_); });
    for (const auto& optimizer : optimizers_) optimizer->keep_part();
    keep_parts();
    folder_.state_saved();
  }

  // The average of the last checkpoints, as in section 6.1 of the paper, unless the best one has both the lower loss
  // and the higher score.
  void choose_weights() {
    make_whole();
    if (together_.several()) together_.world().barrier_after_work();  // the files are there
    if (state_.checkpoints.size() > 1) {
      average_checkpoints();
      const Validation averaged = judged();
      add_to_log({{"step", state_.step}, {"averaged", state_.checkpoints}, {"validation", averaged.json}});
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
    std::map<const nn::Parameters::Entry*, std::vector<double>> sums;
    for (const Safetensors& file : files) {
      load_weights(file, parameters_);
      for (const nn::Parameters* parameters : parameters_)
        for (const nn::Parameters::Entry& entry : parameters->entries()) {
          const std::vector<float> values = parameters->read(entry);
          std::vector<double>& sum = sums[&entry];
          sum.resize(values.size());
          for (std::size_t j = 0; j < values.size(); ++j) sum[j] += share * static_cast<double>(values[j]);
        }
    }
    for (nn::Parameters* parameters : parameters_)
      for (const nn::Parameters::Entry& entry : parameters->entries())
        parameters->write(entry, std::vector<float>(sums[&entry].begin(), sums[&entry].end()));
  }

  Task& task_;
  const std::vector<Learner>& learners_;
  const TrainerOptions& options_;
  RunFolder& folder_;
  Backend& backend_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
  std::vector<std::unique_ptr<GradientBuckets>> buckets_;
  std::vector<Learning> learning_;
  std::vector<nn::Parameters*> parameters_;
  std::vector<Storage*> paused_;
  Together together_;
  Together::Moment mine_, agreed_;  // of the batch at hand, and on it
  bool asked_ = false;              // and nobody has read the answer yet
  const InterruptGuard* interrupt_ = nullptr;
  Pass pass_;
  StepGraph graph_;
  Tensor loss_sums_;                // of the whole, and of its parts
  std::vector<std::string> names_;  // of the parts
  RunState state_;
  TrainingResult result_;
  std::optional<RunLog> log_;
  std::optional<RunCurves> curves_;
  std::optional<Snapshots> snapshots_;
  Progress* progress_ = nullptr;
  std::string text_;
  float rate_ = 0;
  double seconds_before_ = 0;
  Together::Messages messages_;  // until the last line of the log
  steady_clock::time_point started_, logged_at_;
};

}  // namespace

TrainingResult train(Task& task, nn::Parameters& parameters, const TrainerOptions& options) {
  return train(task, {{.parameters = &parameters, .optimizer = options.optimizer, .rate = options.rate}}, options);
}

TrainingResult train(Task& task, const std::vector<Learner>& learners, const TrainerOptions& options) {
  check(!learners.empty(), "training: nobody learns");
  check(options.steps >= 1 && options.accumulate >= 1 && options.log_every >= 1 && options.validate_every >= 1 &&
            options.save_every >= 1,
        "training: steps, accumulate, log_every, validate_every and save_every must be at least 1");
  return Run(task, learners, options).train();
}

}  // namespace attend::train
