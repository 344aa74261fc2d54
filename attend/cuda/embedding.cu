// y[i] = table[ids[i]] · scale + positions[position].
#include "attend/cuda/launch.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
struct Lookup {
  const std::int32_t* ids;
  const T* table;
  const T* positions;
  const std::int32_t* position_ids;
  T* y;
  std::int64_t count, entries, places;  // ids, rows of the table, rows of positions
  std::int64_t length;                  // without position_ids the position is i % length
  int width;
  float scale;
};

// N elements of one row a thread.
template <class T, int N>
__global__ void embedding_kernel(Lookup<T> args) {
  const int packs = args.width / N;
  const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  const std::int64_t i = at / packs;
  if (i >= args.count) return;
  const int column = static_cast<int>(at - i * packs) * N;
  const std::int64_t id = args.ids[i];
  const std::int64_t position = args.position_ids ? args.position_ids[i] : i % args.length;
  bool inside = id >= 0 && id < args.entries;
  if (args.positions) inside = inside && position >= 0 && position < args.places;
  float x[N];
#pragma unroll
  for (int j = 0; j < N; ++j) x[j] = NAN;
  if (inside) {
    load(args.table + id * args.width + column, x);
#pragma unroll
    for (int j = 0; j < N; ++j) x[j] *= args.scale;
    if (args.positions) {
      float p[N];
      load(args.positions + position * args.width + column, p);
#pragma unroll
      for (int j = 0; j < N; ++j) x[j] += p[j];
    }
  }
  store(args.y + i * args.width + column, x);
}

}  // namespace
}  // namespace cuda

void CudaBackend::embedding(const Tensor& ids, const Tensor& table, float scale, const Tensor& positions,
                            const Tensor& position_ids, const Tensor& y) {
  using namespace cuda;
  if (y.size() == 0) return;
  with_float(table.dtype(), "embedding", [&](auto type) {
    using T = typename decltype(type)::type;
    const Lookup<T> args = {.ids = pointer<std::int32_t>(ids),
                            .table = pointer<T>(table),
                            .positions = pointer<T>(positions),
                            .position_ids = pointer<std::int32_t>(position_ids),
                            .y = pointer<T>(y),
                            .count = ids.size(),
                            .entries = table.rows(),
                            .places = positions.defined() ? positions.rows() : 0,
                            .length = std::max<std::int64_t>(ids.width(), 1),
                            .width = static_cast<int>(table.width()),
                            .scale = scale};
    const bool wide = args.width % kPack<T> == 0 && aligned16(table) && aligned16(positions) && aligned16(y);
    if (wide)
      embedding_kernel<T, kPack<T>>
          <<<blocks_for(args.count * (args.width / kPack<T>), kThreads), kThreads, 0, stream()>>>(args);
    else
      embedding_kernel<T, 1><<<blocks_for(args.count * args.width, kThreads), kThreads, 0, stream()>>>(args);
  });
  launch_check("embedding");
}

}  // namespace attend
