// The first step of a tokenizer: text is brought into one form before it is cut into words. One class a type of
// tokenizer.json's "normalizer".
#pragma once

#include <memory>

#include "attend/text/aligned_text.h"

namespace attend {

class JsonView;

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(AlignedText& text) const = 0;
};

std::unique_ptr<Normalizer> make_normalizer(const JsonView& json);

}  // namespace attend
