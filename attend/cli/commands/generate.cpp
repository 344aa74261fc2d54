#include "attend/cli/commands/generate.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/interrupt.h"
#include "attend/base/json.h"
#include "attend/base/lines.h"
#include "attend/base/progress.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/device_flags.h"
#include "attend/cli/support/line_input.h"
#include "attend/cli/support/model_flag.h"
#include "attend/tasks/generator.h"

namespace attend::cli {

namespace {

struct ModelOptions : DeviceFlags {
  std::string model;
};

void add_model_flags(Flags& flags, ModelOptions& options) {
  add_model_flag(flags, options.model, "GPT-2 folder, for example from the Hugging Face hub").required();
  add_device_flags(flags, options);
  add_weights_flag(flags, options);
}

// The model with the device it lives on.
struct OpenModel {
  explicit OpenModel(const ModelOptions& options)
      : backend(options.open()), generator(options.model, *backend, options.format()) {}
  std::unique_ptr<Backend> backend;
  tasks::Generator generator;
};

struct GenerateCommand {
  ModelOptions model;
  std::string prompt, prompts, draft;
  std::int64_t batch = tasks::ManyOptions{}.batch, max_line = static_cast<std::int64_t>(limits::kLongestLine);
  bool greedy = false, json = false;
  tasks::GenerateOptions generate = {.max_tokens = 100, .temperature = 1, .top_k = 50};
};

constexpr const char* kGenerateExamples = R"(
  attend generate --model gpt2 "The animal did not cross the street because"
  echo "Once upon a time" | attend generate --model gpt2 --temperature 0.8 --top-p 0.95 --max-tokens 200
  attend generate --model gpt2 --greedy --stop "." "Attention is"
  attend generate --model gpt2 --samples 3 --json "My name is"
  attend generate --model gpt2-xl --draft gpt2 --max-tokens 200 "Attention is"
  attend generate --model gpt2 --prompts questions.txt --batch 64 --max-tokens 200 --json > answers.jsonl)";

Json as_json(const std::string& prompt, const tasks::Generated& result) {
  Json json = {{"prompt", prompt}, {"text", result.text}, {"tokens", result.tokens}, {"finished", result.finished}};
  if (result.steps > 0) json["steps"] = result.steps;
  return json;
}

void write_texts(const std::string& prompt, const std::vector<tasks::Generated>& texts, bool json, std::ostream& out) {
  for (const tasks::Generated& result : texts)
    if (json)
      out << as_json(prompt, result).dump() << '\n';
    else
      out << prompt << result.text << "\n\n";
  out << std::flush;
}

void run_many(const GenerateCommand& options, const tasks::GenerateOptions& generate, const tasks::Generator& generator,
              const Streams& streams) {
  LineInputOptions input{.max_line = options.max_line, .keeps_returns = true};
  if (options.prompts != "-") input.files = {options.prompts};
  LineInput lines(std::move(input), streams.in);
  std::vector<std::string> prompts;
  for (std::string line; lines.next(line);) prompts.push_back(line);
  Progress progress(streams.err, {.label = "generating",
                                  .total = static_cast<std::int64_t>(prompts.size()) * generate.samples,
                                  .terminal = streams.err_terminal});
  const auto start = std::chrono::steady_clock::now();
  std::string rate;
  generator.generate_many(
      prompts, generate,
      {.batch = options.batch,
       .on_done = [&](std::size_t prompt,
                      const auto& texts) { write_texts(prompts[prompt], texts, options.json, streams.out); },
       .on_progress =
           [&](std::int64_t done, std::int64_t tokens) {
             const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
             rate = fmt::format("{} tokens", rate_text(static_cast<double>(tokens) / std::max(took.count(), 1e-9)));
             progress.update(done, rate);
           }});
  progress.finish(rate);
}

void run_generate(const GenerateCommand& options, const Streams& streams) {
  check(options.prompts.empty() || options.prompt.empty(), "generate: a prompt and --prompts; give one of them");
  std::string prompt = options.prompt;
  if (prompt.empty() && options.prompts.empty()) {
    prompt = read_text(streams.in, "standard input");
    if (prompt.ends_with('\n')) prompt.pop_back();
  }
  const OpenModel model(options.model);
  const InterruptGuard interrupt;
  tasks::GenerateOptions generate = options.generate;
  if (options.greedy) generate.top_k = 1;
  generate.interrupted = [&] { return interrupt.requested(); };
  check(options.draft.empty() || options.prompts.empty(),
        "generate: --draft takes one prompt at a time, not --prompts");
  if (!options.prompts.empty()) return run_many(options, generate, model.generator, streams);
  std::unique_ptr<tasks::Generator> draft;
  if (!options.draft.empty())
    draft = std::make_unique<tasks::Generator>(options.draft, *model.backend, options.model.format());
  const bool streaming = generate.samples == 1 && !options.json;
  if (streaming) {
    streams.out << prompt << std::flush;
    generate.on_text = [&](std::string_view piece) { streams.out << piece << std::flush; };
  }
  const std::vector<tasks::Generated> results = model.generator.generate(prompt, generate, draft.get());
  if (streaming) {
    streams.out << '\n';
    return;
  }
  write_texts(prompt, results, options.json, streams.out);
}

struct PerplexityCommand {
  ModelOptions model;
  std::string file;
  std::int64_t context = 0;
  bool json = false;
};

void run_perplexity(const PerplexityCommand& options, const Streams& streams) {
  const std::string text = options.file.empty() ? read_text(streams.in, "standard input") : read_text(options.file);
  catalogue::read_config(options.model.model, catalogue::Task::generate, "perplexity");  // or it says what that is for
  const OpenModel model(options.model);
  const tasks::Perplexity result = model.generator.perplexity(text, options.context);
  if (options.json)
    streams.out << Json({{"perplexity", result.value()}, {"nats", result.nats}, {"tokens", result.tokens}}).dump()
                << '\n';
  else
    streams.out << fmt::format("perplexity {:.4f}   {:.4f} nats a token   {} tokens\n", result.value(), result.nats,
                               result.tokens);
}

}  // namespace

