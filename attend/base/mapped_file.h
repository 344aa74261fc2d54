// A file's bytes in memory, read on demand by the system.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace attend {

// Read-only; an empty file is an empty span. Bytes that are no longer there when someone looks, because the file was
// cut short meanwhile, read as zeros instead of ending the process (SIGBUS): who relies on them asks check_whole()
// afterwards.
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
  // Throws Error when bytes were missing since it was opened.
  void check_whole() const;

 private:
  std::filesystem::path path_;
  void* data_ = nullptr;
  std::size_t size_ = 0;
  int watched_ = -1;  // where it is listed for the signal's handler; -1: nowhere
};

}  // namespace attend
