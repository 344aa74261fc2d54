#include "attend/cli/commands/train_tokenizer.h"

#include <fmt/core.h>

#include <chrono>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/progress.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/command_files.h"
#include "attend/text/learn/bpe_trainer.h"

namespace attend::cli {

namespace {

constexpr const char* kTrainTokenizerExamples = R"(
  attend train-tokenizer train.en train.fr --vocabulary 8000 --out model/tokenizer.json # one for both languages
  attend train-tokenizer corpus.*.gz --vocabulary 32000 --special-tokens "<pad>" "</s>"
  attend train-tokenizer book.txt --line-ends --out gpt/tokenizer.json # for a language model)";

}  // namespace

void run_train_tokenizer(const TrainTokenizerOptions& options, const Streams& streams) {
  const auto start = std::chrono::steady_clock::now();
  OutputFiles outputs(command_files(streams, {.outputs = {{"--out", options.out}}, .files = options.files}));
  Progress progress(streams.err, {.label = "learning tokens",
                                  .total = static_cast<std::int64_t>(options.vocabulary),
                                  .terminal = streams.err_terminal});
  text::BpeTrainer trainer(
      {.vocabulary_size = options.vocabulary,
       .min_frequency = options.min_frequency,
       .special_tokens = options.special_tokens,
       .words = {.add_prefix_space = options.add_prefix_space, .line_ends = options.line_ends},
       .threads = options.threads,
       .on_progress = [&](std::size_t tokens) { progress.update(static_cast<std::int64_t>(tokens)); }});
  for (const std::string& file : options.files) trainer.add_file(file);
  check(trainer.lines() > 0, "train-tokenizer: the text is empty");
  const text::TrainedBpe trained = trainer.train();
  progress.update(static_cast<std::int64_t>(trained.tokens.size()));
  progress.finish();
  outputs.write(options.out, text::to_tokenizer_json(trained));
  outputs.commit();
  if (trainer.invalid_lines() > 0)
    streams.err << fmt::format("attend: {} lines are not UTF-8 and were left out\n", trainer.invalid_lines());
  if (trained.tokens.size() < options.vocabulary)
    streams.err << fmt::format("attend: the text gives only {} tokens, not {}\n", trained.tokens.size(),
                               options.vocabulary);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  streams.out << fmt::format("{}: {} tokens from {} lines in {:.1f} s\n", options.out, trained.tokens.size(),
                             trainer.lines(), seconds.count());
}

void add_train_tokenizer_command(Flags& program, const Streams& streams) {
  add_command<TrainTokenizerOptions>(
      program, streams,
      {.name = "train-tokenizer",
       .help = "Train a byte-level BPE tokenizer on text files.",
       .examples = kTrainTokenizerExamples,
       .notes = {"attend tokenize and Hugging Face tokenizers read the file and give the same ids."}},
      [](Flags& flags, TrainTokenizerOptions& options) {
        flags.add("files", options.files, "Text files, plain or gzip.").required();
        flags.add("--out", options.out, "The tokenizer.json to write.");
        flags.add("--vocabulary", options.vocabulary, "Vocabulary size, including special tokens and the 256 bytes.");
        flags.add("--min-frequency", options.min_frequency, "Minimum count of a pair to merge.");
        flags.add("--special-tokens", options.special_tokens, "Special tokens, which get the first ids.");
        flags.add("--prefix-space", options.add_prefix_space, "Add a space before the first word of a line.");
        flags.add("--line-ends", options.line_ends, "Keep line feeds as part of the text, for language models.");
        flags.add("--threads", options.threads, "CPU threads; 0 uses all cores.");
      },
      run_train_tokenizer);
}

}  // namespace attend::cli
