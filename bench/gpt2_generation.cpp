// GPT-2 on a prompt and then token by token, greedily, timed; bench/gpt2_generation.py runs it beside its peers.
//   gpt2_generation --write DIR [--deviation 0.02]
//   gpt2_generation --model DIR [--device cuda] [--dtype f32] [--weights int8] [--threads 2] [--batch 1] [--prompt 512]
//                   [--tokens 128] [--reps 3] [--search [--temperature 0] [--top-p 1]] [--logits FILE]
// --write makes a folder with random weights of GPT-2's smallest size (124 M).
// Prints a JSON object: seconds per repetition for the prompt and for the tokens after it (with --search: for a whole
// search, greedy or drawn, as `attend generate` does it), the prompts, the tokens of the first, how long loading took,
// megabytes of weights and the largest memory of the process. --logits: what the first prompt leads to, f32 [V].
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/random.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/decode/sample.h"
#include "attend/models/gpt2.h"
#include "attend/nn/causal_decoder.h"
#include "bench/support/bench_main.h"
#include "bench/support/measure.h"
#include "bench/support/model_options.h"

namespace {

using namespace attend;

struct Options : ModelOptions {
  std::string logits;
  std::int64_t batch = 1, prompt = 512, tokens = 128, positions = 1024;
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
  const std::filesystem::path folder(options.model);
  const auto started = BenchClock::now();
  models::GPT2LanguageModel model(
      models::gpt2_config(read_json(folder / "config.json"), (folder / "config.json").string()));
  nn::Parameters parameters(*backend, model, checkpoint::run_options(folder, options.format()));
  checkpoint::load_hugging_face(checkpoint::TensorFiles::open(folder), parameters, {.prefix = models::kGPT2Prefix});
  Json report = {{"load", seconds_since(started)}, {"prefill", Json::array()}, {"decode", Json::array()}};
  report["search"] = Json::array();

  const auto vocabulary = static_cast<std::uint32_t>(model.body().config().vocabulary);
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < options.batch * options.prompt; ++i)
    ids.push_back(static_cast<std::int32_t>(random_word(1, 0, static_cast<std::uint64_t>(i)) % vocabulary));
  const Tensor prompts = make_tensor(*backend, {options.batch, options.prompt}, DType::i32);
  upload(prompts, ids);
  report["prompt"] = ids;
  for (int rep = -1; rep < options.reps; ++rep) {  // the first is not counted
    backend->synchronize();
    const auto start = BenchClock::now();
    Pass pass(*backend);
    nn::CausalDecoder decoder(model.body(), pass, prompts, 1, options.tokens);
    if (!options.search) {
      run_steps(options, decoder, rep >= 0, report);
      continue;
    }
    run_search(options, decoder, report);
    backend->synchronize();
    if (rep >= 0) report["search"].push_back(seconds_since(start));
  }
  report["weights_mb"] = static_cast<double>(parameters.bytes()) / 1e6;
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
