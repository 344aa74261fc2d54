// Byte-pair encoding as a tokenizer's model (Sennrich et al. 2016; byte level: Radford et al. 2019).
#pragma once

#include <array>
#include <optional>
#include <string>

#include "attend/text/models/bpe_merger.h"
#include "attend/text/models/model.h"
#include "attend/text/models/word_cache.h"

namespace attend::text {

class Bpe : public Model {
 public:
  explicit Bpe(const JsonView& json);

  bool takes_bytes() const override { return takes_bytes_; }
  void tokenize(std::string_view word, WordOptions options, std::vector<Piece>& out) const override;

 private:
  void read_merges(const JsonView& json);
  void find_bytes();
  // The pieces of a word before anything is joined: its characters, or what stands for an unknown one.
  void split(std::string_view word, std::vector<Piece>& out) const;
  bool fall_back_to_bytes(std::string_view symbol, std::vector<Piece>& out) const;

  BpeMerger merger_;
  WordCache cache_;
  std::string prefix_, suffix_;  // of a character that continues, and of one that ends a word
  std::optional<TokenId> unknown_;
  bool fuse_unknown_ = false, byte_fallback_ = false, whole_words_first_ = false;
  bool takes_bytes_ = false;
  std::array<TokenId, 256> printable_ids_;                // of the byte's printable character
  std::array<std::optional<TokenId>, 256> fallback_ids_;  // of <0x00> to <0xFF>
};

}  // namespace attend::text
