// The parts of a tokenizer one by one, where the reference files do not reach them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/unicode/unicode.h"
#include "attend/text/steps/gpt2_words.h"
#include "attend/text/steps/pattern.h"
#include "attend/text/steps/unicode_normalization.h"
#include "attend/text/tokenizer.h"
#include "tests/text/random_text.h"

namespace attend {
namespace {

std::vector<std::string> gpt2_words(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0, end; at < text.size(); at = end) {
    end = text::Gpt2Words().end_of_word(text, at);
    words.push_back(text.substr(at, end - at));
  }
  return words;
}

TEST(Gpt2Words, FollowThePattern) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(gpt2_words("Hello, world!"), (Words{"Hello", ",", " world", "!"}));
  EXPECT_EQ(gpt2_words("it's they'll we'd I'M"), (Words{"it", "'s", " they", "'ll", " we", "'d", " I", "'", "M"}));
  EXPECT_EQ(gpt2_words("a  b   c  "), (Words{"a", " ", " b", "  ", " c", "  "}));
  EXPECT_EQ(gpt2_words("a\n\nb\t1x2"), (Words{"a", "\n", "\n", "b", "\t", "1", "x", "2"}));
  EXPECT_EQ(gpt2_words("''s '''"), (Words{"''", "s", " '''"}));
  EXPECT_EQ(gpt2_words("x\u00A0y \u00A0z"), (Words{"x", "\u00A0", "y", " ", "\u00A0", "z"}));
  EXPECT_EQ(gpt2_words("日本語٣½ e\u0301"), (Words{"日本語", "٣½", " e", "\u0301"}));
}

// A character vocabulary with what a test adds.
text::Tokenizer tokenizer_with(const std::string& parts) {
  return text::Tokenizer::parse(
      R"({"model": {"type": "BPE", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2, "c": 3, "ab": 4, "▁": 5, " ": 6,
         "1": 7, "2": 8, ".": 9, "abc": 10, "é": 11}, "merges": [["a", "b"], "ab c"]})" +
          parts + "}",
      "test");
}

std::vector<std::string> tokens(const text::Tokenizer& tokenizer, const std::string& text) {
  return tokenizer.encode(text).tokens;
}

using Tokens = std::vector<std::string>;

std::vector<std::string> found(const std::string& regex, const std::string& text) {
  std::vector<std::string> matches;
  text::TextBudget budget(text.size());
  for (const auto& [begin, end] : text::Pattern(regex).find_all(text, budget.steps))
    matches.push_back(text.substr(begin, end - begin));
  return matches;
}

TEST(Pattern, Finds) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(found(" {2,}", "a  b c   d"), (Words{"  ", "   "}));
  EXPECT_EQ(found("a|ab", "ab"), (Words{"a"}));  // the first that fits, not the longest
  EXPECT_EQ(found("a+?b|a", "aab"), (Words{"aab"}));
  EXPECT_EQ(found("a++a|b", "aaab"), (Words{"b"}));
  EXPECT_EQ(found("(?i:'s|'LL)", "it'S we'll"), (Words{"'S", "'ll"}));
  EXPECT_EQ(found("[^a-c\\s]+", "abc def"), (Words{"def"}));
  EXPECT_EQ(found("[a\\-\\]]+", "x-]a"), (Words{"-]a"}));
  EXPECT_EQ(found("\\p{N}{1,3}", "12345"), (Words{"123", "45"}));
  EXPECT_EQ(found("^a|a$", "aba"), (Words{"a", "a"}));
  EXPECT_EQ(found("a(?=b)|c(?!d)", "ab aa cd cc"), (Words{"a", "c", "c"}));
  EXPECT_EQ(found("\\x{e9}|\\u00e8", "éèe"), (Words{"é", "è"}));
  for (const char* bad : {"(", ")", "[a", "a{3,1}", "*", "(a*)*", "\\", "(?<=a)b", "\\p{Nope}", "[b-a]", "\\1"})
    EXPECT_THROW(text::Pattern{bad}, Error) << bad;
}

// GPT-2's pattern, which has a scanner of its own, through the engine.
TEST(Pattern, AgreesWithTheScannerOfGpt2) {
  const std::string regex = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  for (std::uint32_t i = 0; i < 300; ++i) {
    const std::string text = test::random_text(i, 60) + " it's  we'll 12 ";
    EXPECT_EQ(found(regex, text), gpt2_words(text)) << text;
  }
}

