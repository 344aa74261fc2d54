#include "attend/cli/commands/tag.h"

#include <fmt/core.h>

#include <ostream>

#include "attend/base/json.h"
#include "attend/base/terminal.h"
#include "attend/cli/support/command.h"
#include "attend/cli/support/encoder_command.h"
#include "attend/tasks/tagger.h"

namespace attend::cli {

namespace {

constexpr const char* kTagExamples = R"(
  echo "Ada lives in London." | attend tag --model bert-ner # a word and its label per line, as in CoNLL files
  attend tag --model bert-ner --json news.txt # with probabilities and character offsets
  attend tag --model bert-ner news.txt --output news.conll)";

Json json_of(const std::string& line, const tasks::TaggedLine& tagged) {
  Json words = Json::array();
  for (const tasks::TaggedWord& word : tagged)
    words.push_back({{"word", word.word},
                     {"label", word.label},
                     {"probability", word.probability},
                     {"begin", word.span.begin},
                     {"end", word.span.end}});
  return {{"text", line}, {"words", std::move(words)}};
}

void run_tag(const EncoderFlags& options, const Streams& streams) {
  const auto backend = options.open(*streams.world);
  const tasks::Tagger tagger(options.model, *backend, options.format());
  for_each_window(options, streams, {{"command", "tag"}},
                  [&](std::span<const std::string> lines, const auto& batching, std::ostream& out) {
                    const std::vector<tasks::TaggedLine> results = tagger.tag(lines, batching);
                    for (std::size_t i = 0; i < lines.size(); ++i) {
                      if (options.json) {
                        out << json_of(lines[i], results[i]).dump() << '\n';
                        continue;
                      }
                      for (const tasks::TaggedWord& word : results[i])
                        out << word.word << '\t' << printable(word.label) << '\n';
                      out << '\n';
                    }
                  });
}

}  // namespace

void add_tag_command(Flags& program, const Streams& streams) {
  add_command<EncoderFlags>(
      program, streams,
      {.name = "tag",
       .help = "Label each word, for example named entities.",
       .examples = kTagExamples,
       .notes = {"An empty line follows each input. A word of several tokens gets the label of its first token."}},
      [](Flags& flags, EncoderFlags& options) {
        add_encoder_flags(flags, options, "for token classification");
        add_line_flags(flags, options);
      },
      run_tag);
}

}  // namespace attend::cli
