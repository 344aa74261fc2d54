// "The animal did not cross the street because it was too tired / wide": what the bundled model `pronouns` makes of
// sentences that it never saw, and where the head that writes il or elle looks (models/pronouns/README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attend/backends.h"
#include "attend/data/synthetic/text_makers.h"
#include "attend/tasks/translator.h"
#include "attend/view/attention_map.h"

namespace attend::tasks {
namespace {

constexpr std::uint64_t kSentences = 400;

// The word of the source with the largest weight in the row of il or elle; "" where neither was written.
std::string noun_of_pronoun(const view::AttentionMap& pieces) {
  const std::size_t width = pieces.source.size();
  for (std::size_t row = 0; row < pieces.target.size(); ++row) {
    if (pieces.target[row] != "il" && pieces.target[row] != "elle") continue;
    const auto begin = pieces.weights.begin() + static_cast<std::ptrdiff_t>(row * width);
    const auto most = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(width)) - begin;
    return view::trimmed(pieces).source.at(static_cast<std::size_t>(most));
  }
  return "";
}

TEST(Pronouns, TheHeadLooksFromThePronounToItsNoun) {
  const auto backend = open_backend("cpu");
  const auto loaded = load_translator("models/pronouns", *backend);
  std::vector<std::string> sources;
  std::vector<data::TextPair> pairs;
  for (std::uint64_t line = 0; line < kSentences; ++line) {
    pairs.push_back(data::make_text({.kind = data::TextKind::pronouns}, data::TextSet::test, line));
    sources.push_back(pairs.back().source);
  }
  const auto lines = loaded->translator.translate(sources, {.beams = 1, .attention = true});
  std::uint64_t right = 0, found = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    right += lines[i].text() == pairs[i].target;
    found += noun_of_pronoun(lines[i].translations.at(0).attention) == data::pronoun_parts(pairs[i].source).noun;
  }
  EXPECT_GE(right, kSentences * 99 / 100);
  EXPECT_GE(found, kSentences * 95 / 100);
}

TEST(Pronouns, TheSlidesSentences) {
  const auto backend = open_backend("cpu");
  const auto loaded = load_translator("models/pronouns", *backend);
  const std::vector<std::string> lines = {"The animal did not cross the street because it was too tired.",
                                          "The animal did not cross the street because it was too wide."};
  const auto found = loaded->translator.translate(lines, {.beams = 1, .attention = true});
  EXPECT_EQ(found[0].text(), "L'animal n'a pas traversé la rue parce qu'il était trop flagada.");
  EXPECT_EQ(found[1].text(), "L'animal n'a pas traversé la rue parce qu'elle était trop large.");
  EXPECT_EQ(noun_of_pronoun(found[0].translations.at(0).attention), "animal");
  EXPECT_EQ(noun_of_pronoun(found[1].translations.at(0).attention), "street");
}

}  // namespace
}  // namespace attend::tasks
