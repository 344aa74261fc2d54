#include "attend/cuda/gemm/gemm_planner.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "attend/cuda/cuda_backend.h"
#include "attend/cuda/cuda_check.h"
#include "attend/cuda/way_planner.h"

namespace attend {
namespace {

// What NVIDIA advises for Hopper; half of it loses some split-K algorithms.
constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;
constexpr int kCandidates = 16;  // it knows eight at most, so far
constexpr std::size_t kFinalists = 8, kPlans = 8192;
// From as many multiply-adds on, variants of the candidates run, too: some 400, half a second, once per machine.
constexpr std::int64_t kWorthVariants = std::int64_t{1} << 32;
// Milliseconds: of each candidate's trial; of the finalists' warm-up and each one's share of a round (an even number).
constexpr float kTrial = 0.5f, kWarmUp = 10, kRound = 2;
constexpr int kRounds = 12;
// Of the time of the one that cuBLASLt would take: another that needs more is no better, as far as a race can tell.
constexpr float kMargin = 0.99f;

cudaDataType_t data_type(DType dtype) { return dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F; }
cudaDataType_t data_type(DType dtype, Float8 format) {
  if (dtype != DType::u8) return data_type(dtype);
  return format == Float8::e4m3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
}

// The alignment, up to 16 bytes, of every row that starts at data.
std::uint32_t alignment_of(const void* data, std::int64_t stride, std::int64_t batch_stride, DType dtype) {
  const std::uint64_t bits = reinterpret_cast<std::uintptr_t>(data) |
                             static_cast<std::uint64_t>(stride) * bytes_of(dtype) |
                             static_cast<std::uint64_t>(batch_stride) * bytes_of(dtype) | 16;
  return 1u << std::countr_zero(bits);
}

std::uint32_t alignment_of_c(const Gemm& gemm) {
  const std::uint32_t c = alignment_of(gemm.c, gemm.ldc, gemm.batch_c, gemm.out);
  return gemm.added ? std::min(c, alignment_of(gemm.added, gemm.ldc, gemm.batch_c, gemm.out)) : c;
}

cublasLtEpilogue_t epilogue_of(const Gemm& gemm) {
  const bool bias = gemm.bias != nullptr;
  switch (gemm.ending) {
    case Gemm::relu:
      return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Gemm::gelu_tanh:
      if (gemm.pre) return bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
      return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    case Gemm::plain:
      break;
  }
  return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

struct Sizes {
  std::int64_t m, n, k;
};

const char* formats_of(const Gemm& gemm) {
  constexpr const char* kNames[] = {"44", "45", "54", "55"};
  return gemm.in == DType::u8 ? kNames[2 * static_cast<int>(gemm.format_a) + static_cast<int>(gemm.format_b)] : "";
}

std::string key_of(const Gemm& gemm, const Sizes& sizes) {
  return fmt::format("{}x{}x{}x{}:{}{}:{}{}{}-{}:{}{}{}:a{}:b{}:c{}", sizes.m, sizes.n, sizes.k, gemm.batch,
                     gemm.transpose_a ? 't' : 'n', gemm.transpose_b ? 't' : 'n', name_of(gemm.in), formats_of(gemm),
                     gemm.fast ? "!" : "", name_of(gemm.out), static_cast<int>(epilogue_of(gemm)),
                     gemm.beta != 0 ? "+" : "", gemm.alpha != 1 ? "*" : "",
                     alignment_of(gemm.a, gemm.lda, gemm.batch_a, gemm.in),
                     alignment_of(gemm.b, gemm.ldb, gemm.batch_b, gemm.in), alignment_of_c(gemm));
}

// cuBLASLt proposes one variant of each tile size; with other clusters and another order of the tiles the same kernels
// are often a few percent faster, at GPT-2's shapes up to 10.
std::vector<cublasLtMatmulAlgo_t> variants(const cublasLtMatmulAlgo_t& proposed) {
  std::vector<cublasLtMatmulAlgo_t> all;
  for (const cublasLtClusterShape_t cluster :
       {CUBLASLT_CLUSTER_SHAPE_1x1x1, CUBLASLT_CLUSTER_SHAPE_2x1x1, CUBLASLT_CLUSTER_SHAPE_1x2x1})
    for (std::uint32_t order = 0; order < 2; ++order)
      for (std::uint32_t option = 0; option < 10; ++option) {
        cublasLtMatmulAlgo_t algorithm = proposed;
        const auto shape = static_cast<std::uint16_t>(cluster);
        const auto set = [&](cublasLtMatmulAlgoConfigAttributes_t attribute, const auto& value) {
          return cublasLtMatmulAlgoConfigSetAttribute(&algorithm, attribute, &value, sizeof(value)) ==
                 CUBLAS_STATUS_SUCCESS;
        };
        if (set(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, shape) && set(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, order) &&
            set(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, option))
          all.push_back(algorithm);
      }
  return all;
}

std::string device_name(int device) {
  cudaDeviceProp properties;
  cuda_check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return properties.name;
}

}  // namespace

// cuBLASLt is column-major, and a row-major matrix is its own transpose there: it computes cᵀ = op(b)ᵀ op(a)ᵀ, with our
// b as its A and our a as its B.
struct GemmPlanner::Description {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;

