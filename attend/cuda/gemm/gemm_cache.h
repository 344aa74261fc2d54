// Which matrix-product algorithm won on which problem: a ChoiceCache of cuBLASLt's algorithms, one file for each of its
// versions.
#pragma once

#include <cublasLt.h>

#include <optional>
#include <string>

#include "attend/cuda/choice_cache.h"

namespace attend {

class GemmCache {
 public:
  explicit GemmCache(const std::string& device_name);

  // Nothing for an entry that makes no sense.
  std::optional<cublasLtMatmulAlgo_t> find(const std::string& key) const;
  void insert(const std::string& key, const cublasLtMatmulAlgo_t& algorithm);

 private:
  ChoiceCache choices_;
};

}  // namespace attend
