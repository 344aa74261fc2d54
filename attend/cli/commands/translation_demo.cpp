#include "attend/cli/commands/translation_demo.h"

#include <fmt/core.h>

#include <algorithm>
#include <ostream>

#include "attend/backends.h"
#include "attend/cli/support/shell_word.h"
#include "attend/tasks/model_folder.h"
#include "attend/tasks/translator.h"
#include "attend/view/terminal_heat_map.h"

namespace attend::cli {

namespace {

// The last two differ in a word, and French has to know which of the words before it "it" is.
const std::vector<std::string> kSentences = {
    "I am a student.", "She is a student.", "We are going to the movies tonight.",
    "I did not buy the car because it was too expensive.", "I did not buy the book because it was too expensive."};
constexpr const char* kPronoun = "it";

void show_translation(const tasks::TranslatedLine& line, const std::string& sentence, const Streams& streams) {
  streams.out << fmt::format("\n{}\n  {}\n\n", sentence, line.text());
  const view::AttentionMap words = view::merge_words(line.translations.front().attention);
  streams.out << view::draw({words.target, words.source, words.weights}, streams.out_terminal);
}

// One row per head of the encoder: where the pronoun looks in its own sentence.
void show_pronoun(const tasks::Translator& translator, const std::string& sentence, const Streams& streams) {
  std::vector<std::string> rows, columns;
  std::vector<float> weights;
  for (const tasks::SelfAttention& head : translator.self_attention(sentence)) {
    const view::AttentionMap words = view::merge_words(head.map);
    const auto found = std::find(words.target.begin(), words.target.end(), kPronoun);
    if (found == words.target.end()) return;
    columns = words.source;
    rows.push_back(fmt::format("layer {} head {}", head.layer + 1, head.head + 1));
    const auto row =
        words.weights.begin() + (found - words.target.begin()) * static_cast<std::ptrdiff_t>(columns.size());
    weights.insert(weights.end(), row, row + static_cast<std::ptrdiff_t>(columns.size()));
  }
  if (rows.empty()) return;
  streams.out << fmt::format("\nAttention of \"{}\" in each head of the encoder:\n\n", kPronoun);
  streams.out << view::draw({rows, columns, weights}, streams.out_terminal);
}

}  // namespace

void run_translation_demo(const TranslationDemoOptions& options, const Streams& streams) {
  const std::filesystem::path folder = tasks::find_model(tasks::kShippedTranslator);
  const auto backend = open_backend(options.device, {.threads = options.threads});
  const auto loaded = tasks::load_translator(folder, *backend);
  streams.out << fmt::format(
      "A Transformer with {:.1f} million weights, trained by attend train, turns English into French on {}.\n"
      "Below each translation are its attention weights. Rows: output tokens; columns: input tokens (last layer, mean "
      "of all heads).\n",
      static_cast<double>(loaded->parameters.count()) / 1e6, backend->name());
  const auto lines = loaded->translator.translate(kSentences, {.attention = true});
  for (std::size_t i = 0; i < lines.size(); ++i) show_translation(lines[i], kSentences[i], streams);
  streams.out << "\nThe car is feminine, the book masculine: \"it\" became \"elle\" and \"il\".\n";
  show_pronoun(loaded->translator, kSentences.back(), streams);
  streams.out << called_as(streams.program, "\nYour own sentences:\n  attend translate --show-attention\n");
}

}  // namespace attend::cli
