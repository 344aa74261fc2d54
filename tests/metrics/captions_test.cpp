// Every number that COCO's caption code gave to the fixture's sentences, and its words of a caption.
#include "attend/metrics/captions.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend::metrics {
namespace {

constexpr double kCaptionTolerance = 1e-9;

Words split_at_spaces(const std::string& text) {
  Words words;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

TEST(Captions, AgreeWithCoco) {
  const Json cases = read_json("tests/fixtures/data/vision/caption_metrics.cases.json");
  EXPECT_EQ(cases.size(), 14u);
  for (const Json& item : cases) {
    SCOPED_TRACE(item.at("note").text());
    std::vector<Captioned> pictures;
    for (std::size_t i = 0; i < item.at("hypotheses").size(); ++i) {
      Captioned& picture = pictures.emplace_back();
      picture.hypothesis = split_at_spaces(item.at("hypotheses")[i].text());
      for (const Json& text : item.at("references")[i]) picture.references.push_back(split_at_spaces(text.text()));
    }
    const CaptionScores scores = caption_scores(pictures);
    for (int n = 0; n < 4; ++n)
      EXPECT_NEAR(scores.bleu[n], item.at("bleu")[n].get<double>(), kCaptionTolerance) << n + 1;
    EXPECT_NEAR(scores.rouge_l, item.at("rouge_l").get<double>(), kCaptionTolerance);
    EXPECT_NEAR(scores.cider, item.at("cider").get<double>(), kCaptionTolerance);
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      EXPECT_NEAR(scores.rouge_l_of[i], item.at("per_image").at("rouge_l")[i].get<double>(), kCaptionTolerance) << i;
      EXPECT_NEAR(scores.cider_of[i], item.at("per_image").at("cider")[i].get<double>(), kCaptionTolerance) << i;
    }
  }
}

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
