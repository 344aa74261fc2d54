// A text that grows token by token is at every step what all its tokens decode to at once, whatever the tokenizer, and
// what was shown of it joined is the whole.
#include "attend/tasks/growing_text.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "attend/base/random.h"

namespace attend::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> all_tokenizers() {
  std::vector<fs::path> files = {"models/shakespeare/tokenizer.json"};
  for (const auto& entry : fs::directory_iterator("tests/fixtures/data/text"))
    if (entry.path().string().ends_with(".tokenizer.json")) files.push_back(entry.path());
  return files;
}

void expect_grows(const text::Tokenizer& tokenizer, const std::vector<text::TokenId>& ids) {
  const std::vector<std::string> stops;
  tasks::GrowingText growing(tokenizer, stops);
  std::vector<text::TokenId> written;
  std::string shown;
  for (const text::TokenId id : ids) {
    written.push_back(id);
    EXPECT_FALSE(growing.add(written));
    ASSERT_EQ(growing.text(), tokenizer.decode(written)) << written.size() << " tokens";
    shown += growing.take();
  }
  EXPECT_EQ(shown + growing.take_rest(), growing.text());
}

TEST(GrowingText, IsWhatAllTokensDecodeTo) {
  for (const fs::path& file : all_tokenizers()) {
    SCOPED_TRACE(file.string());
    const text::Tokenizer tokenizer = text::Tokenizer::load(file);
    std::vector<text::TokenId> drawn;
    for (std::uint64_t i = 0; i < 200; ++i)
      drawn.push_back(static_cast<text::TokenId>(random_word(3, 0, i) %
                                                 static_cast<std::uint32_t>(std::max(tokenizer.id_limit(), 1))));
    expect_grows(tokenizer, drawn);
    std::string text;
    for (int i = 0; i < 20; ++i) text += "The café isn't far, 北京 \xF0\x9F\x98\x80 ! ";
    expect_grows(tokenizer, tokenizer.encode_ids(text, {.add_special_tokens = false, .truncate = false, .pad = false}));
  }
}

TEST(GrowingText, StopsWhereAStopStringBegins) {
  const text::Tokenizer tokenizer = text::Tokenizer::load("models/shakespeare/tokenizer.json");
  std::string text;
  for (int i = 0; i < 40; ++i) text += "to be or not ";
  const std::vector<std::string> stops = {"or never", "the END"};
  tasks::GrowingText growing(tokenizer, stops);
  const std::vector<text::TokenId> ids = tokenizer.encode_ids(text + "the END of it");
  std::string shown;
  std::size_t count = 0;
  while (count < ids.size() && !growing.add(std::span(ids).first(++count))) shown += growing.take();
  EXPECT_LT(count, ids.size());
  EXPECT_EQ(growing.text(), text);
  EXPECT_EQ(shown + growing.take_rest(), text);
}

}  // namespace
}  // namespace attend::test
