// Choices that were made by the clock, kept in a file between runs: only a remembered choice lets two runs give the
// same bits.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace attend {

class ChoiceCache {
 public:
  // One file for each kind of choice and device model, under $XDG_CACHE_HOME/attend or ~/.cache/attend:
  // gemm-NVIDIA-H200-cublaslt-130100.txt. A file that cannot be read counts as empty; one that cannot be written is not
  // written.
  ChoiceCache(const std::string& kind, const std::string& device_name, const std::string& version);

  // A key has no spaces, a choice is the rest of its line.
  std::optional<std::string> find(const std::string& key) const;
  // Remembers and writes through; an entry another process has put into the file meanwhile stays.
  void insert(const std::string& key, const std::string& choice);

 private:
  using Entries = std::map<std::string, std::string>;
  static void read(const std::string& path, Entries& entries);

  std::string path_;  // empty: no place to keep it
  Entries entries_;
};

}  // namespace attend
