// From the pieces of a SentencePiece file back to text.
#pragma once

#include <string>
#include <vector>

#include "attend/text/files/sentencepiece_file.h"
#include "attend/text/steps/decoder.h"

namespace attend::text {

class SentencePieceDecoder : public Decoder {
 public:
  explicit SentencePieceDecoder(const SentencePieceFile& file);
  std::vector<std::string> apply(std::vector<std::string> tokens) const override;

 private:
  std::vector<std::string> control_;  // sorted; they are invisible
  std::string unknown_, unknown_surface_;
  bool bytes_, strips_one_, strips_all_;
};

}  // namespace attend::text
