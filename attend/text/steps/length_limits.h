// How long an encoding may be and must be: tokenizer.json's "truncation" and "padding".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attend/text/encoding.h"

namespace attend::text {

class JsonView;

class Truncation {
 public:
  explicit Truncation(const JsonView& json);
  // Cuts one text or two so that with `added` tokens around them they are not too long.
  void apply(std::vector<Encoding>& texts, std::size_t added) const;

 private:
  enum class Strategy : std::uint8_t { longest_first, only_first, only_second };

  std::size_t max_length_;
  Strategy strategy_ = Strategy::longest_first;
  bool left_ = false;  // the start is cut, not the end
};

class Padding {
 public:
  explicit Padding(const JsonView& json);
  void apply(Encoding& encoding) const;
  TokenId id() const { return id_; }

 private:
  std::size_t length_ = 0, multiple_of_ = 1;  // 0: as long as it is
  TokenId id_ = 0;
  std::int32_t type_ = 0;
  std::string token_;
  bool left_ = false;
};

}  // namespace attend::text
