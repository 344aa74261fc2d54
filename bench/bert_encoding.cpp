// BERT reading texts of one length, timed; bench/bert_encoding.py runs it beside torch, from the same weights.
//   bert_encoding --model FOLDER [--batch 64] [--length 128] [--device cuda] [--dtype bf16] [--threads N] [--reps 30]
// Prints the sum of the absolute states of the first text, then the milliseconds of each repetition.
#include <fmt/core.h>

#include <chrono>
#include <cmath>

#include "attend/backends.h"
#include "attend/base/json.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/models/bert.h"
#include "attend/nn/parameters.h"
#include "bench/support/bench_main.h"

namespace {

using namespace attend;

struct Options {
  std::int64_t batch = 64, length = 128;
  int threads = 0, reps = 30;
  std::string model, dtype = "bf16", device = "cuda";
};

Tensor ids_of(Backend& backend, const Options& options, std::int64_t vocabulary) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < options.batch * options.length; ++i)
    ids.push_back(static_cast<std::int32_t>(i * i % 1'000'003 * 31 % vocabulary));
  const Tensor tensor = make_tensor(backend, {options.batch, options.length}, DType::i32);
  upload(tensor, ids);
  return tensor;
}

void run(const Options& options) {
  const auto backend = open_backend(options.device, {.threads = options.threads});
  const std::filesystem::path folder = options.model;
  models::Bert model(models::bert_config(read_json(folder / "config.json"), "config.json"),
                     models::Bert::Pooler::without);
  nn::Parameters parameters(
      *backend, model,
      {.dtype = options.dtype == "bf16" ? DType::bf16 : DType::f32, .trained = false, .initialized = false});
  load_hugging_face(TensorFiles::open(folder), parameters, {});
  const models::BertInput input{nn::Sequences{ids_of(*backend, options, model.config().vocabulary)}};
  Pass pass(*backend);
  for (int rep = -5; rep < options.reps; ++rep) {
    backend->synchronize();
    const auto start = std::chrono::steady_clock::now();
    pass.begin({.plan = 0});
    const Tensor states = model.states(input.in(pass));
    backend->synchronize();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (rep >= 0) fmt::print("{:.4f}\n", took.count());
    if (rep > -5) continue;
    double sum = 0;
    for (float x : download(states.slice_first(0, 1))) sum += std::abs(static_cast<double>(x));
    fmt::print("{:.3f}\n", sum);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("BERT reading texts, timed.");
  app.add_option("--model", options.model, "a Hugging Face folder")->required();
  app.add_option("--batch", options.batch, "texts");
  app.add_option("--length", options.length, "tokens in each");
  app.add_option("--device", options.device, "cpu, cuda or cuda:N");
  app.add_option("--dtype", options.dtype, "bf16 or f32");
  app.add_option("--threads", options.threads, "CPU threads, 0 for all cores");
  app.add_option("--reps", options.reps, "how often");
  return bench_main(app, argc, argv, [&] { run(options); });
}
