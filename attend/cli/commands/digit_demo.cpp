// A small Transformer learns to reverse (or sort) strings of digits, from nothing, in front of you; then
// it shows which digit it looked at for each one it wrote.
#include "attend/cli/commands/digit_demo.h"

#include <fmt/core.h>

#include <algorithm>
#include <ostream>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/base/interrupt.h"
#include "attend/base/progress.h"
#include "attend/models/transformer.h"
#include "attend/nn/parameters.h"
#include "attend/ops/reduce.h"
#include "attend/tensor/step_graph.h"
#include "attend/train/loop/optimizer.h"
#include "attend/train/loop/schedule.h"
#include "attend/view/collector.h"
#include "attend/view/terminal_heat_map.h"

namespace attend::cli {

namespace {

using experiments::DigitBatch;
using experiments::DigitBatchOptions;
using experiments::kDigitVocabulary;
using experiments::kEndId;
using experiments::kIgnoreId;
using experiments::kStartId;
using experiments::make_digit_batch;
using experiments::solve;
using experiments::to_digits;
using experiments::to_ids;

constexpr DigitBatchOptions kBatch{.rows = 64, .min_length = 3, .max_length = 10};
const models::TransformerConfig kConfig{.vocabulary = kDigitVocabulary,
                                        .width = 64,
                                        .heads = 4,
                                        .hidden = 256,
                                        .encoder_layers = 2,
                                        .decoder_layers = 2,
                                        .max_length = 16,
                                        .dropout = 0,
                                        .pre_norm = true};

// The model, its weights and the tensors that feed it.
struct Student {
  Student(Backend& device, std::uint64_t seed)
      : backend(device), model(kConfig), parameters(device, model, {.seed = seed}) {
    model.place(device, DType::f32);
  }

