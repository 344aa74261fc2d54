// Lines translated by a model's folder, timed; bench/translation_decoding.py runs it beside its peers.
//   translation_decoding --model DIR --input FILE [--sentences 200] [--beams 1] [--batch 1] [--threads 2] [--reps 1]
//                        [--dtype f32] [--weights stored] [--device cpu] [--texts]
// Prints a JSON object: how many seconds each repetition took, from lines to lines (the model is loaded and has been
// used once), megabytes of weights and the largest memory; with --texts also what came out, and how many tokens each
// translation has, its end among them.
#include <fmt/core.h>

#include <fstream>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/tasks/translator.h"
#include "bench/support/bench_main.h"
#include "bench/support/measure.h"

namespace {

using namespace attend;

struct Options {
  std::string model, input, dtype = "f32", weights = "stored", device = "cpu";
  std::int64_t sentences = 200;
  tasks::TranslateOptions translate = {.beams = 1, .batch = 1};
  int threads = 2, reps = 1;
  bool texts = false;
};

std::vector<std::string> read_lines(const Options& options) {
  std::ifstream file(options.input);
  check(file.is_open(), "cannot open {}", options.input);
  std::vector<std::string> lines;
  std::string line;
  while (static_cast<std::int64_t>(lines.size()) < options.sentences && std::getline(file, line)) lines.push_back(line);
  check(!lines.empty(), "{} has no lines", options.input);
  return lines;
}

// The attention maps know how many tokens there were.
void add_texts(Json& report, const tasks::Translator& translator, std::span<const std::string> lines,
               tasks::TranslateOptions options) {
  options.attention = true;
  report["texts"] = report["tokens"] = Json::array();
  for (const tasks::TranslatedLine& line : translator.translate(lines, options)) {
    report["texts"].push_back(line.text());
    report["tokens"].push_back(line.translations.empty() ? 0 : line.translations[0].attention.target.size());
  }
}

void run(const Options& options) {
  const std::vector<std::string> lines = read_lines(options);
  const auto backend = open_backend(options.device, {.threads = options.threads});
  const DType dtype = options.dtype == "bf16" ? DType::bf16 : DType::f32;
  const auto loaded = tasks::load_translator(options.model, *backend, {dtype, nn::weight_form_named(options.weights)});
  const auto warm = std::span(lines).first(std::min<std::size_t>(lines.size(), 32));
  loaded->translator.translate(warm, options.translate);
  Json report = {{"seconds", Json::array()}};
  for (int rep = 0; rep < options.reps; ++rep) {
    const auto start = BenchClock::now();
    loaded->translator.translate(lines, options.translate);
    report["seconds"].push_back(seconds_since(start));
  }
  report["weights_mb"] = static_cast<double>(loaded->parameters.bytes()) / 1e6;
  report["peak_mb"] = peak_memory_mb();
  if (options.texts) add_texts(report, loaded->translator, lines, options.translate);
  fmt::print("{}\n", report.dump());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Lines translated, timed.");
  app.add_option("--model", options.model, "a model's folder")->required();
  app.add_option("--input", options.input, "sentences, one a line")->required();
  app.add_option("--sentences", options.sentences, "lines of it that are read");
  app.add_option("--beams", options.translate.beams, "1 is greedy");
  app.add_option("--batch", options.translate.batch, "sentences computed together");
  app.add_option("--threads", options.threads, "CPU threads, 0 for all cores");
  app.add_option("--reps", options.reps, "timed repetitions");
  app.add_option("--dtype", options.dtype, "f32 or bf16");
  app.add_option("--weights", options.weights, "f32, bf16, int8, plain or stored");
  app.add_option("--device", options.device, "cpu, cuda or cuda:N");
  app.add_flag("--texts", options.texts, "print the translations too");
  return bench_main(app, argc, argv, [&] { run(options); });
}
