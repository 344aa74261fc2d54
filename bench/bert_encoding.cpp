// BERT reading a batch of texts of one length, timed; bench/bert_encoding.py runs it beside its peers.
//   bert_encoding --write DIR                 random weights of BERT-base (110 M), as a model's folder
//   bert_encoding --model DIR [--device cuda] [--dtype f32] [--weights int8] [--threads 2] [--batch 1] [--length 128]
//                 [--globals 0] [--reps 10] [--states FILE]
// Prints a JSON object: seconds per repetition, how long loading took, megabytes of weights and the largest memory of
// the process. --states: those of the last layer, f32 [batch, length, 768], and the ids. A Longformer reads as well,
// and
// --globals makes as many tokens of each text global, at places of its own; longformer_encoding.py asks for that.
#include <fmt/core.h>

#include <filesystem>

#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/random.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/models/bert_heads.h"
#include "attend/ops/global_positions.h"
#include "bench/support/bench_main.h"
#include "bench/support/measure.h"
#include "bench/support/model_options.h"

namespace {

using namespace attend;

struct Options : ModelOptions {
  std::string states;
  std::int64_t batch = 1, length = 128, globals = 0;
  int reps = 10;
};

void save_states(const std::string& file, const Tensor& states, const Tensor& ids, std::span<const std::int64_t> words,
                 const std::vector<std::vector<std::int32_t>>& globals) {
  checkpoint::SafetensorsWriter writer;
  const std::vector<float> values = download(states);
  writer.add("states", states.shape(), values);
  writer.add("ids", ids.shape(), words);
  std::vector<std::int64_t> marked(words.size(), 0);
  for (std::size_t b = 0; b < globals.size(); ++b)
    for (const std::int32_t place : globals[b]) marked[b * static_cast<std::size_t>(ids.dim(1)) + place] = 1;
  writer.add("globals", ids.shape(), marked);
  writer.write(file);
}

// Places at even distances, which move on from text to text.
std::vector<std::vector<std::int32_t>> global_sets(const Options& options) {
  std::vector<std::vector<std::int32_t>> sets(static_cast<std::size_t>(options.batch));
  for (std::size_t b = 0; b < sets.size(); ++b)
    for (std::int64_t i = 0; i < options.globals; ++i)
      sets[b].push_back(static_cast<std::int32_t>(
          (i * options.length / options.globals + 7 * static_cast<std::int64_t>(b) + 3) % options.length));
  return sets;
}

models::BertInput input_of(const models::BertConfig& config, const Tensor& ids,
                           const std::vector<std::vector<std::int32_t>>& sets) {
  models::BertInput input = {.texts = {.ids = ids}};
  if (config.counts_positions()) {
    input.texts.positions = make_tensor(ids.backend(), ids.shape(), DType::i32);
    const auto pad = static_cast<std::int32_t>(config.pad);
    upload(input.texts.positions, models::roberta_positions(download_ints(ids), ids.dim(1), pad));
  }
  if (!sets.front().empty())
    input.globals = std::make_shared<const ops::GlobalPositions>(
        ids.backend(), ops::global_lists(ops::AttentionLayout::padded(ids.dim(0), ids.dim(1)), sets));
  return input;
}

void run(const Options& options) {
  const auto backend = options.open();
  const std::filesystem::path folder(options.model);
  const auto started = BenchClock::now();
  const Json config = read_json(folder / "config.json");
  models::MaskedLanguageModel model(models::bert_config(config, (folder / "config.json").string()));
  nn::Parameters parameters(*backend, model, checkpoint::run_options(folder, options.format()));
  checkpoint::load_hugging_face(checkpoint::TensorFiles::open(folder), parameters,
                                {.prefix = config.at("model_type").get<std::string>()});
  Json report = {{"load", seconds_since(started)}, {"seconds", Json::array()}};

  const auto vocabulary = static_cast<std::uint32_t>(model.body().config().vocabulary);
  std::vector<std::int64_t> words;
  for (std::int64_t i = 0; i < options.batch * options.length; ++i)
    words.push_back(random_word(1, 0, static_cast<std::uint64_t>(i)) % vocabulary);
  const Tensor ids = make_tensor(*backend, {options.batch, options.length}, DType::i32);
  upload(ids, std::vector<std::int32_t>(words.begin(), words.end()));
  const std::vector<std::vector<std::int32_t>> sets = global_sets(options);
  const models::BertInput input = input_of(model.body().config(), ids, sets);
  Pass pass(*backend);
  for (int rep = -5; rep < options.reps; ++rep) {  // the first five are not counted
    backend->synchronize();
    const auto start = BenchClock::now();
    pass.begin({.plan = 1});
    const Tensor states = model.body().states(input.in(pass));
    backend->synchronize();
    if (rep >= 0) report["seconds"].push_back(seconds_since(start));
    if (rep == -5 && !options.states.empty()) save_states(options.states, states, ids, words, sets);
  }
  report["weights_mb"] = static_cast<double>(parameters.bytes()) / 1e6;
  report["peak_mb"] = peak_memory_mb();
  fmt::print("{}\n", report.dump());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("BERT over a batch of texts, timed.");
  options.add_to(app);
  app.add_option("--batch", options.batch, "texts at once");
  app.add_option("--length", options.length, "tokens of each");
  app.add_option("--globals", options.globals, "Longformer: tokens of each text that see all and are seen by all")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--reps", options.reps, "timed repetitions");
  app.add_option("--states", options.states, "where the states go, a safetensors file");
  return bench_main(app, argc, argv, [&] {
    if (options.write.empty()) return run(options);
    write_random_model<models::MaskedLanguageModel>(options, models::BertConfig{});
  });
}
