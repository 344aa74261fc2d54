// What the image tests share: pixels from a file of reference values, and where the files are. The tests run in the
// source folder.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "attend/checkpoint/safetensors.h"
#include "attend/image/image.h"
#include "tests/base/fixtures.h"

namespace attend::test {

// transformers 5.17 and Pillow 12; not in the tree
inline const std::string kImages =
    (fixtures_given() ? fixtures("images") : std::filesystem::path("../shared/fixtures/images")).string() + "/";
inline const std::string kCases = "tests/image/data/";  // tools/make_image_cases.py

// u8 [height, width, 3].
inline image::Image image_of(const checkpoint::Safetensors& file, const std::string& name) {
  const checkpoint::StoredTensor& stored = file[name];
  image::Image image(static_cast<int>(stored.shape[1]), static_cast<int>(stored.shape[0]));
  EXPECT_EQ(stored.bytes.size(), image.pixels.size()) << name;
  std::transform(stored.bytes.begin(), stored.bytes.end(), image.pixels.begin(),
                 [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
  return image;
}

// The largest difference of two images of one size; 256 when they are not.
inline int largest_difference(const image::Image& a, const image::Image& b) {
  if (a.width != b.width || a.height != b.height || a.pixels.size() != b.pixels.size()) return 256;
  int largest = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) largest = std::max(largest, std::abs(a.pixels[i] - b.pixels[i]));
  return largest;
}

// Whether this build reads images at all: a cross build has no library for any.
bool reads(const std::string& ending);

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "attend_image_XXXXXX").string();
    if (mkdtemp(name.data())) path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace attend::test
