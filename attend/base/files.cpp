#include "attend/base/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <system_error>

#include "attend/base/error.h"
#include "attend/base/limits.h"
#include "attend/base/os.h"

namespace attend {

namespace {

namespace fs = std::filesystem;

using limits::kLargestFileRead;
constexpr std::size_t kWriteAtOnce = std::size_t{1} << 20;  // hashed and written while it is in the cache
constexpr std::string_view kTemporaryEnd = ".tmp";
constexpr std::size_t kTemporaryDigits = 16;

[[noreturn]] void fail_with(int code, const char* what, const fs::path& path) {
  fail("cannot {} '{}': {}", what, path.string(), std::generic_category().message(code));
}

}  // namespace

// Process ids come again in containers, so it is drawn by lot.
fs::path temporary_name(const fs::path& path) {
  std::uint64_t number = 0;
  if (::getentropy(&number, sizeof number) != 0) fail_with(errno, "draw a name for", path);
  return fs::path(path.string() + fmt::format(".{:016x}{}", number, kTemporaryEnd));
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

std::string read_file(const fs::path& path) {
  const Descriptor file(os::open(path, O_RDONLY));
  if (file.get() < 0) fail_with(errno, "open", path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_with(errno, "read", path);
  // A folder opens for reading too, but none of its bytes can be read: say so at once.
  check(!S_ISDIR(status.st_mode), "cannot read '{}': it is a folder", path.string());
  const auto check_size = [&](std::size_t size) {
    check(size <= kLargestFileRead,
          "cannot read '{}': it has more than {} MiB, the most that is read whole (limits::kLargestFileRead)",
          path.string(), kLargestFileRead >> 20);
  };
  check_size(static_cast<std::size_t>(status.st_size));
  std::string content(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t length = 0;
  while (true) {  // pipes and /proc tell no size, so read until there is nothing left
    if (length == content.size()) content.resize(content.size() + 4096 + content.size() / 2);
    const ssize_t got = os::read(file.get(), content.data() + length, content.size() - length, path);
    if (got < 0) fail_with(errno, "read", path);
    if (got == 0) break;
    check_size(length += static_cast<std::size_t>(got));
  }
  content.resize(length);
  return content;
}

void write_file(const fs::path& path, std::string_view content) {
  write_file(path, [&](const FileWriter& write) { write(content); });
}

void write_file(const fs::path& path, const FileProducer& produce) {
  FileReplacement file(path);
  produce([&](std::string_view data) { file.write(data); });
  file.finish();
  file.commit();
}

void check_replaceable(const fs::path& path) {
  std::error_code error;
  check(!fs::is_directory(path, error), "cannot write '{}': it is a folder", path.string());
  // A rename over /dev/null would succeed, for root, and take the device away.
  check(!fs::exists(path, error) || fs::is_regular_file(path, error), "cannot write '{}': it is a device or a pipe",
        path.string());
}

std::vector<fs::path> make_folders(const fs::path& folder) {
  std::vector<fs::path> made;
  std::error_code error;
  if (folder.empty() || fs::is_directory(folder, error)) return made;
  made = make_folders(folder.parent_path());
  if (os::make_folder(folder) == 0)
    made.push_back(folder);
  else if (const int code = errno; code != EEXIST || !fs::is_directory(folder, error))
    fail_with(code, "make the folder", folder);
  return made;
}

void move_file(const fs::path& from, const fs::path& to) {
  if (os::rename(from, to) != 0) fail_with(errno, "move", from);
}

void remove_file(const fs::path& path) {
  if (os::unlink(path) != 0 && errno != ENOENT) fail_with(errno, "remove", path);
}

// Some file systems cannot do this to a folder (EINVAL): fine.
void flush_folder(const fs::path& folder) {
  const Descriptor opened(os::open(folder.empty() ? fs::path(".") : folder, O_RDONLY | O_DIRECTORY));
  if (opened.get() < 0 || (os::flush(opened.get(), folder) != 0 && errno != EINVAL)) fail_with(errno, "flush", folder);
}

FileReplacement::FileReplacement(fs::path path) : path_(std::move(path)), file_(-1) {
  make_folders(path_.parent_path());
  check_replaceable(path_);
  // A file that replaces another keeps its permissions.
  struct stat old {};
  const mode_t mode = ::stat(path_.c_str(), &old) == 0 ? old.st_mode & 07777 : 0666;
  temporary_ = temporary_name(path_);
  file_ = Descriptor(os::open(temporary_, O_WRONLY | O_CREAT | O_EXCL, mode));
  if (file_.get() < 0) {
    temporary_.clear();
    fail_with(errno, "write", path_);
  }
}

FileReplacement::~FileReplacement() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void FileReplacement::write(std::string_view data) {
  while (!data.empty()) {
    const std::string_view part = data.substr(0, kWriteAtOnce);
    const ssize_t written = os::write(file_.get(), part.data(), part.size(), path_);
    if (written < 0) fail_with(errno, "write", path_);
    hash_.add(part.substr(0, static_cast<std::size_t>(written)));
    data.remove_prefix(static_cast<std::size_t>(written));
  }
}

FileMark FileReplacement::finish() {
  if (os::flush(file_.get(), path_) != 0) fail_with(errno, "flush", path_);
  FileMark mark = mark_of(temporary_);
  mark.hash = hash_.value();
  file_ = Descriptor(-1);  // many may wait to be renamed together
  return mark;
}

void FileReplacement::commit() {
  if (os::rename(temporary_, path_) != 0) fail_with(errno, "replace", path_);
  temporary_.clear();
  flush_folder(path_.parent_path());
}

// NAME.0123456789abcdef.tmp
bool is_temporary_name(std::string_view name) {
  if (!name.ends_with(kTemporaryEnd)) return false;
  name.remove_suffix(kTemporaryEnd.size());
  if (name.size() < kTemporaryDigits + 2 || name[name.size() - kTemporaryDigits - 1] != '.') return false;
  return std::ranges::all_of(name.substr(name.size() - kTemporaryDigits),
                             [](unsigned char c) { return std::isxdigit(c) && !std::isupper(c); });
}

AppendedFile::AppendedFile(const fs::path& path)
    : path_(path), file_(os::open(path, O_WRONLY | O_CREAT | O_APPEND, 0666)) {
  if (file_.get() < 0) fail_with(errno, "write", path);
}

void AppendedFile::add(std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = os::write(file_.get(), data.data(), data.size(), path_);
    if (written < 0) fail_with(errno, "write", path_);
    data.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace attend
