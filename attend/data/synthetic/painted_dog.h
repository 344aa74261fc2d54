// A running dog in the open, painted from a seed: soft ellipses on noise, near enough to a photo that a model which has
// only seen photos writes the right sentence about it. Colour of the dog and ground are known, so its words can be
// checked.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "attend/image/image.h"

namespace attend::data {

inline constexpr std::array<std::string_view, 2> kDogCoats = {"brown", "black"};
inline constexpr std::array<std::string_view, 3> kDogGrounds = {"beach", "snow", "grass"};

struct PaintedDog {
  std::size_t coat = 0, ground = 0;  // of kDogCoats and kDogGrounds
  std::uint64_t seed = 1;            // of the textures
};
// Every coat on every ground, by turns.
PaintedDog painted_dog(std::uint64_t seed);

image::Image paint(const PaintedDog& dog, int size);  // pixels, both ways

}  // namespace attend::data
