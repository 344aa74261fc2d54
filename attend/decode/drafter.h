// What guesses the next tokens of a text, for speculative decoding (Leviathan et al. 2023). A guess is never trusted:
// the model reads it and keeps only what it would have written itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attend::decode {

struct Guess {
  std::vector<std::int32_t> tokens = {};
  std::size_t kind = 0;  // below Drafter::kinds(); guesses of one kind are about equally often right
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  // Up to `most` tokens that may follow the text, which begins with the prompt.
  virtual Guess guess(std::span<const std::int32_t> text, std::size_t most) = 0;
  // The share of right tokens to expect of each kind before any was tried.
  virtual std::span<const double> kinds() const = 0;
  // True if guesses cost next to nothing beside a step of the model.
  virtual bool is_free() const = 0;
};

}  // namespace attend::decode
