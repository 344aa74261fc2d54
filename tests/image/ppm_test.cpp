// PPM as a browser's page hands images over, and PPM that is broken.
#include <gtest/gtest.h>

#include "attend/image/decode.h"
#include "tests/checkpoint/message_of.h"

namespace attend {
namespace {

image::Image decode_ppm(const std::string& bytes) { return image::decode(std::as_bytes(std::span(bytes)), "file"); }

TEST(Ppm, PixelsAreTheBytesBehindTheHead) {
  const image::Image image = decode_ppm("P6\n2 1 255\nabcxyz");
  EXPECT_EQ(image.width, 2);
  EXPECT_EQ(image.height, 1);
  EXPECT_EQ(std::string(image.pixels.begin(), image.pixels.end()), "abcxyz");
}

TEST(Ppm, BrokenOnesAreRefused) {
  for (const char* bytes :
       {"P6\n", "P6\n2", "P6\n2 1 255\nabcxy", "P6\n2 1 65535\nabcxyz", "P6\n-2 1 255\nabcxyz", "P6\n 2 1 255\nabcxyz",
        "P6\n0 1 255\n", "P6\n# two\n2 1 255\nabcxyz", "P6\n99999999999 1 255\nabc", "P6\n99999999 99999999 255\nabc"})
    EXPECT_NE(message_of([&] { decode_ppm(bytes); }), "no error") << bytes;
}

}  // namespace
}  // namespace attend
