// What is written is read back: values, types, order, metadata; and a write that fails leaves the old file alone.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "attend/base/files.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/checkpoint/safetensors_writer.h"
#include "tests/checkpoint/message_of.h"

namespace attend {
namespace {

namespace fs = std::filesystem;

class SafetensorsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("attend_safetensors_" + std::to_string(::getpid()) + "_" +
                                           testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const char* name = "model.safetensors") const { return (folder_ / name).string(); }

  fs::path folder_;
};

template <class T>
std::span<const std::byte> bytes_of_values(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

// 640 bytes of header are 80 02 00 .. in the file, as a pickle begins.
TEST_F(SafetensorsTest, AHeaderOfAnyLengthIsRead) {
  const std::vector<float> value = {2};
  for (int length = 500; length < 900; ++length) {
    checkpoint::SafetensorsWriter writer;
    writer.set_metadata("note", std::string(static_cast<std::size_t>(length), 'x'));
    writer.add("a", {1}, value);
    writer.write(path());
    EXPECT_EQ(checkpoint::Safetensors::open(path()).floats("a"), value) << length;
  }
}

TEST_F(SafetensorsTest, EveryFloatTypeBecomesFloats) {
  const std::vector<float> f32 = {0, -0.0f, 1.5f, -3e38f, std::numeric_limits<float>::infinity(), 1e-45f};
  const std::vector<double> f64 = {0.1, -2.5e300};
  const std::vector<std::uint16_t> f16 = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x03ff, 0x0400, 0x7c00, 0xfc00, 0x8000};
  const std::vector<std::uint16_t> bf16 = {0x3f80, 0xc049, 0x0001};
  const std::vector<std::uint16_t> nan = {0x7e01};
  checkpoint::SafetensorsWriter writer;
  writer.add("f32", {2, 3}, f32);
  writer.add("f64", checkpoint::StoredType::f64, {2}, bytes_of_values(f64));
  writer.add("f16", checkpoint::StoredType::f16, {9}, bytes_of_values(f16));
  writer.add("bf16", checkpoint::StoredType::bf16, {3, 1}, bytes_of_values(bf16));
  writer.add("nan", checkpoint::StoredType::f16, {}, bytes_of_values(nan));
  writer.write(path());

  const checkpoint::Safetensors file = checkpoint::Safetensors::open(path());
  EXPECT_EQ(file.floats("f32"), f32);
  EXPECT_TRUE(std::signbit(file.floats("f32")[1]));
  EXPECT_EQ(file.floats("f64"), (std::vector<float>{0.1f, -std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(file.floats("f16"),
            (std::vector<float>{1, -2, 65504, 0x1p-24f, 1023 * 0x1p-24f, 0x1p-14f,
                                std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), 0}));
  EXPECT_EQ(file.floats("bf16"), (std::vector<float>{1, -3.140625f, 0x1p-133f}));
  EXPECT_TRUE(std::isnan(file.floats("nan")[0]));
  EXPECT_EQ(file["nan"].shape, Shape{});
  EXPECT_EQ(file["bf16"].shape, (Shape{3, 1}));
}

TEST_F(SafetensorsTest, EveryIntegerTypeBecomesInts) {
  const std::vector<std::int64_t> i64 = {std::numeric_limits<std::int64_t>::min(), -1, 1ll << 40};
  const std::vector<std::int32_t> i32 = {std::numeric_limits<std::int32_t>::min(), 7};
  const std::vector<std::int16_t> i16 = {-32768, 32767};
  const std::vector<std::int8_t> i8 = {-128, 127};
  const std::vector<std::uint64_t> u64 = {1ull << 62}, too_large = {1ull << 63};
  const std::vector<std::uint32_t> u32 = {0xffffffffu};
  const std::vector<std::uint16_t> u16 = {0xffff};
  const std::vector<std::uint8_t> u8 = {0, 255}, boolean = {0, 1, 255};
  checkpoint::SafetensorsWriter writer;
  writer.add("i64", {3}, i64);
  writer.add("i32", checkpoint::StoredType::i32, {2}, bytes_of_values(i32));
  writer.add("i16", checkpoint::StoredType::i16, {2}, bytes_of_values(i16));
  writer.add("i8", checkpoint::StoredType::i8, {2}, bytes_of_values(i8));
  writer.add("u64", checkpoint::StoredType::u64, {1}, bytes_of_values(u64));
  writer.add("too_large", checkpoint::StoredType::u64, {1}, bytes_of_values(too_large));
  writer.add("u32", checkpoint::StoredType::u32, {1}, bytes_of_values(u32));
  writer.add("u16", checkpoint::StoredType::u16, {1}, bytes_of_values(u16));
  writer.add("u8", checkpoint::StoredType::u8, {2}, bytes_of_values(u8));
  writer.add("bool", checkpoint::StoredType::boolean, {3}, bytes_of_values(boolean));
  writer.write(path());

  const checkpoint::Safetensors file = checkpoint::Safetensors::open(path());
  using Ints = std::vector<std::int64_t>;
  EXPECT_EQ(file.ints("i64"), i64);
  EXPECT_EQ(file.ints("i32"), (Ints{std::numeric_limits<std::int32_t>::min(), 7}));
  EXPECT_EQ(file.ints("i16"), (Ints{-32768, 32767}));
  EXPECT_EQ(file.ints("i8"), (Ints{-128, 127}));
  EXPECT_EQ(file.ints("u64"), (Ints{1ll << 62}));
  EXPECT_EQ(file.ints("u32"), (Ints{0xffffffffll}));
  EXPECT_EQ(file.ints("u16"), (Ints{0xffff}));
  EXPECT_EQ(file.ints("u8"), (Ints{0, 255}));
  EXPECT_EQ(file.ints("bool"), (Ints{0, 1, 1}));
  EXPECT_NE(message_of([&] { file.ints("too_large"); }).find("does not fit"), std::string::npos);
  EXPECT_NE(message_of([&] { file.floats("i64"); }).find("\"i64\" is I64, not a float type"), std::string::npos);
}

TEST_F(SafetensorsTest, OrderAndBytesAreAlwaysTheSame) {
  const std::vector<float> values = {1, 2, 3};
  const std::vector<std::int64_t> ids = {4};
  const std::vector<std::uint8_t> odd = {9, 9, 9};
  const auto write = [&](const std::string& to, bool backwards) {
    checkpoint::SafetensorsWriter writer;
    if (backwards) writer.add("b", {3}, values), writer.add("a", {1, 3}, values);
    writer.add("odd", checkpoint::StoredType::u8, {3}, bytes_of_values(odd));
    writer.add("ids", {1}, ids);
    writer.add("none", {0, 5}, std::span<const float>());
    if (!backwards) writer.add("a", {1, 3}, values), writer.add("b", {3}, values);
    writer.set_metadata("format", "pt");
    writer.set_metadata("naïve \"name\"\n", "\u00e9");
    writer.write(to);
  };
  write(path("one"), false);
  write(path("two"), true);
  EXPECT_EQ(read_file(path("one")), read_file(path("two")));

  const checkpoint::Safetensors file = checkpoint::Safetensors::open(path("one"));
  std::vector<std::string> names;
  const std::byte* start = file.tensors().front().bytes.data();
  for (const checkpoint::StoredTensor& tensor : file.tensors()) {
    names.push_back(tensor.name);
    EXPECT_EQ((tensor.bytes.data() - start) % static_cast<std::ptrdiff_t>(bytes_of(tensor.type)), 0) << tensor.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"ids", "a", "b", "none", "odd"}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(start) % 8, 0u);
  EXPECT_EQ(file.metadata().at("naïve \"name\"\n"), "\u00e9");
  EXPECT_TRUE(file.floats("none").empty());
  EXPECT_EQ(file["none"].shape, (Shape{0, 5}));
  EXPECT_EQ(file.find("nothing"), nullptr);
  EXPECT_NE(message_of([&] { (void)file["nothing"]; }).find("no tensor \"nothing\" among its 5"), std::string::npos);
}

TEST_F(SafetensorsTest, AnEmptyFileOfTensorsIsAFile) {
  checkpoint::SafetensorsWriter().write(path());
  EXPECT_TRUE(checkpoint::Safetensors::open(path()).tensors().empty());
  checkpoint::SafetensorsWriter only_metadata;
  only_metadata.set_metadata("format", "pt");
  only_metadata.write(path());
  EXPECT_EQ(checkpoint::Safetensors::open(path()).metadata().at("format"), "pt");
}

TEST_F(SafetensorsTest, WriterRefusesWhatItCouldNotRead) {
  const std::vector<float> values = {1, 2};
  checkpoint::SafetensorsWriter writer;
  writer.add("w", {2}, values);
  EXPECT_NE(message_of([&] { writer.add("w", {2}, values); }).find("twice"), std::string::npos);
  EXPECT_NE(message_of([&] { writer.add("v", {3}, values); }).find("takes 12 bytes, not 8"), std::string::npos);
  EXPECT_NE(message_of([&] { writer.add("__metadata__", {2}, values); }).find("__metadata__"), std::string::npos);
  EXPECT_NE(message_of([&] { writer.add("undefined", Tensor()); }).find("undefined"), std::string::npos);
  writer.add("\xff", {2}, values);
  EXPECT_NE(message_of([&] { writer.write(path()); }).find("UTF-8"), std::string::npos);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(SafetensorsTest, OpeningWhatIsNotThereIsAnError) {
  EXPECT_NE(message_of([&] { checkpoint::Safetensors::open(path("missing")); }).find("missing"), std::string::npos);
  EXPECT_NE(message_of([&] { checkpoint::Safetensors::open(folder_.string()); }).find("folder"), std::string::npos);
  write_file(path("empty"), std::string_view());
  EXPECT_NE(message_of([&] { checkpoint::Safetensors::open(path("empty")); }).find("too short"), std::string::npos);
}

// A file may be read while it is replaced: the mapping keeps the old one.
TEST_F(SafetensorsTest, ReplacingAFileLeavesItsReadersAlone) {
  const std::vector<float> before = {1, 2}, after = {3, 4};
  checkpoint::SafetensorsWriter first, second;
  first.add("w", {2}, before);
  second.add("w", {2}, after);
  first.write(path());
  checkpoint::Safetensors opened = checkpoint::Safetensors::open(path());
  second.write(path());
  const checkpoint::Safetensors moved = std::move(opened);
  EXPECT_EQ(moved.floats("w"), before);
  EXPECT_EQ(checkpoint::Safetensors::open(path()).floats("w"), after);
}

TEST_F(SafetensorsTest, OnlyFilesAreReplaced) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_NE(message_of([&] { checkpoint::SafetensorsWriter().write(path("pipe")); }).find("pipe"), std::string::npos);
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_NE(message_of([&] { checkpoint::SafetensorsWriter().write(folder_.string()); }).find("folder"),
            std::string::npos);
}

// A disk that is full, played by a limit on the size of files.
TEST_F(SafetensorsTest, AFullDiskLeavesTheOldFile) {
  const std::vector<float> small = {1, 2}, large(100'000);
  checkpoint::SafetensorsWriter first, second;
  first.add("w", {2}, small);
  second.add("w", {100'000}, large);
  first.write(path());

  const auto previous = ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit low = limit;
  low.rlim_cur = 64 * 1024;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  const std::string message = message_of([&] { second.write(path()); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  ::signal(SIGXFSZ, previous);

  EXPECT_NE(message.find("model.safetensors"), std::string::npos) << message;
  EXPECT_NE(message.find("File too large"), std::string::npos) << message;
  EXPECT_EQ(checkpoint::Safetensors::open(path()).floats("w"), small);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1) << "a temporary file was left";
}

}  // namespace
}  // namespace attend
