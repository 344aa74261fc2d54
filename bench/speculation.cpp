// Speculative decoding of one text, beside decoding token by token, interleaved; and what a step of several tokens
// costs.
//   speculation --model DIR [--draft DIR] [--weights int8] [--threads 2] [--prompt 64] [--tokens 256] [--reps 5]
//               [--temperature 0]
// bench/gpt2_generation --write makes a folder with random weights. Prints a JSON object: medians of seconds, how many
// times faster the guesses make it, steps of the model, and the least seconds of steps of 1, 2, 4, 8 and 16 tokens.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/json.h"
#include "attend/base/random.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/decode/draft_model.h"
#include "attend/decode/prompt_lookup.h"
#include "attend/decode/speculate.h"
#include "attend/models/gpt2.h"
#include "attend/nn/sequences.h"
#include "bench/support/bench_main.h"
#include "bench/support/measure.h"
#include "bench/support/model_options.h"

namespace {

using namespace attend;

struct Options : ModelOptions {
  std::string draft;
  std::int64_t prompt = 64, tokens = 256;
  int reps = 5;
  float temperature = 0;
};

struct Model {
  Model(const std::filesystem::path& folder, Backend& backend, const nn::ModelFormat& format)
      : model(models::gpt2_config(read_json(folder / "config.json"), (folder / "config.json").string())),
        parameters(backend, model, checkpoint::run_options(folder, format)) {
    checkpoint::load_hugging_face(checkpoint::TensorFiles::open(folder), parameters, {.prefix = models::kGPT2Prefix});
  }
  models::GPT2LanguageModel model;
  nn::Parameters parameters;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Steps of so many tokens at the same place of a text, in turns.
Json step_seconds(const Model& model, Backend& backend, const std::vector<std::int32_t>& prompt) {
  constexpr int kRounds = 25;
  const auto text = model.model.text(backend, static_cast<std::int64_t>(prompt.size()) + 16);
  text->read(prompt, 1);
  std::map<std::size_t, std::vector<double>> seconds;
  for (int round = 0; round < kRounds; ++round)
    for (const std::size_t tokens : {1, 2, 4, 8, 16}) {
      const std::vector<std::int32_t> newest(tokens, prompt[0]);
      const auto start = BenchClock::now();
      text->read(newest, 1);
      seconds[tokens].push_back(seconds_since(start));
      text->keep(static_cast<std::int64_t>(prompt.size()));
    }
  Json report;
  for (const auto& [tokens, all] : seconds) report[std::to_string(tokens)] = std::ranges::min(all);
  return report;
}

void run(const Options& options) {
  const auto backend = options.open();
  const Model model(options.model, *backend, options.format());
  std::unique_ptr<Model> draft;
  if (!options.draft.empty()) draft = std::make_unique<Model>(options.draft, *backend, options.format());
  const auto vocabulary = static_cast<std::uint32_t>(model.model.body().config().vocabulary);
  decode::SampleOptions how{.end = -1, .max_lengths = {options.tokens}};
  for (std::int64_t i = 0; i < options.prompt; ++i)
    how.prompt.push_back(static_cast<std::int32_t>(random_word(1, 0, static_cast<std::uint64_t>(i)) % vocabulary));
  how.start = how.prompt.back(), how.temperature = options.temperature;
  how = decode::greedy_at_zero(how);
  const std::int64_t room = options.prompt + options.tokens;

  std::vector<double> plain, ahead;
  decode::Speculated found;
  for (int rep = 0; rep < options.reps; ++rep) {
    how.seed = static_cast<std::uint64_t>(rep);
    auto start = BenchClock::now();
    Pass pass(*backend);
    const auto decoder = model.model.start(pass, nn::row_of(*backend, how.prompt), 1, options.tokens);
    const auto expected = decode::sample(*decoder, how).front().front();
    plain.push_back(seconds_since(start));
    start = BenchClock::now();
    const auto text = model.model.text(*backend, room), small = draft ? draft->model.text(*backend, room) : nullptr;
    decode::PromptLookup lookup;
    std::unique_ptr<decode::DraftModel> drafting;
    if (draft) drafting = std::make_unique<decode::DraftModel>(*small, how);
    decode::Drafter& drafter = draft ? static_cast<decode::Drafter&>(*drafting) : lookup;
    found = decode::speculate(*text, drafter, how);
    ahead.push_back(seconds_since(start));
    check(!backend->on_host() || found.hypothesis.tokens == expected.tokens, "the texts differ");
  }
  fmt::print("{}\n", Json({{"plain", median(plain)},
                           {"speculated", median(ahead)},
                           {"times", median(plain) / median(ahead)},
                           {"steps", found.steps},
                           {"guessed", found.guessed},
                           {"right", found.right},
                           {"step", step_seconds(model, *backend, how.prompt)}})
                         .dump());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Speculative decoding beside decoding token by token.");
  options.add_to(app);
  app.add_option("--draft", options.draft, "folder of a smaller model that guesses; else the text itself");
  app.add_option("--prompt", options.prompt, "tokens of the prompt");
  app.add_option("--tokens", options.tokens, "tokens after it");
  app.add_option("--reps", options.reps, "timed repetitions, with other seeds");
  app.add_option("--temperature", options.temperature, "of the draws; 0: greedy");
  return bench_main(app, argc, argv, [&] { run(options); });
}
