// Text made to be slow: four times as much of it takes about four times as long, with every kind of tokenizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "attend/text/tokenizer.h"

namespace attend {
namespace {

std::string repeated(std::string_view part, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += part;
  return text;
}

double seconds(const text::Tokenizer& tokenizer, const std::string& text, std::string& decoded) {
  const std::clock_t start = std::clock();  // of this process, however busy the machine is
  const text::Encoding encoding = tokenizer.encode(text);
  EXPECT_EQ(tokenizer.encode_ids(text), encoding.ids);
  decoded = tokenizer.decode(encoding.ids);
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

class LinearTime : public testing::TestWithParam<const char*> {};

TEST_P(LinearTime, OnHostileText) {
  const text::Tokenizer tokenizer = text::Tokenizer::load(std::string("tests/fixtures/data/text/") + GetParam());
  constexpr std::size_t kSmall = 1 << 15, kLarge = 1 << 18;
  for (const char* part : {"a", "abcdefgh", "\u0301", "e\u0316\u0301", "\u1100\u1161", " ", "\u2581", "<", "\u4f60",
                           "\U0001F469\u200D", "'", ".", "\ufb01", "the people of "}) {
    SCOPED_TRACE(part);
    std::string decoded;
    const double small = seconds(tokenizer, repeated(part, kSmall), decoded);
    const double large = seconds(tokenizer, repeated(part, kLarge), decoded);
    // Eight times the text, so about eight times the time; in the square it would be 64. Below a tenth of a second
    // there is nothing to complain about, and clocks are coarse.
    EXPECT_LT(large, std::max(30 * small, 0.3));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, LinearTime,
                         testing::Values("bytelevel_bpe_roberta.tokenizer.json", "classic_bpe.tokenizer.json",
                                         "llama_style_bpe.tokenizer.json", "unigram_metaspace.tokenizer.json",
                                         "wordpiece_cased.tokenizer.json", "spm_unigram.model", "spm_bpe.model"),
                         [](const auto& info) {
                           const std::string name = info.param;
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace attend
