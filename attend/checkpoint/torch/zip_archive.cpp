#include "attend/checkpoint/torch/zip_archive.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/limits.h"
#include "attend/checkpoint/torch/byte_reader.h"

namespace attend::checkpoint::torch {

namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                        kEnd64Locator = 0x07064b50;
constexpr std::size_t kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20, kCentralBytes = 46, kLocalBytes = 30;
constexpr std::uint16_t kFull16 = 0xffff, kZip64Extra = 1;
constexpr std::uint32_t kFull32 = 0xffffffff;
constexpr std::uint16_t kSizesBehind = 1 << 3, kNamesInUtf8 = 1 << 11;  // of an entry's flags

// Where the directory lies.
struct Directory {
  std::uint64_t entries = 0, size = 0, offset = 0;
};

// What the end of the file says of the directory. A number that fills its field stands in the zip64 record.
Directory find_directory(std::span<const std::byte> file, const std::string& source) {
  check(file.size() >= kEndBytes, "{}: cut short: {} bytes are no zip archive", source, file.size());
  const std::size_t end = file.size() - kEndBytes;
  ByteReader reader(file, source, end);
  check(reader.number<std::uint32_t>() == kEnd,
        "{}: cut short, or no file of torch's: the archive's directory is not at its end", source);
  const auto disk = reader.number<std::uint16_t>(), directory_disk = reader.number<std::uint16_t>();
  const auto here = reader.number<std::uint16_t>(), entries = reader.number<std::uint16_t>();
  const auto size = reader.number<std::uint32_t>(), offset = reader.number<std::uint32_t>();
  check(disk == 0 && directory_disk == 0 && here == entries, "{}: the archive is one part of several", source);
  check(reader.number<std::uint16_t>() == 0, "{}: the archive's directory is not at its end", source);
  Directory found{entries, size, offset};
  std::size_t behind = end;  // the directory must end here
  const bool wide =
      end >= kLocatorBytes && ByteReader(file, source, end - kLocatorBytes).number<std::uint32_t>() == kEnd64Locator;
  if (wide) {
    ByteReader locator(file, source, end - kLocatorBytes + sizeof kEnd64Locator);
    const bool one = locator.number<std::uint32_t>() == 0;
    const auto at = locator.number<std::uint64_t>();
    check(one && end >= kLocatorBytes + kEnd64Bytes && at == end - kLocatorBytes - kEnd64Bytes,
          "{}: the archive's zip64 record is not at byte {}", source, at);
    behind = static_cast<std::size_t>(at);
    ByteReader record(file, source, behind);
    check(record.number<std::uint32_t>() == kEnd64 && record.number<std::uint64_t>() == kEnd64Bytes - 12,
          "{}: the archive has a zip64 record of another form", source);
    record.take(4);  // versions
    const bool first = record.number<std::uint64_t>() == 0;
    const auto here64 = record.number<std::uint64_t>();
    found.entries = record.number<std::uint64_t>(), found.size = record.number<std::uint64_t>();
    found.offset = record.number<std::uint64_t>();
    check(first && here64 == found.entries, "{}: the archive is one part of several", source);
    check((entries == kFull16 || entries == found.entries) && (size == kFull32 || size == found.size) &&
              (offset == kFull32 || offset == found.offset),
          "{}: the archive's two end records do not agree", source);
  }
  check(found.offset <= behind && found.size == behind - found.offset,
        "{}: the archive's directory is said to be bytes {} + {}, but it ends at {}", source, found.offset, found.size,
        behind);
  check(found.entries <= found.size / kCentralBytes && found.entries <= limits::kMostArchiveEntries,
        "{}: the archive claims {} entries in a directory of {} bytes", source, found.entries, found.size);
  return found;
}

// A header's sizes and place; those that fill their fields are read from its zip64 extra field, in this order.
struct Extent {
  std::uint64_t size = 0, stored = 0, offset = 0;
};

// Each number that is full in the header must be in the field. The padding that torch puts there (FB) is not read.
void widen(Extent& extent, std::span<const std::byte> extra, const std::string& source, std::string_view name) {
  ByteReader reader(extra, source);
  while (reader.left() >= 4) {
    const auto kind = reader.number<std::uint16_t>();
    const auto length = reader.number<std::uint16_t>();
    if (length > reader.left()) break;
    ByteReader field(reader.take(length), source);
    if (kind != kZip64Extra) continue;
    for (std::uint64_t* number : {&extent.size, &extent.stored, &extent.offset})
      if (*number == kFull32) *number = field.number<std::uint64_t>();
    return;
  }
  check(extent.size != kFull32 && extent.stored != kFull32 && extent.offset != kFull32,
        "{}: entry {} has no zip64 field for its size", source, shown(name));
}

struct Placed {
  ZipEntry entry;
  std::uint16_t flags = 0, method = 0;
  Extent extent;
  std::uint64_t end = 0;  // of its data
};

Placed read_central(ByteReader& reader) {
  const std::string& source = reader.source();
  Placed placed;
  check(reader.number<std::uint32_t>() == kCentralHeader, "{}: the archive's directory is damaged at byte {}", source,
        reader.position() - 4);
  reader.take(4);  // versions
  placed.flags = reader.number<std::uint16_t>(), placed.method = reader.number<std::uint16_t>();
  reader.take(8);  // time, date, checksum
  placed.extent.stored = reader.number<std::uint32_t>(), placed.extent.size = reader.number<std::uint32_t>();
  const auto name = reader.number<std::uint16_t>(), extra = reader.number<std::uint16_t>(),
             comment = reader.number<std::uint16_t>(), disk = reader.number<std::uint16_t>();
  reader.take(6);  // attributes
  placed.extent.offset = reader.number<std::uint32_t>();
  placed.entry.name = reader.text(name);
  const auto fields = reader.take(extra);
  reader.take(comment);
  const std::string_view shown_name = placed.entry.name;
  widen(placed.extent, fields, source, shown_name);
  check(disk == 0, "{}: entry {} lies in another part of the archive", source, shown(shown_name));
  check((placed.flags & ~(kSizesBehind | kNamesInUtf8)) == 0, "{}: entry {} has flags {:#x}, as if it were encrypted",
        source, shown(shown_name), placed.flags);
  check(placed.method == 0, "{}: entry {} is compressed (method {}); torch stores its entries as they are", source,
        shown(shown_name), placed.method);
  check(placed.extent.size == placed.extent.stored, "{}: entry {} has {} bytes but takes {}", source, shown(shown_name),
        placed.extent.size, placed.extent.stored);
  return placed;
}

// The header in front of the data: it must say what the directory says. Where its flags put the sizes behind the data,
// they may be 0 here.
void place(Placed& placed, std::span<const std::byte> file, std::uint64_t directory, const std::string& source) {
  const std::string_view name = placed.entry.name;
  const Extent& extent = placed.extent;
  check(directory >= kLocalBytes && extent.offset <= directory - kLocalBytes,
        "{}: entry {} begins at byte {}, beyond the data, which ends at {}", source, shown(name), extent.offset,
        directory);
  ByteReader reader(file.first(static_cast<std::size_t>(directory)), source, static_cast<std::size_t>(extent.offset));
  check(reader.number<std::uint32_t>() == kLocalHeader, "{}: entry {} has no header at byte {}", source, shown(name),
        extent.offset);
  reader.take(2);  // version
  const auto flags = reader.number<std::uint16_t>(), method = reader.number<std::uint16_t>();
  reader.take(8);  // time, date, checksum
  Extent local;
  local.stored = reader.number<std::uint32_t>(), local.size = reader.number<std::uint32_t>();
  const auto name_length = reader.number<std::uint16_t>(), extra_length = reader.number<std::uint16_t>();
  const std::string_view local_name = reader.text(name_length);
  widen(local, reader.take(extra_length), source, name);
  const bool behind = (flags & kSizesBehind) != 0 && local.size == 0 && local.stored == 0;
  check(local_name == name && flags == placed.flags && method == placed.method &&
            (behind || (local.size == extent.size && local.stored == extent.stored)),
        "{}: entry {} is another one in its own header than in the archive's directory", source, shown(name));
  check(extent.size <= reader.left(), "{}: entry {} has {} bytes, and {} are left in front of the directory", source,
        shown(name), extent.size, reader.left());
  placed.entry.bytes = reader.take(extent.size);
  placed.end = reader.position();
}

}  // namespace

