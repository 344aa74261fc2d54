#include "attend/base/file_mark.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/hashing.h"
#include "attend/base/mapped_file.h"

namespace attend {

void ByteHash::mix(const char* block) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15u, kMix = 0xD6E8FEB86659FD93u;
  std::uint64_t words[4];
  std::memcpy(words, block, sizeof words);
  for (std::size_t i = 0; i < 4; ++i) sums_[i] = fold_multiply(sums_[i] ^ words[i], kMix) + kOdd;
}

void ByteHash::add(std::string_view bytes) {
  const std::size_t held = size_ % kBlock;
  size_ += bytes.size();
  if (held > 0) {
    const std::size_t more = std::min(kBlock - held, bytes.size());
    std::memcpy(kept_.data() + held, bytes.data(), more);
    bytes.remove_prefix(more);
    if (held + more < kBlock) return;
    mix(kept_.data());
  }
  for (; bytes.size() >= kBlock; bytes.remove_prefix(kBlock)) mix(bytes.data());
  if (!bytes.empty()) std::memcpy(kept_.data(), bytes.data(), bytes.size());
}

std::uint64_t ByteHash::value() const {
  ByteHash last = *this;
  if (const std::size_t held = size_ % kBlock; held > 0) {
    std::memset(last.kept_.data() + held, 0, kBlock - held);
    last.mix(last.kept_.data());
  }
  std::uint64_t hash = size_;
  for (const std::uint64_t sum : last.sums_) hash = hash_key(hash ^ sum);
  return hash;
}

FileMark mark_of(const std::filesystem::path& path) {
  struct stat status {};
  check(::stat(path.c_str(), &status) == 0, "cannot open '{}': {}", path.string(),
        std::generic_category().message(errno));
  return {.size = static_cast<std::uint64_t>(status.st_size),
          .time = static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec};
}

std::uint64_t hash_of_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  ByteHash hash;
  hash.add(file.text());
  file.check_whole();
  return hash.value();
}

namespace {

FileMark mark_of_folder(const std::filesystem::path& folder) {
  std::vector<std::string> lines;
  FileMark mark;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    mark.size += entry.file_size();
    lines.push_back(entry.path().lexically_relative(folder).string() + '\n' + std::to_string(entry.file_size()) + '\n');
  }
  std::ranges::sort(lines);
  ByteHash hash;
  for (const std::string& line : lines) hash.add(line);
  mark.hash = hash.value();
  return mark;
}

}  // namespace

FileMark whole_mark_of(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) return mark_of_folder(path);
  FileMark mark = mark_of(path);
  mark.hash = hash_of_file(path);
  return mark;
}

bool is_same_file(const FileMark& marked, const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) return mark_of_folder(path) == marked;
  const FileMark now = mark_of(path);
  return now.size == marked.size && (now.time == marked.time || hash_of_file(path) == marked.hash);
}

}  // namespace attend