TEST(Pattern, SplitsAndReplaces) {
  const auto split = tokenizer_with(R"(, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\p{N}"},
                                         "behavior": "Isolated", "invert": false})");
  EXPECT_EQ(tokens(split, "ab12c"), (Tokens{"ab", "1", "2", "c"}));
  const auto replaced = tokenizer_with(R"(, "normalizer": {"type": "Replace", "pattern": {"Regex": " {2,}"},
                                            "content": "▁"}, "decoder": {"type": "Replace",
                                            "pattern": {"Regex": "▁+"}, "content": " "})");
  const text::Encoding encoding = replaced.encode("a   b c");
  EXPECT_EQ(encoding.tokens, (Tokens{"a", "▁", "b", " ", "c"}));
  EXPECT_EQ(encoding.offsets, (std::vector<text::Span>{{0, 1}, {3, 4}, {4, 5}, {5, 6}, {6, 7}}));
  EXPECT_EQ(replaced.encode_ids("a   b c"), encoding.ids);
  EXPECT_EQ(replaced.decode(encoding.ids), "a b c");
}

std::string normalized(const std::string& text, text::NormalizationForm form) {
  std::string out;
  for (const text::ChangedCharacter& c : text::normalize(text::to_characters(text), form))
    append_utf8(out, c.character);
  return out;
}

TEST(Normalization, KnowsTheForms) {
  EXPECT_EQ(normalized("é", text::NormalizationForm::nfd), "e\u0301");
  EXPECT_EQ(normalized("e\u0301", text::NormalizationForm::nfc), "é");
  EXPECT_EQ(normalized("한국", text::NormalizationForm::nfd), "\u1112\u1161\u11AB\u1100\u116E\u11A8");
  EXPECT_EQ(normalized("\u1112\u1161\u11AB\u1100\u116E\u11A8", text::NormalizationForm::nfc), "한국");
  EXPECT_EQ(normalized("ﬁ①Ⅷｱ", text::NormalizationForm::nfkc), "fi1VIIIア");
  EXPECT_EQ(normalized("ﬁ", text::NormalizationForm::nfc), "ﬁ");
  EXPECT_EQ(normalized("a\u0328\u0301", text::NormalizationForm::nfc), "ą\u0301");
  EXPECT_EQ(normalized("a\u0301\u0328", text::NormalizationForm::nfc),
            "ą\u0301");  // marks in the order of their classes
  EXPECT_EQ(normalized("\u2126", text::NormalizationForm::nfc), "Ω");
  EXPECT_EQ(normalized("\u0958", text::NormalizationForm::nfc), "\u0915\u093C");  // excluded from composition
}

TEST(Unicode, ReplacesWhatIsBroken) {
  EXPECT_EQ(replace_invalid_utf8("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(replace_invalid_utf8("\xE6\x97"), "\uFFFD");  // one for the start of a character
  EXPECT_EQ(replace_invalid_utf8("\xE6\x97\xE6\x97\xA5"), "\uFFFD日");
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(replace_invalid_utf8("\xF0\x9F\x91!"), "\uFFFD!");
}

TEST(PreTokenizers, Split) {
  EXPECT_EQ(tokens(tokenizer_with(R"(, "pre_tokenizer": {"type": "WhitespaceSplit"})"), " abc  c "),
            (Tokens{"abc", "c"}));
  EXPECT_EQ(tokens(tokenizer_with(R"(, "pre_tokenizer": {"type": "Digits", "individual_digits": true})"), "ab12c"),
            (Tokens{"ab", "1", "2", "c"}));
  EXPECT_EQ(tokens(tokenizer_with(R"(, "pre_tokenizer": {"type": "Punctuation"})"), "ab.c"), (Tokens{"ab", ".", "c"}));
  EXPECT_EQ(tokens(tokenizer_with(R"(, "pre_tokenizer": {"type": "Split", "pattern": {"String": "b"},
                                      "behavior": "Removed", "invert": false})"),
                   "abcb"),
            (Tokens{"a", "c"}));
  const auto metaspace = tokenizer_with(R"(, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁",
      "prepend_scheme": "always"}, "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"})");
  const text::Encoding encoding = metaspace.encode("abc ab");
  EXPECT_EQ(encoding.tokens, (Tokens{"▁", "abc", "▁", "ab"}));
  EXPECT_EQ(encoding.offsets, (std::vector<text::Span>{{0, 1}, {0, 3}, {3, 4}, {4, 6}}));
  EXPECT_EQ(metaspace.decode(encoding.ids), "abc ab");
}

