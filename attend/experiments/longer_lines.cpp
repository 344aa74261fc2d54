#include "attend/experiments/longer_lines.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/base/random.h"
#include "attend/models/gpt2.h"
#include "attend/ops/reduce.h"
#include "attend/tensor/backend.h"
#include "attend/view/line_plot.h"

namespace attend::experiments {

namespace {

constexpr std::int32_t kIgnored = -100;

struct Lines {
  std::vector<std::int32_t> ids, labels;  // [rows, length] each
};

// Random letters, then successors. The first letters cannot be known, so they have no label.
Lines make_lines(const LongerOptions& options, std::int64_t rows, std::int64_t length, std::uint32_t stream) {
  Lines lines;
  const auto letters = static_cast<std::uint32_t>(options.letters);
  const auto offset = static_cast<std::size_t>(options.offset);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<std::int32_t> line;
    for (std::size_t t = 0; t <= static_cast<std::size_t>(length); ++t)
      line.push_back(static_cast<std::int32_t>(
          t < offset ? random_word(options.seed, stream, static_cast<std::uint64_t>(row) * offset + t) % letters
                     : (static_cast<std::uint32_t>(line[t - offset]) + 1) % letters));
    for (std::size_t t = 0; t < static_cast<std::size_t>(length); ++t) {
      lines.ids.push_back(line[t]);
      lines.labels.push_back(t + 1 < offset ? kIgnored : line[t + 1]);
    }
  }
  return lines;
}

void test(const models::GPT2& model, Backend& backend, const LongerOptions& options, LongerResult& result) {
  const std::int64_t length = 2 * options.length;
  const Lines lines = make_lines(options, options.tested, length, 0);
  const Tensor ids = make_tensor(backend, {options.tested, length}, DType::i32);
  upload(ids, lines.ids);
  Pass pass(backend);
  const std::vector<std::int32_t> chosen =
      download_ints(ops::max(model.logits(model.states(nn::Sequences{pass.input(ids)})), -1).index);
  const auto places = static_cast<std::size_t>(length), rows = static_cast<std::size_t>(options.tested);
  std::size_t within = 0;
  for (auto t = static_cast<std::size_t>(options.offset) - 1; t < places; ++t) {
    std::size_t right = 0;
    for (std::size_t row = 0; row < rows; ++row)
      right += chosen[row * places + t] == lines.labels[row * places + t] ? 1 : 0;
    const double share = static_cast<double>(right) / static_cast<double>(rows);
    result.right.push_back(share);
    if (t < static_cast<std::size_t>(options.length))
      result.within += share, ++within;
    else
      result.beyond += share;
  }
  result.within /= static_cast<double>(within);
  result.beyond /= static_cast<double>(result.right.size() - within);
}

void check_options(const LongerOptions& options) {
  check(options.length >= 4 && options.length <= 256, "longer: lines of 4 to 256 letters, not {}", options.length);
  check(options.offset >= 1 && options.offset < options.length, "longer: an offset of 1 to {}, not {}",
        options.length - 1, options.offset);
  check(options.letters >= 2 && options.letters <= 1000, "longer: 2 to 1000 letters, not {}", options.letters);
  check(options.rows >= 1 && options.tested >= 1, "longer: a batch and a test need lines");
}

}  // namespace

std::vector<LongerResult> run_longer(const LongerOptions& options, Backend& backend) {
  check_options(options);
  std::vector<LongerResult> results;
  std::int64_t before = 0;
  for (const std::string& positions : options.positions) {
    models::GPT2 model({.vocabulary = options.letters,
                        .max_length = 2 * options.length,
                        .width = 64,
                        .layers = 2,
                        .heads = 2,
                        .hidden = 128,
                        .embedding_dropout = 0,
                        .attention_dropout = 0,
                        .dropout = 0,
                        .init_deviation = 0.1f,
                        .start = 0,
                        .end = 0,
                        .positions = positions});
    nn::Parameters parameters(backend, model, {.seed = options.seed});
    const Shape shape{options.rows, options.length};
    const Tensor ids = make_tensor(backend, shape, DType::i32), labels = make_tensor(backend, shape, DType::i32);
    const LearnTask task{
        .load =
            [&](std::int64_t step) {
              const Lines lines = make_lines(options, options.rows, options.length, static_cast<std::uint32_t>(step));
              upload(ids, lines.ids), upload(labels, lines.labels);
            },
        .loss =
            [&](Pass& pass) {
              return model.loss(model.states(nn::Sequences{pass.input(ids)}), pass.input(labels), {.ignore = kIgnored})
                  .mean;
            }};
    LearnOptions training = options.learn;
    if (const auto report = training.on_step)
      training.on_step = [report, before](std::int64_t step) { report(before + step); };
    LongerResult& result = results.emplace_back(LongerResult{.positions = positions});
    result.parameters = static_cast<std::int64_t>(parameters.count());
    result.curve = learn(parameters, backend, task, training);
    test(model, backend, options, result);
    before += training.steps;
  }
  return results;
}

view::Figure longer_figure(const LongerOptions& options, const std::vector<LongerResult>& results) {
  check(!results.empty(), "longer: there is nothing to draw");
  // Means of several places, so that the names of the axis have room.
  constexpr std::size_t kPoints = 12;
  const std::size_t count = results[0].right.size(), every = std::max<std::size_t>(1, (count + kPoints - 1) / kPoints);
  view::LinePlot plot{.title = "Right letters by place; trained on the first " + std::to_string(options.length),
                      .x_label = "place in the line",
                      .y_label = "share"};
  for (const LongerResult& result : results) plot.series.push_back({result.positions, {}});
  for (std::size_t i = 0; i < count; i += every) {
    const std::size_t end = std::min(count, i + every);
    plot.x.push_back(static_cast<double>(options.offset) + static_cast<double>(i + end - 1) / 2);
    for (std::size_t s = 0; s < results.size(); ++s) {
      double sum = 0;
      for (std::size_t j = i; j < end; ++j) sum += results[s].right[j];
      plot.series[s].y.push_back(sum / static_cast<double>(end - i));
    }
  }
  return view::line_figure(plot);
}

}  // namespace attend::experiments
