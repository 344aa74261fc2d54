// WebP through libwebp: still pictures, lossy and lossless. Alpha is dropped.
#include "attend/base/error.h"
#include "attend/image/exif.h"
#include "attend/image/formats.h"

#ifndef ATTEND_WITHOUT_WEBP
#include <webp/decode.h>

#include <cstring>
#endif

namespace attend::image {

#ifndef ATTEND_WITHOUT_WEBP

namespace {

const char* meaning_of(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "out of memory";
    case VP8_STATUS_BITSTREAM_ERROR:
      return "its bits make no sense";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "it uses a feature that libwebp does not know";
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "it is cut short";
    default:
      return "libwebp does not take it";
  }
}

std::uint32_t little_endian_at(std::span<const std::byte> file, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 4; i-- > 0;) number = number << 8 | std::to_integer<std::uint32_t>(file[at + i]);
  return number;
}

// RIFF: chunks of a name, a size and so many bytes, filled up to an even number.
int webp_orientation(std::span<const std::byte> file) {
  for (std::size_t at = 12; at + 8 <= file.size();) {
    const std::size_t size = little_endian_at(file, at + 4);
    if (size > file.size() - at - 8) break;
    if (std::memcmp(file.data() + at, "EXIF", 4) == 0) return exif_orientation(file.subspan(at + 8, size));
    at += 8 + size + size % 2;
  }
  return 1;
}

}  // namespace

Decoded decode_webp(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options) {
  const auto expect = [&](VP8StatusCode status) {
    check(status == VP8_STATUS_OK, "{}: the WebP is broken: {}", source, meaning_of(status));
  };
  const auto* data = reinterpret_cast<const std::uint8_t*>(file.data());
  WebPDecoderConfig config;
  check(WebPInitDecoderConfig(&config) != 0, "{}: libwebp is not the version this was built with", source);
  expect(WebPGetFeatures(data, file.size(), &config.input));
  check(!config.input.has_animation, "{}: is an animated WebP; only still pictures are read", source);
  check_size(config.input.width, config.input.height, source, options);
  Decoded decoded;
  decoded.image = Image(config.input.width, config.input.height);
  decoded.orientation = webp_orientation(file);
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = decoded.image.pixels.data();
  config.output.u.RGBA.stride = static_cast<int>(decoded.image.row_bytes());
  config.output.u.RGBA.size = decoded.image.pixels.size();
  const VP8StatusCode status = WebPDecode(data, file.size(), &config);
  WebPFreeDecBuffer(&config.output);
  expect(status);
  return decoded;
}

#else

Decoded decode_webp(std::span<const std::byte>, std::string_view source, const DecodeOptions&) {
  fail("{}: this build of attend reads no WebP: build it where libwebp-dev is installed", source);
}

#endif

}  // namespace attend::image
