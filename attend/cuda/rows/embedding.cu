// y[i] = table[ids[i]] · scale + positions[position]; and the other way, rows into a table.
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

// N elements of one row per thread.
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

template <class T>
__global__ void put_rows_kernel(const T* x, std::int64_t stride, const std::int32_t* ids, std::int64_t count,
                                std::int64_t entries, int width, T* table) {
  const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  const std::int64_t i = at / width;
  if (i >= count) return;
  const std::int64_t column = at - i * width, id = ids[i];
  if (id >= 0 && id < entries) table[id * width + column] = x[i * stride + column];
}

}  // namespace
}  // namespace cuda

void CudaBackend::put_rows(const Tensor& x, const Tensor& ids, const Tensor& table) {
  using namespace cuda;
  if (x.size() == 0) return;
  const auto launch = [&](auto type, std::int64_t pack) {
    using T = typename decltype(type)::type;
    const std::int64_t width = table.width() / pack;
    put_rows_kernel<T><<<blocks_for(ids.size() * width, kThreads), kThreads, 0, stream()>>>(
        pointer<T>(x), x.row_stride() / pack, pointer<std::int32_t>(ids), ids.size(), table.rows(),
        static_cast<int>(width), pointer<T>(table));
  };
  const auto pack = static_cast<std::int64_t>(16 / bytes_of(x.dtype()));
  if (table.width() % pack == 0 && rows_aligned16(x) && aligned16(table))
    launch(Type<uint4>{}, pack);
  else
    with_float(x.dtype(), "put_rows", [&](auto type) { launch(type, 1); });
  launch_check("put_rows");
}

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
