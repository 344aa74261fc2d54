// PNG (ISO/IEC 15948) through zlib. Each row is written as its difference from what lies around it, in the way that
// leaves the smallest numbers (section 12.8 of the standard): flat drawings become zeros, photos small numbers.
// A build without zlib leaves the rows as they are (RFC 1950 and 1951: stored blocks).
#ifndef ATTEND_WITHOUT_ZLIB
#include <zlib.h>
#endif

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "attend/base/error.h"
#include "attend/image/encode.h"

namespace attend::image {

namespace {

void append_number(std::string& out, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift);
}

#ifndef ATTEND_WITHOUT_ZLIB

std::uint32_t checksum(std::string_view data) {
  return static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())));
}

std::string compressed(const std::string& raw) {
  uLongf size = compressBound(static_cast<uLong>(raw.size()));
  std::string packed(size, '\0');
  check(compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(raw.data()),
                  static_cast<uLong>(raw.size()), 9) == Z_OK,
        "png: the image could not be compressed");
  packed.resize(size);
  return packed;
}

#else

std::uint32_t checksum(std::string_view data) {  // CRC-32, annex D of the standard
  std::uint32_t sum = 0xffffffffu;
  for (const char c : data) {
    sum ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0u);
  }
  return ~sum;
}

std::string compressed(const std::string& raw) {
  constexpr std::size_t kLongest = 65535;  // bytes of a block
  std::string packed = "\x78\x01";
  for (std::size_t at = 0; at == 0 || at < raw.size(); at += kLongest) {
    const std::size_t size = std::min(kLongest, raw.size() - at);
    const auto low = static_cast<char>(size & 255), high = static_cast<char>(size >> 8);
    packed += at + size == raw.size() ? '\1' : '\0';
    packed += {low, high, static_cast<char>(~low), static_cast<char>(~high)};
    packed.append(raw, at, size);
  }
  std::uint32_t sum = 1, sums = 0;  // Adler-32
  for (const char c : raw) sum = (sum + static_cast<std::uint8_t>(c)) % 65521, sums = (sums + sum) % 65521;
  append_number(packed, sums << 16 | sum);
  return packed;
}

#endif

void append_chunk(std::string& out, std::string_view type, std::string_view data) {
  append_number(out, static_cast<std::uint32_t>(data.size()));
  const std::string body = std::string(type) + std::string(data);
  out += body;
  append_number(out, checksum(body));
}

// Of left, above and left of above, the one nearest to left + above - corner (section 9.4).
int paeth(int left, int above, int corner) {
  const int to_left = std::abs(above - corner), to_above = std::abs(left - corner),
            to_corner = std::abs(left + above - 2 * corner);
  if (to_left <= to_above && to_left <= to_corner) return left;
  return to_above <= to_corner ? above : corner;
}

constexpr int kFilters = 5;  // as they are, from the left, from above, from both, Paeth's

int predicted(int filter, int left, int above, int corner) {
  switch (filter) {
    case 1:
      return left;
    case 2:
      return above;
    case 3:
      return (left + above) / 2;
    case 4:
      return paeth(left, above, corner);
    default:
      return 0;
  }
}

// Appends the row behind the number of its filter.
void append_row(std::string& raw, const Image& image, int y, std::array<std::string, kFilters>& tries) {
  const std::uint8_t* here = image.row(y);
  const std::uint8_t* above = y > 0 ? image.row(y - 1) : nullptr;
  const auto step = static_cast<std::size_t>(image.channels);
  int best = 0;
  long least = -1;
  for (int filter = 0; filter < kFilters; ++filter) {
    std::string& bytes = tries[static_cast<std::size_t>(filter)];
    bytes.assign(1, static_cast<char>(filter));
    long sum = 0;
    for (std::size_t i = 0; i < image.row_bytes(); ++i) {
      const int guess = predicted(filter, i >= step ? here[i - step] : 0, above ? above[i] : 0,
                                  above && i >= step ? above[i - step] : 0);
      const auto rest = static_cast<std::int8_t>(static_cast<std::uint8_t>(here[i] - guess));
      bytes += static_cast<char>(rest);
      sum += std::abs(static_cast<int>(rest));
    }
    if (least < 0 || sum < least) least = sum, best = filter;
  }
  raw += tries[static_cast<std::size_t>(best)];
}

}  // namespace

std::string encode_png(const Image& image) {
  check_image(image, "png");
  check(image.channels == 1 || image.channels == 3, "png: an image has 1 or 3 channels, not {}", image.channels);
  std::string raw;
  raw.reserve((image.row_bytes() + 1) * static_cast<std::size_t>(image.height));
  std::array<std::string, kFilters> tries;
  for (int y = 0; y < image.height; ++y) append_row(raw, image, y, tries);
  std::string header;
  append_number(header, static_cast<std::uint32_t>(image.width));
  append_number(header, static_cast<std::uint32_t>(image.height));
  header += {8, image.channels == 3 ? '\2' : '\0', 0, 0, 0};  // bits, colour; compression, filters, no interlace
  std::string png = "\x89PNG\r\n\x1A\n";
  append_chunk(png, "IHDR", header), append_chunk(png, "IDAT", compressed(raw)), append_chunk(png, "IEND", {});
  return png;
}

}  // namespace attend::image
