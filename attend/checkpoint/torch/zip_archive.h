// The entries of a zip archive (PKWARE's APPNOTE 6.3) as torch writes it: stored, not compressed, so that each is a run
// of the file's bytes; with zip64 records where it is large.
//
// Files are untrusted input: every entry lies inside the file, in front of the directory, apart from the others, under
// a name of its own, and its local header says what the directory says.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attend::checkpoint::torch {

struct ZipEntry {
  std::string_view name;  // points into the file, as do the bytes
  std::span<const std::byte> bytes;
};

bool is_zip(std::span<const std::byte> file);

// In the order of the directory. Throws Error where the archive is anything else than said above.
std::vector<ZipEntry> read_zip(std::span<const std::byte> file, const std::string& source);

}  // namespace attend::checkpoint::torch
