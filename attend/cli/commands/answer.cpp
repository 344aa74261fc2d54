#include "attend/cli/commands/answer.h"

#include <fmt/core.h>

#include <filesystem>
#include <ostream>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/lines.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/encoder_command.h"
#include "attend/cli/support/line_input.h"
#include "attend/tasks/answerer.h"

namespace attend::cli {

namespace {

struct AnswerCommand {
  EncoderFlags model;
  std::string question, context, context_text;
  tasks::AnswerOptions answer;
};

constexpr const char* kAnswerExamples = R"(
  attend answer --model bert-squad --question "Who wrote it?" --context article.txt
  attend answer --model bert-squad --question "Where?" --context-text "Ada lives in London."
  attend answer --model bert-squad --question "Where?" --context article.txt --json --top-k 3 # the best three answers)";

std::string context_of(const AnswerCommand& options, std::istream& in) {
  check(options.context.empty() || options.context_text.empty(), "answer: --context and --context-text; give one");
  std::string context = !options.context_text.empty() ? options.context_text
                        : options.context.empty()     ? read_text(in, "standard input")
                                                      : read_text(std::filesystem::path(options.context));
  check(context.size() <= static_cast<std::size_t>(options.model.max_line),
        "answer: the context has {} bytes, more than {}; --max-line raises the limit", context.size(),
        options.model.max_line);
  return context;
}

void run_answer(const AnswerCommand& options, const Streams& streams) {
  const std::string context = context_of(options, streams.in);
  const auto backend = options.model.open();
  const tasks::Answerer answerer(options.model.model, *backend, options.model.format());
  const std::vector<tasks::Answer> answers = answerer.answer(options.question, context, options.answer);
  check(!answers.empty(), "answer: the context is empty");
  for (const tasks::Answer& answer : answers)
    if (options.model.json)
      streams.out << Json({{"answer", answer.text},
                           {"score", answer.score},
                           {"begin", answer.span.begin},
                           {"end", answer.span.end}})
                         .dump()
                  << '\n';
    else
      streams.out << fmt::format("{:.4f}\t{}\t{}\t{}\n", answer.score, answer.span.begin, answer.span.end, answer.text);
}

}  // namespace

void add_answer_command(Flags& program, const Streams& streams) {
  add_command<AnswerCommand>(
      program, streams,
      {.name = "answer",
       .help = "Answer a question from a text (SQuAD).",
       .examples = kAnswerExamples,
       .notes =
           {"Each output line holds score, start, end and answer, separated by tabs. Start and end count characters.",
            "A long context is processed in overlapping windows."}},
      [](Flags& flags, AnswerCommand& options) {
        add_encoder_flags(flags, options.model, "for question answering");
        flags.add("--question", options.question, "Question to answer.").required();
        flags.add("--context", options.context, "File with the text to search. Standard input by default.")
            .group("Data");
        flags.add("--context-text", options.context_text, "Text to search, given directly.");
        add_max_line_flag(flags, options.model.max_line);
        flags.add("--top-k", options.answer.top_k, "Number of answers.").group("Output");
        flags.add("--max-tokens", options.answer.max_tokens, "Maximum length of an answer, in tokens.").group("Output");
        flags.add("--overlap", options.answer.overlap, "Overlap of consecutive windows, in tokens.")
            .group("Performance");
        flags.add("--batch", options.answer.batch, "Windows per batch.");
      },
      run_answer);
}

}  // namespace attend::cli
