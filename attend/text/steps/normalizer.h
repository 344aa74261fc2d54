// The first step of a tokenizer: text is brought into one form before it is cut into words. One class per type of
// tokenizer.json's "normalizer".
#pragma once

#include <memory>
#include <string>

#include "attend/text/aligned_text.h"

namespace attend::text {

class JsonView;

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(AlignedText& text) const = 0;
  // The same for UTF-8 of which nobody wants to know where it came from. The text that most lines are, ASCII, is often
  // much quicker this way.
  virtual void apply_bytes(std::string& text, TextBudget& budget) const;
};

std::unique_ptr<Normalizer> make_normalizer(const JsonView& json);

}  // namespace attend::text