  explicit Description(const Gemm& gemm) {
    cublas_check(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "descriptor");
    set(CUBLASLT_MATMUL_DESC_TRANSA, gemm.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, gemm.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(gemm));
    if (gemm.bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, gemm.bias);
    if (gemm.in == DType::u8) {  // our b is its A
      set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, gemm.unit_b);
      set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, gemm.unit_a);
      set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(gemm.fast));
    }
    if (gemm.pre) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, gemm.pre);
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, gemm.ldpre);
    }
    const std::int64_t b_rows = gemm.transpose_b ? gemm.n : gemm.k, b_columns = gemm.transpose_b ? gemm.k : gemm.n;
    const std::int64_t a_rows = gemm.transpose_a ? gemm.k : gemm.m, a_columns = gemm.transpose_a ? gemm.m : gemm.k;
    a = layout(data_type(gemm.in, gemm.format_b), b_columns, b_rows, gemm.ldb, gemm.batch, gemm.batch_b);
    b = layout(data_type(gemm.in, gemm.format_a), a_columns, a_rows, gemm.lda, gemm.batch, gemm.batch_a);
    c = layout(data_type(gemm.out), gemm.n, gemm.m, gemm.ldc, gemm.batch, gemm.batch_c);
  }
  ~Description() {
    if (c) cublasLtMatrixLayoutDestroy(c);
    if (b) cublasLtMatrixLayoutDestroy(b);
    if (a) cublasLtMatrixLayoutDestroy(a);
    if (operation) cublasLtMatmulDescDestroy(operation);
  }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;

 private:
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    cublas_check(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)), "descriptor attribute");
  }
  static cublasLtMatrixLayout_t layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                                       std::int64_t stride, std::int64_t batch, std::int64_t batch_stride) {
    cublasLtMatrixLayout_t layout = nullptr;
    cublas_check(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), stride),
                 "matrix layout");
    if (batch > 1) {
      const auto count = static_cast<std::int32_t>(batch);
      cublas_check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
                   "batch count");
      cublas_check(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &batch_stride,
                                                    sizeof(batch_stride)),
                   "batch stride");
    }
    return layout;
  }
};

GemmPlanner::GemmPlanner(CudaBackend& backend) : backend_(backend), cache_(device_name(backend.device())) {
  cublas_check(cublasLtCreate(&handle_), "cublasLtCreate");
  workspace_ = backend.allocate(kWorkspaceBytes);
}

GemmPlanner::~GemmPlanner() {
  backend_.free(workspace_, kWorkspaceBytes);
  if (handle_) cublasLtDestroy(handle_);
}

