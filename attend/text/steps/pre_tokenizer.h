// The second step of a tokenizer: the normalized text is cut into words, which the model never crosses. One class a
// type of tokenizer.json's "pre_tokenizer".
#pragma once

#include <memory>

#include "attend/text/steps/split_text.h"

namespace attend::text {

class JsonView;

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(SplitText& text) const = 0;
  // Whether SplitText::starts_original matters.
  virtual bool asks_for_start() const { return false; }
};

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const JsonView& json);

}  // namespace attend::text
