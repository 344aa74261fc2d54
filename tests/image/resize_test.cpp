// Resizing against Pillow, pixel for pixel.
#include "attend/image/resize.h"

#include <gtest/gtest.h>

#include <sstream>

#include "attend/base/error.h"
#include "attend/base/random.h"
#include "attend/image/crop.h"
#include "tests/image/images.h"

namespace attend {
namespace {

using image::Filter;
using image::Image;

Image noise(int width, int height, std::uint32_t stream) {
  Image image(width, height);
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<std::uint8_t>(random_word(5, stream, i));
  return image;
}

std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  std::istringstream in(name);
  for (std::string word; std::getline(in, word, '|');) words.push_back(word);
  return words;
}

// "tench.png|bicubic_w50h90": the size is that of the image.
TEST(Resize, FixturesAreEqual) {
  const std::string path = test::kImages + "expected.safetensors";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const checkpoint::Safetensors expected = checkpoint::Safetensors::open(path);
  int cases = 0;
  for (const checkpoint::StoredTensor& stored : expected.tensors()) {
    const auto words = words_of(stored.name);
    ASSERT_EQ(words.size(), 2u) << stored.name;
    if (words[1] == "decoded") continue;
    const bool cubic = words[1].starts_with("bicubic");
    ASSERT_TRUE(cubic || words[1].starts_with("bilinear")) << stored.name;
    const Image want = test::image_of(expected, stored.name);
    const Image resized = image::resize(test::image_of(expected, words[0] + "|decoded"), want.width, want.height,
                                        {.filter = cubic ? Filter::bicubic : Filter::bilinear});
    EXPECT_TRUE(resized == want) << stored.name;
    ++cases;
  }
  EXPECT_TRUE(cases == 48 || (test::fixtures_given() && cases > 0)) << cases;
}

TEST(Resize, EveryFilterIsEqual) {
  const checkpoint::Safetensors expected = checkpoint::Safetensors::open(test::kCases + "cases.safetensors");
  const Image source = test::image_of(expected, "source");
  int cases = 0;
  for (const checkpoint::StoredTensor& stored : expected.tensors()) {
    const auto words = words_of(stored.name);
    if (words[0] == "reduce") {
      const Image reduced = image::reduce(source, std::stoi(words[1]), std::stoi(words[2]));
      EXPECT_TRUE(reduced == test::image_of(expected, stored.name)) << stored.name;
    } else if (words[0] == "resize") {
      const image::ResizeOptions options{
          .filter = image::filter_named(words[1], "test"),
          .box = image::Box{std::stod(words[4]), std::stod(words[5]), std::stod(words[6]), std::stod(words[7])},
          .reducing_gap = std::stod(words[8])};
      const Image resized = image::resize(source, std::stoi(words[2]), std::stoi(words[3]), options);
      EXPECT_TRUE(resized == test::image_of(expected, stored.name)) << stored.name;
    } else {
      continue;
    }
    ++cases;
  }
  EXPECT_GT(cases, 40);
}

// The vectors of the fast loops against one channel at a time, also where a row is shorter than they are.
TEST(Resize, RgbIsThreeTimesGrey) {
  std::uint32_t stream = 0;
  for (const int width : {1, 2, 3, 5, 6, 17, 64, 301})
    for (const int height : {1, 2, 9, 40})
      for (const Filter filter : {Filter::bilinear, Filter::bicubic, Filter::lanczos, Filter::box, Filter::hamming}) {
        const Image image = noise(width, height, ++stream);
        const int to_width = 1 + static_cast<int>(random_word(6, stream, 0) % 70);
        const int to_height = 1 + static_cast<int>(random_word(6, stream, 1) % 30);
        const Image resized = image::resize(image, to_width, to_height, {.filter = filter});
        for (std::size_t c = 0; c < 3; ++c) {
          Image grey(width, height, 1);
          for (std::size_t i = 0; i < grey.pixels.size(); ++i) grey.pixels[i] = image.pixels[3 * i + c];
          const Image alone = image::resize(grey, to_width, to_height, {.filter = filter});
          bool equal = true;
          for (std::size_t i = 0; i < alone.pixels.size(); ++i) equal &= alone.pixels[i] == resized.pixels[3 * i + c];
          EXPECT_TRUE(equal) << width << " x " << height << " to " << to_width << " x " << to_height;
        }
      }
}

TEST(Resize, AWindowIsACropOfTheWhole) {
  const Image image = noise(50, 37, 1);
  for (const Filter filter : {Filter::nearest, Filter::bilinear, Filter::bicubic, Filter::lanczos}) {
    const image::PixelBox window{3, 5, 20, 31};
    const Image whole = image::resize(image, 23, 33, {.filter = filter});
    EXPECT_EQ(image::resize(image, 23, 33, {.filter = filter, .window = window}), image::crop(whole, window));
  }
  EXPECT_EQ(image::resize(image, 50, 37, {.window = image::PixelBox{4, 4, 9, 30}}), image::crop(image, {4, 4, 9, 30}));
}

TEST(Resize, RefusesWhatMakesNoSense) {
  const Image image = noise(8, 8, 2);
  EXPECT_THROW(image::resize(image, 0, 4), Error);
  EXPECT_THROW(image::resize(image, 1 << 20, 1 << 20), Error);
  EXPECT_THROW(image::resize({}, 4, 4), Error);
  EXPECT_THROW(image::resize(image, 4, 4, {.box = image::Box{0, 0, 9, 8}}), Error);
  EXPECT_THROW(image::resize(image, 4, 4, {.box = image::Box{4, 0, 4, 8}}), Error);
  EXPECT_THROW(image::resize(image, 4, 4, {.window = image::PixelBox{0, 0, 5, 4}}), Error);
  EXPECT_THROW(image::resize(image, 4, 4, {.reducing_gap = 0.5}), Error);
  EXPECT_THROW(image::reduce(image, 0, 1), Error);
  EXPECT_THROW(image::filter_of(6, "file"), Error);
  EXPECT_THROW(image::filter_named("smooth", "file"), Error);
}

// torchvision's CenterCrop and transformers' two ways differ by a pixel where halves are odd.
TEST(Crop, TheMiddle) {
  using image::Centre;
  const auto left = [](int size, int crop, Centre centre) { return image::centre_box(size, 9, crop, 9, centre).left; };
  EXPECT_EQ(left(10, 4, Centre::down), 3);
  EXPECT_EQ(left(9, 4, Centre::down), 2);
  EXPECT_EQ(left(11, 4, Centre::down), 3);
  EXPECT_EQ(left(4, 7, Centre::down), -2);
  EXPECT_EQ(left(4, 8, Centre::down), -2);
  EXPECT_EQ(left(11, 4, Centre::toward_zero), 3);
  EXPECT_EQ(left(4, 7, Centre::toward_zero), -1);
  EXPECT_EQ(left(10, 4, Centre::to_even), 3);
  EXPECT_EQ(left(9, 4, Centre::to_even), 2);   // 2.5
  EXPECT_EQ(left(11, 4, Centre::to_even), 4);  // 3.5
  EXPECT_EQ(left(4, 7, Centre::to_even), -1);
  EXPECT_EQ(left(4, 8, Centre::to_even), -2);
}

TEST(Crop, BeyondTheImageIsBlack) {
  const Image image = noise(4, 3, 3);
  const Image larger = image::crop(image, {-1, -2, 6, 4});
  EXPECT_EQ(larger.width, 7);
  EXPECT_EQ(larger.height, 6);
  EXPECT_EQ(image::crop(larger, {1, 2, 5, 5}), image);
  int lit = 0, lit_before = 0;
  for (const auto value : larger.pixels) lit += value != 0;
  for (const auto value : image.pixels) lit_before += value != 0;
  EXPECT_EQ(lit, lit_before);
  EXPECT_EQ(image::crop(image, {10, 10, 12, 12}), Image(2, 2));
  EXPECT_THROW(image::crop(image, {2, 0, 2, 3}), Error);
}

}  // namespace
}  // namespace attend
