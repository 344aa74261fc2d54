#include "attend/train/loop/steps.h"

#include <algorithm>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/ops/arithmetic.h"
#include "attend/tensor/storage.h"
#include "attend/train/loop/run_recovery.h"

namespace attend::train {

Steps::Steps(Task& task, const std::vector<OptimizerTurn>& learners, const TrainerOptions& options)
    : task_(task),
      learners_(learners),
      options_(options),
      backend_(learners[0].parameters->master().backend()),
      distributed_(*options.world, backend_, options.distributed),
      pass_(backend_, {.recording = true, .recompute = options.recompute}),
      graph_(pass_),
      loss_sums_(make_tensor(backend_, {1 + Loss::kMostParts}, DType::f32)) {
  for (const OptimizerTurn& learner : learners) {
    OptimizerOptions optimizer = learner.optimizer;
    optimizer.part = distributed_.part_of(learner.parameters->gradient().size());
    optimizers_.push_back(std::make_unique<Optimizer>(*learner.parameters, optimizer));
    buckets_.push_back(std::make_unique<GradientBuckets>(*learner.parameters));
    learning_.push_back({*learner.parameters, *optimizers_.back(), learner.name});
    parameters_.push_back(learner.parameters);
  }
  backend_.fill(loss_sums_, 0);
  if (!distributed_.distributed()) return;
  if (options.distributed.sync_batch_norm) pass_.set_batch_sums(&distributed_);
  task.take_shard(
      {static_cast<std::uint64_t>(options.world->rank()), static_cast<std::uint64_t>(options.world->size())});
}

void Steps::load(const std::filesystem::path& file, RunState& state) {
  for (const auto& optimizer : optimizers_) optimizer->whole_moments();
  state = load_state(file, learning_);
  for (const auto& optimizer : optimizers_) optimizer->keep_part();
  std::vector<float> sums(1 + Loss::kMostParts);
  const std::vector<double>& kept = state.since_log.losses;
  std::copy_n(kept.begin(), std::min(kept.size(), sums.size()), sums.begin());
  if (distributed_.is_root()) upload(loss_sums_, sums);
}

void Steps::check_data() {
  const Json place = task_.position();
  task_.begin_turn(0);
  task_.next_batch();
  task_.seek(place);
}

void Steps::join() {
  if (distributed_.distributed()) {
    for (const nn::Parameters* parameters : parameters_)
      check(!parameters->units8().defined(), "training: dtype fp8 is for one process; take bf16 for several");
    distributed_.world().barrier_after_work();
    for (nn::Parameters* parameters : parameters_) distributed_.copy_from_first(*parameters);
  }
  keep_parts();
}

Steps::StepResult Steps::run(const StepInput& now, std::int64_t scheduled) {
  StepResult done;
  items_ = 0;
  std::uint64_t batch = 0;  // of the step
  const double progress = static_cast<double>(scheduled) / static_cast<double>(options_.steps);
  task_.progress(progress);
  for (std::size_t who = 0; who < learners_.size(); ++who) {
    const float rate = learners_[who].rate(scheduled);
    if (who == 0) done.rate = rate;
    for (std::int64_t turn = 0; turn < learners_[who].turns; ++turn) {
      task_.begin_turn(who);
      optimizers_[who]->set_rate(rate, (now.step - 1) * learners_[who].turns + turn + 1);
      for (std::int64_t i = 0; i < options_.accumulate; ++i) run_batch(who, i, batch++, now);
    }
    optimizers_[who]->look_ahead(now.step, progress);
  }
  done.items = items_;
  done.signal = distributed_.distributed() ? agreed_.signal : now.signal;
  done.seconds = agreed_.seconds;
  return done;
}

// Number i of those whose gradients are added up.
void Steps::run_batch(std::size_t who, std::int64_t i, std::uint64_t batch, const StepInput& now) {
  const bool first = i == 0, last = i + 1 == options_.accumulate;
  const std::uint64_t shape = task_.next_batch() * 4 + (first ? 2 : 0) + (last ? 1 : 0);
  const std::uint64_t key = shape * learners_.size() + who;
  mine_ = {.weights = task_.batch_weights(),
           .items = task_.batch_items(),
           .signal = now.signal,
           .seconds = now.seconds,
           .shape = !last || buckets_[who]->knows(key) ? static_cast<double>(key) : -1};
  distributed_.start_agreeing(mine_, 1.0f / static_cast<float>(options_.accumulate));
  asked_ = true;
  // A captured step finds it in place; where nothing is captured it is on its way while the forward pass runs.
  if (!backend_.on_host()) agree();
  // Dropout of every batch of every step has a seed of its own.
  const auto ranks = static_cast<std::uint64_t>(options_.world->size());
  const auto number = (static_cast<std::uint64_t>(now.step) * batches_per_step() + batch) * ranks +
                      static_cast<std::uint64_t>(options_.world->rank());
  const bool exchange = last && distributed_.sums(), by_host = exchange && !distributed_.in_stream();
  const StepGraph::Stage stages[] = {{[&] { task_.forward(pass_); }},
                                     {[&] { agree(), task_.on_host(); }, true},
                                     {[&] {
                                       learn(who, first, exchange ? &key : nullptr);
                                       if (last && !by_host) update(who);
                                     }},
                                     {[&] { distributed_.finish_sums(*learners_[who].parameters); }, true},
                                     {[&] { optimizers_[who]->update(); }},
                                     {[&] { distributed_.share_updates(*learners_[who].parameters); }, true}};
  const std::size_t begin = task_.needs_host() ? 0 : 2;
  const std::size_t end = !by_host ? 3 : optimizers_[who]->in_parts() ? 6 : 5;
  const auto needed = std::span(stages).subspan(begin, end - begin);
  others_learn(who, false);
  graph_.run(2 * key + (backend_.on_host() || sends_early() ? 0 : 1), options_.seed << 40 ^ number, needed);
  others_learn(who, true);
  items_ += agreed_.items;
}

// On how much the batches weigh: once for each, when it must be known.
void Steps::agree() {
  if (!std::exchange(asked_, false)) return;
  agreed_ = distributed_.agreed();
  task_.weigh(mine_.weights, agreed_.weights);
}

// Statistics of batch norm and gradients must come in the same order for all.
bool Steps::sends_early() const { return !pass_.batch_sums() || agreed_.alike; }

// In the order of the device, with sums where there are any.
void Steps::update(std::size_t who) {
  if (distributed_.sums()) distributed_.finish_sums(*learners_[who].parameters);
  optimizers_[who]->update();
  if (optimizers_[who]->in_parts()) distributed_.share_updates(*learners_[who].parameters);
}

void Steps::keep_parts() {
  for (nn::Parameters* parameters : parameters_) distributed_.keep_part(*parameters);
}
void Steps::make_whole() {
  for (nn::Parameters* parameters : parameters_) distributed_.make_whole(*parameters);
}

std::uint64_t Steps::batches_per_step() const {
  std::int64_t turns = 0;
  for (const OptimizerTurn& learner : learners_) turns += learner.turns;
  return static_cast<std::uint64_t>(turns * options_.accumulate);
}

// What does not learn now gets no gradients; what is frozen anyway stays so.
void Steps::others_learn(std::size_t who, bool on) {
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
void Steps::learn(std::size_t who, bool first, const std::uint64_t* exchanged) {
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
                  [&](const Tensor& gradients) { distributed_.start_sum(gradients); });
  pass_.set_watch(exchanged ? &buckets : nullptr);
  pass_.backward(distributed_.distributed() ? ops::multiply(loss.total, pass_.input(distributed_.share()))
                 : options_.accumulate == 1 ? loss.total
                                            : ops::scale(loss.total, share));
  pass_.set_watch(nullptr);
  parameters.finish_gradients();
  if (!exchanged) return;
  buckets.finish();
  if (first_ever) distributed_.copy_order(buckets.order());
}

void Steps::add_up(std::size_t index, const Tensor& value, float share) {
  const Grad sum{loss_sums_.slice_first(static_cast<std::int64_t>(index), 1), true};
  if (!distributed_.distributed()) return backend_.scale(value, share, sum);
  backend_.scale(ops::multiply(value, pass_.input(distributed_.share())), 1, sum);
}

std::vector<float> Steps::losses() {
  distributed_.collect(loss_sums_);
  return download(loss_sums_);
}

void Steps::exchange_averages() {
  for (std::size_t i = 0; i < optimizers_.size(); ++i)
    if (optimizers_[i]->exchange_average() && optimizers_[i]->in_parts())
      distributed_.share_updates(*learners_[i].parameters);
}

void Steps::save(RunFolder& folder, const RunState& state) {
  for (const auto& optimizer : optimizers_) distributed_.make_whole(*optimizer);
  make_whole();
  folder.write(kState, [&](const FileWriter& write) { produce_state(write, state, learning_); });
  for (const auto& optimizer : optimizers_) optimizer->keep_part();
  keep_parts();
}

}  // namespace attend::train
