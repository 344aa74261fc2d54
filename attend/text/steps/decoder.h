// The way back: tokens become text. One class per type of tokenizer.json's "decoder".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attend::text {

class JsonView;

class Decoder {
 public:
  virtual ~Decoder() = default;
  // The tokens as pieces of text, which joined are the result.
  virtual std::vector<std::string> apply(std::vector<std::string> tokens) const = 0;
};

std::unique_ptr<Decoder> make_decoder(const JsonView& json);

// The byte that a token such as <0x41> stands for.
std::optional<char> fallback_byte(std::string_view token);

}  // namespace attend::text
