// Sets of small images for the tests, written as other programs write them: folders, idx files, CIFAR's files, gzip.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/random.h"
#include "attend/image/decode.h"
#include "attend/image/encode.h"
#include "attend/image/image.h"

namespace attend::data::test {

// Every pixel another, by number.
inline image::Image numbered_image(int number, int width = 12, int height = 10) {
  image::Image image(width, height);
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<std::uint8_t>(random_word(7, static_cast<std::uint32_t>(number), i));
  return image;
}

inline std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}
inline std::string little_endian(std::uint32_t value) {
  const std::string bytes = big_endian(value);
  return {bytes.rbegin(), bytes.rend()};
}

// RFC 1952 with RFC 1951's stored blocks: compressed by nobody, but gzip all the same.
inline std::string gzip(std::string_view text) {
  std::uint32_t crc = 0xffffffffu;
  for (const char c : text) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  std::string file("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  const auto size = static_cast<std::uint32_t>(text.size());
  for (std::size_t at = 0; at == 0 || at < text.size(); at += 65535) {
    const std::string_view part = text.substr(at, 65535);
    const auto length = static_cast<std::uint32_t>(part.size());
    file += at + 65535 >= text.size() ? '\1' : '\0';
    file += little_endian(length | (~length & 0xffffu) << 16);
    file += part;
  }
  return file + little_endian(~crc) + little_endian(size);
}

// Images of 4 x 3: pixel p of image i is 10 i + p.
inline std::string idx_images(int count) {
  std::string file = big_endian(0x803) + big_endian(static_cast<std::uint32_t>(count)) + big_endian(3) + big_endian(4);
  for (int i = 0; i < count; ++i)
    for (int p = 0; p < 12; ++p) file += static_cast<char>(10 * i + p);
  return file;
}
inline std::string idx_labels(const std::vector<int>& labels) {
  std::string file = big_endian(0x801) + big_endian(static_cast<std::uint32_t>(labels.size()));
  for (const int label : labels) file += static_cast<char>(label);
  return file;
}

// Plane c of image i is all 10 i + c.
inline std::string cifar(const std::vector<std::string>& labels) {
  std::string file;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    file += labels[i];
    for (std::size_t c = 0; c < 3; ++c) file += std::string(1024, static_cast<char>(10 * i + c));
  }
  return file;
}

class ImageFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "attend-images-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, std::string_view bytes) const { write_file(folder_ / name, bytes); }
  void write_image(const std::string& name, int number) const {
    write(name, image::encode_png(numbered_image(number)));
  }
  // A cross build has no libraries for images.
  static bool can_do_images() {
    try {
      const std::string file = image::encode_png(image::Image(2, 2));
      image::decode(std::as_bytes(std::span(file)), "test");
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  std::filesystem::path folder_;
};

}  // namespace attend::data::test
