#include "attend/http/memory_budget.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <fstream>
#include <string>

namespace attend::http {

namespace {

// "max", or no such file: no limit.
std::uint64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::uint64_t number = UINT64_MAX;
  if (file >> text) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc()) number = UINT64_MAX;
  }
  return number;
}

// The limits of the process's cgroup and of those above it: version 2 is one tree, version 1 has one for memory.
std::uint64_t cgroup_limit() {
  std::uint64_t least = UINT64_MAX;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const bool second = line.starts_with("0::");
    const std::size_t first = line.find(":memory:");
    if (!second && first == std::string::npos) continue;
    std::string path = line.substr(second ? 3 : first + 8);
    const std::string root = second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const char* file = second ? "/memory.max" : "/memory.limit_in_bytes";
    while (true) {
      while (path.ends_with('/')) path.pop_back();
      least = std::min(least, number_in(root + path + file));
      if (path.empty()) break;
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return least;
}

}  // namespace

std::size_t default_memory_budget() {
  std::uint64_t least = cgroup_limit();
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0)
    least = std::min(least, static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page));
  rlimit address_space{};
  if (::getrlimit(RLIMIT_AS, &address_space) == 0 && address_space.rlim_cur != RLIM_INFINITY)
    least = std::min(least, static_cast<std::uint64_t>(address_space.rlim_cur));
  constexpr std::uint64_t kLeast = std::uint64_t{16} << 20, kMost = SIZE_MAX / 2;
  return static_cast<std::size_t>(std::clamp(least / 4, kLeast, kMost));
}

std::size_t decoded_size(std::string_view body) {
  constexpr std::size_t kValue = 128;
  std::size_t values = 0;
  for (const char c : body) {
    values += (c == ',') + (c == ':') + (c == '[') + (c == '{');
    values += 3 * static_cast<std::size_t>(c == '&');  // a field of a form is kept as a pair and as a value
  }
  return 3 * body.size() + kValue * values;
}

}  // namespace attend::http
