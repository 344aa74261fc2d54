// Learning WordPiece: the example of Sennrich et al. 2016 worked out by hand, and a file that reads as
// BERT's does.
#include "attend/text/learn/word_piece_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "attend/base/error.h"
#include "attend/text/tokenizer.h"

namespace attend {
namespace {

std::string repeated(const std::string& word, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += word + " ";
  return text;
}

const std::string kWords = repeated("low", 5) + repeated("lower", 2) + repeated("newest", 6) + repeated("Widest", 3);

TEST(WordPieceTrainer, JoinsTheMostFrequentPairs) {
  text::WordPieceTrainer trainer({.vocabulary_size = 5 + 10 + 8 + 3, .threads = 1});
  trainer.add_text(kWords);
  const std::vector<std::string> pieces = trainer.pieces();
  // Ten letters, eight of which occur inside words; then es 9, est 9, lo 7.
  const std::vector<std::string> expected = {
      "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "d",   "e",   "i",   "l",   "n",   "o",    "r",     "s",
      "t",     "w",     "##d",   "##e",   "##i",    "##o", "##r", "##s", "##t", "##w", "##es", "##est", "lo"};
  EXPECT_EQ(pieces, expected);
}

TEST(WordPieceTrainer, WritesATokenizerThatPutsBertsTokensAround) {
  text::WordPieceTrainer trainer({.vocabulary_size = 60, .threads = 1});
  trainer.add_text(kWords + "\n[MASK] low [MASK]\n");
  const text::Tokenizer tokenizer = text::Tokenizer::parse(trainer.train(), "trained");
  const text::Encoding pair = tokenizer.encode_pair("LOW, newest", "[MASK] lower q");
  const std::vector<std::string> tokens = {"[CLS]",  "low",   "[UNK]", "newest", "[SEP]",
                                           "[MASK]", "lower", "[UNK]", "[SEP]"};
  EXPECT_EQ(pair.tokens, tokens);
  EXPECT_EQ(pair.type_ids, (std::vector<std::int32_t>{0, 0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_FALSE(tokenizer.token_to_id("mask")) << "special tokens are no words of the text";
  EXPECT_EQ(tokenizer.decode(tokenizer.encode_ids("widest newest")), "widest newest");
}

TEST(WordPieceTrainer, AnyNumberOfThreadsGivesTheSameFile) {
  const auto file = [](int threads) {
    text::WordPieceTrainer trainer({.vocabulary_size = 60, .threads = threads});
    for (int i = 0; i < 50; ++i) trainer.add_text(kWords + repeated("word" + std::to_string(i), i) + "\n");
    return trainer.train();
  };
  EXPECT_EQ(file(1), file(3));
}

TEST(WordPieceTrainer, RareCharactersAreLeftOut) {
  text::WordPieceTrainer trainer({.vocabulary_size = 30, .characters = 3, .threads = 1});
  trainer.add_text("aaab aab ab xyz");
  const std::vector<std::string> pieces = trainer.pieces();
  EXPECT_EQ(std::ranges::count_if(pieces, [](const std::string& piece) { return piece.size() == 1; }), 3);
  text::WordPieceTrainer small({.vocabulary_size = 6, .threads = 1});
  small.add_text("abc");
  EXPECT_THROW(small.pieces(), Error);
  EXPECT_THROW(text::WordPieceTrainer({.vocabulary_size = 3}), Error);
}

}  // namespace
}  // namespace attend
