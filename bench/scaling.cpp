// How time and memory grow with length, batch and width: one attention op, and one encoder layer (Vaswani et al. 2017,
// post-norm, relu, hidden 4·C, heads of 64, no dropout), each with two kinds of attention:
//   fused     ops::attention, which never stores the T x T weights (Dao et al. 2022)
//   explicit  the lectures' softmax(q kᵀ) v, step by step: every weight of every head lies in memory
// bench/scaling.py draws what this prints.
//   scaling [--device cpu] [--dtype f32] [--threads N] [--longest 16384] [--memory GIB] [--seconds S] [--reps 3]
//           [--cpu-time]
// A line of JSON a point. bytes: what the arena holds at most, that is activations and gradients, not weights. A series
// ends where the next point would take more than --memory or, going by the last one, more than --seconds. ms is the
// fastest of --reps: whatever else runs on the machine only ever adds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attend/backends.h"
#include "attend/base/json.h"
#include "attend/nn/layers.h"
#include "attend/nn/parameters.h"
#include "attend/ops/attention.h"
#include "attend/ops/layout.h"
#include "attend/ops/linear.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/step_graph.h"
#include "bench/support/bench_main.h"
#include "bench/support/stopwatch.h"

namespace {

using namespace attend;

struct Options {
  int threads = 0, reps = 3;
  std::int64_t longest = 16384;
  double memory = 6, seconds = 20;
  std::string device = "cpu", dtype = "f32";
  bool cpu_time = false;

  Stopwatch stopwatch() const { return Stopwatch(cpu_time ? Stopwatch::Counts::cpu : Stopwatch::Counts::wall); }
};

constexpr std::int64_t kHead = 64;

struct Point {
  const char *part, *path, *pass;  // attention or layer, fused or explicit, forward or both
  std::int64_t batch, length, width;

