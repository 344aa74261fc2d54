// The convolutions of ResNet-50 on a 224 x 224 image, layer by layer, on the CPU: milliseconds, and the share of the
// roof, which is our best matrix product with weights of the same form, measured in the same run.
//   convolution [--forms plain f32 bf16 int8] [--batch 1] [--threads 2] [--gradients] [--cpu-time] [--only 3x3]
// Prints one line for each layer: its name, how often the network has it, and two numbers for each form. The last lines
// add up the network, say the roofs, and how long packing all the weights took. With --gradients, the columns are the
// gradients of the input and of the weight, in f32. bench/convolution.py runs it beside ONNX Runtime.
#include <fmt/core.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/nn/convolution.h"
#include "attend/nn/parameters.h"
#include "bench/support/bench_main.h"
#include "bench/support/cpu_roof.h"
#include "bench/support/measure.h"
#include "bench/support/stopwatch.h"

namespace {

using namespace attend;

struct Options {
  std::vector<std::string> forms = {"plain", "f32", "bf16", "int8"};
  std::int64_t batch = 1;
  int threads = 2;
  double budget = 0.2;
  bool gradients = false, cpu_time = false, cold = false;
  std::string only;

  Stopwatch::Counts counts() const { return cpu_time ? Stopwatch::Counts::cpu : Stopwatch::Counts::wall; }
};

struct Layer {
  std::int64_t kernel, stride, in, out, size;  // size: pixels along one side of the input
  int count;                                   // in ResNet-50

  std::int64_t results() const { return size / stride; }
  double operations(std::int64_t batch) const {
    return 2.0 * static_cast<double>(batch * results() * results() * out * kernel * kernel * in);
  }
  std::string name() const { return fmt::format("{0}x{0}/{1} {2}>{3} @{4}", kernel, stride, in, out, size); }
  nn::Conv2dConfig config() const {
    return {.kernel = {kernel, kernel},
            .window = {.stride = {stride, stride}, .padding = {kernel / 2, kernel / 2}},
            .bias = true};
  }
};

constexpr std::array kLayers = {
    Layer{7, 2, 3, 64, 224, 1},    Layer{1, 1, 64, 64, 56, 1},    Layer{3, 1, 64, 64, 56, 3},
    Layer{1, 1, 64, 256, 56, 4},   Layer{1, 1, 256, 64, 56, 2},   Layer{1, 1, 256, 128, 56, 1},
    Layer{3, 2, 128, 128, 56, 1},  Layer{1, 1, 128, 512, 28, 4},  Layer{1, 2, 256, 512, 56, 1},
    Layer{1, 1, 512, 128, 28, 3},  Layer{3, 1, 128, 128, 28, 3},  Layer{1, 1, 512, 256, 28, 1},
    Layer{3, 2, 256, 256, 28, 1},  Layer{1, 1, 256, 1024, 14, 6}, Layer{1, 2, 512, 1024, 28, 1},
    Layer{1, 1, 1024, 256, 14, 5}, Layer{3, 1, 256, 256, 14, 5},  Layer{1, 1, 1024, 512, 14, 1},
    Layer{3, 2, 512, 512, 14, 1},  Layer{1, 1, 512, 2048, 7, 3},  Layer{1, 2, 1024, 2048, 14, 1},
    Layer{1, 1, 2048, 512, 7, 2},  Layer{3, 1, 512, 512, 7, 2},
};

// A layer in one form, ready to run.
class Ready {
 public:
  Ready(Backend& backend, const Layer& layer, const std::string& form, std::int64_t batch)
      : convolution_(layer.in, layer.out, layer.config()), form_(nn::weight_form_named(form)) {
    nn::Conv2d plain(layer.in, layer.out, layer.config());
    const nn::Parameters first(backend, plain, {.trained = false});
    const bool packed = form_ != nn::WeightForm::plain;
    parameters_ = std::make_unique<nn::Parameters>(
        backend, convolution_, nn::ParametersOptions{.trained = false, .initialized = !packed, .weights = form_});
    const auto start = BenchClock::now();
    for (std::size_t i = 0; i < first.entries().size(); ++i)
      if (packed) parameters_->write(parameters_->entries()[i], first.read(first.entries()[i]));
    packing = seconds_since(start);
    x_ = make_tensor(backend, {batch, layer.size, layer.size, layer.in}, DType::f32);
    backend.random(x_, {RandomFill::normal, 0, 1, 1, 1});
    if (layer.in > 3) backend.activation(x_, Activation::relu, x_);  // as it comes from the layer before
  }

