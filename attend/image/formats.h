// The readers of one format each, behind open_rows(). They check the size that a file claims before memory is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "attend/image/decode.h"

namespace attend::image {

// An image as it lies in the file, and what its EXIF block says about the way up (1 to 8; 1 is upright).
struct Opened {
  std::unique_ptr<ImageRows> rows;
  int orientation = 1;
};

Opened open_jpeg(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options);
Opened open_png(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options);
Opened open_ppm(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options);
Opened open_webp(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options);

void check_size(const ImageHeader& header, std::string_view source, const DecodeOptions& options);

}  // namespace attend::image