  bool fused() const { return std::string_view(path) == "fused"; }
  bool backward() const { return std::string_view(pass) == "both"; }
  std::int64_t heads() const { return width / kHead; }
  double tokens() const { return static_cast<double>(batch * length); }
  // Multiplications and additions of the forward pass.
  double flops() const {
    const auto c = static_cast<double>(width), t = static_cast<double>(length);
    const double scores = 4 * t * c, products = std::string_view(part) == "layer" ? 24 * c * c : 0;
    return tokens() * (scores + products) * (backward() ? 3 : 1);
  }
  // Less than it takes: enough to stop before it is too much.
  double least_bytes(DType dtype) const {
    const double weights = fused() ? 0 : tokens() * static_cast<double>(length * heads()) * (backward() ? 3 : 2);
    return (weights + tokens() * static_cast<double>(4 * width)) * static_cast<double>(bytes_of(dtype));
  }
};

// softmax(q kᵀ / √D) v as it stands in the lectures: [B·H, T, T] scores, and as many weights.
Tensor explicit_attention(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t heads) {
  const std::int64_t batch = q.dim(0), length = q.dim(1);
  const auto parts = [&](const Tensor& x) { return ops::split_heads(x, heads).reshape({-1, length, kHead}); };
  const float scale = 1.0f / std::sqrt(static_cast<float>(kHead));
  const Tensor scores = ops::matmul(parts(q), parts(k), {.transpose_b = true, .alpha = scale});
  const Tensor read = ops::matmul(ops::softmax(scores), parts(v));
  return ops::merge_heads(read.reshape({batch, heads, length, kHead}));
}

Tensor attention(const Point& point, const Tensor& projected) {
  const auto [q, k, v] = ops::split<3>(projected);
  if (point.fused()) return ops::attention(q, k, v, {.heads = point.heads()});
  return explicit_attention(ops::contiguous(q), ops::contiguous(k), ops::contiguous(v), point.heads());
}

struct Layer {
  nn::Linear input, output, expand, contract;
  nn::LayerNorm norm1, norm2;
  explicit Layer(std::int64_t width)
      : input(width, 3 * width),
        output(width, width),
        expand(width, 4 * width),
        contract(4 * width, width),
        norm1(width),
        norm2(width) {}
  Tensor operator()(const Point& point, const Tensor& x) const {
    const Tensor y = norm1.add(x, output(attention(point, input(x))), 0).norm;
    return norm2.add(y, contract(expand(y, Activation::relu)), 0).norm;
  }
  template <class Visitor>
  void visit(Visitor&& v) {
    v("input", input), v("output", output), v("expand", expand), v("contract", contract);
    v("norm1", norm1), v("norm2", norm2);
  }
};

struct Measured {
  double ms;
  std::size_t bytes;
};

Measured measure(Backend& backend, const Point& point, DType dtype, const Options& options) {
  const bool layer = std::string_view(point.part) == "layer";
  Layer module(point.width);
  nn::Parameters parameters(backend, module, {.dtype = dtype, .trained = point.backward()});
  const Tensor x = make_tensor(backend, {point.batch, point.length, layer ? point.width : 3 * point.width}, dtype);
  const Tensor dy = make_tensor(backend, {point.batch, point.length, point.width}, dtype);
  backend.random(x, {RandomFill::normal, 0, 1, 7, 0});
  backend.random(dy, {RandomFill::normal, 0, 1, 7, 1});

  Pass pass(backend, {.recording = point.backward()});
  StepGraph graph(pass);
  std::vector<double> times;
  // Two to plan and to tune products, and on a GPU one to capture.
  const int warm = backend.on_host() ? 2 : 4;
  for (int rep = -warm; rep < options.reps; ++rep) {
    backend.synchronize();
    const Stopwatch stopwatch = options.stopwatch();
    graph.run(1, 0, [&] {
      if (point.backward()) parameters.start_gradients();
      const Tensor leaf = point.backward() ? pass.variable(x) : pass.input(x);
      const Tensor y = layer ? module(point, leaf) : attention(point, leaf);
      if (point.backward()) pass.backward(y, dy);
    });
    backend.synchronize();
    if (rep >= 0) times.push_back(1e3 * stopwatch.seconds());
  }
  return {*std::min_element(times.begin(), times.end()), pass.arena().slab_bytes()};
}

// Points of one line of a plot, smallest first.
void run_series(Backend& backend, const Options& options, const char* against, const std::vector<Point>& points) {
  const DType dtype = options.dtype == "bf16" ? DType::bf16 : DType::f32;
  double rate = 0;  // flop/s of the last point
  for (const Point& point : points) {
    const double bytes = point.least_bytes(dtype), seconds = rate > 0 ? point.flops() / rate : 0;
    const int runs = options.reps + (backend.on_host() ? 2 : 4);
    if (bytes > options.memory * 0x1p30 || seconds * runs > options.seconds) {
      fmt::print(stderr, "{} {} {}: stops before {} x {} x {}\n", point.part, point.path, point.pass, point.batch,
                 point.length, point.width);
      return;
    }
    const Measured measured = measure(backend, point, dtype, options);
    rate = point.flops() / (measured.ms / 1e3);
    fmt::print("{}\n", Json({{"against", against},
                             {"part", point.part},
                             {"path", point.path},
                             {"pass", point.pass},
                             {"batch", point.batch},
                             {"length", point.length},
                             {"width", point.width},
                             {"ms", std::round(measured.ms * 1e4) / 1e4},
                             {"bytes", measured.bytes},
                             {"device", options.device},
                             {"dtype", options.dtype}})
                           .dump());
    std::fflush(stdout);
  }
}

void run(const Options& options) {
  const auto backend = open_backend(options.device, {.threads = options.threads});
  for (const char* part : {"attention", "layer"})
    for (const char* path : {"fused", "explicit"})
      for (const char* pass : {"forward", "both"}) {
        std::vector<Point> lengths, batches, widths;
        for (std::int64_t length = 128; length <= options.longest; length *= 2)
          lengths.push_back({part, path, pass, 1, length, 512});
        for (std::int64_t batch = 1; batch <= 64; batch *= 2) batches.push_back({part, path, pass, batch, 512, 512});
        for (std::int64_t width = 128; width <= 2048; width *= 2) widths.push_back({part, path, pass, 4, 512, width});
        run_series(*backend, options, "length", lengths);
        run_series(*backend, options, "batch", batches);
        run_series(*backend, options, "width", widths);
      }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Attention and a Transformer layer against length, batch and width.");
  app.add_option("--device", options.device, "cpu, cuda or cuda:N");
  app.add_option("--dtype", options.dtype, "f32 or bf16")->check(CLI::IsMember({"f32", "bf16"}));
  app.add_option("--threads", options.threads, "CPU threads, 0 for all cores");
  app.add_option("--longest", options.longest, "the longest sequence");
  app.add_option("--memory", options.memory, "GiB that a point may take");
  app.add_option("--seconds", options.seconds, "that a point may take");
  app.add_flag("--cpu-time", options.cpu_time, "time of this process on its cores (use --threads 1)");
  app.add_option("--reps", options.reps, "how often each is timed; the fastest counts");
  return bench_main(app, argc, argv, [&] { run(options); });
}