  double milliseconds(const Options& options) const {
    const auto once = [&] {
      Pass pass(x_.backend(), {});
      convolution_(pass.input(x_));
    };
    if (!options.cold) return 1e3 * least_seconds(options.budget, once, options.counts());
    // The caches hold other numbers in between, as other layers' in a network.
    Backend& backend = x_.backend();
    const Tensor others = make_tensor(backend, {std::int64_t{1} << 25}, DType::f32);
    std::vector<double> times;
    for (double all = 0; all < options.budget || times.size() < 3; all += times.back()) {
      backend.fill(others, 1.0f);
      const Stopwatch watch(options.counts());
      once();
      times.push_back(watch.seconds());
    }
    return 1e3 * median(times);
  }

  double packing = 0;  // seconds

 private:
  nn::Conv2d convolution_;
  nn::WeightForm form_;
  std::unique_ptr<nn::Parameters> parameters_;
  Tensor x_;
};

// Milliseconds of the gradients of x and of the weight.
std::array<double, 2> gradients(Backend& backend, const Layer& layer, const Options& options) {
  const Tensor x = make_tensor(backend, {options.batch, layer.size, layer.size, layer.in}, DType::f32);
  const Tensor weight = make_tensor(backend, {layer.out, layer.kernel, layer.kernel, layer.in}, DType::f32);
  const Tensor dy = make_tensor(backend, {options.batch, layer.results(), layer.results(), layer.out}, DType::f32);
  for (const Tensor& each : {x, weight, dy}) backend.random(each, {RandomFill::normal, 0, 1, 1, 1});
  const Tensor dx = make_tensor(backend, x.shape(), DType::f32);
  const Tensor dweight = make_tensor(backend, weight.shape(), DType::f32);
  const Convolution window = layer.config().window;
  const auto input = [&] { backend.convolution_input(window, dy, weight, {dx}); };
  const auto of_weight = [&] { backend.convolution_weight(window, x, dy, {dweight}); };
  return {1e3 * least_seconds(options.budget, input, options.counts()),
          1e3 * least_seconds(options.budget, of_weight, options.counts())};
}

void run(const Options& options) {
  const auto backend = open_backend("cpu", {.threads = options.threads, .batch_invariant = !options.gradients});
  ThreadPool pool(options.threads);
  const std::vector<std::string> columns =
      options.gradients ? std::vector<std::string>{"input", "weight"} : options.forms;
  std::vector<double> roofs, sums(columns.size()), packing(columns.size());
  for (const std::string& column : columns)
    roofs.push_back(
        operations_per_second(column == "bf16" || column == "int8" ? column : "f32", pool, options.counts()));
  fmt::print("{:24}{:>6}", "layer", "times");
  for (const std::string& column : columns) fmt::print("{:>10}{:>7}", column + " ms", "roof");
  fmt::print("\n");
  for (const Layer& layer : kLayers) {
    if (layer.name().find(options.only) == std::string::npos) continue;
    fmt::print("{:24}{:6}", layer.name(), layer.count);
    std::vector<double> times;
    if (options.gradients)
      for (const double time : gradients(*backend, layer, options)) times.push_back(time);
    else
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const Ready ready(*backend, layer, columns[i], options.batch);
        packing[i] += layer.count * ready.packing;
        times.push_back(ready.milliseconds(options));
      }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      sums[i] += layer.count * times[i];
      fmt::print("{:10.3f}{:6.0f}%", times[i], 1e5 * layer.operations(options.batch) / times[i] / roofs[i]);
    }
    fmt::print("\n");
  }
  const auto line = [&](const char* what, const auto& value) {
    fmt::print("{:30}", what);
    for (std::size_t i = 0; i < columns.size(); ++i) fmt::print("{:10.3f}{:7}", value(i), "");
    fmt::print("\n");
  };
  line("all convolutions, ms", [&](std::size_t i) { return sums[i]; });
  line("roof, GFLOP/s", [&](std::size_t i) { return roofs[i] / 1e9; });
  if (!options.gradients) line("packing, ms, once", [&](std::size_t i) { return 1e3 * packing[i]; });
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("The convolutions of ResNet-50 on the CPU, layer by layer.");
  app.add_option("--forms", options.forms, "plain, or packed weights: f32, bf16 or int8")
      ->check(CLI::IsMember({"plain", "f32", "bf16", "int8"}));
  app.add_option("--batch", options.batch, "images");
  app.add_option("--threads", options.threads, "CPU threads, 0 for all cores");
  app.add_option("--budget", options.budget, "seconds for each number");
  app.add_flag("--cpu-time", options.cpu_time, "count this process's time, for one thread on a busy machine");
  app.add_flag("--cold", options.cold, "weights and image come from memory each time; medians instead of the least");
  app.add_option("--only", options.only, "layers whose name contains this");
  app.add_flag("--gradients", options.gradients, "time the gradients of input and weight");
  return bench_main(app, argc, argv, [&] { run(options); });
}
