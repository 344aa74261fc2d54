// Which matrix-product algorithm won on which problem, kept in a file between runs: the choice is made by the clock, so
// only a remembered choice lets two runs give the same bits.
#pragma once

#include <cublasLt.h>

#include <map>
#include <optional>
#include <string>

namespace attend {

class GemmCache {
 public:
  // One file for each device model and cuBLASLt version, under $XDG_CACHE_HOME/attend or ~/.cache/attend. A file that
  // cannot be read, or makes no sense, counts as empty; one that cannot be written is not written.
  explicit GemmCache(const std::string& device_name);

  std::optional<cublasLtMatmulAlgo_t> find(const std::string& key) const;
  // Remembers and writes through; an entry another process has put into the file meanwhile stays.
  void insert(const std::string& key, const cublasLtMatmulAlgo_t& algorithm);

 private:
  using Entries = std::map<std::string, cublasLtMatmulAlgo_t>;
  static void read(const std::string& path, Entries& entries);

  std::string path_;  // empty: no place to keep it
  Entries entries_;
};

}  // namespace attend
