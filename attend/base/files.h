// Files, whole: read one, map one, replace one so that a crash leaves either the old or the new, never half of it.
// Every failure is an Error that names the path and what the system said.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

namespace attend {

std::string read_file(const std::filesystem::path& path);

// Writes a temporary file in the same folder, forces it to disk, and renames it over path.
// Makes the folders above path. With a writer, the content is produced in pieces: write(data) appends.
void write_file(const std::filesystem::path& path, std::string_view content);
using FileWriter = std::function<void(std::string_view)>;
void write_file(const std::filesystem::path& path, const std::function<void(const FileWriter& write)>& produce);

// A file's bytes in memory, read on demand by the system. Read-only; an empty file is an empty span.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }
  std::size_t size() const { return size_; }
  // Lets go of the memory that holds these bytes of it; they are read from the file again when someone looks.
  void forget(std::span<const std::byte> part) const;
  // The same bytes as text.
  std::string_view text() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace attend
