// Training steps of the SAGAN of recipes/sagan-cifar10.json, timed, with random weights and images; bench/drawing.py
// runs it beside torch. A step is the discriminator's turns and one of the generator, with both optimisers and the
// average of the generator's weights.
//   drawing [--batch 128] [--turns 2] [--attention 2] [--device cuda] [--dtype bf16] [--reps 30]
// Prints the milliseconds of each repetition; the last line is the peak of activations in bytes.
#include <fmt/core.h>

#include <array>
#include <chrono>

#include "attend/backends.h"
#include "attend/models/sagan.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/step_graph.h"
#include "attend/tensor/storage.h"
#include "attend/train/loop/optimizer.h"
#include "bench/support/bench_main.h"

namespace {

using namespace attend;

struct Options {
  std::int64_t batch = 128, turns = 2, attention = 2;
  int threads = 0, reps = 30;
  std::string dtype = "bf16", device = "cuda";
};

models::SaganConfig config_of(const Options& options) {
  models::SaganConfig config;
  config.generator_widths = {192, 192, 128, 128}, config.discriminator_widths = {128, 128, 128, 128};
  config.attention_stage = options.attention;
  for (int i = 0; i < 10; ++i) config.labels.push_back(std::to_string(i));
  return config;
}

void set_learning(const nn::Parameters& parameters, bool on) {
  for (const nn::Parameters::Entry& entry : parameters.entries())
    if (entry.learned()) entry.parameter->value.storage()->differentiable = on;
}

Tensor filled(Backend& backend, const Shape& shape, DType dtype, std::uint32_t stream) {
  const Tensor x = make_tensor(backend, shape, dtype);
  backend.random(x, {RandomFill::normal, 0, 1, 1, stream});
  return x;
}

Tensor classes_of(Backend& backend, std::int64_t batch) {
  std::vector<std::int32_t> values;
  for (std::int64_t i = 0; i < batch; ++i) values.push_back(static_cast<std::int32_t>(i % 10));
  const Tensor classes = make_tensor(backend, {batch}, DType::i32);
  upload(classes, values);
  return classes;
}

void run(const Options& options) {
  const auto backend = open_backend(options.device, {.threads = options.threads});
  const DType dtype = options.dtype == "bf16" ? DType::bf16 : DType::f32;
  models::Sagan model(config_of(options));
  nn::Parameters judging(*backend, model.discriminator_parameters(), {.dtype = dtype});
  nn::Parameters drawing(*backend, model.generator_parameters(), {.dtype = dtype});
  const std::array<nn::Parameters*, 2> players = {&judging, &drawing};
  std::array<train::Optimizer, 2> optimizers = {
      train::Optimizer(judging, {.beta1 = 0, .beta2 = 0.9f, .eps = 1e-8f}),
      train::Optimizer(drawing, {.beta1 = 0, .beta2 = 0.9f, .eps = 1e-8f, .ema = 0.999f})};
  const Tensor real = filled(*backend, {options.batch, 32, 32, 3}, dtype, 1),
               noise = filled(*backend, {options.batch, 128}, dtype, 2), classes = classes_of(*backend, options.batch);
  Pass pass(*backend, {.recording = true});
  StepGraph graph(pass);
  const auto turn = [&](std::size_t who, int step) {
    optimizers[who].set_rate(2e-4f, step);
    set_learning(*players[1 - who], false);
    graph.run(who, static_cast<std::uint64_t>(step), [&] {
      players[who]->start_gradients();
      const Tensor z = pass.input(noise), y = pass.input(classes);
      pass.backward(who == 0 ? models::discriminator_loss(model, pass.input(real), z, y)
                             : models::generator_loss(model, z, y));
      players[who]->finish_gradients();
      optimizers[who].update();
    });
    set_learning(*players[1 - who], true);
  };
  for (int rep = -4; rep < options.reps; ++rep) {
    backend->synchronize();
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < options.turns; ++i) turn(0, rep + 5);
    turn(1, rep + 5);
    backend->synchronize();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (rep >= 0) fmt::print("{:.4f}\n", took.count());
  }
  fmt::print("activations {}\n", pass.arena().slab_bytes());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Training steps of a SAGAN, timed.");
  app.add_option("--batch", options.batch, "images");
  app.add_option("--turns", options.turns, "of the discriminator, for one of the generator");
  app.add_option("--attention", options.attention, "the generator's stage behind which attention is; 0: none");
  app.add_option("--device", options.device, "cpu, cuda or cuda:N");
  app.add_option("--dtype", options.dtype, "bf16 or f32");
  app.add_option("--threads", options.threads, "CPU threads, 0 for all cores");
  app.add_option("--reps", options.reps, "timed steps");
  return bench_main(app, argc, argv, [&] { run(options); });
}
