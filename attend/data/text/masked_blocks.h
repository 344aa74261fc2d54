// What BERT is pre-trained on (Devlin et al. 2019, section 3.1): blocks of text in which some tokens are hidden. Of
// those, 80 % become [MASK], 10 % a random token and 10 % stay. Which ones is drawn anew every time a block is seen
// (Liu et al. 2019, section 4.1), as a pure function of the seed and of the number of the block: a resumed run hides
// the same.
#pragma once

#include <cstdint>
#include <vector>

#include "attend/data/text/token_stream.h"

namespace attend::data {

struct MaskingOptions {
  std::int64_t block = 128;                 // tokens, with the two around the text
  double share = 0.15;                      // of the text's tokens that are hidden, rounded to whole ones per block
  std::int32_t start = 0, end = 0;          // [CLS] and [SEP]
  std::int32_t mask = 0;                    // [MASK]
  std::vector<std::int32_t> ordinary = {};  // tokens, in order, that may be hidden and that may be put in their place
  std::uint64_t seed = 1;
};

struct MaskedBlocks {
  std::vector<std::int32_t> ids;     // [rows, block]
  std::vector<std::int32_t> places;  // [rows, hidden()]: of all ids, those to be guessed
  std::vector<std::int32_t> labels;  // [rows, hidden()]: what they were; -100 where a block had too few to hide
};

class MaskedText {
 public:
  // The stream must outlive this; its lines end with options.end.
  MaskedText(const TokenStream& stream, const MaskingOptions& options);

  std::int64_t hidden() const { return hidden_; }  // tokens per block
  // Blocks of batch number `batch`. Each begins with a line, or, inside a line longer than a block, at a whole number
  // of blocks.
  MaskedBlocks random(std::int64_t rows, std::uint64_t batch) const;
  // Blocks [first, first + rows) of the whole text, cut without overlap but for the last one, with the same tokens
  // hidden every time.
  MaskedBlocks at(std::int64_t first, std::int64_t rows) const;
  std::int64_t count() const { return (stream_.size() + length_ - 1) / length_; }

 private:
  void add(std::int64_t begin, std::uint32_t stream, std::uint64_t number, MaskedBlocks& blocks) const;

  const TokenStream& stream_;
  MaskingOptions options_;
  std::int64_t length_ = 0, hidden_ = 0;  // a block's: tokens of text, and how many of them are hidden
  std::vector<char> ordinary_;            // by id: whether it may be hidden
  std::vector<std::int64_t> lines_;       // where they begin
};

}  // namespace attend::data
