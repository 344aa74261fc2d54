// The normalizer that a SentencePiece file describes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attend/text/byte_trie.h"
#include "attend/text/files/sentencepiece_file.h"
#include "attend/text/steps/charsmap.h"
#include "attend/text/steps/normalizer.h"

namespace attend::text {

// Applies the file's rules, drops extra spaces, and writes the others as "▁", with one in front.
class SentencePieceNormalizer : public Normalizer {
 public:
  SentencePieceNormalizer(const SentencePieceFile& file, const std::string& what);
  void apply(AlignedText& text) const override;
  void apply_bytes(std::string& text, TextBudget& budget) const override;

 private:
  // Bytes [begin, end) of the text that a byte of the result came from.
  struct Source {
    std::uint32_t begin = 0, end = 0;
  };
  std::string normalize(std::string_view text, std::vector<Source>* sources) const;
  // What the start of the text becomes.
  Charsmap::Rule next(std::string_view text) const;

  Charsmap rules_;
  ByteTrie user_defined_;  // kept as they are
  std::string space_;
  bool add_dummy_prefix_, remove_extra_, suffix_;
};

}  // namespace attend::text
