// BERT read over a batch of texts, timed; bench/cpu_bert.py runs it beside torch.
//   cpu_bert --write DIR                      random weights of BERT-base (110 M), as a model's folder
//   cpu_bert --model DIR [--weights int8] [--threads 2] [--batch 1] [--length 128] [--reps 10] [--states FILE]
// Prints a JSON object: seconds a repetition, how long loading took, megabytes of weights and the largest memory of the
// process. --states: the last layer's, f32 [batch, length, 768], and the ids.
#include <fmt/core.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>

#include "attend/backends.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/random.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "attend/models/bert_heads.h"
#include "bench/support/bench_main.h"

namespace {

using namespace attend;

struct Options {
  std::string write, model, weights = "stored", states;
  std::int64_t batch = 1, length = 128;
  int threads = 2, reps = 10;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void write_model(const std::string& folder, int threads) {
  const auto backend = open_backend("cpu", {.threads = threads});
  models::MaskedLanguageModel model(models::BertConfig{});
  const nn::Parameters parameters(*backend, model, {.seed = 1, .trained = false});
  std::filesystem::create_directories(folder);
  save_hugging_face(folder, parameters, model.config());
}

void run(const Options& options) {
  const auto backend = open_backend("cpu", {.threads = options.threads});
  const std::filesystem::path folder(options.model);
  auto start = std::chrono::steady_clock::now();
  models::MaskedLanguageModel model(
      models::bert_config(read_json(folder / "config.json"), (folder / "config.json").string()));
  nn::Parameters parameters(*backend, model, run_options(folder, {DType::f32, nn::weight_form_named(options.weights)}));
  load_hugging_face(TensorFiles::open(folder), parameters, {.prefix = "bert"});
  Json report = {{"load", seconds_since(start)}, {"seconds", Json::array()}};

  const auto vocabulary = static_cast<std::uint32_t>(model.body().config().vocabulary);
  std::vector<std::int64_t> ids;
  std::vector<std::int32_t> words;
  for (std::int64_t i = 0; i < options.batch * options.length; ++i) {
    words.push_back(static_cast<std::int32_t>(random_word(1, 0, static_cast<std::uint64_t>(i)) % vocabulary));
    ids.push_back(words.back());
  }
  const Tensor texts = make_tensor(*backend, {options.batch, options.length}, DType::i32);
  upload(texts, words);
  Pass pass(*backend);
  for (int rep = -2; rep < options.reps; ++rep) {  // the first two are not counted
    pass.begin({.plan = 1});
    start = std::chrono::steady_clock::now();
    const Tensor states = model.body().states({.texts = {.ids = pass.input(texts)}});
    if (rep >= 0) report["seconds"].push_back(seconds_since(start));
    if (rep == 0 && !options.states.empty()) {
      SafetensorsWriter writer;
      const std::vector<float> values = download(states);
      writer.add("states", states.shape(), values);
      writer.add("ids", texts.shape(), ids);
      writer.write(options.states);
    }
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
  CLI::App app("BERT over a batch of texts, timed.");
  app.add_option("--write", options.write, "make this folder with random weights instead");
  app.add_option("--model", options.model, "a model's folder");
  app.add_option("--weights", options.weights, "f32, bf16, int8, plain or stored");
  app.add_option("--threads", options.threads, "CPU threads, 0 for all cores");
  app.add_option("--batch", options.batch, "texts at once");
  app.add_option("--length", options.length, "tokens of each");
  app.add_option("--reps", options.reps, "timed repetitions");
  app.add_option("--states", options.states, "where the states go, a safetensors file");
  return bench_main(app, argc, argv,
                    [&] { options.write.empty() ? run(options) : write_model(options.write, options.threads); });
}