TEST(AddedTokens, StripAndSingleWords) {
  const auto tokenizer = tokenizer_with(R"(, "added_tokens": [
      {"id": 20, "content": "<m>", "special": true, "lstrip": true},
      {"id": 21, "content": "<r>", "special": true, "rstrip": true},
      {"id": 22, "content": "word", "special": false, "normalized": false, "single_word": true},
      {"id": 23, "content": "<mm", "special": true}])");
  text::Encoding encoding = tokenizer.encode("a  <m>b<r>  c");
  EXPECT_EQ(encoding.tokens, (Tokens{"a", "  <m>", "b", "<r>  ", "c"}));
  EXPECT_EQ(encoding.offsets, (std::vector<text::Span>{{0, 1}, {1, 6}, {6, 7}, {7, 12}, {12, 13}}));
  EXPECT_EQ(tokenizer.encode_ids("word"), (std::vector<text::TokenId>{22}));
  EXPECT_EQ(tokenizer.encode_ids("a word.")[2], 22);
  EXPECT_EQ(tokenizer.encode_ids("words").size(), 5u);
  EXPECT_EQ(tokenizer.encode_ids("<mm>").front(), 23);  // the longest
  EXPECT_EQ(tokenizer.vocabulary_size(), 16u);
  EXPECT_EQ(tokenizer.id_limit(), 24);
  EXPECT_EQ(tokenizer.decode(std::vector<text::TokenId>{1, 20, 22, 99}), "a word");
}

TEST(AddedTokens, NormalizedOnesAreFoundInNormalizedText) {
  const auto tokenizer = tokenizer_with(R"(, "normalizer": {"type": "Lowercase"}, "added_tokens": [
      {"id": 20, "content": "Cab", "normalized": true, "special": false}])");
  const text::Encoding encoding = tokenizer.encode("aCABÉ");
  EXPECT_EQ(encoding.ids, (std::vector<text::TokenId>{1, 20, 11}));
  EXPECT_EQ(encoding.offsets, (std::vector<text::Span>{{0, 1}, {1, 4}, {4, 5}}));
}

TEST(PostProcessors, TemplateAndBert) {
  const auto templated = tokenizer_with(R"(, "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "S", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "S", "type_id": 1}},
               {"Sequence": {"id": "B", "type_id": 1}}],
      "special_tokens": {"S": {"id": "S", "ids": [30, 31], "tokens": ["<x>", "<y>"]}}})");
  EXPECT_EQ(templated.encode_ids("ab"), (std::vector<text::TokenId>{30, 31, 4}));
  EXPECT_EQ(templated.encode_ids("ab", {.add_special_tokens = false}), (std::vector<text::TokenId>{4}));
  const text::Encoding pair = templated.encode_pair("ab", "c");
  EXPECT_EQ(pair.ids, (std::vector<text::TokenId>{4, 30, 31, 3}));
  EXPECT_EQ(pair.type_ids, (std::vector<std::int32_t>{0, 1, 1, 1}));
  const auto bert =
      tokenizer_with(R"(, "post_processor": {"type": "BertProcessing", "sep": ["S", 40], "cls": ["C", 41]})");
  EXPECT_EQ(bert.encode_pair("ab", "c").ids, (std::vector<text::TokenId>{41, 4, 40, 3, 40}));
  EXPECT_EQ(bert.encode_pair("ab", "c").type_ids, (std::vector<std::int32_t>{0, 0, 0, 1, 1}));
}

// Whoever reads id_limit() makes or checks a table by it, so it counts what is put around texts, token or not.
TEST(PostProcessors, IdsAreBelowTheLimit) {
  const auto bare = tokenizer_with("");
  const auto bert =
      tokenizer_with(R"(, "post_processor": {"type": "BertProcessing", "sep": ["S", 40], "cls": ["C", 41]})");
  EXPECT_EQ(bert.id_limit(), 42);
  EXPECT_EQ(bert.vocabulary_size(), bare.vocabulary_size());
  const auto padded = tokenizer_with(R"(, "padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_id": 50,
                                          "pad_type_id": 0, "pad_token": "P"})");
  EXPECT_EQ(padded.id_limit(), 51);
}

TEST(PostProcessors, EmptyTemplate) {
  const auto nothing = tokenizer_with(
      R"(, "post_processor": {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}})");
  EXPECT_TRUE(nothing.encode_ids("ab").empty());
  EXPECT_TRUE(nothing.encode_pair("ab", "c").ids.empty());
}

