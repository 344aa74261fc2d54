// How a file is known again: by its size and the time of its last change, or by its bytes.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace attend {

// A hash of bytes that come one after another; the same however they are cut into parts. Four sums side by side, so
// that it reads as fast as memory gives (a 64-bit mix, for telling files apart, not for keeping secrets).
class ByteHash {
 public:
  void add(std::string_view bytes);
  std::uint64_t value() const;

 private:
  static constexpr std::size_t kBlock = 32;
  void mix(const char* block);

  std::array<std::uint64_t, 4> sums_ = {1, 2, 3, 4};
  std::array<char, kBlock> kept_ = {};  // the beginning of a block
  std::size_t size_ = 0;
};

struct FileMark {
  std::uint64_t size = 0;
  std::int64_t time = 0;  // of the last change, in nanoseconds
  std::uint64_t hash = 0;

  bool operator==(const FileMark&) const = default;
};

// Without the hash, which takes reading all of it. Throws Error when there is no such file.
FileMark mark_of(const std::filesystem::path& path);
std::uint64_t hash_of_file(const std::filesystem::path& path);
// With it. Of a folder: of the names and sizes of all files in it, which takes no reading.
FileMark whole_mark_of(const std::filesystem::path& path);
// Whether the file is the one that was marked: of the same size, and of the same time or the same bytes.
bool is_same_file(const FileMark& marked, const std::filesystem::path& path);

}  // namespace attend
