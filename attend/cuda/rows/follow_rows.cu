// Which row of the caches holds each position, after the rows of a search have moved: a block for each group, a thread
// for each position. A thread reads what the table says of its position for the whole group before it writes.
#include "attend/base/error.h"
#include "attend/cuda/launch.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 128;

template <int kMost>
__global__ void __launch_bounds__(kThreads)
    follow_rows_kernel(std::int32_t* table, std::int64_t positions, const std::int32_t* from,
                       const std::int32_t* lengths, int group) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * group;
  const int known = lengths[first] - 1;  // all rows of a group are of one length
  for (int s = static_cast<int>(threadIdx.x); s < known; s += kThreads) {
    std::int32_t rows[kMost];
#pragma unroll
    for (int i = 0; i < kMost; ++i)
      if (i < group) rows[i] = table[from[first + i] * positions + s];
#pragma unroll
    for (int i = 0; i < kMost; ++i)
      if (i < group) table[(first + i) * positions + s] = rows[i];
  }
}

}  // namespace
}  // namespace cuda

void CudaBackend::follow_rows(const Tensor& table, const Tensor& from, const Tensor& lengths, std::int64_t group) {
  using namespace cuda;
  check(group >= 1 && group <= kMostFollowed && table.rows() % group == 0, "cuda: follow_rows: {} rows in groups of {}",
        table.rows(), group);
  if (table.size() == 0) return;
  const auto kernel = group <= 8 ? follow_rows_kernel<8> : follow_rows_kernel<kMostFollowed>;
  kernel<<<static_cast<unsigned>(table.rows() / group), kThreads, 0, stream()>>>(
      pointer<std::int32_t>(table), table.width(), pointer<std::int32_t>(from), pointer<std::int32_t>(lengths),
      static_cast<int>(group));
  launch_check("follow_rows");
}

}  // namespace attend