void add_generate_command(Flags& program, const Streams& streams) {
  add_command<GenerateCommand>(
      program, streams,
      {.name = "generate",
       .help = "Generate text from a prompt (GPT-2).",
       .examples = kGenerateExamples,
       .notes =
           {"Tokens are printed as they are generated. The same seed gives the same text on any number of threads.",
            "With --prompts, each line is a prompt, and up to --batch prompts are processed at once. Prompt number n "
            "(from 0) uses the seed --seed + n."}},
      [](Flags& flags, GenerateCommand& options) {
        add_model_flags(flags, options.model);
        tasks::GenerateOptions& generate = options.generate;
        add_exact_prompts_flag(flags, options.model);
        flags.add("prompt", options.prompt, "Text to continue. Standard input by default.");
        flags.add("--prompts", options.prompts, "File of prompts, one per line; - reads standard input.");
        flags.add("--batch", options.batch, "With --prompts: prompts per batch.");
        add_max_line_flag(flags, options.max_line);
        flags.add("--max-tokens", generate.max_tokens, "Maximum number of tokens to generate.");
        flags.add("--greedy", options.greedy, "Always take the most likely token.");
        flags.add("--temperature", generate.temperature,
                  "Sampling temperature. Lower values are more predictable; 0 takes the most likely token.");
        flags.add("--top-k", generate.top_k, "Sample from the k most likely tokens; 0 means all.").group("Decoding");
        flags.add("--top-p", generate.top_p, "Sample from the most likely tokens with this total probability.");
        flags.add("--min-p", generate.min_p, "Drop tokens below this share of the highest probability.");
        flags.add("--repetition-penalty", generate.repetition_penalty, "Values above 1 reduce repetition.");
        flags.add("--beams", generate.beams, "Use beam search with this beam size instead of sampling.");
        flags.add("--samples", generate.samples, "Number of texts to generate.").group("Decoding");
        flags.add("--seed", generate.seed, "Random seed for sampling.").group("Decoding");
        flags.add("--speculate", generate.speculate,
                  "Guess up to this many tokens (1 to 15) from earlier text and check them in one step; 0: none.");
        add_model_flag(flags, "--draft", options.draft,
                       "Folder of a smaller model with the same tokens that makes the guesses");
        flags.add("--stop", generate.stops, "Stop before this string. Repeat for more.").one_at_a_time();
        flags.add("--json", options.json, "Print one JSON object per text.");
      },
      run_generate);
}

void add_perplexity_command(Flags& program, const Streams& streams) {
  add_command<PerplexityCommand>(
      program, streams,
      {.name = "perplexity",
       .help = "Compute the perplexity of a text (GPT-2).",
       .examples = "attend perplexity --model gpt2 wikitext.txt",
       .notes =
           {"Long texts are processed in windows of the model's context length that overlap by --context tokens."}},
      [](Flags& flags, PerplexityCommand& options) {
        add_model_flags(flags, options.model);
        flags.add("file", options.file, "Text file. Standard input by default.");
        flags.add("--context", options.context, "Overlap of consecutive windows, in tokens; 0 means half a window.");
        flags.add("--json", options.json, "Print one JSON object.");
      },
      run_perplexity);
}

}  // namespace attend::cli
