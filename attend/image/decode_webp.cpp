// WebP through libwebp: still images, lossy and lossless. Alpha is dropped.
#include <string>

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

void expect_ok(VP8StatusCode status, std::string_view source) {
  check(status == VP8_STATUS_OK, "{}: the WebP is broken: {}", source, meaning_of(status));
}

constexpr int kLossless = 2;  // WebPBitstreamFeatures::format; 0 says that libwebp does not know

ImageHeader header_of_features(const WebPBitstreamFeatures& features, int orientation) {
  const std::int64_t pixels = std::int64_t{features.width} * features.height;
  const std::int64_t inside = features.format == kLossless || features.has_alpha ? 4 * pixels : 0;
  return {features.width, features.height, 3 * pixels * (orientation > 1 ? 2 : 1) + inside};
}

WebPBitstreamFeatures features_of(std::span<const std::byte> file, std::string_view source) {
  WebPBitstreamFeatures features;
  expect_ok(WebPGetFeatures(reinterpret_cast<const std::uint8_t*>(file.data()), file.size(), &features), source);
  check(!features.has_animation, "{}: is an animated WebP; only still images are read", source);
  return features;
}

// libwebp gives rows as it goes only into memory for all of them.
class WebpRows : public KeptRows {
 public:
  WebpRows(std::span<const std::byte> file, std::string_view source, const WebPBitstreamFeatures& features,
           const ImageHeader& header)
      : KeptRows(header), file_(file), source_(source), features_(features) {}

 private:
  Image decode() override {
    WebPDecoderConfig config;
    check(WebPInitDecoderConfig(&config) != 0, "{}: libwebp is not the version this was built with", source_);
    config.input = features_;
    Image image(features_.width, features_.height);
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = image.pixels.data();
    config.output.u.RGBA.stride = static_cast<int>(image.row_bytes());
    config.output.u.RGBA.size = image.pixels.size();
    const VP8StatusCode status = WebPDecode(reinterpret_cast<const std::uint8_t*>(file_.data()), file_.size(), &config);
    WebPFreeDecBuffer(&config.output);
    expect_ok(status, source_);
    return image;
  }

  std::span<const std::byte> file_;
  std::string source_;
  WebPBitstreamFeatures features_;
};

}  // namespace

Opened open_webp(std::span<const std::byte> file, std::string_view source, const DecodeOptions& options) {
  const WebPBitstreamFeatures features = features_of(file, source);
  const int orientation = webp_orientation(file);
  const ImageHeader header = header_of_features(features, orientation);
  check_size(header, source, options);
  return {std::make_unique<WebpRows>(file, source, features, header), orientation};
}

#else

Opened open_webp(std::span<const std::byte>, std::string_view source, const DecodeOptions&) {
  fail("{}: this build of attend reads no WebP: build it where libwebp-dev is installed", source);
}

#endif

}  // namespace attend::image
