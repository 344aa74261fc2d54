// Whatever UTF-8 goes in comes out again, and no input takes more than its share of time.
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/text/learn/bpe_trainer.h"
#include "attend/text/tokenizer.h"
#include "tests/text/random_text.h"

namespace attend {
namespace {

text::Tokenizer train(bool add_prefix_space) {
  text::BpeTrainer trainer({.vocabulary_size = 1000, .words = {.add_prefix_space = add_prefix_space}});
  std::string lines;
  for (std::uint32_t i = 0; i < 300; ++i) {
    lines += test::random_text(1000 + i, 20) + "\n";
    lines += "the people of the city read the newspaper; the reader's words are not the writer's\n";
  }
  trainer.add_text(lines);
  return text::Tokenizer::parse(text::to_tokenizer_json(trainer.train()), "trained");
}

const text::Tokenizer& trained() {
  static const text::Tokenizer tokenizer = train(false);
  return tokenizer;
}

// With a space before the first word, which must not be there afterwards.
const text::Tokenizer& trained_spaced() {
  static const text::Tokenizer tokenizer = train(true);
  return tokenizer;
}

void expect_lossless(const text::Tokenizer& tokenizer, const std::string& text) {
  const std::vector<text::TokenId> ids = tokenizer.encode_ids(text);
  EXPECT_EQ(tokenizer.decode(ids), text);
  const text::Encoding encoding = tokenizer.encode(text);
  EXPECT_EQ(encoding.ids, ids);
  std::uint32_t at = 0;
  const auto characters = static_cast<std::uint32_t>(count_characters(text));
  for (const text::Span& span : encoding.offsets) {
    EXPECT_LE(at, span.begin + 1);  // two tokens may share the bytes of one character
    EXPECT_LE(span.begin, span.end);
    EXPECT_LE(span.end, characters);
    at = span.end;
  }
}

void expect_lossless(const std::string& text) {
  expect_lossless(trained(), text);
  expect_lossless(trained_spaced(), text);
}

TEST(Lossless, RandomText) {
  for (std::uint32_t i = 0; i < 500; ++i) {
    SCOPED_TRACE(i);
    expect_lossless(test::random_text(i, 60));
  }
}

TEST(Lossless, NastyText) {
  for (const char* text : {"", " ", "  ", "\n", "\r\n", "\t x", "'", "''s", "it's we'LL they'll ' s", "a  b   c ",
                           "x\u00A0\u00A0y", "\u3000\u3000日本", "e\u0301\u0302", "👩‍👩‍👧‍👦",
                           "\u200B\uFEFF", "<s >not special</s", "ĠĊ printable characters of bytes", "a\u2028b"})
    expect_lossless(text);
  expect_lossless(std::string("\0zero\0", 6));
}

TEST(Lossless, EveryCharacter) {
  std::string text;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    append_utf8(text, c);
    if (text.size() < 40000) continue;
    EXPECT_EQ(trained().decode(trained().encode_ids(text)), text) << "up to " << static_cast<unsigned>(c);
    text.clear();
  }
}

TEST(Lossless, SpecialTokensInTheTextAreSpecial) {
  const std::vector<text::TokenId> ids = trained().encode_ids("<s>word</s>");
  EXPECT_EQ(ids.front(), *trained().token_to_id("<s>"));
  EXPECT_EQ(ids.back(), *trained().token_to_id("</s>"));
  EXPECT_EQ(trained().decode(ids), "word");
  EXPECT_EQ(trained().decode(ids, {.skip_special_tokens = false}), "<s>word</s>");
}

TEST(Lossless, InvalidTextIsAnErrorNotASurprise) {
  EXPECT_THROW(trained().encode_ids("a\xFFz"), Error);
  EXPECT_THROW(trained().encode_ids("\xED\xA0\x80"), Error);
  try {
    trained().encode("ab\xC3");
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("byte 2"), std::string::npos) << error.what();
  }
}

// One word of half a million bytes: work in the square of that would take minutes.
TEST(Hostile, LongWordsTakeTimeInProportion) {
  std::string letters, same(1 << 19, 'e'), quotes(1 << 19, '<');
  for (std::uint32_t i = 0; letters.size() < (1 << 19); ++i) letters += "the people of"[i * 7 % 13];
  std::erase(letters, ' ');
  for (const std::string& text : {letters, same, quotes}) {
    const std::clock_t start = std::clock();  // of this process, however busy the machine is
    EXPECT_EQ(trained().decode(trained().encode_ids(text)), text);
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 10);  // 0.1 s on an idle core
  }
}

}  // namespace
}  // namespace attend
