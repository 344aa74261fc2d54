// Runs decoding steps: plans, captures and replays them, and launches steps ahead of the host.
#include "attend/nn/step_runner.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "attend/base/error.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/backend.h"

namespace attend::nn {

StepRunner::StepRunner(const Pass& beside) : pass_(beside.backend(), {.probe = beside.probe()}), graph_(pass_) {}
StepRunner::~StepRunner() = default;

Tensor StepRunner::words(std::int64_t begin, const Shape& shape, DType dtype) const {
  return Tensor(words_.memory(), {shape, begin, shape.rank() ? shape[-1] : 1, dtype});
}

// True if the shared words have the same layout as in the last step.
bool StepRunner::fits(const Step& step) const {
  return rows_ == static_cast<std::int64_t>(step.tokens.size()) && top_k_ == step.wanted.top_k &&
         draws_ == !step.wanted.draws.empty() && moves_ == !step.moves.empty();
}

// True if the oldest running step computes exactly what is asked now.
bool StepRunner::expected(const Step& step) const {
  if (under_way_ == 0 || prepared_ != memory_ || !fits(step)) return false;
  for (std::size_t row = 0; row < next_.size(); ++row) {
    if (step.positions[row] < 0 || missing_[row] > 0) continue;
    if (step.positions[row] != next_[row] || step.tokens[row] != chosen_[row]) return false;
    if (draws_ && step.wanted.draws[row] != next_draws_[row]) return false;
  }
  return true;
}

// On the host nothing runs concurrently, and a probe must not see steps that may be discarded. Of several positions of
// one text the caller must say which are kept.
bool StepRunner::goes_ahead() const {
  return chooses() && !moves_ && !pass_.backend().on_host() && !pass_.probe() && !(one_text_ && rows_ > 1);
}

StepModel::Scores StepRunner::run(const Step& step, const Body& body) {
  check(step.positions.size() == step.tokens.size(), "decoder: {} tokens at {} positions", step.tokens.size(),
        step.positions.size());
  check(step.wanted.draws.empty() || step.wanted.draws.size() == step.tokens.size(), "decoder: {} draws for {} rows",
        step.wanted.draws.size(), step.tokens.size());
  check(step.moves.empty() || step.moves.size() == step.tokens.size(), "decoder: {} moves of {} rows",
        step.moves.size(), step.tokens.size());
  check(step.limit <= step.capacity, "decoder: {} positions in caches of {}", step.limit, step.capacity);
  for (std::int64_t position : step.positions)
    check(position < step.limit, "decoder: position {} of {}", position, step.limit);
  missing_.resize(step.tokens.size());
  for (const std::int64_t row : step.entered) missing_.at(static_cast<std::size_t>(row)) = under_way_;
  const bool goes_on = expected(step);
  if (!goes_on) {
    under_way_ = 0;  // running steps are discarded
    std::ranges::fill(missing_, 0);
    prepare(step);
    send(step);
    launch(body);
  }
  read_answer();
  for (std::int64_t& next : next_) ++next;
  for (SamplingParams& draw : next_draws_) ++draw.position;
  note_missed(step);
  if (goes_on && !step.entered.empty()) join(step);
  const std::int64_t furthest = next_.empty() ? 0 : *std::ranges::max_element(next_);
  const bool idle = long_empty(step);
  while (goes_ahead() && !idle && under_way_ < kAhead && furthest + under_way_ < step.limit &&
         !rolls_over(step, under_way_))
    launch(body);
  if (draws_) return {values_, log_sums_, ids_, chosen_, drawn_logits_};
  if (top_k_ == 0) return {all_, log_sums_};
  return {values_, log_sums_, ids_};
}

// On the device the positions of empty rows move on like those of others, and attention to what lies there takes its
// time: 64 rows of which one was a text took 0.72 ms a step, and 64 texts 0.43. So now and then no step is launched
// ahead, and the next one sends all positions again.
bool StepRunner::long_empty(const Step& step) {
  constexpr std::int64_t kMost = 48;
  empty_.resize(step.positions.size());
  bool any = false;
  for (std::size_t row = 0; row < empty_.size(); ++row) {
    empty_[row] = step.positions[row] < 0 ? empty_[row] + 1 : 0;
    any = any || empty_[row] > kMost;
  }
  return any;
}

bool StepRunner::rolls_over(const Step& step, std::int64_t steps) const {
  for (const auto& [ring, capacity] : step.rings)
    for (const std::int64_t next : next_)
      for (std::int64_t i = next; i <= next + steps; ++i)
        if (ring.place(i) != ring.place(next) + i - next || ring.place(i) == ring.globals) return true;
  return false;
}

// A row that a step did not include has no result. It continues with the token it was given.
void StepRunner::note_missed(const Step& step) {
  missed_.assign(missing_.size(), false);
  for (std::size_t row = 0; row < missing_.size(); ++row) {
    if (missing_[row] == 0) continue;
    --missing_[row];
    missed_[row] = true;
    chosen_[row] = step.tokens[row];
  }
}

// Rows that entered while steps were running take part in later launches. Only the device knows where the other rows
// are by then, so only the words of the new rows are changed.
void StepRunner::join(const Step& step) {
  std::vector<std::int32_t>& joins = joins_[next_joins_++ % std::size(joins_)];
  std::vector<std::int32_t> values;
  joins.clear();
  const auto put = [&](std::int64_t place, std::int64_t value) {
    joins.push_back(static_cast<std::int32_t>(place));
    values.push_back(static_cast<std::int32_t>(value));
  };
  for (const std::int64_t row : step.entered) {
    const auto i = static_cast<std::size_t>(row);
    const std::int64_t position = step.positions[i];
    if (position < 0) continue;
    next_[i] = position - under_way_;
    put(row, position);
    put(rows_ + row, position + 1);
    put(2 * rows_ + row, row * step.capacity + position);
    for (std::size_t r = 0; r < step.rings.size(); ++r)
      put((3 + static_cast<std::int64_t>(r)) * rows_ + row,
          row * step.rings[r].capacity + step.rings[r].ring.place(position));
    put(tokens_begin() + row, step.tokens[i]);
    if (draws_) {
      next_draws_[i] = step.wanted.draws[i];
      std::int64_t place = moving() + row * kDrawWords;
      for (const std::int32_t word : words_of(next_draws_[i])) put(place++, word);
      put(moving() - rows_ + row, next_draws_[i].position);
      next_draws_[i].position -= static_cast<std::uint32_t>(under_way_);
    }
  }
  const auto count = static_cast<std::int64_t>(joins.size());
  if (count == 0) return;
  joins.insert(joins.end(), values.begin(), values.end());
  const Tensor places = joining_.slice_first(0, count);
  pass_.backend().to_device_async(joining_.raw(), joins.data(), joins.size() * sizeof(std::int32_t));
  // Words are words: moved as floats, of which there is a kernel.
  const Tensor moved(joining_.memory(), {{count, 1}, count, 1, DType::f32});
  pass_.backend().put_rows(moved, places, words(0, {values_begin(), 1}, DType::f32));
}

void StepRunner::prepare(const Step& step) {
  const auto rows = static_cast<std::int64_t>(step.tokens.size());
  if (prepared_ == memory_ && fits(step)) return;
  if (!fits(step) || !words_.defined()) {
    Backend& backend = pass_.backend();
    rows_ = rows, top_k_ = step.wanted.top_k, rings_ = static_cast<std::int64_t>(step.rings.size());
    draws_ = !step.wanted.draws.empty(), moves_ = !step.moves.empty(), one_text_ = step.one_text;
    words_ = make_tensor(backend, {tokens_begin() + (draws_ ? 3 + 2 * top_k_ : 2 + 2 * top_k_) * rows_}, DType::i32);
    ones_ = make_tensor(backend, {moving()}, DType::i32);
    upload(ones_, std::vector<std::int32_t>(static_cast<std::size_t>(moving()), 1));
    joining_ = make_tensor(backend, {2 * values_begin()}, DType::i32);
    for (auto& readback : mailboxes_)
      readback = backend.readback(static_cast<std::size_t>(answer_words()) * sizeof(std::int32_t));
    logits_ = Tensor();
    ++memory_;
  }
  prepared_ = memory_;
  runs_ = 0;
  graph_.clear();
}

void StepRunner::send(const Step& step) {
  // An empty row computes its first position; the text that enters next overwrites what it writes.
  empty_.assign(step.positions.size(), 0);
  next_.clear();
  for (std::int64_t position : step.positions) next_.push_back(std::max<std::int64_t>(position, 0));
  sent_.clear();
  for (std::int64_t position : next_) sent_.push_back(static_cast<std::int32_t>(position));
  for (std::int64_t position : next_) sent_.push_back(static_cast<std::int32_t>(position + 1));
  const auto first_slot = [&](std::size_t row, std::int64_t capacity) {
    return step.one_text ? 0 : static_cast<std::int64_t>(row) * capacity;
  };
  const auto send_slots = [&](const CacheRing& ring, std::int64_t capacity) {
    for (std::size_t row = 0; row < next_.size(); ++row)
      sent_.push_back(static_cast<std::int32_t>(first_slot(row, capacity) + ring.place(next_[row])));
  };
  send_slots({}, step.capacity);
  for (const auto& [ring, capacity] : step.rings) send_slots(ring, capacity);
  next_draws_.assign(step.wanted.draws.begin(), step.wanted.draws.end());
  for (const SamplingParams& draw : next_draws_) sent_.push_back(static_cast<std::int32_t>(draw.position));
  for (const SamplingParams& draw : next_draws_) std::ranges::copy(words_of(draw), std::back_inserter(sent_));
  sent_.insert(sent_.end(), step.moves.begin(), step.moves.end());
  for (std::size_t row = 0; row < next_.size(); ++row) sent_.push_back(step.positions[row] < 0 ? 0 : step.tokens[row]);
  pass_.backend().to_device_async(words_.raw(), sent_.data(), sent_.size() * sizeof(std::int32_t));
}

// The first step on new memory is often the only one, where a beam search moves the rows of its caches at every step.
// So it makes no plan.
void StepRunner::launch(const Body& body) {
  const auto work = [&] {
    const auto input = [&](std::int64_t begin, const Shape& shape) {
      return pass_.input(words(begin, shape, DType::i32));
    };
    CachePlaces places{.lengths = input(rows_, {rows_}), .slots = input(2 * rows_, {rows_})};
    for (std::int64_t i = 0; i < rings_; ++i) places.ring_slots.push_back(input((3 + i) * rows_, {rows_}));
    Newest newest{input(tokens_begin(), {rows_, 1}), input(0, {rows_, 1}), std::move(places)};
    if (moves_) newest.moves = input(moves_begin(), {rows_});
    newest.choose = [this](const Tensor& states, const Tensor& table) { return choose(states, table); };
    leave_answer(body(pass_, newest));
  };
  if (runs_++ > 0 && !pass_.probe()) {
    graph_.run(memory_, 0, work);
  } else {
    pass_.begin({});
    work();
  }
  mailboxes_[launched_++ % kAhead]->send_for(words(answer_begin(), {1}, DType::i32).raw());
  ++under_way_;
}

void StepRunner::leave_list(const Tensor& logits, std::int64_t values, std::int64_t ids) {
  pass_.backend().top_k(logits, suppressed_, words(values, {rows_, top_k_}, DType::f32),
                        words(ids, {rows_, top_k_}, DType::i32), words(sums_begin(), {rows_}, DType::f32));
}

bool StepRunner::choose(const Tensor& states, const Tensor& table) {
  if (draws_ || top_k_ != 1 || pass_.probe()) return false;
  check(states.rows() == rows_, "decoder: states {} for {} rows", states.shape(), rows_);
  return pass_.backend().likeliest({.states = states,
                                    .table = table,
                                    .suppressed = suppressed_,
                                    .values = words(values_begin(), {rows_, 1}, DType::f32),
                                    .ids = words(ids_begin(), {rows_, 1}, DType::i32),
                                    .log_sums = words(sums_begin(), {rows_}, DType::f32)});
}

void StepRunner::leave_answer(const Tensor& logits) {
  if (logits.defined()) leave_scores(logits);
  if (goes_ahead()) {  // the next step is one position further
    const Shape places{moving()};
    pass_.backend().strided_copy({ones_, 0, {1}}, {words(0, places, DType::i32), 0, {1}}, places, true);
  }
}

void StepRunner::leave_scores(const Tensor& logits) {
  Backend& backend = pass_.backend();
  check(logits.rows() == rows_, "decoder: logits {} for {} rows", logits.shape(), rows_);
  if (draws_) {
    const Shape each{rows_};
    backend.sample_tokens({.x = logits,
                           .suppressed = suppressed_,
                           .draws = words(moving(), {rows_, kDrawWords}, DType::i32),
                           .positions = words(moving() - rows_, each, DType::i32),
                           .tokens = words(tokens_begin(), each, DType::i32),
                           .logits = words(values_begin(), each, DType::f32),
                           .log_sums = words(sums_begin(), each, DType::f32)});
    if (top_k_ > 0) leave_list(logits, sums_begin() + rows_, sums_begin() + (1 + top_k_) * rows_);
  } else if (top_k_ > 0) {
    leave_list(logits, values_begin(), ids_begin());
  } else {
    if (!logits_.defined()) logits_ = make_tensor(backend, logits.shape(), logits.dtype());
    backend.scale(logits, 1, {logits_});
    backend.scale(ops::log_sum_exp(logits), 1, {words(values_begin(), {rows_}, DType::f32)});
  }
}

void StepRunner::read_answer() {
  const auto count = static_cast<std::size_t>(rows_ * top_k_), rows = static_cast<std::size_t>(rows_);
  const auto* received = static_cast<const std::int32_t*>(mailboxes_[(launched_ - under_way_) % kAhead]->wait());
  --under_way_;
  const auto floats = [](const std::int32_t* words, std::size_t number, std::vector<float>& into) {
    into.clear();
    for (std::size_t i = 0; i < number; ++i) into.push_back(std::bit_cast<float>(words[i]));
  };
  if (draws_) {
    chosen_.assign(received, received + rows);
    floats(received + rows, rows, drawn_logits_);
    floats(received + 2 * rows, rows, log_sums_);
    floats(received + 3 * rows, count, values_);
    ids_.assign(received + 3 * rows + count, received + 3 * rows + 2 * count);
    return;
  }
  const std::int32_t* values = received + (top_k_ == 1 ? rows : 0);
  const std::int32_t* ids = top_k_ == 1 ? received : values + count + rows;
  floats(values, count, values_);
  floats(values + count, rows, log_sums_);
  ids_.assign(ids, ids + count);
  if (top_k_ == 1) chosen_ = ids_;
  if (top_k_ == 0) all_ = download(logits_);
}

}  // namespace attend::nn
