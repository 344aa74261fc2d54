#include "attend/nn/step_runner.h"

#include <algorithm>
#include <cstring>

#include "attend/base/error.h"
#include "attend/ops/softmax.h"

namespace attend::nn {

StepRunner::StepRunner(const Pass& beside) : pass_(beside.backend(), {.probe = beside.probe()}), graph_(pass_) {}

Tensor StepRunner::words(std::int64_t begin, const Shape& shape, DType dtype) const {
  return Tensor(words_.memory(), {shape, begin, shape.rank() ? shape[-1] : 1, dtype});
}

bool StepRunner::running_ahead(const Step& step) const {
  return ahead_ == step.position && prepared_ == memory_ && best_ == step.best && std::ranges::equal(step.tokens, ids_);
}

StepModel::Scores StepRunner::run(const Step& step, const Body& body) {
  check(step.position < step.capacity, "decoder: position {} of {}", step.position, step.capacity);
  if (!running_ahead(step)) {
    prepare(step);
    write_places(step.position, step.capacity);
    std::ranges::copy(step.tokens, sent_.begin() + 3 * rows_);
    pass_.backend().to_device_async(words_.raw(), sent_.data(), sent_.size() * sizeof(std::int32_t));
    launch(body);
  }
  ahead_ = -1;
  read_answer();
  // On the host nothing runs beside us, and a probe would see a step that may never be.
  if (best_ == 1 && step.position + 1 < step.capacity && !pass_.backend().on_host() && !pass_.probe()) {
    write_places(step.position + 1, step.capacity);
    pass_.backend().to_device_async(words_.raw(), sent_.data(),
                                    static_cast<std::size_t>(3 * rows_) * sizeof(std::int32_t));
    launch(body);
    ahead_ = step.position + 1;
  }
  if (best_ == 0) return {all_, log_sums_};
  return {values_, log_sums_, ids_};
}

void StepRunner::prepare(const Step& step) {
  const auto rows = static_cast<std::int64_t>(step.tokens.size());
  if (prepared_ == memory_ && best_ == step.best && rows_ == rows) return;
  if (rows_ != rows || best_ != step.best || !words_.defined()) {
    rows_ = rows, best_ = step.best;
    words_ = make_tensor(pass_.backend(), {(5 + 2 * best_) * rows_}, DType::i32);
    sent_.assign(static_cast<std::size_t>(4 * rows_), 0);
    logits_ = Tensor();
    ++memory_;
  }
  prepared_ = memory_;
  runs_ = 0;
}

void StepRunner::write_places(std::int64_t position, std::int64_t capacity) {
  const auto rows = static_cast<std::size_t>(rows_);
  for (std::size_t row = 0; row < rows; ++row) {
    sent_[row] = static_cast<std::int32_t>(position);
    sent_[rows + row] = static_cast<std::int32_t>(position + 1);
    sent_[2 * rows + row] = static_cast<std::int32_t>(static_cast<std::int64_t>(row) * capacity + position);
  }
}

// The first step on new memory is often the only one (a beam search moves rows at every step), so it makes no plan.
void StepRunner::launch(const Body& body) {
  const auto work = [&] {
    const auto input = [&](std::int64_t begin, const Shape& shape) {
      return pass_.input(words(begin, shape, DType::i32));
    };
    leave_answer(body(pass_, {input(3 * rows_, {rows_, 1}),
                              input(0, {rows_, 1}),
                              {.lengths = input(rows_, {rows_}), .slots = input(2 * rows_, {rows_})}}));
  };
  if (runs_++ > 0 && !pass_.probe()) return graph_.run(memory_, 0, work);
  pass_.begin({});
  work();
}

void StepRunner::leave_answer(const Tensor& logits) {
  Backend& backend = pass_.backend();
  check(logits.rows() == rows_, "decoder: logits {} for {} rows", logits.shape(), rows_);
  if (best_ > 0) {
    backend.best(logits, words(4 * rows_, {rows_, best_}, DType::f32), words(ids_begin(), {rows_, best_}, DType::i32),
                 words((4 + best_) * rows_, {rows_}, DType::f32));
    return;
  }
  if (!logits_.defined()) logits_ = make_tensor(backend, logits.shape(), logits.dtype());
  backend.scale(logits, 1, {logits_});
  backend.scale(ops::log_sum_exp(logits), 1, {words(4 * rows_, {rows_}, DType::f32)});
}

void StepRunner::read_answer() {
  const auto count = static_cast<std::size_t>(rows_ * best_), rows = static_cast<std::size_t>(rows_);
  const std::int64_t begin = best_ == 1 ? 3 * rows_ : 4 * rows_;
  received_.resize(best_ == 1 ? 3 * rows : 2 * count + rows);
  pass_.backend().to_host(received_.data(), words(begin, {1}, DType::i32).raw(),
                          received_.size() * sizeof(std::int32_t));
  const std::int32_t* values = received_.data() + (best_ == 1 ? rows : 0);
  const std::int32_t* ids = best_ == 1 ? received_.data() : values + count + rows;
  values_.resize(count), log_sums_.resize(rows);
  std::memcpy(values_.data(), values, count * sizeof(float));
  std::memcpy(log_sums_.data(), values + count, rows * sizeof(float));
  ids_.assign(ids, ids + count);
  if (best_ == 0) all_ = download(logits_);
}

}  // namespace attend::nn
