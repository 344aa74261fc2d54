// Images from files: JPEG, PNG and WebP, told apart by their first bytes, whatever the file is called. The result is
// RGB, equal to what Pillow's Image.open(path).convert("RGB") gives:
//   grey is repeated; a palette is looked up; alpha and transparent colours are dropped, not blended
//   16 bit colours keep their high byte; 16 bit grey is cut off at 255 (Pillow's modes I and I;16), not scaled
//   CMYK and YCCK JPEGs hold inverted inks, as Adobe writes them: red = (255 - cyan) (255 - black) / 255, and so on
// Files are untrusted input: sizes are checked before memory is taken, and what is broken or cut short is an Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "attend/image/image.h"
#include "attend/image/image_rows.h"

namespace attend::image {

enum class FileKind : std::uint8_t { jpeg, png, webp };

// By the first bytes. Throws Error that names source and, where known, what the file is instead.
FileKind kind_of(std::span<const std::byte> file, std::string_view source);

struct DecodeOptions {
  // Turns the image upright as its EXIF orientation says (Pillow's ImageOps.exif_transpose, which transformers calls
  // when it opens an image; torchvision's folders do not).
  bool upright = true;
  // When set, a JPEG may be decoded at 1/2, 1/4 or 1/8 of its size, as long as it is no smaller than this (Pillow's
  // draft mode): much faster, but not the same pixels.
  int draft_width = 0, draft_height = 0;
  // A few bytes can claim any size, so these, and limits::kLongestSide, are asked before memory is taken.
  std::int64_t most_pixels = kMostPixels;
  std::int64_t most_memory = 0;  // bytes: pixels, and what the format needs besides; 0: 12 for each of most_pixels
  std::int64_t most_bytes = std::int64_t{1} << 30;  // of a file
};

// Reads the header alone. Throws Error as decode() does, also for what is beyond the limits. source stands for the path
// in messages. The bytes must stay while rows are read.
std::unique_ptr<ImageRows> open_rows(std::span<const std::byte> file, std::string_view source,
                                     const DecodeOptions& options = {});
std::unique_ptr<ImageRows> open_rows(const std::filesystem::path& path, const DecodeOptions& options = {});

Image decode(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options = {});
Image read_image(const std::filesystem::path& path, const DecodeOptions& options = {});

}  // namespace attend::image
