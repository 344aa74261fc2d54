// The system's calls on files, as the rest of the library makes them. A test can make any one of them fail, or end the
// process in front of it, so that "what if the disk is full just here" is a loop and not a hope.
//
//   const os::FaultInjection faults([&](os::Call call, const std::filesystem::path& path) { return ENOSPC; });
//
// From outside, ATTEND_FAULT=12:ENOSPC makes the twelfth call of a program fail, ATTEND_FAULT=12:kill ends it there and
// ATTEND_FAULT=count says at the end how many there were (attend/cli/main.cpp; docs/reliability.md).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace attend::os {

enum class Call : std::uint8_t { open, read, write, flush, rename, unlink, make_folder, map, lock };
std::string_view name_of(Call call);

// Asked before every call: 0 lets it happen, an errno makes it fail with that.
using Fault = std::function<int(Call call, const std::filesystem::path& path)>;

// While one lives, its fault is asked, by all threads. One at a time.
class FaultInjection {
 public:
  explicit FaultInjection(Fault fault);
  ~FaultInjection();
  FaultInjection(const FaultInjection&) = delete;
  FaultInjection& operator=(const FaultInjection&) = delete;

 private:
  Fault fault_;
};

// What ATTEND_FAULT says, as a fault that counts calls; empty where it says nothing. Throws Error when it makes no
// sense. `count` receives the calls made.
Fault fault_from(const char* words, std::int64_t& count);

// As the system's own: -1 (MAP_FAILED, a null pointer) and errno where they fail; interrupted ones are begun again.
int open(const std::filesystem::path& path, int flags, mode_t mode = 0);
ssize_t read(int file, void* data, std::size_t size, const std::filesystem::path& path);
ssize_t write(int file, const void* data, std::size_t size, const std::filesystem::path& path);
int flush(int file, const std::filesystem::path& path);
int rename(const std::filesystem::path& from, const std::filesystem::path& to);
// Two names trade what they stand for, at one moment. EINVAL or ENOSYS where a file system cannot.
int exchange(const std::filesystem::path& one, const std::filesystem::path& other);
int unlink(const std::filesystem::path& path);
int remove_folder(const std::filesystem::path& path);  // an empty one
int make_folder(const std::filesystem::path& path);
void* map(int file, std::size_t size, const std::filesystem::path& path);  // to be read
int lock(int file, const std::filesystem::path& path);                     // for this process alone, at once or not

}  // namespace attend::os
