// Reads numbers and runs of bytes from a file, in order, and never beyond its end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "attend/base/error.h"

namespace attend::checkpoint::torch {

class ByteReader {
 public:
  // source names the file in messages, and outlives this.
  ByteReader(std::span<const std::byte> bytes, const std::string& source, std::size_t at = 0)
      : bytes_(bytes), source_(source), at_(at) {}

  std::size_t position() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }
  const std::string& source() const { return source_; }

  std::span<const std::byte> take(std::uint64_t count) {
    check(count <= left(), "{}: cut short: {} bytes are announced at byte {}, and {} follow", source_, count, at_,
          left());
    const auto taken = bytes_.subspan(at_, static_cast<std::size_t>(count));
    at_ += taken.size();
    return taken;
  }
  std::string_view text(std::uint64_t count) {
    const auto taken = take(count);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }
  // A little-endian number.
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  // Up to a line feed, without it.
  std::string_view line(std::size_t longest) {
    const auto rest = bytes_.subspan(at_);
    const std::string_view ahead(reinterpret_cast<const char*>(rest.data()), std::min(rest.size(), longest + 1));
    const std::size_t end = ahead.find('\n');
    check(end != std::string_view::npos, "{}: a name at byte {} is longer than {} bytes", source_, at_, longest);
    at_ += end + 1;
    return ahead.substr(0, end);
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& source_;
  std::size_t at_;
};

}  // namespace attend::checkpoint::torch
