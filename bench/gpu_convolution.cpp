// The convolutions of ResNet-50 on 224 x 224 images, layer by layer on a GPU in bf16: milliseconds of the forward pass
// and of the gradients of the input and of the weight, and the share of the roof, which is the longer one of the
// operations at the device's matrix rate and of every tensor's bytes once at its copy rate.
//   gpu_convolution [--batch 256] [--only 3x3] [--teraflops 790] [--terabytes 4.3] [--dtype bf16] [--budget 0.05]
//   [--check]
// $ATTEND_CONVOLUTION=NAME forces one way of the kernels, whose names are in attend/cuda/conv/window_convolution.cu,
// and "tiles" the kernels for every GPU. --check compares a layer with the CPU's on a small batch, in f32 sums, and
// prints the relative errors instead. bench/gpu_convolution.py runs it beside torch.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "attend/backends.h"
#include "attend/tensor/images.h"
#include "bench/support/bench_main.h"
#include "bench/support/measure.h"

namespace {

using namespace attend;

struct Options {
  std::int64_t batch = 256;
  double teraflops = 790, terabytes = 4.3, budget = 0.05;
  std::string device = "cuda", only, dtype = "bf16";
  bool check = false;

  DType type() const { return dtype == "bf16" ? DType::bf16 : DType::f32; }
};

struct Layer {
  std::int64_t kernel, stride, in, out, size;  // size: pixels along one side of the input
  int count;                                   // in ResNet-50

