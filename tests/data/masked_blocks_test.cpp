// Hiding tokens: the shares of Devlin et al. 2019, nothing special hidden, and the same every time it is asked for.
#include "attend/data/text/masked_blocks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/text/learn/word_piece_trainer.h"
#include "attend/text/tokenizer.h"

namespace attend::data {
namespace {

namespace fs = std::filesystem;

class Masked : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("attend_masked_" + std::to_string(getpid()));
    std::string text;
    for (int i = 0; i < 400; ++i) {
      for (int w = 0; w < 3 + i % 40; ++w) text += std::string(1, static_cast<char>('a' + (i * 7 + w * 3) % 20)) + " ";
      text += "\n\n";
    }
    text::WordPieceTrainer trainer({.vocabulary_size = 200, .threads = 1});
    trainer.add_text(text);
    write_file(folder_ / "tokenizer.json", trainer.train());
    write_file(folder_ / "text", text);
    const text::Tokenizer tokenizer = text::Tokenizer::load(folder_);
    options_ = {.block = 22, .start = 2, .end = 3, .mask = 4, .seed = 7};
    for (std::int32_t id = 5; id < tokenizer.id_limit(); ++id) options_.ordinary.push_back(id);
  }
  void TearDown() override { fs::remove_all(folder_); }

  TokenStream open() const {
    return TokenStream::open_or_build({.texts = {(folder_ / "text").string(), (folder_ / "text").string()},
                                       .tokenizer = folder_ / "tokenizer.json",
                                       .cache = folder_ / "cache",
                                       .line_end = 3});
  }
  // The blocks as they were before anything was hidden.
  static std::vector<std::int32_t> restored(const MaskedBlocks& blocks) {
    std::vector<std::int32_t> ids = blocks.ids;
    for (std::size_t i = 0; i < blocks.places.size(); ++i)
      if (blocks.labels[i] >= 0) ids[static_cast<std::size_t>(blocks.places[i])] = blocks.labels[i];
    return ids;
  }

  fs::path folder_;
  MaskingOptions options_;
};

TEST_F(Masked, SharesAreThoseOfThePaper) {
  const TokenStream stream = open();
  const MaskedText text(stream, options_);
  ASSERT_EQ(text.hidden(), 3);  // 15 % of 20
  double hidden = 0, masked = 0, kept = 0, random = 0;
  std::vector<double> places(22);
  for (std::uint64_t batch = 0; batch < 500; ++batch) {
    const MaskedBlocks blocks = text.random(8, batch);
    ASSERT_EQ(blocks.ids.size(), 8u * 22);
    ASSERT_EQ(blocks.places.size(), 8u * 3);
    std::set<std::int32_t> once(blocks.places.begin(), blocks.places.end());
    EXPECT_EQ(once.size(), blocks.places.size()) << "no place is hidden twice";
    for (std::size_t i = 0; i < blocks.places.size(); ++i) {
      const auto place = static_cast<std::size_t>(blocks.places[i]);
      ASSERT_EQ(place / 22, i / 3) << "of its own block";
      ASSERT_GE(blocks.labels[i], 5) << "special tokens are never hidden";
      const std::int32_t id = blocks.ids[place];
      ++hidden, masked += id == 4, kept += id == blocks.labels[i], random += id != 4 && id != blocks.labels[i];
      EXPECT_TRUE(id == 4 || id >= 5) << "nor put in";
      ++places[place % 22];
    }
  }
  EXPECT_NEAR(masked / hidden, 0.8, 0.015);  // four deviations of 12,000 draws
  EXPECT_NEAR(kept / hidden, 0.1 + 0.1 / static_cast<double>(options_.ordinary.size()), 0.012);
  EXPECT_NEAR(random / hidden, 0.1, 0.012);
  EXPECT_EQ(places[0] + places[21], 0);
  for (std::size_t i = 1; i < 21; ++i) EXPECT_GT(places[i], hidden / 20 * 0.7) << i;
}

TEST_F(Masked, IsAPureFunctionOfSeedAndBatch) {
  const TokenStream stream = open();
  const MaskedText text(stream, options_), again(stream, options_);
  EXPECT_EQ(text.random(4, 9).ids, again.random(4, 9).ids);
  EXPECT_NE(text.random(4, 9).ids, text.random(4, 10).ids);
  options_.seed = 8;
  EXPECT_NE(MaskedText(stream, options_).random(4, 9).ids, text.random(4, 9).ids);
  // Batches are numbered blocks: two of four are one of eight.
  std::vector<std::int32_t> two = text.random(4, 2).ids;
  const std::vector<std::int32_t> rest = text.random(4, 3).ids;
  two.insert(two.end(), rest.begin(), rest.end());
  EXPECT_EQ(two, text.random(8, 1).ids);
}

TEST_F(Masked, BlocksBeginWithALineOrInsideALongOne) {
  const TokenStream stream = open();
  const MaskedText text(stream, options_);
  for (std::uint64_t batch = 0; batch < 50; ++batch) {
    const std::vector<std::int32_t> ids = restored(text.random(1, batch));
    EXPECT_EQ(ids.front(), 2);
    EXPECT_EQ(ids.back(), 3);
    bool found = false;
    for (std::int64_t at = 0; at + 20 <= stream.size() && !found; ++at) {
      std::int64_t line = at;
      while (line > 0 && stream[line - 1] != 3) --line;
      if ((at - line) % 20 != 0 && at + 20 != stream.size()) continue;
      found = true;
      for (std::int64_t i = 0; i < 20 && found; ++i) found = stream[at + i] == ids[static_cast<std::size_t>(i + 1)];
    }
    EXPECT_TRUE(found) << batch;
  }
}

TEST_F(Masked, ValidationSeesEveryTokenAndHidesTheSame) {
  const TokenStream stream = open();
  const MaskedText text(stream, options_);
  const MaskedBlocks all = text.at(0, text.count());
  EXPECT_EQ(all.ids, text.at(0, text.count()).ids);
  const std::vector<std::int32_t> ids = restored(all);
  for (std::int64_t i = 0; i < stream.size() - 20; ++i)
    ASSERT_EQ(ids[static_cast<std::size_t>(i / 20 * 22 + 1 + i % 20)], stream[i]) << i;
}

TEST_F(Masked, TextsWithLittleToHideAreTakenAsTheyAre) {
  const TokenStream stream = open();
  options_.ordinary = {5};  // the letter "a" alone may be hidden
  const MaskedBlocks blocks = MaskedText(stream, options_).random(50, 0);
  ASSERT_EQ(blocks.labels.size(), 150u);
  EXPECT_GT(std::ranges::count(blocks.labels, -100), 0);
  for (std::int32_t label : blocks.labels) EXPECT_TRUE(label == 5 || label == -100);
  options_.block = 1 << 20;
  EXPECT_THROW(MaskedText(stream, options_), Error);
  options_.block = 2;
  EXPECT_THROW(MaskedText(stream, options_), Error);
}

}  // namespace
}  // namespace attend::data
