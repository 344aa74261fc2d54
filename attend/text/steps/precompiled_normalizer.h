// SentencePiece's rules as tokenizer.json carries them ("Precompiled", the charsmap in base64), applied as Hugging
// Face's tokenizers does it: to a letter with its accents at once if that is short, otherwise to each character.
#pragma once

#include "attend/text/steps/charsmap.h"
#include "attend/text/steps/normalizer.h"

namespace attend::text {

class PrecompiledNormalizer : public Normalizer {
 public:
  explicit PrecompiledNormalizer(const JsonView& json);
  void apply(AlignedText& text) const override;

 private:
  Charsmap rules_;
};

}  // namespace attend::text