  std::int64_t results() const { return (size - 1) / stride + 1; }
  std::string name() const { return fmt::format("{0}x{0}/{1} {2}>{3} @{4}", kernel, stride, in, out, size); }
  bool is_product() const { return kernel == 1 && stride == 1; }
  Convolution window() const { return {.stride = {stride, stride}, .padding = {kernel / 2, kernel / 2}}; }
  double operations(std::int64_t batch) const {
    return 2.0 * static_cast<double>(batch * results() * results() * out * kernel * kernel * in);
  }
  double bytes(std::int64_t batch) const {
    return 2.0 *
           static_cast<double>(batch * (size * size * in + results() * results() * out) + kernel * kernel * in * out);
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
constexpr std::array kNames = {"forward", "input", "weight"};

// One layer's tensors, and its three products as the ops call them.
struct Ready {
  Backend& backend;
  Layer layer;
  Tensor x, weight, dy, y, dx, dweight;

  Ready(Backend& on, const Layer& of, std::int64_t batch, DType dtype)
      : backend(on),
        layer(of),
        x(make_tensor(on, {batch, of.size, of.size, of.in}, dtype)),
        weight(make_tensor(on, {of.out, of.kernel, of.kernel, of.in}, dtype)),
        dy(make_tensor(on, {batch, of.results(), of.results(), of.out}, dtype)),
        y(make_tensor(on, dy.shape(), dtype)),
        dx(make_tensor(on, x.shape(), dtype)),
        dweight(make_tensor(on, weight.shape(), DType::f32)) {}

  void run(std::size_t which) const {
    const Convolution window = layer.window();
    if (!layer.is_product()) {
      if (which == 0) return backend.convolution(window, x, weight, {}, Activation::none, {y});
      if (which == 1) return backend.convolution_input(window, dy, weight, {dx});
      return backend.convolution_weight(window, x, dy, {dweight});
    }
    const Tensor rows = x.reshape({x.rows(), layer.in}), matrix = weight.reshape({layer.out, layer.in}),
                 drows = dy.reshape({dy.rows(), layer.out});
    if (which == 0)
      backend.matmul({.a = rows, .b = matrix, .transpose_b = true}, {y.reshape(drows.shape())});
    else if (which == 1)
      backend.matmul({.a = drows, .b = matrix}, {dx.reshape(rows.shape())});
    else
      backend.matmul({.a = drows, .b = rows, .transpose_a = true}, {dweight.reshape(matrix.shape())});
  }
  const Tensor& result(std::size_t which) const { return which == 0 ? y : which == 1 ? dx : dweight; }

  // Milliseconds: the median of five batches of launches, each as long as the budget.
  double milliseconds(std::size_t which, double budget) const {
    for (int i = 0; i < 2; ++i) run(which);  // the first one picks the way
    const auto batch_of = [&](int launches) {
      backend.synchronize();
      const auto start = BenchClock::now();
      for (int i = 0; i < launches; ++i) run(which);
      backend.synchronize();
      return 1e3 * seconds_since(start) / launches;
    };
    const int launches = std::clamp(static_cast<int>(1e3 * budget / batch_of(3)), 3, 1000);
    std::vector<double> times;
    for (int round = 0; round < 5; ++round) times.push_back(batch_of(launches));
    return median(times);
  }
};

// |ours - the CPU's| / |the CPU's| of the three products, on the same numbers.
void check_layer(Backend& gpu, const Layer& layer, const Options& options) {
  const auto cpu = open_backend("cpu", {});
  Ready ours(gpu, layer, 2, options.type()), exact(*cpu, layer, 2, DType::f32);
  std::uint64_t seed = 0;
  for (const auto& [to, from] : {std::pair{&ours.x, &exact.x}, {&ours.weight, &exact.weight}, {&ours.dy, &exact.dy}}) {
    gpu.random(*to, {RandomFill::normal, 0, 1, ++seed, 1});
    upload(*from, download(*to));
  }
  fmt::print("{:24}", layer.name());
  for (std::size_t which = 0; which < kNames.size(); ++which) {
    const Tensor& result = ours.result(which);
    gpu.fill(result, NAN);
    ours.run(which), exact.run(which);
    const std::vector<float> a = download(result), b = download(exact.result(which));
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      error += (a[i] - b[i]) * static_cast<double>(a[i] - b[i]), norm += b[i] * static_cast<double>(b[i]);
    fmt::print("{:>10} {:.1e}", kNames[which], std::sqrt(error / norm));
  }
  fmt::print("\n");
}

void run(const Options& options) {
  const auto backend = open_backend(options.device, {});
  if (!options.check) {
    fmt::print("{:24}{:>6}", "layer", "times");
    for (const char* name : kNames) fmt::print("{:>12}{:>6}", fmt::format("{} ms", name), "roof");
    fmt::print("\n");
  }
  std::array<double, 3> sums = {}, roofs = {};
  for (const Layer& layer : kLayers) {
    if (layer.name().find(options.only) == std::string::npos) continue;
    if (options.check) {
      check_layer(*backend, layer, options);
      continue;
    }
    const Ready ready(*backend, layer, options.batch, options.type());
    for (const Tensor& each : {ready.x, ready.weight, ready.dy})
      backend->random(each, {RandomFill::normal, 0, 1, 1, 1});
    const double roof = std::max(layer.operations(options.batch) / (1e9 * options.teraflops),
                                 layer.bytes(options.batch) / (1e9 * options.terabytes));
    fmt::print("{:24}{:6}", layer.name(), layer.count);
    for (std::size_t which = 0; which < kNames.size(); ++which) {
      const double time = ready.milliseconds(which, options.budget);
      sums[which] += layer.count * time, roofs[which] += layer.count * roof;
      fmt::print("{:12.4f}{:5.0f}%", time, 100 * roof / time);
    }
    fmt::print("\n");
  }
  if (options.check) return;
  fmt::print("{:30}", "all convolutions");
  for (std::size_t which = 0; which < kNames.size(); ++which)
    fmt::print("{:12.4f}{:5.0f}%", sums[which], 100 * roofs[which] / sums[which]);
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "The convolutions of ResNet-50 on a GPU, layer by layer.\n"
      "  gpu_convolution --check\n"
      "  gpu_convolution --batch 256 --only 3x3\n"
      "  ATTEND_CONVOLUTION=tiles gpu_convolution --only 7x7");
  app.add_option("--batch", options.batch, "images")->check(CLI::Range(1, 65536));
  app.add_option("--only", options.only, "layers whose name contains this");
  app.add_option("--teraflops", options.teraflops, "matrix rate of the device")->check(CLI::PositiveNumber);
  app.add_option("--terabytes", options.terabytes, "copy rate of the device, per second")->check(CLI::PositiveNumber);
  app.add_option("--budget", options.budget, "seconds for each of five samples")->check(CLI::PositiveNumber);
  app.add_option("--device", options.device, "cuda, cuda:1, or cpu");
  app.add_option("--dtype", options.dtype, "bf16 or f32")->check(CLI::IsMember({"bf16", "f32"}));
  app.add_flag("--check", options.check, "compare with the CPU instead");
  return bench_main(app, argc, argv, [&] { run(options); });
}
