// The words of a caption, and what scores need (tests/fixtures has COCO's numbers).
#include "attend/metrics/captions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend::metrics {
namespace {

TEST(Captions, WordsAreTheTreebanks) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"A man riding a wave on top of a surfboard.", "a man riding a wave on top of a surfboard"},
      {"The dog's ball, and the man's T-shirt!", "the dog 's ball and the man 's t-shirt"},
      {"It doesn't fit; they can't see it", "it does n't fit they ca n't see it"},
      {"We're sure I'm late... you'll see what he'd've", "we 're sure i 'm late you 'll see what he 'd 've"},
      {"\"Stop\" sign: 'no' entry -- turn", "stop sign no entry turn"},
      {"two (2) cats", "two -lrb- 2 -rrb- cats"},
      {"costs $1,000.50 at 10:30", "costs $ 1,000.50 at 10:30"},
      {"the 1980's dogs' toys", "the 1980 's dogs toys"},
      {"Mr. Smith of the U.S. army at 5 p.m. today", "mr. smith of the u.s. army at 5 p.m. today"},
      {"salt & pepper and/or oil", "salt & pepper and\\/or oil"},
      {"you cannot go", "you can not go"},
      {"an  UN\u00cfCODE caf\u00e9\u2014it\u2019s here \u2026", "an un\u00efcode caf\u00e9 it 's here"},
      {"end.", "end"},
      {"a.b", "a.b"},
      {"one.Two", "one two"},
      {"", ""},
      {" \n\t. ", ""},
  };
  for (const auto& [caption, expected] : cases) {
    std::string joined;
    for (const std::string& word : caption_words(caption)) joined += (joined.empty() ? "" : " ") + word;
    EXPECT_EQ(joined, expected) << caption;
  }
  EXPECT_THROW(caption_words("b\xC3\x28"), Error);
}

TEST(Captions, NeedReferences) {
  EXPECT_THROW(caption_scores({}), Error);
  EXPECT_THROW(caption_scores(std::vector<Captioned>{{.hypothesis = {"a"}}}), Error);
}

}  // namespace
}  // namespace attend::metrics
