#include "attend/cli/commands/fill.h"

#include <fmt/core.h>

#include <ostream>

#include "attend/base/json.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/encoder_command.h"
#include "attend/tasks/fill.h"

namespace attend::cli {

namespace {

struct FillCommand {
  EncoderFlags model;
  tasks::FillOptions fill;
};

constexpr const char* kFillExamples = R"(
  echo "Paris is the [MASK] of France." | attend fill --model bert-base-uncased
  echo "Paris is the <mask> of France." | attend fill --model roberta-base --top-k 3 --json
  attend fill --model bert-base-uncased sentences.txt --output filled.tsv)";

void print(const tasks::Filler& filler, const std::string& line, const tasks::FilledLine& filled, std::ostream& out) {
  for (std::size_t mask = 0; mask < filled.size(); ++mask)
    for (std::size_t choice = 0; choice < filled[mask].size(); ++choice)
      out << fmt::format("{:.4f}\t{}\t{}\n", filled[mask][choice].probability, filled[mask][choice].token,
                         filler.complete(line, filled, mask, choice));
  out << '\n';
}

Json json_of(const tasks::Filler& filler, const std::string& line, const tasks::FilledLine& filled) {
  Json masks = Json::array();
  for (std::size_t mask = 0; mask < filled.size(); ++mask) {
    Json choices = Json::array();
    for (std::size_t choice = 0; choice < filled[mask].size(); ++choice)
      choices.push_back({{"token", filled[mask][choice].token},
                         {"id", filled[mask][choice].id},
                         {"probability", filled[mask][choice].probability},
                         {"text", filler.complete(line, filled, mask, choice)}});
    masks.push_back(std::move(choices));
  }
  return {{"text", line}, {"masks", std::move(masks)}};
}

void run_fill(const FillCommand& options, const Streams& streams) {
  const auto backend = options.model.open(*streams.world);
  const tasks::Filler filler(options.model.model, *backend, options.model.format());
  for_each_window(options.model, streams, {{"command", "fill"}, {"top-k", options.fill.top_k}},
                  [&](std::span<const std::string> lines, const auto& batching, std::ostream& out) {
                    tasks::FillOptions fill = options.fill;
                    fill.batching = batching;
                    const std::vector<tasks::FilledLine> filled = filler.fill(lines, fill);
                    for (std::size_t i = 0; i < lines.size(); ++i)
                      if (options.model.json)
                        out << json_of(filler, lines[i], filled[i]).dump() << '\n';
                      else
                        print(filler, lines[i], filled[i], out);
                  });
}

}  // namespace

void add_fill_command(Flags& program, const Streams& streams) {
  add_command<FillCommand>(
      program, streams,
      {.name = "fill",
       .help = "Predict the masked word.",
       .examples = kFillExamples,
       .notes = {"Each output line holds probability, token and the completed text, separated by tabs. An empty line "
                 "follows each input. Several masks are predicted independently; the text shows the most likely token "
                 "at the others."}},
      [](Flags& flags, FillCommand& options) {
        add_encoder_flags(flags, options.model, "with a masked-language-model head");
        add_line_flags(flags, options.model);
        flags.add("--top-k", options.fill.top_k, "Number of tokens to print per mask.").group("Output");
      },
      run_fill);
}

}  // namespace attend::cli
