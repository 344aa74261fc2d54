// DETR-R50 on images of 800 x 1066, forward passes and training steps with matcher and losses, timed, with random
// weights; bench/detection.py runs it beside transformers.
//   detection [--batch 8] [--train] [--device cuda] [--dtype bf16] [--reps 20]
// Prints the milliseconds of each repetition; the last line is the peak of activations in bytes.
#include <fmt/core.h>

#include <chrono>

#include "attend/backends.h"
#include "attend/models/detr_loss.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/step_graph.h"
#include "attend/train/loop/optimizer.h"
#include "bench/support/bench_main.h"

namespace {

using namespace attend;

struct Options {
  std::int64_t batch = 1;
  int threads = 0, reps = 20;
  bool train = false;
  std::string dtype = "bf16", device = "cuda";
};

constexpr std::int64_t kObjects = 7;  // of each image
constexpr Extent2 kSize = {800, 1066};

models::DetrConfig config() {
  models::DetrConfig config;
  for (int i = 0; i < 91; ++i) config.labels.push_back("LABEL_" + std::to_string(i));
  return config;
}

std::vector<models::DetrObjects> objects(std::int64_t images) {
  std::vector<models::DetrObjects> all(static_cast<std::size_t>(images));
  int number = 0;
  for (models::DetrObjects& some : all)
    for (int i = 0; i < kObjects; ++i, ++number) {
      some.labels.push_back(number * 37 % 91);
      for (const int step : {11, 17, 23, 29})
        some.boxes.push_back(0.2f + 0.4f * static_cast<float>(number * step % 97) / 97);
    }
  return all;
}

void run(const Options& options) {
  const auto backend = open_backend(options.device, {.threads = options.threads});
  const DType dtype = options.dtype == "bf16" ? DType::bf16 : DType::f32;
  models::Detr model(config());
  nn::Parameters parameters(*backend, model.parameters(), {.dtype = dtype, .trained = options.train});
  if (!options.train) model.fold();
  const Tensor x = make_tensor(*backend, {options.batch, kSize.h, kSize.w, 3}, dtype);
  backend->random(x, {RandomFill::normal, 0, 1, 1, 1});
  const std::vector<Extent2> sizes(static_cast<std::size_t>(options.batch), kSize);
  const models::PositionLayout places = model.places(*backend, dtype, kSize, sizes);
  models::DetrCriterion criterion(*backend, model.config(), 1, options.batch);
  const std::vector<models::DetrObjects> truth = objects(options.batch);
  std::unique_ptr<train::Optimizer> optimizer;
  if (options.train)
    optimizer = std::make_unique<train::Optimizer>(parameters, train::OptimizerOptions{.clip_norm = 0.1f});

  Pass pass(*backend, {.recording = options.train});
  StepGraph graph(pass);
  models::DetrOutput output;
  const StepGraph::Stage stages[] = {{[&] {
                                       if (options.train) parameters.start_gradients();
                                       output = model.detect(pass.input(x), places);
                                       criterion.keep(output);
                                       if (!options.train) output = {};
                                     }},
                                     {[&] { criterion.match(truth); }, true},
                                     {[&] {
                                       pass.backward(criterion.loss(std::exchange(output, {})).total);
                                       parameters.finish_gradients();
                                       optimizer->update();
                                     }}};
  for (int rep = -4; rep < options.reps; ++rep) {
    backend->synchronize();
    const auto start = std::chrono::steady_clock::now();
    if (optimizer) optimizer->set_rate(1e-4f, rep + 5);
    graph.run(0, static_cast<std::uint64_t>(rep + 5), std::span(stages, options.train ? 3 : 1));
    backend->synchronize();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (rep >= 0) fmt::print("{:.4f}\n", took.count());
  }
  fmt::print("activations {}\n", pass.arena().slab_bytes());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("DETR-R50, timed.");
  app.add_option("--batch", options.batch, "images");
  app.add_flag("--train", options.train, "a training step instead of a forward pass");
  app.add_option("--device", options.device, "cpu, cuda or cuda:N");
  app.add_option("--dtype", options.dtype, "bf16 or f32");
  app.add_option("--threads", options.threads, "CPU threads, 0 for all cores");
  app.add_option("--reps", options.reps, "timed steps");
  return bench_main(app, argc, argv, [&] { run(options); });
}
