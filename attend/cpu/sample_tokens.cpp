// A token of each row of logits, drawn.
#include <algorithm>
#include <span>

#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/log_sums.h"
#include "attend/cpu/parallel.h"
#include "attend/tensor/sampling_params.h"

namespace attend {

namespace {

// What may be drawn, in f32: the others, and what is no number, are infinitely unlikely.
template <class T>
void copy_allowed(const T* x, const std::uint8_t* suppressed, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = cpu::or_lowest(x[i]);
  for (std::int64_t i = 0; suppressed && i < n; ++i)
    if (suppressed[i]) y[i] = cpu::kLowest;
}

}  // namespace

// Rows in pieces, so that a single one of a large vocabulary has work for many threads: what may be drawn, its largest
// and the sum of all; the weights; and then a draw for each row.
void CpuBackend::sample_tokens(const SampledTokens& args) {
  constexpr std::int64_t kWide = 4096;
  const std::int64_t rows = args.x.rows(), width = args.x.width(), size = rows * width;
  const std::int64_t parts = std::max<std::int64_t>(1, (width + kWide - 1) / kWide), tasks = rows * parts;
  const std::int64_t floats = 2 * size + 2 * tasks;
  float* const logits =
      recording_ ? reinterpret_cast<float*>(recording_->memory(static_cast<std::size_t>(4 * floats))) : scratch(floats);
  float *const weights = logits + size, *const part_sums = weights + size, *const part_most = part_sums + tasks;
  struct Piece {
    std::int64_t row, begin, size;
  };
  const auto piece_of = [=](std::int64_t task) {
    const std::int64_t row = task / parts, begin = task % parts * kWide;
    return Piece{row, row * width + begin, std::min(kWide, width - begin)};
  };
  const auto most_of = [=](std::int64_t row) {
    return *std::max_element(part_most + row * parts, part_most + (row + 1) * parts);
  };
  const auto rule_of = [=, draws = args.draws.data<std::int32_t>(), positions = args.positions.data<std::int32_t>()](
                           std::int64_t row) { return draw_of_words(draws + row * kDrawWords, positions[row]); };
  const auto look = [=, x = args.x.raw(), dtype = args.x.dtype(),
                     suppressed = args.suppressed.defined() ? args.suppressed.data<std::uint8_t>() : nullptr,
                     sum_row = rows_.cross_entropy[cpu::kind_of(args.x)], largest = rows_.largest](std::int64_t task) {
    const Piece piece = piece_of(task);
    const void* at = cpu::at(x, piece.begin, dtype);
    const std::uint8_t* out = suppressed ? suppressed + (piece.begin - piece.row * width) : nullptr;
    if (dtype == DType::bf16)
      copy_allowed(static_cast<const Bf16*>(at), out, logits + piece.begin, piece.size);
    else
      copy_allowed(static_cast<const float*>(at), out, logits + piece.begin, piece.size);
    part_most[task] = largest(logits + piece.begin, piece.size);
    part_sums[task] = cpu::log_sum(sum_row, at, piece.size);
  };
  const auto weigh = [=, kernel = rows_.weigh](std::int64_t task) {
    const Piece piece = piece_of(task);
    kernel(logits + piece.begin, weights + piece.begin, most_of(piece.row), 1.0f / rule_of(piece.row).temperature,
           piece.size);
  };
  const auto draw = [=, tokens = args.tokens.data<std::int32_t>(), chosen = args.logits.data<float>(),
                     log_sums = args.log_sums.data<float>()](std::int64_t row) {
    const auto of_row = [=](const float* values) {
      return std::span(values + row * width, static_cast<std::size_t>(width));
    };
    const SamplingParams rule = rule_of(row);
    tokens[row] = drawn_token(of_row(logits), of_row(weights), rule, number_of(rule));
    chosen[row] = logits[row * width + tokens[row]];
    log_sums[row] = cpu::merged_log_sums({part_sums + row * parts, static_cast<std::size_t>(parts)});
  };
  run(cpu::ThreeSteps{tasks, look, weigh, rows, draw});
}

}  // namespace attend
