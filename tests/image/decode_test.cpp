// Images of every kind against Pillow's pixels: those of the fixtures (Pillow 12), and those that
// tools/make_image_cases.py wrote (its version is in the file).
#include "attend/image/decode.h"

#include <gtest/gtest.h>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/image/encode.h"
#include "attend/image/exif.h"
#include "tests/checkpoint/message_of.h"
#include "tests/image/images.h"

namespace attend {
namespace {

namespace fs = std::filesystem;
using image::Image;

Image decode_text(const std::string& bytes, const image::DecodeOptions& options = {}) {
  return image::decode(std::as_bytes(std::span(bytes)), "file", options);
}

void expect_decoded(const std::string& folder, const checkpoint::Safetensors& expected, int tolerance_of_jpeg) {
  int files = 0;
  for (const checkpoint::StoredTensor& stored : expected.tensors()) {
    if (!stored.name.ends_with("|decoded")) continue;
    const std::string name = stored.name.substr(0, stored.name.find('|'));
    const std::string ending = fs::path(name).extension().string();
    const bool jpeg = ending == ".jpg" || ending == ".jpeg";
    if (!test::reads(jpeg ? ".jpg" : ending)) continue;
    const Image image = image::read_image(folder + name);
    EXPECT_LE(test::largest_difference(image, test::image_of(expected, stored.name)), jpeg ? tolerance_of_jpeg : 0)
        << name;
    ++files;
  }
  if (files == 0) GTEST_SKIP() << "this build reads no images";
}

TEST(Decode, FixturesAreAsPillowReadsThem) {
  const std::string expected = test::kImages + "expected.safetensors";
  if (!fs::exists(expected)) GTEST_SKIP() << expected << " is not there";
  expect_decoded(test::kImages, checkpoint::Safetensors::open(expected), 1);
}

// Grey, palettes, alpha, 1 to 16 bits, interlaced, CMYK, YCCK, progressive, WebP, and all eight ways up.
TEST(Decode, EveryKindIsAsPillowReadsIt) {
  expect_decoded(test::kCases, checkpoint::Safetensors::open(test::kCases + "cases.safetensors"), 1);
}

TEST(Decode, NotUprightWhenNotAsked) {
  if (!test::reads(".jpg")) GTEST_SKIP() << "this build reads no JPEG";
  for (const char* name : {"turned3.jpeg", "turned6.jpeg"}) {
    const Image stored = image::read_image(test::kCases + name, {.upright = false});
    EXPECT_EQ(stored.width, 17) << name;
    EXPECT_EQ(stored.height, 12) << name;
  }
  EXPECT_EQ(image::read_image(test::kCases + "turned6.jpeg").width, 12);
}

TEST(Decode, DraftIsTheLargestReductionThatIsLargeEnough) {
  if (!test::reads(".jpg")) GTEST_SKIP() << "this build reads no JPEG";
  const std::string file = test::kCases + "progressive.jpg";  // 37 x 29
  const auto size = [&](int width, int height) {
    const Image image = image::read_image(file, {.draft_width = width, .draft_height = height});
    return std::pair(image.width, image.height);
  };
  EXPECT_EQ(size(37, 29), std::pair(37, 29));
  EXPECT_EQ(size(18, 14), std::pair(19, 15));
  EXPECT_EQ(size(9, 7), std::pair(10, 8));
  EXPECT_EQ(size(1, 1), std::pair(5, 4));
}

TEST(Decode, TheNameDoesNotMatter) {
  if (!test::reads(".png")) GTEST_SKIP() << "this build reads no PNG";
  const test::TemporaryFolder folder;
  fs::copy_file(test::kCases + "bits.png", folder / "photo.jpg");
  EXPECT_EQ(image::read_image(folder / "photo.jpg"), image::read_image(test::kCases + "bits.png"));
}

TEST(Decode, SaysWhatIsWrong) {
  const test::TemporaryFolder folder;
  const auto message = [&](const std::string& bytes) {
    write_file(folder / "x.png", bytes);
    return message_of([&] { image::read_image(folder / "x.png"); });
  };
  const auto expect_says = [](const std::string& got, const std::string& part) {
    EXPECT_NE(got.find("x.png"), std::string::npos) << got;
    EXPECT_NE(got.find(part), std::string::npos) << got;
  };
  expect_says(message(""), "empty");
  expect_says(message("hello"), "no image");
  expect_says(message("GIF89a......"), "is a GIF");
  EXPECT_NE(message_of([&] { image::read_image(folder / "none.png"); }).find("no such file"), std::string::npos);
  EXPECT_NE(message_of([&] { image::read_image(folder.path()); }).find("not a file"), std::string::npos);
  if (!test::reads(".png") || !test::reads(".jpg")) return;
  const std::string png = read_file(test::kCases + "alpha.png"), jpeg = read_file(test::kCases + "progressive.jpg");
  expect_says(message(png.substr(0, png.size() / 2)), "the PNG is cut short");
  expect_says(message(jpeg.substr(0, jpeg.size() / 2)), "the JPEG is cut short");
  expect_says(message(jpeg.substr(0, 3)), "the JPEG is cut short");
  std::string broken = png;
  broken[20] = static_cast<char>(broken[20] ^ 1);  // the width: the check sum no longer fits
  expect_says(message(broken), "the PNG is broken");
}

TEST(Decode, SizesAreCheckedBeforeMemoryIsTaken) {
  if (!test::reads(".png") || !test::reads(".jpg")) GTEST_SKIP() << "this build reads no images";
  const image::DecodeOptions few{.most_pixels = 1000};
  const std::string png = read_file(test::kCases + "alpha.png");  // 37 x 29
  EXPECT_NE(message_of([&] { decode_text(png, few); }).find("37 x 29 is too large"), std::string::npos);
  // A JPEG of a few bytes that claims 65500 x 65500 pixels.
  std::string jpeg = read_file(test::kCases + "full_colour.jpg");
  const std::size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  for (std::size_t i = 0; i < 4; ++i) jpeg[frame + 5 + i] = static_cast<char>(i % 2 == 0 ? 0xff : 0xdc);
  EXPECT_NE(message_of([&] { decode_text(jpeg); }).find("too large"), std::string::npos);
  const test::TemporaryFolder folder;
  write_file(folder / "large.png", png);
  EXPECT_NE(message_of([&] { image::read_image(folder / "large.png", {.most_bytes = 100}); }).find("too many"),
            std::string::npos);
}

TEST(Exif, ABrokenBlockIsUpright) {
  const auto orientation = [](const std::string& block) {
    return image::exif_orientation(std::as_bytes(std::span(block)));
  };
  using namespace std::string_literals;
  const std::string little = "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"s;
  const std::string big = "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0\0\0\0\0"s;
  EXPECT_EQ(orientation(little), 6);
  EXPECT_EQ(orientation("Exif\0\0"s + little), 6);
  EXPECT_EQ(orientation(big), 8);
  for (std::size_t size = 0; size < 20; ++size) EXPECT_EQ(orientation(little.substr(0, size)), 1) << size;
  std::string far = little;
  far[4] = far[5] = far[6] = far[7] = static_cast<char>(0xff);
  EXPECT_EQ(orientation(far), 1);
  std::string ninth = little;
  ninth[18] = 9;
  EXPECT_EQ(orientation(ninth), 1);
}

TEST(Encode, PngComesBack) {
  if (!test::reads(".png")) GTEST_SKIP() << "this build reads no PNG";
  const Image source = test::image_of(checkpoint::Safetensors::open(test::kCases + "cases.safetensors"), "source");
  EXPECT_EQ(decode_text(image::encode_png(source)), source);
  Image grey(source.width, source.height, 1), repeated(source.width, source.height);
  for (std::size_t i = 0; i < grey.pixels.size(); ++i) {
    grey.pixels[i] = source.pixels[3 * i];
    for (std::size_t c = 0; c < 3; ++c) repeated.pixels[3 * i + c] = grey.pixels[i];
  }
  EXPECT_EQ(decode_text(image::encode_png(grey)), repeated);
}

TEST(Encode, JpegComesBackNearly) {
  if (!test::reads(".jpg")) GTEST_SKIP() << "this build reads no JPEG";
  Image ramp(40, 30);
  for (int y = 0; y < ramp.height; ++y)
    for (int x = 0; x < ramp.width; ++x)
      for (int c = 0; c < 3; ++c) ramp.row(y)[3 * x + c] = static_cast<std::uint8_t>(3 * x + 2 * y + 20 * c);
  for (const bool progressive : {false, true}) {
    const std::string best =
        image::encode_jpeg(ramp, {.quality = 100, .progressive = progressive, .full_colour = true});
    EXPECT_LE(test::largest_difference(decode_text(best), ramp), 3);
    EXPECT_LT(image::encode_jpeg(ramp, {.quality = 30, .progressive = progressive}).size(), best.size());
  }
  EXPECT_THROW(image::encode_jpeg(ramp, {.quality = 101}), Error);
  EXPECT_THROW(image::encode_jpeg({}), Error);
}

}  // namespace
}  // namespace attend
