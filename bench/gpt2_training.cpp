// One training step of GPT-2 (forward, backward, clipping, AdamW; no dropout), timed; bench/gpt2_training.py runs it
// beside torch, from the same weights on the same ids.
//   gpt2_training [--model FOLDER] [--batch 64] [--length 1024] [--window 1024] [--recompute layer] [--device cuda]
//                 [--dtype bf16] [--threads N] [--reps 20]
// Without a folder the weights are random, of the smallest GPT-2's sizes (124 M) with a position for every token.
// Prints the loss of the first step, then the milliseconds of each repetition.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "attend/backends.h"
#include "attend/base/json.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/models/gpt2.h"
#include "attend/nn/parameters.h"
#include "attend/tensor/step_graph.h"
#include "attend/train/loop/optimizer.h"
#include "attend/train/recipes/run_settings.h"
#include "bench/support/bench_main.h"

namespace {

using namespace attend;

struct Options {
  std::int64_t batch = 64, length = 1024, window = -1;
  int threads = 0, reps = 20;
  std::string model, dtype = "bf16", device = "cuda", recompute = "none";
};

// Ids that the script makes by the same formula: spread over the vocabulary, and no two rows alike.
std::vector<std::int32_t> ids_of(const Options& options, std::int64_t vocabulary) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < options.batch * options.length; ++i)
    ids.push_back(static_cast<std::int32_t>(i * i % 1'000'003 * 31 % vocabulary));
  return ids;
}

Tensor place(Backend& backend, const Options& options, const std::vector<std::int32_t>& values) {
  const Tensor tensor = make_tensor(backend, {options.batch, options.length}, DType::i32);
  upload(tensor, values);
  return tensor;
}

void run(const Options& options) {
  const auto backend =
      open_backend(options.device,
                   {.threads = options.threads, .fast_products = options.dtype == "bf16x3", .batch_invariant = false});
  const std::filesystem::path folder = options.model;
  models::GPT2Config config = options.model.empty()
                                  ? models::GPT2Config{.max_length = std::max<std::int64_t>(1024, options.length)}
                                  : models::gpt2_config(read_json(folder / "config.json"), "config.json");
  if (options.window >= 0) config.window.attention_window = {options.window};
  config.dropout = config.embedding_dropout = config.attention_dropout = 0;
  models::GPT2LanguageModel model(config);
  nn::Parameters parameters(*backend, model,
                            {.dtype = options.dtype == "bf16" || options.dtype == "fp8" ? DType::bf16 : DType::f32,
                             .products8 = options.dtype == "fp8"});
  if (!options.model.empty())
    checkpoint::load_hugging_face(checkpoint::TensorFiles::open(folder), parameters, {.prefix = models::kGPT2Prefix});
  train::Optimizer optimizer(parameters, {.beta2 = 0.95f, .eps = 1e-8f, .weight_decay = 0.1f, .clip_norm = 1});

  const std::vector<std::int32_t> ids = ids_of(options, config.vocabulary);
  const Tensor texts = place(*backend, options, ids);
  const Tensor labels = place(*backend, options, models::next_tokens(ids, options.length));
  const Tensor loss_kept = make_tensor(*backend, {2}, DType::f32);
  Pass pass(*backend, {.recording = true, .recompute = train::recompute_named(options.recompute)});
  StepGraph graph(pass);
  const auto one_step = [&] {
    parameters.start_gradients();
    const ops::Loss loss = model.loss(nn::Sequences{texts}.in(pass), pass.input(labels));
    pass.backward(loss.mean);
    backend->scale(loss.total, 1, {loss_kept});
    parameters.finish_gradients();
    optimizer.update();
  };
  for (int rep = -4; rep < options.reps; ++rep) {
    backend->synchronize();
    const auto start = std::chrono::steady_clock::now();
    optimizer.set_rate(1e-4f, rep + 5);
    graph.run(0, static_cast<std::uint64_t>(rep + 5), one_step);
    backend->synchronize();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    if (rep == -4) fmt::print("{:.6f}\n", download(loss_kept)[0]);
    if (rep >= 0) fmt::print("{:.4f}\n", took.count());
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("One training step of GPT-2, timed.");
  app.add_option("--model", options.model, "a Hugging Face folder; without, random weights");
  app.add_option("--batch", options.batch, "texts");
  app.add_option("--length", options.length, "tokens in each");
  app.add_option("--window", options.window, "how many other tokens a token sees; -1: all");
  app.add_option("--device", options.device, "cpu, cuda or cuda:N");
  app.add_option("--dtype", options.dtype, "bf16, f32, bf16x3 or fp8");
  app.add_option("--recompute", options.recompute, "none, feed-forward or layer");
  app.add_option("--threads", options.threads, "CPU threads, 0 for all cores");
  app.add_option("--reps", options.reps, "timed steps");
  return bench_main(app, argc, argv, [&] { run(options); });
}