TEST(Lengths, AreTruncatedAndPadded) {
  const std::string bert = R"(, "post_processor": {"type": "BertProcessing", "sep": ["S", 40], "cls": ["C", 41]})";
  const auto cut = [&](const std::string& options) {
    return tokenizer_with(bert + R"(, "truncation": {"max_length": 6, "stride": 0, )" + options + "}");
  };
  using Ids = std::vector<text::TokenId>;
  const auto longest = cut(R"("strategy": "LongestFirst")");
  EXPECT_EQ(longest.encode_ids("aaaaaaaa"), (Ids{41, 1, 1, 1, 1, 40}));
  EXPECT_EQ(longest.encode_ids("aaaaaaaa", {.add_special_tokens = false}), (Ids{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(longest.encode_ids("aaaaaaaa", {.truncate = false}).size(), 10u);
  EXPECT_EQ(longest.encode_pair("aaaaa", "ccccc").ids, (Ids{41, 1, 40, 3, 3, 40}));
  EXPECT_EQ(longest.encode_pair("aaaaa", "c").ids, (Ids{41, 1, 1, 40, 3, 40}));
  EXPECT_EQ(cut(R"("strategy": "OnlyFirst")").encode_pair("aaaaa", "cc").ids, (Ids{41, 1, 40, 3, 3, 40}));
  EXPECT_EQ(cut(R"("strategy": "OnlySecond")").encode_pair("aa", "ccccc").ids, (Ids{41, 1, 1, 40, 3, 40}));
  EXPECT_THROW(cut(R"("strategy": "OnlySecond")").encode_pair("aaaaaaaa", "c"), Error);
  const auto left = cut(R"("strategy": "LongestFirst", "direction": "Left")").encode("1aa222");
  EXPECT_EQ(left.ids, (Ids{41, 1, 8, 8, 8, 40}));
  EXPECT_EQ(left.offsets[1], (text::Span{2, 3}));
  const auto padded = tokenizer_with(bert + R"(, "padding": {"strategy": {"Fixed": 5}, "direction": "Right",
      "pad_to_multiple_of": null, "pad_id": 7, "pad_type_id": 3, "pad_token": "P"})");
  const text::Encoding encoding = padded.encode("a");
  EXPECT_EQ(encoding.ids, (Ids{41, 1, 40, 7, 7}));
  EXPECT_EQ(encoding.tokens, (Tokens{"C", "a", "S", "P", "P"}));
  EXPECT_EQ(encoding.type_ids, (std::vector<std::int32_t>{0, 0, 0, 3, 3}));
  EXPECT_EQ(padded.encode_ids("a"), encoding.ids);
  EXPECT_EQ(padded.encode_ids("a", {.pad = false}), (Ids{41, 1, 40}));
  const auto multiple = tokenizer_with(R"(, "padding": {"strategy": "BatchLongest", "direction": "Left",
      "pad_to_multiple_of": 4, "pad_id": 7, "pad_type_id": 0, "pad_token": "P"})");
  EXPECT_EQ(multiple.encode_ids("aaaaa"), (Ids{7, 7, 7, 1, 1, 1, 1, 1}));
}

TEST(Normalizers, BytesAndCharactersAgree) {
  for (const char* normalizer :
       {R"({"type": "BertNormalizer"})", R"({"type": "BertNormalizer", "lowercase": false})",
        R"({"type": "Lowercase"})", R"({"type": "NFKC"})", R"({"type": "StripAccents"})", R"({"type": "Nmt"})",
        R"({"type": "Prepend", "prepend": "\u2581"})", R"({"type": "Strip", "strip_left": true, "strip_right": true})",
        R"({"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"})"}) {
    const auto tokenizer = text::Tokenizer::parse(
        std::string(R"({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0]], "byte_fallback": false},
                        "pre_tokenizer": {"type": "FixedLength", "length": 1}, "normalizer": )") +
            normalizer + "}",
        "test");
    const auto count = [&](const std::string& text) {
      EXPECT_EQ(tokenizer.encode(text).ids, tokenizer.encode_ids(text)) << normalizer << text;
    };
    for (std::uint32_t i = 0; i < 200; ++i) count(test::random_text(i, 40));
  }
}

TEST(Models, UnigramTakesTheBestPath) {
  const auto tokenizer = text::Tokenizer::parse(
      R"({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["a", -1], ["b", -1], ["ab", -1.5],
                    ["abc", -9], ["c", -2], ["bc", -1.2]]}})",
      "test");
  EXPECT_EQ(tokens(tokenizer, "abc"), (Tokens{"a", "bc"}));
  EXPECT_EQ(tokens(tokenizer, "ab??c"), (Tokens{"ab", "??", "c"}));
  EXPECT_EQ(tokenizer.encode_ids("ab??c"), (std::vector<text::TokenId>{3, 0, 5}));
}

TEST(Models, WordLevel) {
  const auto tokenizer = text::Tokenizer::parse(
      R"({"model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "ab": 1}},
          "pre_tokenizer": {"type": "WhitespaceSplit"}})",
      "test");
  EXPECT_EQ(tokenizer.encode_ids("ab a ab"), (std::vector<text::TokenId>{1, 0, 1}));
  const auto strict = text::Tokenizer::parse(R"({"model": {"type": "WordLevel", "vocab": {"ab": 1}}})", "test");
  EXPECT_THROW(strict.encode_ids("a"), Error);
}

}  // namespace
}  // namespace attend
