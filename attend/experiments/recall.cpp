#include "attend/experiments/recall.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "attend/base/error.h"
#include "attend/base/random.h"
#include "attend/nn/layers.h"
#include "attend/ops/layout.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/pass.h"
#include "attend/train/loop/optimizer.h"
#include "attend/view/line_plot.h"

namespace attend::experiments {

namespace {

// Tokens: the names, then the words, then the question.
//   ids [B, T] -> embed [B, T, C] -> layer [B, T, C] -> the last position [B, C] -> names [B, N]
class Listener {
 public:
  Listener(LayerKind kind, const RecallOptions& options)
      : scale_(std::sqrt(static_cast<float>(options.width))),
        embedding_(options.names + options.words + 1, options.width),
        layer_(make_layer(kind, {.width = options.width})),
        output_(options.width, options.names) {}
  Tensor operator()(const Tensor& ids) const {
    const Tensor states = (*layer_)(embedding_(ids, {.scale = scale_}));
    const Tensor last = ops::slice(states, 1, ids.dim(1) - 1, 1);  // [B, 1, C]
    return output_(last.reshape({ids.dim(0), last.width()}));
  }
  std::vector<nn::Parameters::Entry> parameters() {
    std::vector<nn::Parameters::Entry> entries = layer_->parameters();
    nn::for_each_parameter(*this, [&](const std::string& name, nn::Parameter& parameter) {
      entries.push_back({name, &parameter});
    });
    return entries;
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("embedding", embedding_), v("output", output_);
  }

 private:
  float scale_;
  nn::Embedding embedding_;
  std::unique_ptr<SequenceLayer> layer_;
  nn::Linear output_;
};

struct Texts {
  Tensor ids, names;  // i32 [B, T], [B]
  Texts(Backend& backend, std::int64_t batch, std::int64_t length)
      : ids(make_tensor(backend, {batch, length}, DType::i32)), names(make_tensor(backend, {batch}, DType::i32)) {}

  // Text number `first` and those behind it; every number is another text.
  std::vector<std::int32_t> draw(const RecallOptions& options, std::uint64_t first) const {
    const std::int64_t batch = ids.dim(0), length = ids.dim(1);
    std::vector<std::int32_t> tokens, named;
    for (std::int64_t b = 0; b < batch; ++b) {
      const std::uint64_t text = first + static_cast<std::uint64_t>(b);
      const auto below = [&](std::int64_t place, std::int64_t limit) {
        const Random4 words = philox(options.seed, static_cast<std::uint32_t>(place), text);
        return static_cast<std::int32_t>(words.word[0] % static_cast<std::uint32_t>(limit));
      };
      named.push_back(below(0, options.names));
      tokens.push_back(named.back());
      for (std::int64_t t = 1; t + 1 < length; ++t)
        tokens.push_back(static_cast<std::int32_t>(options.names) + below(t, options.words));
      tokens.push_back(static_cast<std::int32_t>(options.names + options.words));
    }
    upload(ids, tokens), upload(names, named);
    return named;
  }
};

double accuracy_of(LayerKind kind, std::int64_t distance, const RecallOptions& options, Backend& backend) {
  Listener model(kind, options);
  nn::Parameters parameters(backend, model.parameters(), {.seed = options.seed});
  train::Optimizer optimizer(parameters, {.clip_norm = 1});
  const Texts texts(backend, options.batch, distance + 1);
  {
    Pass pass(backend, {.recording = true});
    for (std::int64_t step = 1; step <= options.steps; ++step) {
      texts.draw(options, static_cast<std::uint64_t>(step * options.batch));
      const double left = 1 - static_cast<double>(step - 1) / static_cast<double>(options.steps);
      optimizer.set_rate(static_cast<float>(options.learning_rate * left), step);
      pass.begin({.plan = 1, .seed = static_cast<std::uint64_t>(step)});
      parameters.start_gradients();
      pass.backward(ops::cross_entropy(model(pass.input(texts.ids)), pass.input(texts.names)).mean);
      parameters.finish_gradients();
      optimizer.update();
    }
  }
  constexpr std::uint64_t kUnseen = std::uint64_t{1} << 40;
  constexpr std::int64_t kAsked = 512;
  std::int64_t asked = 0, right = 0;
  Pass pass(backend);
  for (; asked < kAsked; asked += options.batch) {
    const std::vector<std::int32_t> names = texts.draw(options, kUnseen + static_cast<std::uint64_t>(asked));
    pass.begin({});
    const std::vector<float> scores = download(model(pass.input(texts.ids)));  // [B, N]
    const auto count = static_cast<std::size_t>(options.names);
    for (std::size_t b = 0; b < names.size(); ++b) {
      const auto own = std::span(scores).subspan(b * count, count);
      right += std::ranges::max_element(own) - own.begin() == names[b];
    }
  }
  return static_cast<double>(right) / static_cast<double>(asked);
}

void check_options(const RecallOptions& options) {
  check(!options.distances.empty(), "recall: no distance is given");
  for (const std::int64_t distance : options.distances)
    check(distance >= 1 && distance <= 4096, "recall: a distance of 1 to 4096 tokens, not {}", distance);
  check(options.names >= 2 && options.names <= 1024, "recall: 2 to 1024 names, not {}", options.names);
  check(options.words >= 1 && options.words <= 1024, "recall: 1 to 1024 other words, not {}", options.words);
  check(options.batch >= 1 && options.batch <= 1024, "recall: 1 to 1024 texts in a batch, not {}", options.batch);
  check(options.steps >= 0 && options.steps <= 100'000, "recall: 0 to 100000 steps, not {}", options.steps);
  check(options.learning_rate > 0 && options.learning_rate < 1, "recall: a learning rate between 0 and 1, not {}",
        options.learning_rate);
}

}  // namespace

std::vector<RecallRow> run_recall(const RecallOptions& options, Backend& backend,
                                  const std::function<void(const RecallRow&)>& done) {
  check_options(options);
  std::vector<RecallRow> rows;
  for (const std::int64_t distance : options.distances) {
    RecallRow& row = rows.emplace_back(RecallRow{distance, {}});
    for (const LayerKind kind : kRecallLayers) row.accuracy.push_back(accuracy_of(kind, distance, options, backend));
    if (done) done(row);
  }
  return rows;
}

view::Figure recall_figure(const std::vector<RecallRow>& rows, double chance) {
  view::LinePlot plot{.title = "Names remembered, of unseen texts",
                      .x_label = "tokens between the name and the question",
                      .y_label = "%",
                      .log_x = true};
  for (const LayerKind kind : kRecallLayers) plot.series.push_back({std::string(name_of(kind)), {}});
  plot.series.push_back({"chance", {}});
  for (const RecallRow& row : rows) {
    plot.x.push_back(static_cast<double>(row.distance));
    for (std::size_t i = 0; i < row.accuracy.size(); ++i) plot.series[i].y.push_back(100 * row.accuracy[i]);
    plot.series.back().y.push_back(100 * chance);
  }
  return view::line_figure(plot);
}

}  // namespace attend::experiments
