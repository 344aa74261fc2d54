// The readers of one format each, behind decode(). They check the size that a file claims before memory is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "attend/image/decode.h"

namespace attend::image {

// A picture as it lies in the file, and what its EXIF block says about the way up (1 to 8; 1 is upright).
struct Decoded {
  Image image;
  int orientation = 1;
};

Decoded decode_jpeg(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options);
Decoded decode_png(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options);
Decoded decode_webp(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options);

void check_size(std::int64_t width, std::int64_t height, std::string_view source, const DecodeOptions& options);

}  // namespace attend::image
