// TensorBoard's files: the checksum by its published value, a record taken apart by hand, and what a resumed run keeps.
#include "attend/train/loop/event_file.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

namespace attend::train {
namespace {

template <class Number>
Number number_at(const std::string& bytes, std::size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);  // both machines this runs on have the lowest byte first
  return number;
}

std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

TEST(EventFile, ChecksumIsCastagnolis) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);              // the check value of the catalogue of CRCs
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);    // RFC 3720, appendix B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);  // likewise
}

TEST(EventFile, ARecordIsWhatItsFormatSays) {
  const std::string record = curve_event(1.5, 300, {{"train/loss", 0.25}});
  const auto length = number_at<std::uint64_t>(record, 0);
  ASSERT_EQ(record.size(), 8 + 4 + length + 4);
  EXPECT_EQ(number_at<std::uint32_t>(record, 8), masked(crc32c(record.substr(0, 8))));
  EXPECT_EQ(number_at<std::uint32_t>(record, 12 + length), masked(crc32c(record.substr(12, length))));
  const std::string event = record.substr(12, length);
  EXPECT_EQ(event[0], 0x09);  // wall_time = 1, 64 bits
  EXPECT_EQ(number_at<double>(event, 1), 1.5);
  EXPECT_EQ(event.substr(9, 3), "\x10\xac\x02");  // step = 2, 300 as a varint
  EXPECT_EQ(event.substr(12, 2), "\x2a\x13");     // summary = 5, 19 bytes
  EXPECT_EQ(event.substr(14, 2), "\x0a\x11");     // value = 1, 17 bytes
  EXPECT_EQ(event.substr(16, 12), "\x0a\x0atrain/loss");
  EXPECT_EQ(event[28], 0x15);  // simple_value = 2, 32 bits
  EXPECT_EQ(number_at<float>(event, 29), 0.25f);
  EXPECT_EQ(event.size(), 33u);
}

TEST(EventFile, AResumedRunKeepsItsWholeRecords) {
  const std::string header = event_file_header(1), first = curve_event(2, 100, {{"a", 1}}),
                    second = curve_event(3, 200, {{"a", 2}});
  EXPECT_NE(header.find("brain.Event:2"), std::string::npos);
  EXPECT_EQ(kept_events(header + first + second, 150), header + first);
  EXPECT_EQ(kept_events(header + first + second.substr(0, second.size() - 3), 500), header + first);
  std::string damaged = header + first + second;
  damaged[header.size() + 20] ^= 1;
  EXPECT_EQ(kept_events(damaged, 500), header);
  EXPECT_EQ(kept_events("", 1), "");
}

}  // namespace
}  // namespace attend::train
