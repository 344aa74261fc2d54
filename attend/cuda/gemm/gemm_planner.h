// Matrix products through cuBLASLt: describes the problem, and picks the algorithm by timing the candidates on it.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "attend/base/dtype.h"
#include "attend/cuda/gemm/gemm_cache.h"
#include "attend/tensor/backend.h"

namespace attend {

class CudaBackend;

// c = alpha · op(a) op(b) + beta · added, row-major, with what cuBLASLt can do to c on the way out.
struct Gemm {
  enum Ending : std::uint8_t { plain, relu, gelu_tanh };

  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const void* added = nullptr;                         // null: c itself; else another of the same layout
  std::int64_t lda = 0, ldb = 0, ldc = 0;              // elements from row to row
  std::int64_t batch_a = 0, batch_b = 0, batch_c = 0;  // elements from matrix to matrix
  bool transpose_a = false, transpose_b = false;
  bool settled_b = false;  // as in MatMul
  DType in = DType::f32, out = DType::f32;
  // Of a and b where in is u8: their units, on the device, and formats.
  const void* unit_a = nullptr;
  const void* unit_b = nullptr;
  Float8 format_a = Float8::e4m3, format_b = Float8::e4m3;
  bool fast = false;  // sums of 8-bit products may keep fewer digits on the way
  float alpha = 1, beta = 0;
  const void* bias = nullptr;  // [n], of the dtype of c
  Ending ending = plain;
  void* pre = nullptr;  // gelu_tanh: what went into it
  std::int64_t ldpre = 0;
};

class GemmPlanner {
 public:
  explicit GemmPlanner(CudaBackend& backend);
  ~GemmPlanner();
  GemmPlanner(const GemmPlanner&) = delete;
  GemmPlanner& operator=(const GemmPlanner&) = delete;

  // False when cuBLASLt has no algorithm for the problem (some endings on odd layouts); then nothing has been launched.
  bool run(const Gemm& gemm);

 private:
  struct Description;
  using Algorithm = std::optional<cublasLtMatmulAlgo_t>;

  struct Plan {
    Algorithm algorithm;
    bool settled = true;  // false: nobody had the time to look for a faster one
  };
  Plan choose(const Gemm& gemm, const Description& description);
  Algorithm race(const Gemm& gemm, const Description& description,
                 const std::vector<cublasLtMatmulHeuristicResult_t>& candidates);
  std::vector<cublasLtMatmulHeuristicResult_t> candidates(const Gemm& gemm, const Description& description) const;
  cublasStatus_t launch(const Gemm& gemm, const Description& description, const cublasLtMatmulAlgo_t& algorithm) const;

  CudaBackend& backend_;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  GemmCache cache_;
  std::unordered_map<std::string, Plan> plans_;  // by exact problem
};

}  // namespace attend