  Backend& backend;
  models::Transformer model;
  nn::Parameters parameters;
};

// Trains until done or interrupted; returns the last loss seen.
float learn(Student& student, const DigitDemoOptions& options, const Streams& streams) {
  Backend& backend = student.backend;
  const std::int64_t rows = kBatch.rows, source = kBatch.max_length, target = source + 1;
  const auto ints = [&](const Shape& shape) { return make_tensor(backend, shape, DType::i32); };
  const models::PairBatch outside{{ints({rows, source}), ints({rows})}, {ints({rows, target})}, ints({rows, target})};
  const Tensor loss = make_tensor(backend, {1}, DType::f32);
  train::Optimizer optimizer(student.parameters, {.clip_norm = 1});
  const train::Cosine rate{.warmup = 50, .steps = options.steps, .peak = 3e-3f};
  Pass pass(backend, {.recording = true});
  StepGraph graph(pass);
  const auto one_step = [&] {
    student.parameters.start_gradients();
    const Tensor mean = student.model.loss(outside.in(pass), {.ignore = kIgnoreId}).mean;
    backend.scale(mean, 1, {loss});
    pass.backward(mean);
    student.parameters.finish_gradients();
    optimizer.update();
  };

  InterruptGuard interrupt;
  Progress progress(streams.err, {.label = "training", .total = options.steps, .terminal = streams.err_terminal});
  std::int64_t step = 1;
  DigitBatchOptions batches = kBatch;
  batches.task = options.task, batches.seed = options.seed;
  for (; step <= options.steps && !interrupt.requested(); ++step) {
    const DigitBatch batch = make_digit_batch(batches, static_cast<std::uint32_t>(step));
    upload(outside.source.ids, batch.source), upload(outside.source.lengths, batch.source_lengths);
    upload(outside.target.ids, batch.target_in), upload(outside.labels, batch.target_out);
    optimizer.set_rate(rate(step), step);
    graph.run(0, static_cast<std::uint64_t>(step), one_step);
    progress.update(step, progress.wants_text() ? fmt::format("loss {:.3f}", download(loss)[0]) : std::string());
  }
  const float last = download(loss)[0];
  progress.finish(fmt::format("loss {:.3f}", last));
  return last;
}

struct Answer {
  std::string digits;
  view::AttentionWeights attention;  // of the last decoder layer, for every digit written and the end mark
};

// Greedy decoding, one digit at a time, over the whole prefix each time.
Answer answer(Student& student, const std::string& digits) {
  const std::vector<std::int32_t> source = to_ids(digits);
  std::vector<std::int32_t> written = {kStartId};
  view::Collector collector;
  Pass pass(student.backend, {.probe = &collector});
  const auto ids = [&](const std::vector<std::int32_t>& values) {
    Tensor tensor = make_tensor(student.backend, {1, static_cast<std::int64_t>(values.size())}, DType::i32);
    upload(tensor, values);
    return nn::Sequences{pass.input(tensor)};
  };
  const nn::Sequences read = ids(source);
  while (static_cast<std::int64_t>(written.size()) < kConfig.max_length) {
    const Tensor logits = student.model.logits(student.model.decode(read, ids(written)));
    const std::int32_t next = download_ints(ops::max(logits, -1).index).back();
    if (next == kEndId) break;
    written.push_back(next);
  }
  written.erase(written.begin());
  return {to_digits(written), collector.at(student.model.alignment_label())};
}

// How many of a fresh batch come out right.
std::string report(Student& student, const DigitDemoOptions& options) {
  DigitBatchOptions fresh = kBatch;
  fresh.task = options.task, fresh.seed = options.seed + 1, fresh.rows = 50;
  const DigitBatch batch = make_digit_batch(fresh, 0);
  int right = 0;
  for (std::int64_t row = 0; row < fresh.rows; ++row) {
    const auto begin = batch.source.begin() + row * fresh.max_length;
    const std::string digits = to_digits({begin, begin + batch.source_lengths[static_cast<std::size_t>(row)]});
    right += answer(student, digits).digits == solve(options.task, digits);
  }
  return fmt::format("{} of {} strings it had never seen come out right", right, fresh.rows);
}

std::vector<std::string> spelled(const std::string& text) {
  std::vector<std::string> letters;
  for (char letter : text) letters.emplace_back(1, letter);
  return letters;
}

void show(const Answer& answer, const std::string& digits, const Streams& streams) {
  std::vector<std::string> rows = spelled(answer.digits);
  if (static_cast<std::int64_t>(rows.size()) < answer.attention.shape[2]) rows.emplace_back("end");
  const std::vector<float> weights = answer.attention.matrix(0);
  streams.out << view::draw({rows, spelled(digits), weights}, streams.out_terminal);
}

}  // namespace

void run_digit_demo(const DigitDemoOptions& options, const Streams& streams) {
  check(options.steps >= 1, "demo: --steps must be at least 1, not {}", options.steps);
  check(!options.digits.empty() && static_cast<std::int64_t>(options.digits.size()) <= kBatch.max_length &&
            std::all_of(options.digits.begin(), options.digits.end(), [](char c) { return c >= '0' && c <= '9'; }),
        "demo: --digits wants 1 to {} digits, not '{}'", kBatch.max_length, options.digits);
  const char* verb = options.task == DigitTask::reverse ? "reverse" : "sort";
  const auto backend = open_backend(options.device, {.threads = options.threads});
  Student student(*backend, options.seed);
  streams.out << fmt::format("A Transformer with {} weights learns to {} digits on {}.\n", student.parameters.count(),
                             verb, backend->name())
              << std::flush;
  learn(student, options, streams);

  const Answer seen = answer(student, options.digits);
  streams.out
      << report(student, options) << ".\n\n"
      << fmt::format(
             "{} -> {}\n\nWhere it looked (across: what it read; down: what it wrote; all heads of the last layer):\n",
             options.digits, seen.digits);
  show(seen, options.digits, streams);
}

}  // namespace attend::cli
