// The batch norms of ResNet-50 on 224 x 224 images in training, each with the relu and the residual that end it:
// milliseconds of the forward and the backward pass, the gigabytes that they must move, and the share of the roof,
// which is those at the device's copy rate. Beside them the same by a norm, a sum and a relu that are kernels of their
// own.
//   gpu_norm [--batch 256] [--only residual] [--terabytes 4.3] [--dtype bf16] [--frozen] [--budget 0.05] [--check]
// --check compares a norm with the CPU's on a small batch, in f32, and prints the relative errors instead.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attend/backends.h"
#include "attend/tensor/backend.h"
#include "bench/support/bench_main.h"
#include "bench/support/measure.h"

namespace {

using namespace attend;

struct Options {
  std::int64_t batch = 256;
  double terabytes = 4.3, budget = 0.05;
  std::string device = "cuda", only, dtype = "bf16";
  bool frozen = false, check = false;

  DType type() const { return dtype == "bf16" ? DType::bf16 : DType::f32; }
};

struct Layer {
  std::int64_t channels, size;  // size: places along one side
  bool relu, residual;
  int count;  // in ResNet-50

  std::string name() const {
    return fmt::format("{} @{}{}{}", channels, size, residual ? " residual" : "", relu ? " relu" : "");
  }
  // Tensors read and written, of x's size. The statistics and the sums of the backward pass each are a pass over memory
  // of their own, unless the statistics are constants; with a residual the first pass back reads y and writes its
  // gradient, too.
  int forward(bool frozen) const { return (frozen ? 2 : 3) + (residual ? 1 : 0); }
  int backward(bool frozen) const { return (frozen ? 3 : 5) + (residual ? 2 : 0); }
};

constexpr std::array kLayers = {
    Layer{64, 112, true, false, 1},  Layer{64, 56, true, false, 6},    Layer{256, 56, false, false, 1},
    Layer{256, 56, true, true, 3},   Layer{128, 56, true, false, 1},   Layer{128, 28, true, false, 7},
    Layer{512, 28, false, false, 1}, Layer{512, 28, true, true, 4},    Layer{256, 28, true, false, 1},
    Layer{256, 14, true, false, 11}, Layer{1024, 14, false, false, 1}, Layer{1024, 14, true, true, 6},
    Layer{512, 14, true, false, 1},  Layer{512, 7, true, false, 5},    Layer{2048, 7, false, false, 1},
    Layer{2048, 7, true, true, 3},
};

// One layer's tensors, and its passes as the ops call them.
struct Ready {
  Backend& backend;
  GroupNorm args;
  Tensor y, dy, dx, dsum, apart, mean, rstd, dweight, dbias;

  Ready(Backend& on, const Layer& of, std::int64_t batch, DType dtype, bool frozen) : backend(on) {
    const Shape shape{1, batch * of.size * of.size, of.channels}, channels{of.channels};
    const auto made = [&](const Shape& as, DType type) { return make_tensor(on, as, type); };
    args = {.x = made(shape, dtype), .weight = made(channels, dtype), .bias = made(channels, dtype)};
    args.groups = of.channels, args.frozen = frozen, args.relu = of.relu;
    args.running_mean = made(channels, DType::f32), args.running_variance = made(channels, DType::f32);
    args.momentum = 0.1f;
    if (of.residual) args.residual = made(shape, dtype), dsum = made(shape, dtype);
    y = made(shape, dtype), dy = made(shape, dtype), dx = made(shape, dtype), apart = made(shape, dtype);
    mean = made({1, of.channels}, DType::f32), rstd = made({1, of.channels}, DType::f32);
    dweight = made(channels, DType::f32), dbias = made(channels, DType::f32);
    backend.fill(args.running_mean, 0);
    backend.fill(args.running_variance, 1);
  }
  std::vector<Tensor> inputs() const {
    std::vector<Tensor> all = {args.x, args.weight, args.bias, dy};
    if (args.residual.defined()) all.push_back(args.residual);
    return all;
  }

