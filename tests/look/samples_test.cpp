// The sample images of the bundled classifiers are what their names say, and "fooled" ones are mistakes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "attend/look/api/sample_set.h"
#include "attend/look/inspect/image.h"
#include "tests/tensor/tensors.h"

namespace attend::look {
namespace {

using test::cpu;

// "ankle boot" is in ankle-boot.png, "T-shirt" in t-shirt.png.
std::string file_name(std::string label) {
  std::ranges::transform(label, label.begin(), [](char c) {
    return c == ' ' ? '-' : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return label;
}

class SampleImages : public ::testing::TestWithParam<const char*> {};

TEST_P(SampleImages, AreClassifiedAsTheirNamesSay) {
  const std::string folder = GetParam();
  const SampleSet samples(folder);
  ImageInspector inspector(folder, cpu(), DType::f32);
  std::size_t fooled = 0;
  for (const std::string& name : samples.names()) {
    const std::string found =
        file_name(inspector.inspect(inspector.prepare(*samples.image(name)), {}).labels.front().text);
    if (name.starts_with("fooled-")) {
      EXPECT_NE("fooled-" + found, name);
      ++fooled;
    } else {
      EXPECT_EQ(found, name);
    }
  }
  EXPECT_EQ(fooled, 1u);
  EXPECT_GE(samples.names().size(), 6u);
  EXPECT_TRUE(samples.names().back().starts_with("fooled-"));
}

INSTANTIATE_TEST_SUITE_P(Bundled, SampleImages, ::testing::Values("models/vit-cifar10", "models/vit-fashion-mnist"),
                         [](const auto& info) { return std::string(info.index ? "fashion" : "cifar"); });

TEST(SampleSets, WithoutFilesTheyArePainted) {
  const SampleSet samples("models/detr-scenes", SampleKind::scenes);
  EXPECT_EQ(samples.names().front(), "shapes");
  EXPECT_EQ(samples.names().back(), "fooled-cat");
  EXPECT_TRUE(samples.file("shapes").starts_with("\x89PNG"));
  EXPECT_EQ(samples.file("../config"), "");
  EXPECT_FALSE(samples.image("unicorn"));
}

}  // namespace
}  // namespace attend::look
