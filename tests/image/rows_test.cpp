// Images that are decoded row by row: the same pixels as decoded whole, and sizes that are refused before that.
#include <gtest/gtest.h>

#include <array>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/random.h"
#include "attend/image/decode.h"
#include "attend/image/encode.h"
#include "attend/image/resize.h"
#include "tests/checkpoint/message_of.h"
#include "tests/image/images.h"

namespace attend {
namespace {

namespace fs = std::filesystem;
using image::Filter;
using image::Image;

Image noisy(int width, int height) {
  Image image(width, height);
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<std::uint8_t>(random_word(7, 1, i));
  return image;
}

TEST(ImageRows, AreThoseOfTheWholeImage) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(test::kCases)) {
    const std::string ending = entry.path().extension().string();
    if (ending != ".png" && ending != ".jpg" && ending != ".jpeg" && ending != ".webp") continue;
    if (!test::reads(ending == ".jpeg" ? ".jpg" : ending)) continue;
    for (const bool upright : {false, true}) {
      const Image whole = image::read_image(entry.path(), {.upright = upright});
      const auto rows = image::open_rows(entry.path(), {.upright = upright});
      ASSERT_EQ(rows->width(), whole.width);
      ASSERT_EQ(rows->height(), whole.height);
      EXPECT_GE(rows->header().memory, static_cast<std::int64_t>(whole.pixels.size()));
      Image read(whole.width, whole.height);
      for (int y = 0; y < read.height; ++y) rows->next(read.row(y));
      EXPECT_TRUE(read == whole) << entry.path();
      ++files;
    }
  }
  if (files == 0) GTEST_SKIP() << "this build reads no images";
}

TEST(ImageRows, AreResizedAsTheWholeImageIs) {
  if (!test::reads(".png")) GTEST_SKIP() << "this build reads no PNG";
  for (const auto& [width, height] : {std::pair(301, 203), {7, 5}, {1, 1}, {900, 3}, {3, 900}}) {
    const Image whole = noisy(width, height);
    const std::string file = image::encode_png(whole);
    for (const Filter filter : {Filter::nearest, Filter::bilinear, Filter::bicubic, Filter::lanczos})
      for (const auto precision : {image::Precision::pillow, image::Precision::torchvision})
        for (const auto& [to_width, to_height] : {std::pair(64, 48), {width, height}, {width, 20}, {20, height}}) {
          const image::PixelBox all{0, 0, to_width, to_height};
          const image::PixelBox part{to_width / 4, to_height / 3, to_width - to_width / 4, to_height - to_height / 3};
          for (const image::PixelBox& window : {all, part}) {
            const image::ResizeOptions options{.filter = filter, .precision = precision, .window = window};
            const auto rows = image::open_rows(std::as_bytes(std::span(file)), "file");
            EXPECT_TRUE(image::resize(*rows, to_width, to_height, options) ==
                        image::resize(whole, to_width, to_height, options))
                << width << " x " << height << " to " << to_width << " x " << to_height << ", filter "
                << static_cast<int>(filter);
          }
        }
  }
}

// What is broken behind the rows that are wanted is broken.
TEST(ImageRows, AreReadToTheEnd) {
  if (!test::reads(".png")) GTEST_SKIP() << "this build reads no PNG";
  const std::string file = image::encode_png(noisy(40, 400));
  const std::string half = file.substr(0, file.size() / 2);
  const auto rows = image::open_rows(std::as_bytes(std::span(half)), "file");
  EXPECT_NE(message_of([&] {
              image::resize(*rows, 40, 400, {.window = image::PixelBox{0, 0, 40, 4}});
            }).find("cut short"),
            std::string::npos);
}

// PNG's, of ISO/IEC 15948, annex D.
std::uint32_t check_sum(std::string_view bytes) {
  std::uint32_t sum = 0xffffffffu;
  for (const char c : bytes) {
    sum ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) sum = sum & 1 ? 0xedb88320u ^ sum >> 1 : sum >> 1;
  }
  return ~sum;
}

std::string claiming(std::uint32_t width, std::uint32_t height) {
  std::string png = image::encode_png(Image(8, 1));
  const auto put = [&](std::size_t at, std::uint32_t number) {
    for (std::size_t i = 0; i < 4; ++i) png[at + i] = static_cast<char>(number >> (24 - 8 * i));
  };
  put(16, width), put(20, height);
  put(29, check_sum(std::string_view(png).substr(12, 17)));
  return png;
}

TEST(ImageRows, SidesAndPixelsAreBoundedBeforeAnythingIsDecoded) {
  if (!test::reads(".png")) GTEST_SKIP() << "this build reads no PNG";
  const auto said = [](const std::string& file, const image::DecodeOptions& options = {}) {
    return message_of([&] { image::open_rows(std::as_bytes(std::span(file)), "file", options); });
  };
  EXPECT_NE(said(claiming(67'000'000, 1)).find("67000000 x 1 is too large: a side has at most 65535 pixels"),
            std::string::npos);
  EXPECT_NE(said(claiming(0x7fffffff, 0x7fffffff)).find("a side has at most 65535"), std::string::npos);
  EXPECT_NE(said(claiming(1, 65'536)).find("a side has at most 65535"), std::string::npos);
  EXPECT_NE(said(claiming(10'000, 10'000)).find("at most 89478485 pixels are read (--max-pixels, max_pixels)"),
            std::string::npos)
      << said(claiming(10'000, 10'000));
  // Raised, it is opened; decoding is another matter.
  const std::string large = claiming(10'000, 10'000);
  const auto rows = image::open_rows(std::as_bytes(std::span(large)), "file", {.most_pixels = 100'000'000});
  EXPECT_EQ(rows->width(), 10'000);
  EXPECT_NE(said(claiming(1000, 1000), {.most_memory = 3'000'000}).find("takes 3016000 bytes, and at most 3000000"),
            std::string::npos);
}

// A progressive JPEG is decoded from coefficients that are all kept.
TEST(ImageRows, CoefficientsCountAsMemory) {
  if (!test::reads(".jpg")) GTEST_SKIP() << "this build reads no JPEG";
  const auto memory_of = [](const image::JpegOptions& options) {
    const std::string file = image::encode_jpeg(noisy(512, 512), options);
    return image::open_rows(std::as_bytes(std::span(file)), "file")->header().memory;
  };
  const std::int64_t pixels = 512 * 512;
  EXPECT_EQ(memory_of({}), 3 * pixels);
  EXPECT_GE(memory_of({.progressive = true}), 6 * pixels);
  EXPECT_GE(memory_of({.progressive = true, .full_colour = true}), 9 * pixels);
}

}  // namespace
}  // namespace attend
