// The encoder classifier of bench/support in C++: its losses and the time of a training step, or the time of calls of
// small ops. bench/layers.py runs it beside the same in Python and in torch.
//   layers --weights FILE [--words 1000 --length 32 --width 64 --heads 4 --layers 2 --batch 32] [--device cpu]
//          [--bf16] [--threads N] [--losses 20] [--blocks 5] [--steps 10]
//   layers --calls 100000
// Prints a JSON object: "losses" of the first steps and "ms", the time of a step in each block of steps; or "calls",
// microseconds by op.
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "bench/support/bench_main.h"
#include "bench/support/encoder_classifier.h"
#include "bench/support/measure.h"

namespace {

struct Options {
  Sizes size{.words = 1000, .length = 32, .width = 64, .heads = 4, .depth = 2};
  std::int64_t batch = 32;
  int threads = 0, losses = 20, blocks = 5, steps = 10, calls = 0;
  std::string device = "cpu", weights;
  bool bf16 = false;
};

struct Batch {
  std::vector<std::int32_t> ids, labels;  // [B, T], [B]
};

// As batches() of bench/layers.py.
std::vector<Batch> make_batches(const Options& options) {
  std::vector<Batch> batches(static_cast<std::size_t>(options.losses));
  std::uint32_t state = 1;
  for (Batch& batch : batches)
    for (std::int64_t row = 0; row < options.batch; ++row) {
      for (std::int64_t t = 0; t < options.size.length; ++t) {
        state = state * 1664525u + 1013904223u;
        batch.ids.push_back(static_cast<std::int32_t>((state >> 8) % static_cast<std::uint32_t>(options.size.words)));
      }
      batch.labels.push_back(batch.ids.back() & 1);
    }
  return batches;
}

void run_training(const Options& options, const attend::Device& device) {
  Classifier model{{options.size}};
  nn::Parameters parameters(device, model, 1, options.bf16 ? attend::DType::bf16 : attend::DType::f32);
  parameters.load(options.weights);
  nn::Optimizer optimizer(parameters, {.rate = 1e-3f, .clip_norm = 1});
  nn::Tape tape(device);
  const std::vector<Batch> batches = make_batches(options);
  std::size_t next = 0;
  const auto step = [&] {
    const Batch& batch = batches[next++ % batches.size()];
    const nn::Tensor ids(device, {options.batch, options.size.length}, batch.ids);
    return train(model, optimizer, tape.input(ids), nn::Tensor(device, {options.batch}, batch.labels));
  };

  std::vector<float> losses;
  for (int i = 0; i < options.losses; ++i) losses.push_back(step().item());
  std::vector<double> ms;
  for (int block = 0; block < options.blocks; ++block) {
    const auto start = attend::BenchClock::now();
    for (int i = 1; i < options.steps; ++i) step();
    step().item();  // waits for the device
    ms.push_back(1e3 * attend::seconds_since(start) / options.steps);
  }
  fmt::print("{{\"losses\": [{:.9g}], \"ms\": [{:.4f}]}}\n", fmt::join(losses, ", "), fmt::join(ms, ", "));
}

// The least of five runs, so that what else the machine does is left out.
template <class Call>
double microseconds(int count, const Call& call) {
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 5; ++run) {
    const auto start = attend::BenchClock::now();
    for (int i = 0; i < count; ++i) call();
    least = std::min(least, 1e6 * attend::seconds_since(start) / count);
  }
  return least;
}

void run_calls(const Options& options, const attend::Device& device) {
  const nn::Tensor x = nn::Tensor::full(device, {4, 8}, 1), weight = nn::Tensor::full(device, {8, 8}, 1);
  const std::map<std::string, double> calls = {
      {"add", microseconds(options.calls, [&] { nn::add(x, x); })},
      {"softmax", microseconds(options.calls, [&] { nn::softmax(x); })},
      {"linear", microseconds(options.calls, [&] { nn::linear(x, weight); })},
  };
  std::vector<std::string> entries;
  for (const auto& [name, time] : calls) entries.push_back(fmt::format("\"{}\": {:.4f}", name, time));
  fmt::print("{{\"calls\": {{{}}}}}\n", fmt::join(entries, ", "));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("A Transformer encoder classifier of attend/nn.h, timed.");
  app.add_option("--words", options.size.words);
  app.add_option("--length", options.size.length);
  app.add_option("--width", options.size.width);
  app.add_option("--heads", options.size.heads);
  app.add_option("--layers", options.size.depth);
  app.add_option("--batch", options.batch);
  app.add_option("--threads", options.threads);
  app.add_option("--losses", options.losses);
  app.add_option("--blocks", options.blocks);
  app.add_option("--steps", options.steps);
  app.add_option("--calls", options.calls);
  app.add_option("--device", options.device);
  app.add_option("--weights", options.weights);
  app.add_flag("--bf16", options.bf16);
  return attend::bench_main(app, argc, argv, [&] {
    const attend::Device device(options.device, {.threads = options.threads, .batch_invariant = false});
    options.calls > 0 ? run_calls(options, device) : run_training(options, device);
  });
}
