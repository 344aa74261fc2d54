// One training step of a Transformer on sentences of 32 tokens (forward, backward, clipping, Adam; dropout, label
// smoothing), timed; bench/translation_training.py runs it beside torch.
//   translation_training [--preset base] [--sentences 800] [--length 32] [--vocabulary 37000] [--device cuda]
//                        [--dtype bf16] [--threads N] [--reps 20]
// Prints the milliseconds of each repetition.
#include <fmt/core.h>

#include <chrono>
#include <random>

#include "attend/backends.h"
#include "attend/models/presets.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/step_graph.h"
#include "attend/train/loop/optimizer.h"
#include "bench/support/bench_main.h"

namespace {

using namespace attend;

struct Options {
  std::int64_t sentences = 800, length = 32, vocabulary = 37000;
  int threads = 0, reps = 20;
  std::string preset = "base", dtype = "bf16", device = "cuda";
};

// Sentences of one length, packed.
nn::Sequences sentences(Backend& backend, const Options& options, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> ids, positions, offsets = {0};
  for (std::int64_t b = 0; b < options.sentences; ++b) {
    for (std::int32_t t = 0; t < options.length; ++t) {
      ids.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(options.vocabulary)));
      positions.push_back(t);
    }
    offsets.push_back(static_cast<std::int32_t>(ids.size()));
  }
  const auto place = [&](const std::vector<std::int32_t>& values) {
    const Tensor tensor = make_tensor(backend, {static_cast<std::int64_t>(values.size())}, DType::i32);
    upload(tensor, values);
    return tensor;
  };
  return {.ids = place(ids), .offsets = place(offsets), .positions = place(positions), .longest = options.length};
}

void run(const Options& options) {
  const auto backend =
      open_backend(options.device,
                   {.threads = options.threads, .fast_products = options.dtype == "bf16x3", .batch_invariant = false});
  const DType dtype = options.dtype == "bf16" ? DType::bf16 : DType::f32;
  models::TransformerConfig config = models::transformer_preset(options.preset);
  config.vocabulary = (options.vocabulary + 7) / 8 * 8;
  models::Transformer model(config);
  nn::Parameters parameters(*backend, model, {.dtype = dtype});
  model.place(*backend, dtype);
  train::Optimizer optimizer(parameters, {.clip_norm = 1});
  const models::PairBatch batch{sentences(*backend, options, 1), sentences(*backend, options, 2),
                                sentences(*backend, options, 3).ids};

  Pass pass(*backend, {.recording = true});
  StepGraph graph(pass);
  const auto one_step = [&] {
    parameters.start_gradients();
    pass.backward(model.loss(batch.in(pass), {.smoothing = 0.1f}).mean);
    parameters.finish_gradients();
    optimizer.update();
  };
  for (int rep = -5; rep < options.reps; ++rep) {
    backend->synchronize();
    const auto start = std::chrono::steady_clock::now();
    optimizer.set_rate(1e-4f, rep + 6);
    graph.run(0, static_cast<std::uint64_t>(rep + 6), one_step);
    backend->synchronize();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (rep >= 0) fmt::print("{:.4f}\n", took.count());
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("One training step of a Transformer, timed.");
  app.add_option("--preset", options.preset, "tiny, small, base or big");
  app.add_option("--sentences", options.sentences, "a batch");
  app.add_option("--length", options.length, "tokens in each, on both sides");
  app.add_option("--vocabulary", options.vocabulary, "tokens");
  app.add_option("--device", options.device, "cpu, cuda or cuda:N");
  app.add_option("--dtype", options.dtype, "bf16, f32 or bf16x3");
  app.add_option("--threads", options.threads, "CPU threads, 0 for all cores");
  app.add_option("--reps", options.reps, "timed steps");
  return bench_main(app, argc, argv, [&] { run(options); });
}
