// SentencePiece's precompiled normalization rules ("nmt_nfkc" and such): which strings become which. A double-array
// trie in Darts-clone's layout, then the replacements, each ended by a zero byte.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend::text {

class Charsmap {
 public:
  Charsmap() = default;  // no rules
  // what names the file in messages.
  Charsmap(std::string_view blob, const std::string& what);

  struct Rule {
    std::size_t bytes = 0;  // of the text
    std::string_view replacement = {};
  };
  // The rule for the longest start of the text that has one.
  std::optional<Rule> longest(std::string_view text) const { return find(text, false); }
  // And for the shortest.
  std::optional<Rule> shortest(std::string_view text) const { return find(text, true); }

  // Whether a byte stands for itself where it is followed by another byte below 0x80 or by nothing: most of English
  // needs no search.
  bool is_plain(char byte) const { return plain_[static_cast<unsigned char>(byte)]; }

 private:
  std::optional<Rule> find(std::string_view text, bool first) const;
  // The place behind a byte; moves at. False where there is none.
  bool step(std::size_t& at, unsigned char byte, std::uint32_t& unit) const;
  void find_plain();

  std::vector<std::uint32_t> units_;
  std::string replacements_;
  std::array<bool, 256> plain_ = [] {
    std::array<bool, 256> plain = {};
    for (std::size_t byte = 0; byte < 128; ++byte) plain[byte] = true;
    return plain;
  }();
};

}  // namespace attend::text
