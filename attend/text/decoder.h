// The way back: tokens become text. One class a type of tokenizer.json's "decoder".
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace attend {

class JsonView;

class Decoder {
 public:
  virtual ~Decoder() = default;
  // The tokens as pieces of text, which joined are the result.
  virtual std::vector<std::string> apply(std::vector<std::string> tokens) const = 0;
};

std::unique_ptr<Decoder> make_decoder(const JsonView& json);

}  // namespace attend
