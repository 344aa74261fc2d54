// What tokenizers do with the awkward: numbers, entities, scripts, white space, and bytes that are no text.
#include "attend/metrics/tokenizers.h"
#include "attend/base/unicode/unicode.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/metrics/unicode.h"

namespace attend::metrics {
namespace {

std::u32string joined(std::u32string_view text) {
  std::u32string out;
  for (const std::u32string_view word : split_words(text)) out.append(out.empty() ? U"" : U" ").append(word);
  return out;
}

void expect_words(Tokenizer tokenizer, const std::vector<std::pair<std::string, std::string>>& cases) {
  for (const auto& [line, words] : cases)
    EXPECT_EQ(joined(tokenize(tokenizer, decode_utf8(line))), decode_utf8(words)) << line;
}

TEST(Tokenizers, Mteval13aKeepsNumbersTogether) {
  expect_words(Tokenizer::kMteval13a, {{"", ""},
                                       {"Hello, world.", "Hello , world ."},
                                       {"It costs $3.50 (or 1,000).", "It costs $ 3.50 ( or 1,000 ) ."},
                                       {"5-6 well-known", "5 - 6 well-known"},
                                       {"end in 1999.", "end in 1999 ."},
                                       {"a &quot;b&quot; &amp;lt; c", "a \" b \" < c"},
                                       {"one <skipped>two", "one two"},
                                       {"don't «stop»", "don't «stop»"},
                                       {"wait...", "wait . . ."}});
}

TEST(Tokenizers, InternationalKnowsUnicode) {
  expect_words(Tokenizer::kInternational, {{"«Ça», dit-il.", "« Ça » , dit - il ."},
                                           {"3,14 € ≈ ٣٫١٤", "3,14 € ≈ ٣٫١٤"},
                                           {"in 1999.", "in 1999."},  // as mteval-v14 has it
                                           {"x→y", "x → y"},
                                           {"你好，世界。", "你好 ， 世界 。"},
                                           {"&quot;", "& quot ;"}});
}

TEST(Tokenizers, CharacterAndNone) {
  expect_words(Tokenizer::kCharacter, {{"ab c😀", "a b c 😀"}, {"\u3000x\u00a0", "x"}});
  expect_words(Tokenizer::kNone, {{"a,b  c.\td", "a,b c. d"}});
}

TEST(Tokenizers, TercomOptions) {
  const auto words = [](const TercomOptions& options, const char* line) {
    return joined(tokenize_tercom(options, decode_utf8(line)));
  };
  EXPECT_EQ(words({}, "Hello, World."), U"hello, world.");
  EXPECT_EQ(words({.case_sensitive = true}, "Hello, World."), U"Hello, World.");
  EXPECT_EQ(words({.normalized = true}, "the dog's 3.5 bones."), U"the dog 's 3.5 bones .");
  EXPECT_EQ(words({.no_punctuation = true}, "(a) b. \"c\"!"), U"a b c");
  EXPECT_EQ(words({.normalized = true, .asian = true}, "中文。"), U"中 文 。");
  EXPECT_EQ(words({.no_punctuation = true, .asian = true}, "中文。"), U"中文");
}

TEST(Tokenizers, NamesGoBothWays) {
  for (const char* name : {"13a", "intl", "char", "none"}) EXPECT_EQ(tokenizer_name(tokenizer_named(name)), name);
  EXPECT_THROW(tokenizer_named("14a"), Error);
}

TEST(Unicode, LowerCaseIsPythons) {
  EXPECT_EQ(lower(U"ÀÉÎ Straße ẞ"), U"àéî straße ß");
  EXPECT_EQ(lower(U"İ"), U"i\u0307");
  EXPECT_EQ(lower(U"ΟΔΟΣ ΣΟΣ Σ ΑΣ'Α ΑΣ'"), U"οδος σος σ ασ'α ας'");
  EXPECT_EQ(lower(U"ĀāĹĽ Ǆǅ ЖЁ \U00010400 \u2160"), U"āāĺľ ǆǆ жё \U00010428 \u2170");
}

TEST(Unicode, WhiteSpaceIsPythons) {
  EXPECT_EQ(split_words(U" a\x1C"
                        U"b\u0085c\u2003d\u3000")
                .size(),
            4u);
  EXPECT_EQ(split_words(U"a\u200bb").size(), 1u);
  EXPECT_EQ(strip_right(U"a \u00a0\r"), U"a");
  EXPECT_EQ(strip_right("a \u00a0\u3000\r"), "a");
  EXPECT_EQ(strip_right("\u3000"), "");
  EXPECT_EQ(strip_right("é"), "é");
}

TEST(Unicode, RejectsWhatIsNotUtf8) {
  for (const char* bytes : {"\x80", "\xC0\xAF", "\xC3", "\xE2\x82", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF",
                            "\xF0\x80\x80\x80", "\xC3("}) {
    EXPECT_EQ(find_invalid_utf8(std::string("ab") + bytes), 2u);
    EXPECT_THROW(decode_utf8(bytes), Error);
  }
  EXPECT_EQ(find_invalid_utf8("a\u00e9\u20ac\U0001F600"), std::nullopt);
}

}  // namespace
}  // namespace attend::metrics
