// Long prompts of attend serve: read in pieces, and not twice where they begin alike. The texts are those of a server
// that has seen no other prompt.
#include <gtest/gtest.h>

#include "tests/http/http_client.h"
#include "tests/serve/serving_house.h"

namespace attend::serve {
namespace {

TEST(ServeLongPrompts, ThatBeginAlikeAreReadOnce) {
  if (!http::has_http_server()) GTEST_SKIP() << "built without Boost";
  const House kept({}, {"shakespeare"});
  const std::string shared =
      "First Citizen:\nBefore we proceed any further, hear me speak.\n\nAll:\nSpeak, speak.\n\nFirst Citizen:\nYou are "
      "all resolved rather to die than to famish?\n\nAll:\nResolved. resolved.\n\n";
  double cached = 0, read = 0;
  for (const char* end : {"First Citizen:\n", "ROMEO:", "First Citizen:\n", ""}) {
    const House fresh({}, {"shakespeare"});
    const std::string prompt = shared + end;
    EXPECT_EQ(completed(kept.port(), prompt, 1), completed(fresh.port(), prompt, 1));
    EXPECT_EQ(fresh.metrics.value("attend_prompt_cached_tokens_total"), 0);
    EXPECT_GE(fresh.metrics.value("attend_prompt_pieces_total"), 1);
    read += fresh.metrics.value("attend_prompt_tokens_total");
    if (prompt.ends_with("ROMEO:")) cached = kept.metrics.value("attend_prompt_cached_tokens_total");
  }
  EXPECT_GE(cached, 64);
  EXPECT_GE(kept.metrics.value("attend_prompt_cached_tokens_total"), 3 * cached);
  EXPECT_EQ(kept.metrics.value("attend_prompt_tokens_total"), read);
  const House at_once({}, {"shakespeare"}, 0);
  EXPECT_FALSE(completed(at_once.port(), shared, 1).empty());
  EXPECT_EQ(at_once.metrics.value("attend_prompt_pieces_total"), 0);
  EXPECT_EQ(at_once.metrics.value("attend_prompt_cached_tokens_total"), 0);
}

}  // namespace
}  // namespace attend::serve