bool is_zip(std::span<const std::byte> file) {
  return file.size() >= 4 && std::memcmp(file.data(), &kLocalHeader, sizeof kLocalHeader) == 0;
}

std::vector<ZipEntry> read_zip(std::span<const std::byte> file, const std::string& source) {
  const Directory directory = find_directory(file, source);
  const auto begin = static_cast<std::size_t>(directory.offset), length = static_cast<std::size_t>(directory.size);
  ByteReader reader(file.first(begin + length), source, begin);
  std::vector<Placed> all;
  std::set<std::string_view> names;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    all.push_back(read_central(reader));
    place(all.back(), file, directory.offset, source);
    check(names.insert(all.back().entry.name).second, "{}: there are two entries {}", source,
          shown(all.back().entry.name));
  }
  check(reader.left() == 0, "{}: {} bytes of the archive's directory belong to no entry", source, reader.left());
  std::vector<ZipEntry> entries;
  for (const Placed& placed : all) entries.push_back(placed.entry);
  std::ranges::sort(all, {}, [](const Placed& placed) { return placed.extent.offset; });
  for (std::size_t i = 1; i < all.size(); ++i)
    check(all[i].extent.offset >= all[i - 1].end, "{}: entries {} and {} overlap", source, shown(all[i - 1].entry.name),
          shown(all[i].entry.name));
  return entries;
}

}  // namespace attend::checkpoint::torch