bool GemmPlanner::run(const Gemm& gemm) {
  const Description description(gemm);
  const std::string key = key_of(gemm, {gemm.m, gemm.n, gemm.k});
  auto plan = plans_.find(key);
  // What was chosen without a race stays only until there is time for one.
  if (plan == plans_.end() || (!plan->second.settled && backend_.tunes())) {
    // Packed batches bring ever new numbers of rows; finding a plan again costs only a look into the cache.
    if (plans_.size() >= kPlans) plans_.clear();
    plan = plans_.insert_or_assign(key, choose(gemm, description)).first;
  }
  if (!plan->second.algorithm) return false;
  cublas_check(launch(gemm, description, *plan->second.algorithm), "matmul");
  return true;
}

GemmPlanner::Plan GemmPlanner::choose(const Gemm& gemm, const Description& description) {
  const std::string key = key_of(gemm, {size_bucket(gemm.m), size_bucket(gemm.n), size_bucket(gemm.k)});
  if (Algorithm cached = cache_.find(key)) {
    cublasLtMatmulHeuristicResult_t result = {};
    const cublasStatus_t status = cublasLtMatmulAlgoCheck(handle_, description.operation, description.a, description.b,
                                                          description.c, description.c, &*cached, &result);
    if (status == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= kWorkspaceBytes) return {cached};
  }
  const std::vector<cublasLtMatmulHeuristicResult_t> found = candidates(gemm, description);
  if (found.empty()) return {std::nullopt};
  if (!backend_.tunes()) return {found.front().algo, false};
  const Algorithm winner = race(gemm, description, found);
  if (winner) cache_.insert(key, *winner);
  return {winner};
}

std::vector<cublasLtMatmulHeuristicResult_t> GemmPlanner::candidates(const Gemm& gemm,
                                                                     const Description& description) const {
  cublasLtMatmulPreference_t preference = nullptr;
  cublas_check(cublasLtMatmulPreferenceCreate(&preference), "preference");
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value));
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  // Partial sums of a split K are added in f32 and in a fixed order: the same bits every time.
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  const std::uint32_t a = alignment_of(gemm.b, gemm.ldb, gemm.batch_b, gemm.in);
  const std::uint32_t b = alignment_of(gemm.a, gemm.lda, gemm.batch_a, gemm.in);
  const std::uint32_t c = alignment_of_c(gemm);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, a);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, b);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c);
  std::vector<cublasLtMatmulHeuristicResult_t> found(kCandidates);
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, description.operation, description.a, description.b, description.c,
                                     description.c, preference, kCandidates, found.data(), &count);
  cublasLtMatmulPreferenceDestroy(preference);
  if (status != CUBLAS_STATUS_SUCCESS) count = 0;
  found.resize(static_cast<std::size_t>(count));
  std::erase_if(found, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  if (gemm.m * gemm.n * gemm.k * gemm.batch < kWorthVariants) return found;
  for (std::size_t i = 0, proposed = found.size(); i < proposed; ++i)
    for (const cublasLtMatmulAlgo_t& variant : variants(found[i].algo)) {
      cublasLtMatmulHeuristicResult_t result = {};
      const cublasStatus_t checked =
          cublasLtMatmulAlgoCheck(handle_, description.operation, description.a, description.b, description.c,
                                  description.c, &variant, &result);
      if (checked != CUBLAS_STATUS_SUCCESS || result.workspaceSize > kWorkspaceBytes) continue;
      result.algo = variant;
      found.push_back(result);
    }
  return found;
}

