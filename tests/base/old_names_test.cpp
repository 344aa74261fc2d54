// Names of settings that were changed in 0.2 and are read until 0.3.
#include "attend/base/old_names.h"

#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "attend/base/json.h"

namespace attend {
namespace {

TEST(OldNames, FlagsBecomeTheirCurrentOnes) {
  EXPECT_EQ(with_current_name("--pictures"), "--images");
  EXPECT_EQ(with_current_name("--score-pictures=5"), "--score-images=5");
  EXPECT_EQ(with_current_name("--judge"), "--feature-model");
  EXPECT_EQ(with_current_name("--picture=--pictures"), "--image=--pictures");
  for (const char* word : {"pictures", "-p", "--", "--picturesque", "", "--images", "judge"})
    EXPECT_EQ(with_current_name(word), word);
}

TEST(OldNames, KeysOfARecipeToo) {
  const Json settings = with_current_names({{"pictures", "photos"}, {"judge", "vit"}, {"steps", 5}}, "a.json");
  EXPECT_EQ(settings.at("images").text(), "photos");
  EXPECT_EQ(settings.at("feature_model").text(), "vit");
  EXPECT_EQ(settings.size(), 3u);
  EXPECT_EQ(with_current_names(Json::array({"pictures"}), "a.json").size(), 1u);
}

TEST(OldNames, BothNamesOfOneSettingAreRefused) {
  try {
    with_current_names({{"pictures", "a"}, {"images", "b"}}, "a.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a.json: 'pictures' is the old name of 'images'; give one of them");
  }
}

}  // namespace
}  // namespace attend
