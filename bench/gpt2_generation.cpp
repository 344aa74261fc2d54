// GPT-2 on a prompt and then token by token, greedily, timed; bench/gpt2_generation.py runs it beside its peers.
//   gpt2_generation --write DIR [--deviation 0.02]
//   gpt2_generation --model DIR [--device cuda] [--dtype f32] [--weights int8] [--threads 2] [--batch 1] [--prompt 512]
//                   [--tokens 128] [--reps 3] [--search [--temperature 0] [--top-p 1]] [--logits FILE] [--roof 32]
// --write makes a folder with random weights of GPT-2's smallest size (124 M).
// Prints a JSON object: seconds per repetition for the prompt and for the tokens after it (with --search: for a whole
// search, greedy or drawn, as `attend generate` does it), the prompts, the tokens of the first, how long loading took,
// megabytes of weights and the largest memory of the process. --logits: what the first prompt leads to, f32 [V].
// --roof, on the CPU: seconds of single tokens, and of reading the bytes of the weights after each.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/cpu/cpu_backend.h"
#include "attend/decode/sample.h"
#include "attend/nn/causal_decoder.h"
#include "bench/support/bench_main.h"
#include "bench/support/gpt2_folder.h"
#include "bench/support/measure.h"
#include "bench/support/model_options.h"
#include "bench/support/read_all.h"

namespace {

using namespace attend;

struct Options : ModelOptions {
  std::string logits;
  std::int64_t batch = 1, prompt = 512, tokens = 128, positions = 1024, roof = 0;
  int reps = 3;
  float deviation = 0.02f;
  bool search = false;
  float temperature = 0, top_p = 1;
};

void save_logits(const std::string& file, std::span<const float> logits) {
  checkpoint::SafetensorsWriter writer;
  writer.add("logits", {static_cast<std::int64_t>(logits.size())}, logits);
  writer.write(file);
}

// Prompt and tokens apart.
void run_steps(const Options& options, nn::CausalDecoder& decoder, bool counted, Json& report) {
  const auto rows = static_cast<std::size_t>(options.batch),
             vocabulary = static_cast<std::size_t>(decoder.vocabulary());
  std::vector<std::int32_t> last(rows, 0), written;
  auto start = BenchClock::now();
  const nn::StepModel::Scores first = decoder.step(last, 0);
  if (counted) report["prefill"].push_back(seconds_since(start));
  if (!options.logits.empty()) save_logits(options.logits, first.logits.first(vocabulary));
  for (std::size_t row = 0; row < rows; ++row) {
    const auto logits = first.logits.subspan(row * vocabulary, vocabulary);
    last[row] = static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
  start = BenchClock::now();
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    written.push_back(last[0]);
    const nn::StepModel::Scores next = decoder.step(last, 1);
    last.assign(next.ids.begin(), next.ids.end());
  }
  if (counted) report["decode"].push_back(seconds_since(start));
  report["tokens"] = written;
}

// Tokens and reading as many bytes as they read of weights, in turns, by the same threads: on a busy machine only what
// is measured in the same moment can be compared.
void share_of_roof(const Options& options, nn::CausalDecoder& decoder, const std::vector<std::byte>& weights,
                   Backend& backend, Json& report) {
  ThreadPool& pool = dynamic_cast<CpuBackend&>(backend).pool();
  const std::vector<std::int32_t> newest(static_cast<std::size_t>(options.batch), 0);
  for (std::int64_t i = 0; i < options.roof; ++i) {
    auto start = BenchClock::now();
    decoder.step(newest, 1);
    report["token"].push_back(seconds_since(start));
    start = BenchClock::now();
    read_all(weights.data(), static_cast<std::int64_t>(weights.size()), pool);
    report["read"].push_back(seconds_since(start));
  }
}

void run_search(const Options& options, nn::CausalDecoder& decoder, Json& report) {
  const std::vector<std::int64_t> lengths(static_cast<std::size_t>(options.batch), options.tokens);
  const bool greedy = options.temperature == 0;
  const auto written = decode::sample(decoder, {.temperature = greedy ? 1 : options.temperature,
                                                .top_k = greedy ? 1 : 0,
                                                .top_p = options.top_p,
                                                .end = -1,
                                                .max_lengths = lengths});
  report["tokens"] = written[0][0].tokens;
}

void run(const Options& options) {
  const auto backend = options.open();
  const auto started = BenchClock::now();
  const GPT2Folder loaded(options.model, *backend, options.format());
  Json report = {{"load", seconds_since(started)}, {"prefill", Json::array()}, {"decode", Json::array()}};
  report["search"] = Json::array();

  const std::vector<std::int32_t> ids = loaded.random_ids(options.batch * options.prompt);
  const Tensor prompts = make_tensor(*backend, {options.batch, options.prompt}, DType::i32);
  upload(prompts, ids);
  report["prompt"] = ids;
  const std::vector<std::byte> weights(options.roof ? loaded.parameters.bytes() : 0, std::byte{1});
  for (int rep = -1; rep < options.reps; ++rep) {  // the first is not counted
    backend->synchronize();
    const auto start = BenchClock::now();
    Pass pass(*backend);
    nn::CausalDecoder decoder(loaded.model.body(), pass, prompts, 1, options.tokens + options.roof);
    if (!options.search) {
      run_steps(options, decoder, rep >= 0, report);
      if (!weights.empty() && rep >= 0) share_of_roof(options, decoder, weights, *backend, report);
      continue;
    }
    run_search(options, decoder, report);
    backend->synchronize();
    if (rep >= 0) report["search"].push_back(seconds_since(start));
  }
  report["weights_mb"] = static_cast<double>(loaded.parameters.bytes()) / 1e6;
  report["peak_mb"] = peak_memory_mb();
  fmt::print("{}\n", report.dump());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("GPT-2 on a prompt and token by token, timed.");
  options.add_to(app);
  app.add_option("--deviation", options.deviation, "of those weights");
  app.add_option("--positions", options.positions, "of those weights: the longest text");
  app.add_option("--batch", options.batch, "prompts at once");
  app.add_option("--prompt", options.prompt, "tokens of each prompt");
  app.add_option("--tokens", options.tokens, "tokens after it");
  app.add_option("--reps", options.reps, "timed repetitions");
  app.add_option("--roof", options.roof, "CPU: so many more tokens, and reading as many bytes in turns");
  app.add_flag("--search", options.search, "time a search as a whole");
  app.add_option("--temperature", options.temperature, "of its draws; 0: greedy");
  app.add_option("--top-p", options.top_p, "of its draws");
  app.add_flag("--exact-prompts", options.exact_prompts, "CPU: read the prompt as if it were generated");
  app.add_option("--logits", options.logits, "where the logits after the first prompt go, a safetensors file");
  return bench_main(app, argc, argv, [&] {
    if (options.write.empty()) return run(options);
    models::GPT2Config config{.init_deviation = options.deviation};
    config.max_length = options.positions;
    write_random_model<models::GPT2LanguageModel>(options, config);
  });
}
