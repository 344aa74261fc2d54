#include "attend/base/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "attend/base/error.h"

namespace attend {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_with(int code, const char* what, const fs::path& path) {
  fail("cannot {} '{}': {}", what, path.string(), std::generic_category().message(code));
}

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  int get() const { return number_; }

 private:
  int number_;
};

// A folder opens for reading too, but none of its bytes can be read: say so at once.
struct stat regular_file(const Descriptor& file, const fs::path& path) {
  if (file.get() < 0) fail_with(errno, "open", path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_with(errno, "read", path);
  check(!S_ISDIR(status.st_mode), "cannot read '{}': it is a folder", path.string());
  return status;
}

void write_all(int descriptor, std::string_view data, const fs::path& path) {
  while (!data.empty()) {
    const ssize_t written = ::write(descriptor, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with(errno, "write", path);
    data.remove_prefix(static_cast<std::size_t>(written));
  }
}

// The rename itself is on disk only when the folder is. Some file systems cannot do this to a folder (EINVAL): fine.
void sync_folder(const fs::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0 || (::fsync(opened.get()) != 0 && errno != EINVAL)) fail_with(errno, "flush", folder);
}

// A name beside path that nobody else uses, opened for writing. A file that replaces another keeps its permissions.
Descriptor open_temporary(const fs::path& path, fs::path& temporary) {
  static std::atomic<unsigned> counter{0};
  temporary = fs::path(path.string() + fmt::format(".{}-{}.tmp", ::getpid(), counter.fetch_add(1)));
  struct stat old {};
  const mode_t mode = ::stat(path.c_str(), &old) == 0 ? old.st_mode & 07777 : 0666;
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file.get() < 0) fail_with(errno, "write", path);
  return file;
}

}  // namespace

std::string read_file(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const struct stat status = regular_file(file, path);
  std::string content(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t length = 0;
  while (true) {  // pipes and /proc tell no size, so read until there is nothing left
    if (length == content.size()) content.resize(content.size() + 4096 + content.size() / 2);
    const ssize_t got = ::read(file.get(), content.data() + length, content.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with(errno, "read", path);
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  content.resize(length);
  return content;
}

void write_file(const fs::path& path, std::string_view content) {
  write_file(path, [&](const FileWriter& write) { write(content); });
}

void write_file(const fs::path& path, const std::function<void(const FileWriter& write)>& produce) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_with(error.value(), "make the folder", folder);
  check(!fs::is_directory(path, error), "cannot write '{}': it is a folder", path.string());
  // A rename over /dev/null would succeed, for root, and take the device away.
  check(!fs::exists(path, error) || fs::is_regular_file(path, error), "cannot write '{}': it is a device or a pipe",
        path.string());

  fs::path temporary;
  const Descriptor file = open_temporary(path, temporary);
  try {
    produce([&](std::string_view data) { write_all(file.get(), data, path); });
    if (::fsync(file.get()) != 0) fail_with(errno, "flush", path);
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail_with(errno, "replace", path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder(folder);
}

MappedFile::MappedFile(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  size_ = static_cast<std::size_t>(regular_file(file, path).st_size);
  if (size_ == 0) return;
  data_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(), 0);
  if (data_ == MAP_FAILED) {
    data_ = nullptr;
    fail_with(errno, "map", path);
  }
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(data_, size_);
}

// A fault brings its neighbours with it, up to the size of a huge page, so they go too; whoever needs them still gets
// them from the kernel's cache.
void MappedFile::forget(std::span<const std::byte> part) const {
  constexpr std::size_t kAround = 2 << 20;
  const auto offset = static_cast<std::size_t>(part.data() - static_cast<const std::byte*>(data_));
  const std::size_t begin = offset / kAround * kAround;
  const std::size_t end = std::min((offset + part.size() + kAround - 1) / kAround * kAround, size_);
  if (begin < end) ::madvise(static_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace attend
