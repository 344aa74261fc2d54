#include "attend/cuda/gemm/gemm_cache.h"

#include <cstdint>
#include <cstring>
#include <sstream>

#include "attend/base/error.h"

namespace attend {
namespace {

constexpr int kWords = sizeof(cublasLtMatmulAlgo_t) / sizeof(std::uint64_t);

}  // namespace

GemmCache::GemmCache(const std::string& device_name)
    : choices_("gemm", device_name, fmt::format("cublaslt-{}", cublasLtGetVersion())) {}

// An entry is the algorithm's words in hexadecimal.
std::optional<cublasLtMatmulAlgo_t> GemmCache::find(const std::string& key) const {
  const std::optional<std::string> found = choices_.find(key);
  if (!found) return std::nullopt;
  std::istringstream fields(*found);
  std::uint64_t words[kWords];
  fields >> std::hex;
  for (std::uint64_t& word : words) fields >> word;
  std::string rest;
  if (!fields || fields >> rest) return std::nullopt;
  cublasLtMatmulAlgo_t algorithm;
  std::memcpy(&algorithm, words, sizeof(algorithm));
  return algorithm;
}

void GemmCache::insert(const std::string& key, const cublasLtMatmulAlgo_t& algorithm) {
  std::uint64_t words[kWords];
  std::memcpy(words, &algorithm, sizeof(algorithm));
  std::string text;
  for (const std::uint64_t word : words) text += fmt::format("{}{:x}", text.empty() ? "" : " ", word);
  choices_.insert(key, text);
}

}  // namespace attend
