#include "attend/base/scratch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "attend/base/error.h"
#include "attend/base/os.h"

namespace attend {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;

int open_nameless(const std::filesystem::path& path) {
  const int file = os::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  check(file >= 0, "cannot create the temporary file '{}': {}", path.string(), std::strerror(errno));
  os::unlink(path);
  return file;
}

}  // namespace

ScratchFile::ScratchFile(const std::filesystem::path& folder)
    : path_(temporary_name(folder / "scratch")), file_(open_nameless(path_)) {}

void ScratchFile::write(std::string_view data) {
  buffer_ += data;
  if (buffer_.size() >= kBufferBytes) flush();
}

void ScratchFile::flush() {
  for (std::string_view rest = buffer_; !rest.empty();) {
    const ssize_t written = os::write(file_.get(), rest.data(), rest.size(), path_);
    check(written > 0, "cannot write temporary data beside '{}': {}", path_.string(), std::strerror(errno));
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  size_ += buffer_.size();
  buffer_.clear();
}

std::string ScratchFile::read() {
  flush();
  check(::lseek(file_.get(), 0, SEEK_SET) == 0, "cannot read temporary data back: {}", std::strerror(errno));
  std::string data(size_, '\0');
  for (std::size_t at = 0; at < size_;) {
    const ssize_t got = os::read(file_.get(), data.data() + at, size_ - at, path_);
    check(got > 0, "cannot read temporary data back: {}", got < 0 ? std::strerror(errno) : "it ended early");
    at += static_cast<std::size_t>(got);
  }
  return data;
}

}  // namespace attend
