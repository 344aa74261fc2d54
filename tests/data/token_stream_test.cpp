// A text as ids: made once, noticed when it changes, never trusted when damaged; and windows of it.
#include "attend/data/text/token_stream.h"
#include "attend/data/text/token_lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/text/learn/bpe_trainer.h"
#include "attend/text/tokenizer.h"

namespace attend::data {
namespace {

namespace fs = std::filesystem;

class Stream : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("attend_stream_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    text::BpeTrainer trainer({.vocabulary_size = 257, .special_tokens = {"<|endoftext|>"}, .threads = 1});
    write_file(folder_ / "tokenizer.json", text::to_tokenizer_json(trainer.train()));
    write_text("first line\nsecond line, é\n\nlast");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write_text(const std::string& text) {
    text_ = text;
    write_file(folder_ / "text", text);
  }
  TokenStream open() const {
    return TokenStream::open_or_build(
        {.texts = {(folder_ / "text").string()}, .tokenizer = folder_ / "tokenizer.json", .cache = folder_ / "cache"});
  }
  void expect_text() const {
    const TokenStream stream = open();
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < stream.size(); ++i) ids.push_back(stream[i]);
    EXPECT_EQ(text::Tokenizer::load(folder_ / "tokenizer.json").decode(ids), text_);
  }

  fs::path folder_;
  std::string text_;
};

TEST_F(Stream, HoldsEveryCharacterOfTheText) {
  expect_text();
  EXPECT_EQ(open().size(), static_cast<std::int64_t>(text_.size()));  // bytes are the tokens here
}

TEST_F(Stream, IsReusedUntilTheTextChanges) {
  open();
  const auto made = fs::last_write_time(folder_ / "cache");
  open();
  EXPECT_EQ(fs::last_write_time(folder_ / "cache"), made);
  write_text("another text");
  expect_text();
}

TEST_F(Stream, DamagedCachesAreMadeAnew) {
  open();
  const std::string good = read_file(folder_ / "cache");
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    write_file(folder_ / "cache", bad);
    expect_text();
    write_file(folder_ / "cache", good.substr(0, at));
    expect_text();
  }
}

TEST_F(Stream, WindowsAreFollowedByTheirLabels) {
  const TokenStream stream = open();
  const TokenWindows windows = random_windows(stream, 5, 7, 3, 11);
  ASSERT_EQ(windows.ids.size(), 35u);
  for (std::size_t row = 0; row < 5; ++row)
    for (std::size_t i = 0; i + 1 < 7; ++i) EXPECT_EQ(windows.labels[row * 7 + i], windows.ids[row * 7 + i + 1]);
  EXPECT_EQ(random_windows(stream, 5, 7, 3, 11).ids, windows.ids);
  EXPECT_NE(random_windows(stream, 5, 7, 3, 12).ids, windows.ids);
  EXPECT_THROW(random_windows(stream, 1, stream.size(), 1, 0), Error);
}

TEST_F(Stream, EveryTokenButTheFirstIsALabelOnce) {
  const TokenStream stream = open();
  std::vector<std::int32_t> labels;
  for (std::int64_t first = 0; first < window_count(stream, 8); first += 2)
    for (std::int32_t label : window_at(stream, first, 2, 8).labels)
      if (label != -100) labels.push_back(label);
  ASSERT_EQ(static_cast<std::int64_t>(labels.size()), stream.size() - 1);
  for (std::size_t i = 0; i < labels.size(); ++i) EXPECT_EQ(labels[i], stream[static_cast<std::int64_t>(i) + 1]);
}

// Every line of the text from its beginning, with its end behind it and nothing of the next one.
TEST_F(Stream, LinesAreTextsOfTheirOwn) {
  const text::Tokenizer tokenizer = text::Tokenizer::load(folder_ / "tokenizer.json");
  const std::int32_t end = *tokenizer.token_to_id("<|endoftext|>");
  const TokenStream stream = TokenStream::open_or_build({.texts = {(folder_ / "text").string()},
                                                         .tokenizer = folder_ / "tokenizer.json",
                                                         .cache = folder_ / "cache",
                                                         .line_end = end});
  const TokenLines lines(stream, {.end = end});
  ASSERT_EQ(lines.count(), 3);  // the empty one is none
  constexpr std::size_t kLength = 14;
  const std::vector<std::string> texts = {"first line", "second line, \u00e9", "last", ""};
  const TokenWindows windows = lines.at(0, 4, kLength);
  ASSERT_EQ(windows.ids.size(), 4 * kLength);
  for (std::size_t row = 0; row < texts.size(); ++row) {
    const std::vector<std::int32_t> ids = tokenizer.encode_ids(texts[row], {.add_special_tokens = false});
    EXPECT_EQ(windows.ids[row * kLength], end);
    for (std::size_t i = 0; i < kLength; ++i) {
      const bool there = row < 3 && i <= ids.size();
      EXPECT_EQ(windows.labels[row * kLength + i], !there ? -100 : i < ids.size() ? ids[i] : end) << row << " " << i;
      const bool read = i > 0 && i <= ids.size();
      EXPECT_EQ(windows.ids[row * kLength + i], read ? ids[i - 1] : end) << row << " " << i;
    }
  }
  // Behind its last space a line has one word, which is all there is to guess; one without a space is guessed whole.
  const std::int32_t space = tokenizer.encode_ids(" ", {.add_special_tokens = false}).at(0);
  const TokenWindows asked = TokenLines(stream, {.end = end, .prompt_end = space}).at(0, 3, kLength);
  EXPECT_EQ(asked.ids, TokenLines(stream, {.end = end}).at(0, 3, kLength).ids);
  for (std::size_t i = 0; i < kLength; ++i) {
    EXPECT_EQ(asked.labels[i], i < 6 ? -100 : windows.labels[i]) << i;
    EXPECT_EQ(asked.labels[kLength + i], i < 13 ? -100 : windows.labels[kLength + i]) << i;
    EXPECT_EQ(asked.labels[2 * kLength + i], windows.labels[2 * kLength + i]) << i;
  }
  const TokenWindows drawn = lines.random(5, kLength, 3, 11);
  EXPECT_EQ(lines.random(5, kLength, 3, 11).ids, drawn.ids);
  EXPECT_NE(lines.random(5, kLength, 3, 12).ids, drawn.ids);
  for (std::size_t row = 0; row < 5; ++row) EXPECT_EQ(drawn.ids[row * kLength], end);
}

TEST_F(Stream, BadTextsAreErrors) {
  write_text("");
  EXPECT_THROW(open(), Error);
  write_text("bad \xFF byte");
  EXPECT_THROW(open(), Error);
  fs::remove(folder_ / "text");
  EXPECT_THROW(open(), Error);
}

}  // namespace
}  // namespace attend::data
