// What programs that time one model of a folder ask for: which, and how it is run.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "attend/backends.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/nn/parameters.h"

namespace attend {

struct ModelOptions {
  std::string write, model, device = "cpu", dtype = "f32", weights = "stored";
  int threads = 2;
  bool exact_prompts = false;

  void add_to(CLI::App& app) {
    app.add_option("--write", write, "make this folder with random weights instead");
    app.add_option("--model", model, "a model's folder");
    app.add_option("--device", device, "cpu, cuda or cuda:N");
    app.add_option("--dtype", dtype, "what is computed in, f32, bf16 or bf16x3");
    app.add_option("--weights", weights, "f32, bf16, int8, plain or stored");
    app.add_option("--threads", threads, "CPU threads, 0 for all cores");
  }
  std::unique_ptr<Backend> open() const {
    return open_backend(device,
                        {.threads = threads, .fast_products = dtype == "bf16x3", .exact_prompts = exact_prompts});
  }
  nn::ModelFormat format() const {
    return {dtype == "bf16" ? DType::bf16 : DType::f32, nn::weight_form_named(weights)};
  }
};

// The folder --write names, of a model that has learned nothing.
template <class Model, class Config>
void write_random_model(const ModelOptions& options, const Config& config) {
  const auto backend = open_backend("cpu", {.threads = options.threads});  // outlives the model, whose memory it owns
  Model model(config);
  const nn::Parameters parameters(*backend, model, {.seed = 1, .trained = false});
  std::filesystem::create_directories(options.write);
  checkpoint::save_hugging_face(options.write, parameters, model.config());
}

}  // namespace attend
