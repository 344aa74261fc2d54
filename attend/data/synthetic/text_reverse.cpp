// Words of a line, backwards: "rose lamp sea" -> "sea lamp rose". Nothing is to be known but where to look, and the
// image of alignment is the other diagonal. Lines have three to twelve words.
#include "attend/data/synthetic/text_makers.h"

namespace attend::data {

namespace {

constexpr int kFewestWords = 3, kMostWords = 12;

constexpr std::string_view kWords[] = {"apple", "boat",  "cloud", "door",  "earth", "fire",  "grass", "hill",
                                       "ink",   "jar",   "key",   "lamp",  "moon",  "night", "oak",   "pearl",
                                       "quill", "rose",  "sea",   "tree",  "urn",   "vine",  "wind",  "yarn",
                                       "bread", "chair", "fish",  "glass", "horse", "music", "river", "stone"};

}  // namespace

TextPair make_reverse(TextRandom& random) {
  TextPair pair;
  for (int left = kFewestWords + random.below(kMostWords - kFewestWords + 1); left > 0; --left) {
    const std::string word(random.pick(kWords));
    pair.target = pair.source.empty() ? word : word + " " + pair.target;
    pair.source += (pair.source.empty() ? "" : " ") + word;
  }
  return pair;
}

}  // namespace attend::data
