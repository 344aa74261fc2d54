// Tensors on a device, to a file and back.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attend/backends.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "tests/checkpoint/message_of.h"

namespace attend {
namespace {

namespace fs = std::filesystem;

class LoadTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const bool cuda = std::string(GetParam()) == "cuda";
    if (cuda && backend_names().size() < 2) GTEST_SKIP() << "no GPU here";
    backend_ = open_backend(GetParam());
    folder_ = fs::temp_directory_path() / ("attend_load_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A file with one tensor w of these numbers.
  template <class T>
  checkpoint::Safetensors file_of(checkpoint::StoredType type, const Shape& shape, const std::vector<T>& values) {
    checkpoint::SafetensorsWriter writer;
    writer.add("w", type, shape, std::as_bytes(std::span(values)));
    writer.write(path());
    return checkpoint::Safetensors::open(path());
  }
  Tensor made(const Shape& shape, DType dtype) { return make_tensor(*backend_, shape, dtype); }
  std::string path() const { return (folder_ / "model.safetensors").string(); }

  std::unique_ptr<Backend> backend_;
  fs::path folder_;
};

TEST_P(LoadTest, RoundTripOnTheDevice) {
  const std::vector<float> values = {1.5f, -2, 3.25f, 0, 5, -0.125f};
  const std::vector<std::int32_t> ids = {7, -1};
  Tensor f32 = made({2, 3}, DType::f32), bf16 = made({6}, DType::bf16), i32 = made({2, 1}, DType::i32);
  upload(f32, values), upload(bf16, values), upload(i32, ids);
  checkpoint::SafetensorsWriter writer;
  writer.add("f32", f32), writer.add("bf16", bf16), writer.add("i32", i32),
      writer.add("none", made({0, 3}, DType::f32));
  writer.write(path());

  const checkpoint::Safetensors file = checkpoint::Safetensors::open(path());
  EXPECT_EQ(file["bf16"].type, checkpoint::StoredType::bf16);
  Tensor f32_again = made({2, 3}, DType::f32), bf16_again = made({6}, DType::bf16),
         i32_again = made({2, 1}, DType::i32);
  file.load("f32", f32_again), file.load("bf16", bf16_again), file.load("i32", i32_again);
  file.load("none", made({0, 3}, DType::f32));
  EXPECT_EQ(download(f32_again), values);
  EXPECT_EQ(download(bf16_again), values);
  EXPECT_EQ(download_ints(i32_again), ids);
}

TEST_P(LoadTest, ConvertsToTheDtypeOfTheTensor) {
  const Tensor f32 = made({3}, DType::f32), bf16 = made({3}, DType::bf16), i32 = made({3}, DType::i32);
  file_of<std::uint16_t>(checkpoint::StoredType::f16, {3}, {0x3c00, 0xc000, 0x3555}).load("w", f32);
  EXPECT_EQ(download(f32), (std::vector<float>{1, -2, 0.333251953125f}));
  file_of<float>(checkpoint::StoredType::f32, {3}, {1.00390625f, 1.01171875f, -4}).load("w", bf16);  // ties go to even
  EXPECT_EQ(download(bf16), (std::vector<float>{1.0f, 1.015625f, -4}));
  file_of<double>(checkpoint::StoredType::f64, {3}, {0.5, 0.1, -1}).load("w", f32);
  EXPECT_EQ(download(f32), (std::vector<float>{0.5f, 0.1f, -1}));
  file_of<std::int64_t>(checkpoint::StoredType::i64, {3}, {-5, 0, 2147483647}).load("w", i32);
  EXPECT_EQ(download_ints(i32), (std::vector<std::int32_t>{-5, 0, 2147483647}));
}

TEST_P(LoadTest, RefusesWhatDoesNotFit) {
  const checkpoint::Safetensors file = file_of<float>(checkpoint::StoredType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_NE(message_of([&] {
              file.load("w", made({3, 2}, DType::f32));
            }).find("\"w\" is [2, 3], but the model wants [3, 2]"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              file.load("w", made({2, 3}, DType::i32));
            }).find("F32, which does not convert to i32"),
            std::string::npos);
  EXPECT_NE(message_of([&] { file.load("v", made({2, 3}, DType::f32)); }).find("no tensor \"v\""), std::string::npos);
  EXPECT_NE(message_of([&] { file.load("w", Tensor()); }).find("undefined"), std::string::npos);
  const Tensor window = made({2, 6}, DType::f32).columns(0, 3);
  EXPECT_NE(message_of([&] { file.load("w", window); }).find("gaps"), std::string::npos);
  const checkpoint::Safetensors wide = file_of<std::int64_t>(checkpoint::StoredType::i64, {1}, {2147483648});
  EXPECT_NE(message_of([&] { wide.load("w", made({1}, DType::i32)); }).find("2147483648, which does not fit i32"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Devices, LoadTest, testing::Values("cpu", "cuda"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace attend
