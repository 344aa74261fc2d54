#include "attend/base/mapped_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <system_error>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/files.h"
#include "attend/base/os.h"

namespace attend {

namespace {

// The mappings of this process, as a signal handler can read them.
struct Watched {
  std::atomic<std::uintptr_t> begin{0}, end{0};  // both 0: free
  std::atomic<bool> cut{false};
};
std::array<Watched, 512> watched;
std::mutex watching;
struct sigaction before;

// A page of the file is gone: there are zeros in its place from now on, and whoever reads goes on. A fault anywhere
// else is not ours, and goes to whom it went before.
extern "C" void on_missing_page(int, siginfo_t* info, void*) {
  const int code = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (Watched& one : watched) {
    if (address < one.begin.load() || address >= one.end.load()) continue;
    void* at = reinterpret_cast<void*>(address / page * page);
    if (::mmap(at, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at) break;
    one.cut.store(true);
    errno = code;
    return;
  }
  ::sigaction(SIGBUS, &before, nullptr);  // the instruction runs again, and faults again
}

int watch(const void* data, std::size_t size) {
  const std::lock_guard guard(watching);
  static const bool handled = [] {
    struct sigaction action = {};
    action.sa_sigaction = on_missing_page;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ::sigemptyset(&action.sa_mask);
    return ::sigaction(SIGBUS, &action, &before) == 0;
  }();
  if (!handled) return -1;
  for (std::size_t i = 0; i < watched.size(); ++i) {
    if (watched[i].end.load() != 0) continue;
    watched[i].cut = false;
    watched[i].begin = reinterpret_cast<std::uintptr_t>(data);
    watched[i].end = reinterpret_cast<std::uintptr_t>(data) + size;
    return static_cast<int>(i);
  }
  return -1;
}

void forget_watched(int index) {
  if (index < 0) return;
  const std::lock_guard guard(watching);
  Watched& one = watched[static_cast<std::size_t>(index)];
  one.begin = 0, one.end = 0;
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const auto fail_to = [&](const char* what) {
    fail("cannot {} '{}': {}", what, path.string(), std::generic_category().message(errno));
  };
  const Descriptor file(os::open(path, O_RDONLY));
  struct stat status {};
  if (file.get() < 0) fail_to("open");
  if (::fstat(file.get(), &status) != 0) fail_to("read");
  check(!S_ISDIR(status.st_mode), "cannot read '{}': it is a folder", path.string());
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  data_ = os::map(file.get(), size_, path);
  if (data_ == MAP_FAILED) {
    data_ = nullptr;
    fail_to("map");
  }
  watched_ = watch(data_, size_);
}

MappedFile::~MappedFile() {
  forget_watched(watched_);
  if (data_) ::munmap(data_, size_);
}

void MappedFile::check_whole() const {
  check(watched_ < 0 || !watched[static_cast<std::size_t>(watched_)].cut.load(),
        "'{}' was cut short while it was being read", path_.string());
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
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      watched_(std::exchange(other.watched_, -1)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(watched_, other.watched_);
  return *this;
}

}  // namespace attend
