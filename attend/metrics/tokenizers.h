// How a metric cuts a line into words. BLEU is only comparable under the same tokenizer, so these follow sacreBLEU
// (Post 2018, "A Call for Clarity in Reporting BLEU Scores") character by character.
#pragma once

#include <string>
#include <string_view>

namespace attend::metrics {

enum class Tokenizer {
  kMteval13a,      // the one of WMT: ASCII punctuation, except within numbers
  kInternational,  // any Unicode punctuation and symbols (mteval-v14)
  kCharacter,      // every character that is not white space
  kNone,           // white space only
};

// "13a", "intl", "char", "none"; an unknown name is an Error that lists them.
Tokenizer tokenizer_named(std::string_view name);
std::string_view tokenizer_name(Tokenizer tokenizer);

// A line whose words stand apart by white space. Spaces may be doubled: split_words is next.
std::u32string tokenize(Tokenizer tokenizer, std::u32string_view line);

// Tercom's way, for TER.
struct TercomOptions {
  bool normalized = false;      // unescape and split punctuation off, about as 13a does
  bool no_punctuation = false;  // drop . , ? : ; ! " ( )
  bool asian = false;           // with either of the two: the same for Chinese and Japanese
  bool case_sensitive = false;
};

std::u32string tokenize_tercom(const TercomOptions& options, std::u32string_view line);

}  // namespace attend::metrics
