// I8 tensors with their scales: read as the product of both, written to within half a step, and refused where the scale
// is missing, of another shape or type, or no number.
#include "attend/checkpoint/quantised.h"
#include "attend/checkpoint/safetensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>

#include "attend/base/error.h"
#include "attend/base/random.h"
#include "attend/checkpoint/safetensors_writer.h"

namespace attend {
namespace {

class QuantisedFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  // An I8 tensor "w" [2, 3] = {1 .. 6}, and whatever `add` puts beside it.
  template <class Add>
  checkpoint::Safetensors write(const Add& add) {
    checkpoint::SafetensorsWriter writer;
    writer.add("w", checkpoint::StoredType::i8, {2, 3}, std::as_bytes(std::span(numbers_)));
    add(writer);
    writer.write(path_);
    return checkpoint::Safetensors::open(path_);
  }
  checkpoint::Safetensors with_scale(const Shape& shape, const std::vector<float>& scales) {
    return write([&](checkpoint::SafetensorsWriter& writer) { writer.add("w.scale", shape, scales); });
  }
  static std::string message(const checkpoint::Safetensors& file) {
    try {
      file.floats("w");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  std::vector<std::int8_t> numbers_ = {1, -2, 3, -4, 5, -128};
  std::string path_ = (std::filesystem::temp_directory_path() / ("attend_i8_" + std::to_string(getpid()))).string();
};

TEST_F(QuantisedFile, ScalesOfRowsAndOfColumns) {
  EXPECT_EQ(with_scale({2, 1}, {0.5f, 2}).floats("w"), (std::vector<float>{0.5f, -1, 1.5f, -8, 10, -256}));
  EXPECT_EQ(with_scale({1, 3}, {1, 0, 0.25f}).floats("w"), (std::vector<float>{1, 0, 0.75f, -4, 0, -32}));
}

TEST_F(QuantisedFile, HostileScales) {
  EXPECT_NE(message(write([](checkpoint::SafetensorsWriter&) {})).find("w.scale"), std::string::npos);
  for (const Shape& shape : {Shape{2}, Shape{3, 1}, Shape{1, 2}, Shape{2, 1, 1}, Shape{0}, Shape{2, 3}})
    EXPECT_NE(message(with_scale(shape, std::vector<float>(static_cast<std::size_t>(shape.size()), 1))).find("[2, 1]"),
              std::string::npos)
        << shape.to_string();
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (float bad : {nan, infinity, -1.0f})
    EXPECT_NE(message(with_scale({2, 1}, {1, bad})).find("scale 1"), std::string::npos) << bad;
  const std::vector<std::int64_t> whole = {1, 1};
  EXPECT_NE(message(write([&](checkpoint::SafetensorsWriter& writer) {
              writer.add("w.scale", {2, 1}, whole);
            })).find("I64"),
            std::string::npos);
}

TEST_F(QuantisedFile, OnlyMatrices) {
  const std::vector<float> ones = {1, 1, 1};
  const checkpoint::Safetensors file = write([&](checkpoint::SafetensorsWriter& writer) {
    writer.add("v", checkpoint::StoredType::i8, {3}, std::as_bytes(std::span(numbers_)).first(3));
    writer.add("v.scale", {1, 3}, ones);
  });
  EXPECT_THROW(file.floats("v"), Error);
  EXPECT_TRUE(checkpoint::is_scale(file, "v.scale"));
  EXPECT_FALSE(checkpoint::is_scale(file, "v"));
}

TEST(Quantise, ToHalfAStep) {
  const Shape shape{5, 7};
  std::vector<float> values(35);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = (to_unit(random_word(3, 0, i)) * 2 - 1) * static_cast<float>(i + 1);
  for (std::size_t i = 14; i < 21; ++i) values[i] = 0;  // a row of nothing
  for (const checkpoint::ScaleAxis axis : {checkpoint::ScaleAxis::rows, checkpoint::ScaleAxis::columns}) {
    const checkpoint::Quantised result = checkpoint::quantise(values, shape, axis, "w");
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float scale = result.scales[axis == checkpoint::ScaleAxis::rows ? i / 7 : i % 7];
      EXPECT_NEAR(static_cast<float>(result.values[i]) * scale, values[i], scale * 0.501f);
    }
  }
  values[3] = std::numeric_limits<float>::infinity();
  EXPECT_THROW(checkpoint::quantise(values, shape, checkpoint::ScaleAxis::rows, "w"), Error);
}

}  // namespace
}  // namespace attend
