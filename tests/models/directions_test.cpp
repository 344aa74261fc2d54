#include "attend/models/directions.h"

#include <gtest/gtest.h>

#include "attend/base/error.h"

namespace attend::models {
namespace {

using Directions = std::vector<Direction>;

TEST(Directions, AreWordsOfTwoLanguages) {
  EXPECT_EQ(directions_of("", "config.json"), Directions{});
  EXPECT_EQ(directions_of("en-fr", "config.json"), (Directions{{"en", "fr"}}));
  EXPECT_EQ(directions_of(" en-fr  fr-en ", "config.json"), (Directions{{"en", "fr"}, {"fr", "en"}}));
  for (const char* wrong : {"en", "en-", "-fr", "en-fr,fr-en", "en-french", "EN-FR", "en-fr-de", "e-f", "en-fr -"})
    EXPECT_THROW(directions_of(wrong, "config.json"), Error) << wrong;
}

TEST(Directions, MayBeInTheNameOfAFolder) {
  EXPECT_EQ(directions_in_name("en-fr"), (Directions{{"en", "fr"}}));
  EXPECT_EQ(directions_in_name("opus-mt-en-fra"), (Directions{{"en", "fra"}}));
  for (const char* other : {"", "-", "en-", "-fr", "dates", "news-both", "a-b"})
    EXPECT_EQ(directions_in_name(other), Directions{}) << other;
}

}  // namespace
}  // namespace attend::models
