// Images into files' bytes.
#pragma once

#include <string>

#include "attend/image/image.h"

namespace attend::image {

// PNG (ISO/IEC 15948), eight bits a channel, RGB or grey.
std::string encode_png(const Image& image);

struct JpegOptions {
  int quality = 75;          // 1 to 100
  bool progressive = false;  // several scans, from coarse to fine
  bool full_colour = false;  // colour as sharp as brightness (4:4:4); else half of it each way (4:2:0)
};
#ifndef ATTEND_WITHOUT_JPEG
inline constexpr bool kWritesJpeg = true;
#else
inline constexpr bool kWritesJpeg = false;  // encode_jpeg() throws Error
#endif
std::string encode_jpeg(const Image& image, const JpegOptions& options = {});

}  // namespace attend::image
