// GPT-2 writing greedily after prompts, timed; bench/gpt2_generation.py runs it beside Hugging Face's generate, from
// the same weights and prompts.
//   gpt2_generation --model FOLDER [--batch 1] [--prompt 16] [--tokens 128] [--device cuda] [--dtype bf16] [--reps 5]
// Prints the tokens a second of each repetition, then the ids that the first text got.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "attend/backends.h"
#include "attend/base/json.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/decode/sample.h"
#include "attend/models/gpt2_decoder.h"
#include "attend/nn/parameters.h"
#include "bench/support/bench_main.h"

namespace {

using namespace attend;

struct Options {
  std::int64_t batch = 1, prompt = 16, tokens = 128;
  int threads = 0, reps = 5;
  std::string model, dtype = "bf16", device = "cuda";
};

// The formula of the script, too.
Tensor prompts(Backend& backend, const Options& options, std::int64_t vocabulary) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < options.batch * options.prompt; ++i)
    ids.push_back(static_cast<std::int32_t>((i + 1) * (i + 1) % 1'000'003 * 31 % vocabulary));
  const Tensor tensor = make_tensor(backend, {options.batch, options.prompt}, DType::i32);
  upload(tensor, ids);
  return tensor;
}

void run(const Options& options) {
  const auto backend = open_backend(options.device, {.threads = options.threads});
  const std::filesystem::path folder = options.model;
  models::GPT2LanguageModel model(models::gpt2_config(read_json(folder / "config.json"), "config.json"));
  nn::Parameters parameters(
      *backend, model,
      {.dtype = options.dtype == "bf16" ? DType::bf16 : DType::f32, .trained = false, .initialized = false});
  load_hugging_face(TensorFiles::open(folder), parameters, {.prefix = models::kGPT2Prefix});
  const Tensor texts = prompts(*backend, options, model.body().config().vocabulary);

  std::vector<std::vector<decode::Hypothesis>> written;
  for (int rep = -1; rep < options.reps; ++rep) {
    backend->synchronize();
    const auto start = std::chrono::steady_clock::now();
    Pass pass(*backend);
    models::GPT2Decoder decoder(model.body(), pass, texts, 1, options.tokens);
    written = decode::sample(
        decoder,
        {.top_k = 1, .end = -1, .max_lengths = std::vector(static_cast<std::size_t>(options.batch), options.tokens)});
    backend->synchronize();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (rep >= 0) fmt::print("{:.1f}\n", static_cast<double>(options.batch * options.tokens) / took.count());
  }
  fmt::print("{}\n", fmt::join(written[0][0].tokens, " "));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("GPT-2 writing greedily, timed.");
  app.add_option("--model", options.model, "a Hugging Face folder")->required();
  app.add_option("--batch", options.batch, "texts at once");
  app.add_option("--prompt", options.prompt, "tokens of each prompt");
  app.add_option("--tokens", options.tokens, "written after each");
  app.add_option("--device", options.device, "cpu, cuda or cuda:N");
  app.add_option("--dtype", options.dtype, "bf16 or f32");
  app.add_option("--threads", options.threads, "CPU threads, 0 for all cores");
  app.add_option("--reps", options.reps, "how often");
  return bench_main(app, argc, argv, [&] { run(options); });
}