  void forward() const { backend.group_norm(args, y, mean, rstd); }
  void backward() const {
    backend.group_norm_backward(args, dsum.defined() ? y : Tensor(), dy, mean, rstd, {dx}, dsum, {dweight}, {dbias});
  }
  GroupNorm plain() const {
    GroupNorm norm = args;
    norm.residual = {}, norm.relu = false;
    return norm;
  }
  void forward_apart() const {
    backend.group_norm(plain(), apart, mean, rstd);
    if (args.residual.defined()) backend.add(apart, args.residual, apart);
    if (args.relu) backend.activation(apart, Activation::relu, y);
  }
  void backward_apart() const {
    if (args.relu) backend.activation_backward(dy, y, Activation::relu, {apart}, {});
    const Tensor& behind = args.relu ? apart : dy;
    backend.group_norm_backward(plain(), {}, behind, mean, rstd, {dx}, {}, {dweight}, {dbias});
  }
};

// Milliseconds of a body: the median of five batches of launches, each as long as the budget.
double milliseconds(Backend& backend, double budget, const std::function<void()>& body) {
  for (int i = 0; i < 2; ++i) body();
  const std::unique_ptr<Graph> graph = backend.capture(body);
  const auto batch_of = [&](int launches) {
    backend.synchronize();
    const auto start = BenchClock::now();
    for (int i = 0; i < launches; ++i) graph ? graph->launch() : body();
    backend.synchronize();
    return 1e3 * seconds_since(start) / launches;
  };
  const int launches = std::clamp(static_cast<int>(1e3 * budget / batch_of(3)), 3, 1000);
  std::vector<double> times;
  for (int round = 0; round < 5; ++round) times.push_back(batch_of(launches));
  return median(times);
}

// |ours - the CPU's| / |the CPU's| of all results, on the same numbers.
void check_layer(Backend& gpu, const Layer& layer, const Options& options) {
  const auto cpu = open_backend("cpu", {});
  Ready ours(gpu, layer, 2, options.type(), options.frozen), exact(*cpu, layer, 2, DType::f32, options.frozen);
  const std::vector<Tensor> from = ours.inputs(), to = exact.inputs();
  for (std::size_t i = 0; i < from.size(); ++i) {
    gpu.random(from[i], {RandomFill::normal, 0, 1, i + 1, 1});
    upload(to[i], download(from[i]));
  }
  for (const Tensor& each : {ours.y, ours.dx, ours.dsum})
    if (each.defined()) gpu.fill(each, NAN);
  for (const Ready* each : {&ours, &exact}) each->forward(), each->backward();
  fmt::print("{:24}", layer.name());
  const auto compare = [](const char* name, const Tensor& mine, const Tensor& theirs) {
    if (!mine.defined()) return;
    const std::vector<float> a = download(mine), b = download(theirs);
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
      error += (a[i] - b[i]) * static_cast<double>(a[i] - b[i]), norm += b[i] * static_cast<double>(b[i]);
    fmt::print("  {} {:.1e}", name, std::sqrt(error / norm));
  };
  compare("y", ours.y, exact.y), compare("dx", ours.dx, exact.dx), compare("dweight", ours.dweight, exact.dweight);
  compare("dbias", ours.dbias, exact.dbias), compare("dresidual", ours.dsum, exact.dsum);
  if (!options.frozen) compare("running mean", ours.args.running_mean, exact.args.running_mean);
  fmt::print("\n");
}

// Times of both passes, at once and apart, over as many sets of tensors as no cache holds.
std::array<double, 4> times_of(Backend& backend, const Layer& layer, const Options& options, double size) {
  constexpr double kBeyondCaches = 200e6;
  std::vector<Ready> sets;
  while (sets.empty() || static_cast<double>(sets.size()) * size * layer.forward(true) < kBeyondCaches)
    sets.emplace_back(backend, layer, options.batch, options.type(), options.frozen);
  for (const Ready& set : sets)
    for (const Tensor& each : set.inputs()) backend.random(each, {RandomFill::normal, 0, 1, 1, 1});
  const auto timed = [&](void (Ready::*pass)() const) {
    const auto all = [&] {
      for (const Ready& set : sets) (set.*pass)();
    };
    return milliseconds(backend, options.budget, all) / static_cast<double>(sets.size());
  };
  // y and the statistics of the forward pass are those that backward reads.
  const double forward_apart = timed(&Ready::forward_apart), backward_apart = timed(&Ready::backward_apart);
  return {timed(&Ready::forward), timed(&Ready::backward), forward_apart, backward_apart};
}

void run(const Options& options) {
  const auto backend = open_backend(options.device, {});
  if (!options.check)
    fmt::print("{:24}{:>6}{:>12}{:>7}{:>6}{:>10}{:>13}{:>7}{:>6}{:>10}\n", "norm", "times", "forward ms", "GB", "roof",
               "apart ms", "backward ms", "GB", "roof", "apart ms");
  const auto print = [](std::string_view name, int count, const std::array<double, 4>& times,
                        const std::array<double, 2>& bytes, double rate) {
    fmt::print("{:24}{:6}{:12.4f}{:7.3f}{:5.0f}%{:10.4f}{:13.4f}{:7.3f}{:5.0f}%{:10.4f}\n", name, count, times[0],
               bytes[0] / 1e9, 100 * bytes[0] / rate / times[0], times[2], times[1], bytes[1] / 1e9,
               100 * bytes[1] / rate / times[1], times[3]);
  };
  const double rate = 1e9 * options.terabytes;  // bytes a millisecond
  std::array<double, 4> sums = {};
  std::array<double, 2> moved = {};
  int count = 0;
  for (const Layer& layer : kLayers) {
    if (layer.name().find(options.only) == std::string::npos) continue;
    if (options.check) {
      check_layer(*backend, layer, options);
      continue;
    }
    const double size = static_cast<double>(options.batch * layer.size * layer.size * layer.channels) *
                        static_cast<double>(bytes_of(options.type()));
    const std::array<double, 2> bytes = {size * layer.forward(options.frozen), size * layer.backward(options.frozen)};
    const std::array<double, 4> times = times_of(*backend, layer, options, size);
    print(layer.name(), layer.count, times, bytes, rate);
    for (std::size_t i = 0; i < times.size(); ++i) sums[i] += layer.count * times[i];
    for (std::size_t i = 0; i < bytes.size(); ++i) moved[i] += layer.count * bytes[i];
    count += layer.count;
  }
  if (!options.check) print("all norms", count, sums, moved, rate);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "The batch norms of ResNet-50 on a GPU, with the relu and the residual that end them.\n"
      "  gpu_norm --check\n"
      "  gpu_norm --batch 256 --only residual");
  app.add_option("--batch", options.batch, "images")->check(CLI::Range(1, 65536));
  app.add_option("--only", options.only, "norms whose name contains this");
  app.add_option("--terabytes", options.terabytes, "copy rate of the device, per second")->check(CLI::PositiveNumber);
  app.add_option("--budget", options.budget, "seconds for each of five samples")->check(CLI::PositiveNumber);
  app.add_option("--device", options.device, "cuda, cuda:1, or cpu");
  app.add_option("--dtype", options.dtype, "bf16 or f32")->check(CLI::IsMember({"bf16", "f32"}));
  app.add_flag("--frozen", options.frozen, "the statistics are constants");
  app.add_flag("--check", options.check, "compare with the CPU instead");
  return bench_main(app, argc, argv, [&] { run(options); });
}
