// Forward passes and training steps of models that look at images, timed, with random weights; bench/vision.py runs
// it beside torch and ONNX Runtime.
//   vision --model vit-b16|swin-t|resnet-50 [--batch 256] [--train] [--device cuda] [--dtype bf16] [--weights int8]
// Prints the milliseconds of each repetition; the last line is the peak of activations in bytes.
#include <fmt/core.h>

#include <map>

#include "attend/backends.h"
#include "attend/catalogue/catalogue.h"
#include "attend/nn/parameters.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/step_graph.h"
#include "attend/train/loop/optimizer.h"
#include "bench/support/bench_main.h"
#include "bench/support/stopwatch.h"

namespace {

using namespace attend;

struct Options {
  std::int64_t batch = 1, size = 224;
  int threads = 0, reps = 20;
  bool train = false, batch_dependent = false, cpu_time = false;
  std::string model = "vit-b16", dtype = "bf16", device = "cuda", weights = "plain", recompute = "none";
};

// What the config.json of the well-known folders say; everything else is their default.
Json config_of(const std::string& name) {
  static const std::map<std::string, Json> kConfigs = {
      {"vit-b16", {{"model_type", "vit"}}},
      {"swin-t", {{"model_type", "swin"}}},
      {"resnet-50", {{"model_type", "resnet"}}},
      {"mvit-t", {{"model_type", "mvit"}}},
  };
  const auto found = kConfigs.find(name);
  check(found != kConfigs.end(), "--model: '{}' is none of vit-b16, swin-t, resnet-50 and mvit-t", name);
  Json config = found->second;
  Json labels = Json::object();
  for (int i = 0; i < 1000; ++i) labels[std::to_string(i)] = "LABEL_" + std::to_string(i);
  config["id2label"] = std::move(labels);
  return config;
}

// Numbers that the script makes by the same formula.
Tensor images(Backend& backend, const Options& options, DType dtype) {
  const Tensor x = make_tensor(backend, {options.batch, options.size, options.size, 3}, dtype);
  backend.random(x, {RandomFill::normal, 0, 1, 1, 1});
  return x;
}

Tensor labels(Backend& backend, const Options& options) {
  std::vector<std::int32_t> values;
  for (std::int64_t i = 0; i < options.batch; ++i) values.push_back(static_cast<std::int32_t>(i * 37 % 1000));
  const Tensor tensor = make_tensor(backend, {options.batch}, DType::i32);
  upload(tensor, values);
  return tensor;
}

// With weights packed for the CPU: those of a plain model, through its entries.
void copy_weights(const nn::Parameters& from, nn::Parameters& to) {
  for (const nn::Parameters::Entry& entry : to.entries())
    for (const nn::Parameters::Entry& other : from.entries())
      if (other.name == entry.name) to.write(entry, from.read(other));
}

void run(const Options& options) {
  const auto backend = open_backend(
      options.device, {.threads = options.threads, .batch_invariant = !options.train && !options.batch_dependent});
  const DType dtype = options.dtype == "bf16" ? DType::bf16 : DType::f32;
  const auto model = catalogue::make_image_model(config_of(options.model), options.model);
  std::unique_ptr<nn::Parameters> parameters;
  const auto plain = catalogue::make_image_model(config_of(options.model), options.model);
  if (options.weights != "plain") {
    const nn::Parameters first(*backend, plain->parameters(), {.dtype = dtype, .trained = false});
    parameters = std::make_unique<nn::Parameters>(
        *backend, model->parameters(),
        nn::ParametersOptions{
            .dtype = dtype, .trained = false, .initialized = false, .weights = nn::weight_form_named(options.weights)});
    copy_weights(first, *parameters);
  } else {
    parameters = std::make_unique<nn::Parameters>(*backend, model->parameters(),
                                                  nn::ParametersOptions{.dtype = dtype, .trained = options.train});
  }
  if (!options.train) model->fold();
  const Tensor x = images(*backend, options, dtype), y = labels(*backend, options);
  const Tensor kept = make_tensor(*backend, {options.batch, 1000}, dtype);
  std::unique_ptr<train::Optimizer> optimizer;
  if (options.train) optimizer = std::make_unique<train::Optimizer>(*parameters, train::OptimizerOptions{});
  Pass pass(*backend, {.recording = options.train});
  StepGraph graph(pass);
  const auto one_step = [&] {
    if (!options.train) return backend->scale(model->logits(pass.input(x)), 1, {kept});
    parameters->start_gradients();
    pass.backward(ops::cross_entropy(model->logits(pass.input(x)), pass.input(y)).mean);
    parameters->finish_gradients();
    optimizer->update();
  };
  for (int rep = -4; rep < options.reps; ++rep) {
    backend->synchronize();
    const Stopwatch watch(options.cpu_time ? Stopwatch::Counts::cpu : Stopwatch::Counts::wall);
    if (optimizer) optimizer->set_rate(1e-4f, rep + 5);
    graph.run(0, static_cast<std::uint64_t>(rep + 5), one_step);
    backend->synchronize();
    if (rep >= 0) fmt::print("{:.4f}\n", 1e3 * watch.seconds());
  }
  fmt::print("activations {}\n", pass.arena().slab_bytes());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Models that look at images, timed.");
  app.add_option("--model", options.model, "vit-b16, swin-t, resnet-50 or mvit-t");
  app.add_option("--batch", options.batch, "images");
  app.add_flag("--train", options.train, "a training step instead of a forward pass");
  app.add_option("--device", options.device, "cpu, cuda or cuda:N");
  app.add_option("--dtype", options.dtype, "bf16 or f32");
  app.add_option("--weights", options.weights, "plain, or packed for the CPU: f32, bf16 or int8");
  app.add_option("--threads", options.threads, "CPU threads, 0 for all cores");
  app.add_flag("--batch-dependent", options.batch_dependent, "CPU: kernels may be chosen by the batch");
  app.add_option("--reps", options.reps, "timed steps");
  app.add_flag("--cpu-time", options.cpu_time, "count this process's time, for one thread on a busy machine");
  return bench_main(app, argc, argv, [&] { run(options); });
}
