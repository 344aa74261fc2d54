// Forward and backward of one encoder layer of the original Transformer (width 512, 8 heads, hidden 2048, post-norm,
// relu, no dropout), timed; bench/layer.py runs it beside torch.nn.TransformerEncoderLayer.
//   layer [--batch 8] [--length 128] [--device cpu] [--threads N] [--dtype f32|bf16] [--fast] [--reps 20] [--dump FILE]
// Prints the milliseconds of each repetition. --dump writes weights, input, output and gradients as safetensors.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <exception>
#include <list>

#include "attend/backends.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/models/transformer.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/pass.h"

namespace {

using namespace attend;

struct Options {
  std::int64_t batch = 8, length = 128;
  int threads = 0, reps = 20;
  std::string dtype = "f32", device = "cpu", dump;
  bool fast = false;
};

const models::TransformerConfig kConfig{.dropout = 0};

void dump(const std::string& path, const nn::Parameters& parameters, const std::map<std::string, Tensor>& tensors) {
  checkpoint::SafetensorsWriter writer;
  std::list<std::vector<float>> kept;  // until write() has run
  const auto add = [&](const std::string& name, const Shape& shape, std::vector<float> values) {
    kept.push_back(std::move(values));
    writer.add(name, shape, kept.back());
  };
  for (const auto& entry : parameters.entries()) {
    add(entry.name, entry.parameter->shape, parameters.read(entry));
    add("grad." + entry.name, entry.parameter->shape, download(gradient_of(entry.parameter->value)));
  }
  for (const auto& [name, tensor] : tensors) add(name, tensor.shape(), download(tensor));
  writer.write(path);
}

void run(const Options& options) {
  const auto backend = open_backend(options.device, {.threads = options.threads, .fast_products = options.fast});
  const DType dtype = options.dtype == "bf16" ? DType::bf16 : DType::f32;
  models::EncoderLayer layer(kConfig, 0);
  nn::Parameters parameters(*backend, layer, {.dtype = dtype});
  const Shape shape{options.batch, options.length, kConfig.width};
  const Tensor x = make_tensor(*backend, shape, dtype), dy = make_tensor(*backend, shape, dtype);
  backend->random(x, {RandomFill::normal, 0, 1, 7, 0});
  backend->random(dy, {RandomFill::normal, 0, 1, 7, 1});

  Pass pass(*backend, {.recording = true});
  for (int rep = -3; rep < options.reps; ++rep) {
    const auto start = std::chrono::steady_clock::now();
    pass.begin({.plan = 1});
    parameters.start_gradients();
    const Tensor leaf = pass.variable(x);
    nn::Residual stream(leaf, {});
    layer(stream, {}, {});
    const Tensor y = stream.value();
    pass.backward(y, dy);
    backend->synchronize();
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    if (rep >= 0) fmt::print("{:.3f}\n", elapsed.count());
    if (rep == options.reps - 1 && !options.dump.empty())
      dump(options.dump, parameters, {{"x", x}, {"dy", dy}, {"y", y}, {"dx", gradient_of(leaf)}});
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("One Transformer layer, forward and backward.");
  app.add_option("--batch", options.batch);
  app.add_option("--length", options.length);
  app.add_option("--threads", options.threads);
  app.add_option("--reps", options.reps);
  app.add_option("--dtype", options.dtype)->check(CLI::IsMember({"f32", "bf16"}));
  app.add_option("--device", options.device);
  app.add_option("--dump", options.dump);
  app.add_flag("--fast", options.fast, "f32 products from bf16 pieces");
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "layer: {}\n", error.what());
    return 1;
  }
}
