// GPT-2 run on a prompt and then token by token, timed; bench/cpu_gpt2.py runs it beside llama.cpp and torch.
//   cpu_gpt2 --write DIR                      random weights of GPT-2's smallest size (124 M), as a model's
//   folder cpu_gpt2 --model DIR [--weights int8] [--threads 2] [--prompt 512] [--tokens 128] [--reps 3] [--logits
//   FILE]
// Prints a JSON object: seconds a repetition for the prompt and for the tokens after it, the tokens (greedy), how long
// loading took, megabytes of weights and the largest memory of the process. --logits: what the prompt leads to, f32
// [V].
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "attend/backends.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/random.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/models/gpt2_decoder.h"
#include "bench/support/bench_main.h"

namespace {

using namespace attend;

struct Options {
  std::string write, model, weights = "stored", logits;
  std::int64_t prompt = 512, tokens = 128, rows = 1;
  int threads = 2, reps = 3;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void write_model(const std::string& folder, int threads) {
  const auto backend = open_backend("cpu", {.threads = threads});
  models::GPT2LanguageModel model(models::GPT2Config{});
  const nn::Parameters parameters(*backend, model, {.seed = 1, .trained = false});
  std::filesystem::create_directories(folder);
  save_hugging_face(folder, parameters, model.config());
}

void run(const Options& options) {
  const auto backend = open_backend("cpu", {.threads = options.threads});
  const std::filesystem::path folder(options.model);
  auto start = std::chrono::steady_clock::now();
  models::GPT2LanguageModel model(
      models::gpt2_config(read_json(folder / "config.json"), (folder / "config.json").string()));
  nn::Parameters parameters(*backend, model, run_options(folder, {DType::f32, nn::weight_form_named(options.weights)}));
  load_hugging_face(TensorFiles::open(folder), parameters, {.prefix = models::kGPT2Prefix});
  Json report = {{"load", seconds_since(start)}, {"prefill", Json::array()}, {"decode", Json::array()}};

  const auto vocabulary = static_cast<std::uint32_t>(model.body().config().vocabulary);
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < options.rows * options.prompt; ++i)
    ids.push_back(static_cast<std::int32_t>(random_word(1, 0, static_cast<std::uint64_t>(i)) % vocabulary));
  const Tensor prompts = make_tensor(*backend, {options.rows, options.prompt}, DType::i32);
  upload(prompts, ids);
  report["prompt"] = ids;
  for (int rep = -1; rep < options.reps; ++rep) {  // the first is not counted
    Pass pass(*backend);
    models::GPT2Decoder decoder(model.body(), pass, prompts, 1);
    std::vector<std::int32_t> last(static_cast<std::size_t>(options.rows), 0), written;
    start = std::chrono::steady_clock::now();
    const nn::StepModel::Scores first = decoder.step(last, 0);
    if (rep >= 0) report["prefill"].push_back(seconds_since(start));
    if (rep == 0 && !options.logits.empty()) {
      SafetensorsWriter writer;
      writer.add("logits", {static_cast<std::int64_t>(vocabulary)}, first.logits.first(vocabulary));
      writer.write(options.logits);
    }
    for (std::size_t row = 0; row < last.size(); ++row) {
      const auto logits = first.logits.subspan(row * vocabulary, vocabulary);
      last[row] = static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    }
    start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < options.tokens; ++i) {
      written.push_back(last[0]);
      const nn::StepModel::Scores next = decoder.step(last, 1);
      last.assign(next.ids.begin(), next.ids.end());
    }
    if (rep >= 0) report["decode"].push_back(seconds_since(start));
    report["tokens"] = written;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  report["weights_mb"] = static_cast<double>(parameters.bytes()) / 1e6;
  report["peak_mb"] = static_cast<double>(usage.ru_maxrss) / 1e3;
  fmt::print("{}\n", report.dump());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("GPT-2 on a prompt and token by token, timed.");
  app.add_option("--write", options.write, "make this folder with random weights instead");
  app.add_option("--model", options.model, "a model's folder");
  app.add_option("--weights", options.weights, "f32, bf16, int8, plain or stored");
  app.add_option("--threads", options.threads, "CPU threads, 0 for all cores");
  app.add_option("--prompt", options.prompt, "tokens of the prompt");
  app.add_option("--tokens", options.tokens, "tokens after it");
  app.add_option("--rows", options.rows, "prompts at once");
  app.add_option("--reps", options.reps, "timed repetitions");
  app.add_option("--logits", options.logits, "where the logits after the prompt go, a safetensors file");
  return bench_main(app, argc, argv,
                    [&] { options.write.empty() ? run(options) : write_model(options.write, options.threads); });
}
