// Speculative decoding of one text, beside decoding token by token, interleaved; and what a step of several tokens
// costs.
//   speculation --model DIR [--draft DIR] [--weights int8] [--threads 2] [--prompt 64] [--tokens 256] [--reps 5]
//               [--temperature 0] [--cpu-time]
// bench/gpt2_generation --write makes a folder with random weights. Prints a JSON object: medians of seconds, how many
// times faster the guesses make it, steps of the model, and the least seconds of steps of 1, 2, 4, 8 and 16 tokens.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/decode/draft_model.h"
#include "attend/decode/prompt_lookup.h"
#include "attend/decode/speculate.h"
#include "attend/nn/sequences.h"
#include "bench/support/bench_main.h"
#include "bench/support/gpt2_folder.h"
#include "bench/support/measure.h"
#include "bench/support/model_options.h"
#include "bench/support/stopwatch.h"

namespace {

using namespace attend;

struct Options : ModelOptions {
  std::string draft;
  std::int64_t prompt = 64, tokens = 256;
  int reps = 5;
  float temperature = 0;
  bool cpu_time = false;

  Stopwatch stopwatch() const { return Stopwatch(cpu_time ? Stopwatch::Counts::cpu : Stopwatch::Counts::wall); }
};

// Steps of so many tokens at the same place of a text, in turns.
Json step_seconds(const Options& options, const GPT2Folder& model, Backend& backend,
                  const std::vector<std::int32_t>& prompt) {
  constexpr int kRounds = 25;
  const auto text = model.model.text(backend, static_cast<std::int64_t>(prompt.size()) + 16);
  text->read(prompt, 1);
  std::map<std::size_t, std::vector<double>> seconds;
  for (int round = 0; round < kRounds; ++round)
    for (const std::size_t tokens : {1, 2, 4, 8, 16}) {
      const std::vector<std::int32_t> newest(tokens, prompt[0]);
      const Stopwatch stopwatch = options.stopwatch();
      text->read(newest, 1);
      seconds[tokens].push_back(stopwatch.seconds());
      text->keep(static_cast<std::int64_t>(prompt.size()));
    }
  Json report;
  for (const auto& [tokens, all] : seconds) report[std::to_string(tokens)] = std::ranges::min(all);
  return report;
}

void run(const Options& options) {
  const auto backend = options.open();
  const GPT2Folder model(options.model, *backend, options.format());
  std::unique_ptr<GPT2Folder> draft;
  if (!options.draft.empty()) draft = std::make_unique<GPT2Folder>(options.draft, *backend, options.format());
  decode::SampleOptions how{.end = -1, .max_lengths = {options.tokens}};
  how.prompt = model.random_ids(options.prompt);
  how.start = how.prompt.back(), how.temperature = options.temperature;
  how = decode::greedy_at_zero(how);
  const std::int64_t room = options.prompt + options.tokens;

  std::vector<double> plain, ahead;
  decode::Speculated found;
  for (int rep = 0; rep < options.reps; ++rep) {
    how.seed = static_cast<std::uint64_t>(rep);
    Stopwatch stopwatch = options.stopwatch();
    Pass pass(*backend);
    const auto decoder = model.model.start(pass, nn::row_of(*backend, how.prompt), 1, options.tokens);
    const auto expected = decode::sample(*decoder, how).front().front();
    plain.push_back(stopwatch.seconds());
    stopwatch = options.stopwatch();
    const auto text = model.model.text(*backend, room), small = draft ? draft->model.text(*backend, room) : nullptr;
    decode::PromptLookup lookup;
    std::unique_ptr<decode::DraftModel> drafting;
    if (draft) drafting = std::make_unique<decode::DraftModel>(*small, how);
    decode::Drafter& drafter = draft ? static_cast<decode::Drafter&>(*drafting) : lookup;
    const Stopwatch pace = options.stopwatch();
    found = decode::speculate(*text, drafter, how, {.clock = [&pace] { return pace.seconds(); }});
    ahead.push_back(stopwatch.seconds());
    check(!backend->on_host() || found.hypothesis.tokens == expected.tokens, "the texts differ");
  }
  fmt::print("{}\n", Json({{"plain", median(plain)},
                           {"speculated", median(ahead)},
                           {"times", median(plain) / median(ahead)},
                           {"steps", found.steps},
                           {"guessed", found.guessed},
                           {"right", found.right},
                           {"step", step_seconds(options, model, *backend, how.prompt)}})
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
  app.add_flag("--cpu-time", options.cpu_time, "time of this process on its cores (use --threads 1)");
  return bench_main(app, argc, argv, [&] { run(options); });
}
