// An image as its pixels: eight bits a channel, rows from top to bottom, the channels of a pixel side by side (HWC).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "attend/base/limits.h"

namespace attend::image {

struct Image {
  int width = 0, height = 0, channels = 3;
  std::vector<std::uint8_t> pixels = {};

  Image() = default;
  // Black.
  Image(int width, int height, int channels = 3)
      : width(width), height(height), channels(channels), pixels(row_bytes() * static_cast<std::size_t>(height)) {}

  std::size_t row_bytes() const { return static_cast<std::size_t>(width) * static_cast<std::size_t>(channels); }
  std::uint8_t* row(int y) { return pixels.data() + row_bytes() * static_cast<std::size_t>(y); }
  const std::uint8_t* row(int y) const { return pixels.data() + row_bytes() * static_cast<std::size_t>(y); }
  bool operator==(const Image&) const = default;
};

inline constexpr std::int64_t kMostPixels = limits::kMostPixels;  // unless the caller says otherwise

// Throws Error when an image of this size is empty or beyond the limits. who opens the message.
void check_extent(std::int64_t width, std::int64_t height, std::int64_t most_pixels, std::string_view who);

// Throws Error when there is nothing to work on, or the sizes and the pixels disagree. who opens the message.
void check_image(const Image& image, const char* who);

}  // namespace attend::image
