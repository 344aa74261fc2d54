// The languages a translator was trained for: "en-fr", or "en-fr fr-en" for a model that tells them by its source.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attend::models {

struct Direction {
  std::string source, target;  // codes of two or three letters
  bool operator==(const Direction&) const = default;
};

// Throws Error naming what (a path) and the word that is no direction.
std::vector<Direction> directions_of(std::string_view words, std::string_view what);

// Of a folder's name: opus-mt-en-fr is en-fr. Empty if it names no languages.
std::vector<Direction> directions_in_name(std::string_view name);

}  // namespace attend::models
