#include "attend/train/loop/run_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <string>
#include <system_error>

#include "attend/base/error.h"
#include "attend/base/os.h"

namespace attend::train {

namespace {

// "process 123 on host since 2026-11-16 12:00:00": for whoever finds the lock taken.
std::string who_am_i() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  std::array<char, 32> time{};
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  std::strftime(time.data(), time.size(), "%Y-%m-%d %H:%M:%S", ::localtime_r(&now, &local));
  return fmt::format("process {} on {} since {}", ::getpid(), host.data(), time.data());
}

std::string content_of(int file) {
  std::array<char, 300> text{};
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  return {text.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

// Whether the name still stands for the file that was opened: its last holder may have removed it meanwhile.
bool is_current(int file, const std::filesystem::path& path) {
  struct stat opened {
  }, named{};
  return ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& folder) : path_(folder / kName), file_(-1) {
  while (true) {
    file_ = Descriptor(os::open(path_, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666));
    const bool made = file_.get() >= 0;
    if (!made && errno == EEXIST) file_ = Descriptor(os::open(path_, O_RDWR | O_NOFOLLOW));
    if (!made && file_.get() < 0 && errno == ENOENT) continue;  // its holder has just ended
    check(file_.get() >= 0, "cannot write '{}': {}", path_.string(), std::generic_category().message(errno));
    if (os::lock(file_.get(), path_) != 0) {
      if (errno == ENOLCK || errno == ENOTSUP || errno == EINVAL || errno == ENOSYS) break;
      const int code = errno;
      if (made && code != EWOULDBLOCK) ::unlink(path_.c_str());
      check(code == EWOULDBLOCK, "cannot lock '{}': {}", path_.string(), std::generic_category().message(code));
      const std::string holder = content_of(file_.get());
      fail("'{}' is being trained by another process{}: wait for it, or choose another --out", folder.string(),
           holder.empty() ? "" : " (" + holder + ")");
    }
    if (is_current(file_.get(), path_)) break;
  }
  const std::string mine = who_am_i();
  // Only for a person to read: a disk that is too full for it will say so where it matters.
  if (::ftruncate(file_.get(), 0) != 0 || ::pwrite(file_.get(), mine.data(), mine.size(), 0) < 0) return;
}

RunLock::~RunLock() {
  if (file_.get() >= 0) ::unlink(path_.c_str());
}

}  // namespace attend::train
