// Files, whole: read one, replace one so that a crash leaves either the old or the new, never half of it.
// Every failure is an Error that names the path and what the system said.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/base/file_mark.h"

namespace attend {

std::string read_file(const std::filesystem::path& path);

// Writes a temporary file in the same folder, forces it to disk, and renames it over path.
// Makes the folders above path. With a writer, the content is produced in pieces: write(data) appends.
void write_file(const std::filesystem::path& path, std::string_view content);
using FileWriter = std::function<void(std::string_view)>;
using FileProducer = std::function<void(const FileWriter& write)>;
void write_file(const std::filesystem::path& path, const FileProducer& produce);

// Throws Error when there is something that is not a file at path, so that nothing is renamed over a device.
void check_replaceable(const std::filesystem::path& path);
// The folder and those above it. What it made, outermost first, for whoever may have to take it back.
std::vector<std::filesystem::path> make_folders(const std::filesystem::path& folder);
void move_file(const std::filesystem::path& from, const std::filesystem::path& to);
void remove_file(const std::filesystem::path& path);  // fine when there is none
// What was renamed or removed in a folder is on disk only after this.
void flush_folder(const std::filesystem::path& folder);

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int get() const { return number_; }

 private:
  int number_;
};

// write_file in its steps, for those who have something to do between them.
class FileReplacement {
 public:
  explicit FileReplacement(std::filesystem::path path);
  ~FileReplacement();  // the temporary file goes, unless it was renamed
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  void write(std::string_view data);
  FileMark finish();  // all is on disk, under the temporary name
  void commit();

 private:
  std::filesystem::path path_, temporary_;
  Descriptor file_;
  ByteHash hash_;
};

// A name beside path that nobody else has, and whether a name is such a one: left by a process that was killed.
std::filesystem::path temporary_name(const std::filesystem::path& path);
bool is_temporary_name(std::string_view name);

// A file that grows by whole lines.
class AppendedFile {
 public:
  explicit AppendedFile(const std::filesystem::path& path);
  void add(std::string_view data);

 private:
  std::filesystem::path path_;
  Descriptor file_;
};

}  // namespace attend
