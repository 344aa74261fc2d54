#include "attend/train/loop/event_file.h"

#include <array>
#include <bit>
#include <cstring>

namespace attend::train {

namespace {

constexpr std::size_t kHeader = 12, kFooter = 4;  // of a record, around its bytes

// Numbers lie with their lowest byte first.
template <class Number>
std::string little_endian(Number number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof number; ++i) bytes += static_cast<char>((number >> (8 * i)) & 0xff);
  return bytes;
}

template <class Number>
Number from_little_endian(std::string_view bytes) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i)
    number |= static_cast<Number>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return number;
}

// Seven bits a byte, the lowest first; the eighth says that more follow.
std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>((number & 0x7f) | 0x80);
  return bytes + static_cast<char>(number);
}

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };
std::string key(int field, Wire wire) {
  return varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire));
}
std::string bytes_field(int field, std::string_view bytes) {
  return key(field, Wire::bytes) + varint(bytes.size()) + std::string(bytes);
}

// Checksums of checksums would be weak: they are stored turned and shifted.
std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

std::string event(double wall_time, const std::string& rest) {
  return key(1, Wire::fixed64) + little_endian(std::bit_cast<std::uint64_t>(wall_time)) + rest;
}

// Of an event that we wrote: behind the time; none of the header.
std::optional<std::int64_t> step_of(std::string_view event) {
  constexpr std::size_t kTime = 9;
  if (event.size() <= kTime || event[kTime] != key(2, Wire::varint)[0]) return std::nullopt;
  std::uint64_t step = 0;
  for (std::size_t i = kTime + 1, shift = 0; i < event.size() && shift < 64; ++i, shift += 7) {
    const auto byte = static_cast<unsigned char>(event[i]);
    step |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return static_cast<std::int64_t>(step);
  }
  return std::nullopt;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static const auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      std::uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
      table[i] = crc;
    }
    return table;
  }();
  std::uint32_t crc = 0xffffffffu;
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return crc ^ 0xffffffffu;
}

std::string event_record(std::string_view event) {
  const std::string length = little_endian(static_cast<std::uint64_t>(event.size()));
  return length + little_endian(masked(crc32c(length))) + std::string(event) + little_endian(masked(crc32c(event)));
}

std::string event_file_header(double wall_time) {
  return event_record(event(wall_time, bytes_field(3, "brain.Event:2")));
}

std::string curve_event(double wall_time, std::int64_t step, const std::vector<CurvePoint>& points) {
  std::string summary;
  for (const auto& [name, value] : points)
    summary += bytes_field(1, bytes_field(1, name) + key(2, Wire::fixed32) +
                                  little_endian(std::bit_cast<std::uint32_t>(static_cast<float>(value))));
  return event_record(
      event(wall_time, key(2, Wire::varint) + varint(static_cast<std::uint64_t>(step)) + bytes_field(5, summary)));
}

std::string kept_events(std::string_view file, std::int64_t step) {
  std::string kept;
  while (file.size() >= kHeader + kFooter) {
    const auto length = from_little_endian<std::uint64_t>(file.substr(0, 8));
    const bool whole = from_little_endian<std::uint32_t>(file.substr(8, 4)) == masked(crc32c(file.substr(0, 8))) &&
                       length <= file.size() - kHeader - kFooter;
    if (!whole) return kept;
    const std::string_view event = file.substr(kHeader, length), record = file.substr(0, kHeader + length + kFooter);
    if (from_little_endian<std::uint32_t>(record.substr(kHeader + length)) != masked(crc32c(event))) return kept;
    const bool of_the_end = event.find("averaged/") != std::string_view::npos;  // the run will come to it again
    if (step_of(event).value_or(0) <= step && !of_the_end) kept += record;
    file.remove_prefix(record.size());
  }
  return kept;
}

}  // namespace attend::train
