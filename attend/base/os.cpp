#include "attend/base/os.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <string>

#include "attend/base/error.h"

namespace attend::os {

namespace {

std::atomic<const Fault*> current{nullptr};

// Whether the call may go on; errno says why not.
bool allowed(Call call, const std::filesystem::path& path) {
  const Fault* fault = current.load(std::memory_order_acquire);
  if (!fault) [[likely]]
    return true;
  const int code = (*fault)(call, path);
  if (code != 0) errno = code;
  return code == 0;
}

template <class Fn>
auto again_when_interrupted(Fn fn) {
  decltype(fn()) result;
  do result = fn();
  while (result < 0 && errno == EINTR);
  return result;
}

struct Outcome {
  std::string_view name;
  int code;  // 0: ends the process
};
constexpr Outcome kOutcomes[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EACCES", EACCES},
                                 {"ENOMEM", ENOMEM}, {"EMFILE", EMFILE}, {"kill", 0}};

}  // namespace

std::string_view name_of(Call call) {
  constexpr std::string_view kNames[] = {"open",   "read",        "write", "flush", "rename",
                                         "unlink", "make_folder", "map",   "lock"};
  return kNames[static_cast<std::size_t>(call)];
}

FaultInjection::FaultInjection(Fault fault) : fault_(std::move(fault)) {
  const Fault* none = nullptr;
  check(current.compare_exchange_strong(none, &fault_), "faults are injected already");
}

FaultInjection::~FaultInjection() { current.store(nullptr); }

Fault fault_from(const char* words, std::int64_t& count) {
  if (!words || !*words) return {};
  const std::string_view text(words);
  const auto counted = [&count] { return std::atomic_ref(count).fetch_add(1) + 1; };
  if (text == "count") return [counted](Call, const auto&) { return counted(), 0; };
  std::int64_t at = 0;
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + colon, at);
  for (const Outcome& outcome : kOutcomes) {
    if (error != std::errc() || end != text.data() + colon || at < 1 ||
        text.substr(colon) != ":" + std::string(outcome.name))
      continue;
    return [=, code = outcome.code](Call, const auto&) {
      if (counted() != at) return 0;
      if (code == 0) ::kill(::getpid(), SIGKILL);
      return code;
    };
  }
  fail("ATTEND_FAULT is '{}', but must be count or like 12:ENOSPC (or EIO, EACCES, ENOMEM, EMFILE, kill)", text);
}

int open(const std::filesystem::path& path, int flags, mode_t mode) {
  if (!allowed(Call::open, path)) return -1;
  return again_when_interrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); });
}

ssize_t read(int file, void* data, std::size_t size, const std::filesystem::path& path) {
  if (!allowed(Call::read, path)) return -1;
  return again_when_interrupted([&] { return ::read(file, data, size); });
}

// A refused write leaves half of its bytes behind, as a disk does that fills up in the middle of one.
ssize_t write(int file, const void* data, std::size_t size, const std::filesystem::path& path) {
  if (!allowed(Call::write, path)) {
    const int code = errno;
    const ssize_t half = ::write(file, data, size / 2);
    return static_cast<void>(half), errno = code, -1;
  }
  return again_when_interrupted([&] { return ::write(file, data, size); });
}

int flush(int file, const std::filesystem::path& path) {
  return allowed(Call::flush, path) ? again_when_interrupted([&] { return ::fsync(file); }) : -1;
}

int rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  return allowed(Call::rename, to) ? ::rename(from.c_str(), to.c_str()) : -1;
}

int exchange(const std::filesystem::path& one, const std::filesystem::path& other) {
  constexpr unsigned kExchange = 2;  // RENAME_EXCHANGE, which some C libraries do not name
  if (!allowed(Call::rename, other)) return -1;
#if defined(SYS_renameat2)
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), kExchange));
#else
  return static_cast<void>(one), static_cast<void>(kExchange), errno = ENOSYS, -1;
#endif
}

int unlink(const std::filesystem::path& path) { return allowed(Call::unlink, path) ? ::unlink(path.c_str()) : -1; }

int remove_folder(const std::filesystem::path& path) {
  return allowed(Call::unlink, path) ? ::rmdir(path.c_str()) : -1;
}

int make_folder(const std::filesystem::path& path) {
  return allowed(Call::make_folder, path) ? ::mkdir(path.c_str(), 0777) : -1;
}

void* map(int file, std::size_t size, const std::filesystem::path& path) {
  return allowed(Call::map, path) ? ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
}

int lock(int file, const std::filesystem::path& path) {
  return allowed(Call::lock, path) ? again_when_interrupted([&] { return ::flock(file, LOCK_EX | LOCK_NB); }) : -1;
}

}  // namespace attend::os
