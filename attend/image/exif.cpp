#include "attend/image/exif.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace attend::image {

namespace {

constexpr std::uint32_t kOrientationTag = 0x0112;

class TiffReader {
 public:
  explicit TiffReader(std::span<const std::byte> block)
      : block_(block), little_(!block.empty() && block[0] == std::byte{'I'}) {}

  // Nothing beyond the end.
  std::optional<std::uint32_t> number(std::size_t at, std::size_t bytes) const {
    if (at > block_.size() || bytes > block_.size() - at) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      value = value << 8 | std::to_integer<std::uint32_t>(block_[at + (little_ ? bytes - 1 - i : i)]);
    return value;
  }

 private:
  std::span<const std::byte> block_;
  bool little_;
};

std::size_t bytes_of_type(std::uint32_t type) {
  return type == 1 ? 1 : type == 3 ? 2 : type == 4 ? 4 : 0;  // byte, short, long; others are no orientation
}

}  // namespace

int exif_orientation(std::span<const std::byte> block) {
  constexpr char kHead[] = {'E', 'x', 'i', 'f', 0, 0};
  if (block.size() >= sizeof kHead && std::memcmp(block.data(), kHead, sizeof kHead) == 0)
    block = block.subspan(sizeof kHead);
  if (block.size() < 8 || (std::memcmp(block.data(), "II", 2) != 0 && std::memcmp(block.data(), "MM", 2) != 0))
    return 1;
  const TiffReader reader(block);
  const auto directory = reader.number(4, 4);
  const auto count = directory ? reader.number(*directory, 2) : std::nullopt;
  if (reader.number(2, 2) != 42u || !count) return 1;
  for (std::size_t i = 0; i < *count; ++i) {
    const std::size_t entry = std::size_t{*directory} + 2 + 12 * i;  // tag, type, count, value
    const auto tag = reader.number(entry, 2), type = reader.number(entry + 2, 2);
    if (!tag || !type) return 1;
    if (*tag != kOrientationTag) continue;
    const std::size_t bytes = bytes_of_type(*type);
    const auto value = bytes == 0 ? std::nullopt : reader.number(entry + 8, bytes);
    return value && *value >= 1 && *value <= 8 ? static_cast<int>(*value) : 1;
  }
  return 1;
}

// Orientations 5 to 8 swap the axes; then columns and rows may run backwards.
Image upright(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  const bool swapped = orientation >= 5;
  // Which of the source's axes run backwards along the result's.
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image out(swapped ? image.height : image.width, swapped ? image.width : image.height, image.channels);
  const int channels = image.channels;
  for (int y = 0; y < out.height; ++y) {
    std::uint8_t* to = out.row(y);
    for (int x = 0; x < out.width; ++x, to += channels) {
      int from_x = swapped ? y : x, from_y = swapped ? x : y;
      if (from_right) from_x = image.width - 1 - from_x;
      if (from_bottom) from_y = image.height - 1 - from_y;
      std::copy_n(image.row(from_y) + from_x * channels, channels, to);
    }
  }
  return out;
}

}  // namespace attend::image
