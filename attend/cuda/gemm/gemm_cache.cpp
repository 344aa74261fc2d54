#include "attend/cuda/gemm/gemm_cache.h"

#include <unistd.h>

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "attend/base/error.h"

namespace attend {
namespace {

constexpr int kWords = sizeof(cublasLtMatmulAlgo_t) / sizeof(std::uint64_t);

std::filesystem::path cache_folder() {
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder && *folder)
    return std::filesystem::path(folder) / "attend";
  if (const char* home = std::getenv("HOME"); home && *home) return std::filesystem::path(home) / ".cache" / "attend";
  return {};
}

}  // namespace

GemmCache::GemmCache(const std::string& device_name) {
  const std::filesystem::path folder = cache_folder();
  if (folder.empty()) return;
  std::string file;
  for (char letter : device_name) file += std::isalnum(static_cast<unsigned char>(letter)) ? letter : '-';
  path_ = (folder / fmt::format("gemm-{}-cublaslt-{}.txt", file, cublasLtGetVersion())).string();
  read(path_, entries_);
}

// A line per entry: the key, then the algorithm's words in hexadecimal.
void GemmCache::read(const std::string& path, Entries& entries) {
  std::ifstream in(path);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string key;
    std::uint64_t words[kWords];
    fields >> key >> std::hex;
    for (std::uint64_t& word : words) fields >> word;
    std::string rest;
    if (!fields || fields >> rest) continue;
    cublasLtMatmulAlgo_t algorithm;
    std::memcpy(&algorithm, words, sizeof(algorithm));
    entries[key] = algorithm;
  }
}

std::optional<cublasLtMatmulAlgo_t> GemmCache::find(const std::string& key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return std::nullopt;
  return found->second;
}

void GemmCache::insert(const std::string& key, const cublasLtMatmulAlgo_t& algorithm) {
  entries_[key] = algorithm;
  if (path_.empty()) return;
  Entries meanwhile = entries_;
  read(path_, meanwhile);  // what stands in the file wins there, so that runs after this one agree
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  const std::string draft = fmt::format("{}.{}", path_, ::getpid());
  {
    std::ofstream out(draft);
    for (const auto& [name, value] : meanwhile) {
      std::uint64_t words[kWords];
      std::memcpy(words, &value, sizeof(value));
      out << name;
      for (std::uint64_t word : words) out << fmt::format(" {:x}", word);
      out << '\n';
    }
    if (!out.flush()) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) std::filesystem::rename(draft, path_, error);
  if (error) std::filesystem::remove(draft, error);
}

}  // namespace attend
