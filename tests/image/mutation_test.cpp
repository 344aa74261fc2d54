// Images broken in thousands of ways, the same ones every time: each is refused with an Error or decoded. Run with
// the address sanitizer, this is the test that nothing reads or writes where it should not, and nothing is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/random.h"
#include "attend/image/decode.h"
#include "attend/image/resize.h"
#include "tests/image/images.h"

namespace attend {
namespace {

// Numbers from a seed, one after the other.
class ImageDice {
 public:
  explicit ImageDice(std::uint32_t seed) : seed_(seed) {}
  std::size_t roll(std::size_t sides) { return random_word(29, seed_, at_++) % std::max<std::size_t>(sides, 1); }

 private:
  std::uint32_t seed_;
  std::uint64_t at_ = 0;
};

void break_image(std::string& bytes, ImageDice& dice) {
  for (std::size_t i = 0, times = 1 + dice.roll(6); i < times && !bytes.empty(); ++i) {
    // Headers are where sizes and offsets are: half of the damage goes there.
    const std::size_t at = dice.roll(dice.roll(2) ? bytes.size() : std::min<std::size_t>(bytes.size(), 200));
    const std::size_t length = std::min(dice.roll(40), bytes.size() - at);
    switch (dice.roll(6)) {
      case 0:
        bytes[at] = static_cast<char>(dice.roll(256));
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << dice.roll(8)));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(at, bytes.substr(dice.roll(bytes.size()), length));
        break;
      case 4:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length, dice.roll(2) ? '\xff' : '\0');
        break;
      default:
        if (dice.roll(4) == 0) bytes.resize(at);
    }
  }
}

TEST(Mutation, BrokenImagesAreRefusedOrRead) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(test::kCases))
    if (entry.path().extension() != ".safetensors") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  int read = 0, refused = 0;
  for (std::uint32_t seed = 0; seed < 4000; ++seed) {
    ImageDice dice(seed);
    std::string bytes = read_file(files[seed % files.size()]);
    break_image(bytes, dice);
    try {
      // A damaged size may be any: what is read must stay quick.
      const image::Image image = image::decode(std::as_bytes(std::span(bytes)), "file", {.most_pixels = 300'000});
      EXPECT_EQ(image.pixels.size(), image.row_bytes() * static_cast<std::size_t>(image.height));
      image::resize(image, 5, 4, {.filter = image::Filter::lanczos});
      ++read;
    } catch (const Error& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("file: ")) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, test::reads(".jpg") ? 300 : -1);
}

}  // namespace
}  // namespace attend