// Runs every candidate on the problem itself, then the fastest few, and the one that cuBLASLt would take, again and for
// longer. Under load the clock falls by up to 15 % within milliseconds, more than the candidates differ: so the device
// is kept busy first, the rounds go over all candidates, there and back, and what counts is the sum, not the best.
GemmPlanner::Algorithm GemmPlanner::race(const Gemm& gemm, const Description& description,
                                         const std::vector<cublasLtMatmulHeuristicResult_t>& candidates) {
  if (candidates.size() == 1) return candidates.front().algo;
  Gemm trial = gemm;
  void* spare = nullptr;
  if (gemm.beta != 0 && !gemm.added) {  // running it twice would add twice
    const std::size_t bytes =
        static_cast<std::size_t>(gemm.batch > 1 ? gemm.batch_c * gemm.batch : gemm.ldc * gemm.m) * bytes_of(gemm.out);
    if (cudaMalloc(&spare, bytes) != cudaSuccess) {
      cudaGetLastError();
      return candidates.front().algo;
    }
    cudaMemsetAsync(spare, 0, bytes, backend_.stream());
    trial.c = spare;
  }
  cudaEvent_t begin = nullptr, end = nullptr;
  cuda_check(cudaEventCreate(&begin), "cudaEventCreate");
  cuda_check(cudaEventCreate(&end), "cudaEventCreate");
  struct Runner {
    const cublasLtMatmulAlgo_t* algorithm;
    float time = INFINITY;
  };
  std::vector<Runner> runners;
  for (const auto& candidate : candidates) runners.push_back({.algorithm = &candidate.algo});
  const auto run_once = [&](Runner& runner, int launches) {
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    cudaEventRecord(begin, backend_.stream());
    for (int launched = 0; launched < launches && status == CUBLAS_STATUS_SUCCESS; ++launched)
      status = launch(trial, description, *runner.algorithm);
    cudaEventRecord(end, backend_.stream());
    float milliseconds = INFINITY;
    if (cudaEventSynchronize(end) == cudaSuccess && status == CUBLAS_STATUS_SUCCESS)
      cudaEventElapsedTime(&milliseconds, begin, end);
    return milliseconds / static_cast<float>(launches);
  };
  for (Runner& runner : runners) run_once(runner, 1);  // loads the kernel
  // Enough launches that what the first of them waits for does not decide.
  const float roughly = run_once(runners.front(), 2);
  const int trials = std::clamp(static_cast<int>(kTrial / roughly), 2, 20);
  for (Runner& runner : runners) runner.time = run_once(runner, trials);
  const auto faster = [](const Runner& a, const Runner& b) { return a.time < b.time; };
  const auto proposed = [&] {
    return std::find_if(runners.begin(), runners.end(),
                        [&](const Runner& runner) { return runner.algorithm == &candidates.front().algo; });
  };
  std::stable_sort(runners.begin(), runners.end(), faster);
  if (runners.size() > kFinalists) {
    if (const auto at = proposed(); at - runners.begin() >= static_cast<std::ptrdiff_t>(kFinalists))
      std::swap(*at, runners[kFinalists - 1]);
    runners.resize(kFinalists);
  }
  const float once = runners.front().time;
  run_once(runners.front(), std::clamp(static_cast<int>(kWarmUp / once), 1, 100));
  const int launches = std::clamp(static_cast<int>(kRound / once), 1, 30);
  for (Runner& runner : runners) runner.time = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (Runner& runner : runners) runner.time += run_once(runner, launches);
    std::reverse(runners.begin(), runners.end());
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  if (spare) cudaFree(spare);
  launch_check("matmul timing");
  const auto winner = std::min_element(runners.begin(), runners.end(), faster);
  if (winner->time == INFINITY) return std::nullopt;
  return winner->time < kMargin * proposed()->time ? *winner->algorithm : candidates.front().algo;
}

cublasStatus_t GemmPlanner::launch(const Gemm& gemm, const Description& description,
                                   const cublasLtMatmulAlgo_t& algorithm) const {
  return cublasLtMatmul(handle_, description.operation, &gemm.alpha, gemm.b, description.a, gemm.a, description.b,
                        &gemm.beta, gemm.added ? gemm.added : gemm.c, description.c, gemm.c, description.c, &algorithm,
                        workspace_, kWorkspaceBytes, backend_.stream());
}

}  // namespace attend
