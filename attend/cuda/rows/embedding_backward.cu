// table[ids[i]] += dy[i] · scale, in a fixed order: the ids are sorted (stably, so equal ids stay in order), the sorted
// list is cut into chunks, and each chunk sums its runs of equal ids. Runs that cross a chunk's border leave their part
// in scratch memory; a second kernel adds those parts up. Frequent tokens make long runs: no block walks more than a
// chunk.
#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "attend/cuda/launch.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kChunk = 32;  // sorted ids per block

// An id outside the table sorts behind all others, and is skipped later.
__global__ void prepare_kernel(const std::int32_t* ids, std::int64_t count, std::uint32_t entries, std::uint32_t* keys,
                               std::uint32_t* rows) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= count) return;
  const auto id = static_cast<std::uint32_t>(ids[i]);  // negative ones become very large
  keys[i] = id < entries ? id : entries;
  rows[i] = static_cast<std::uint32_t>(i);
}

template <class T, class G>
struct Sums {
  const T* dy;
  const std::uint32_t* keys;
  const std::uint32_t* rows;
  G* table;
  float* first;  // [chunks, width]: what a chunk adds to the run that was open when it began
  float* last;   // [chunks, width]: what it adds to the run that is still open at its end
  std::int64_t count;
  std::uint32_t entries;
  int width;
  float scale;
};

template <int N, class G>
__device__ __forceinline__ void add_to(G* table, const float (&sum)[N], float scale) {
  float before[N];
  load(table, before);
#pragma unroll
  for (int j = 0; j < N; ++j) before[j] += sum[j] * scale;
  store(table, before);
}

template <int N>
__device__ __forceinline__ void clear(float (&sum)[N]) {
#pragma unroll
  for (int j = 0; j < N; ++j) sum[j] = 0;
}

// blockIdx = (chunk, strip of columns).
template <class T, class G, int N>
__global__ void __launch_bounds__(kThreads) sum_chunks_kernel(Sums<T, G> args) {
  __shared__ std::uint32_t keys[kChunk + 2], rows[kChunk];  // keys[0] is the one before the chunk
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kChunk;
  const int length = static_cast<int>(min(static_cast<std::int64_t>(kChunk), args.count - begin));
  constexpr std::uint32_t kNone = 0xffffffffu;
  for (int i = threadIdx.x; i < length + 2; i += kThreads) {
    const std::int64_t at = begin + i - 1;
    keys[i] = at >= 0 && at < args.count ? args.keys[at] : kNone;
  }
  for (int i = threadIdx.x; i < length; i += kThreads) rows[i] = args.rows[begin + i];
  __syncthreads();
  const int column = (blockIdx.y * kThreads + threadIdx.x) * N;
  if (column >= args.width) return;
  bool opened_here = keys[1] != keys[0];  // the current run
  float sum[N] = {};
#pragma unroll 4
  for (int i = 0; i < length; ++i) {
    const std::uint32_t key = keys[i + 1];
    if (key >= args.entries) break;
    float dy[N];
    load(args.dy + static_cast<std::int64_t>(rows[i]) * args.width + column, dy);
#pragma unroll
    for (int j = 0; j < N; ++j) sum[j] += dy[j];
    const bool ends = keys[i + 2] != key;
    if (!ends && i + 1 < length) continue;
    if (!opened_here)
      store(args.first + blockIdx.x * static_cast<std::int64_t>(args.width) + column, sum);
    else if (!ends)
      store(args.last + blockIdx.x * static_cast<std::int64_t>(args.width) + column, sum);
    else
      add_to(args.table + static_cast<std::int64_t>(key) * args.width + column, sum, args.scale);
    clear(sum);
    opened_here = true;
  }
}

// A chunk whose last run began in it and goes on collects the parts of the chunks behind it.
template <class T, class G, int N>
__global__ void __launch_bounds__(kThreads) join_chunks_kernel(Sums<T, G> args) {
  const std::int64_t end = (static_cast<std::int64_t>(blockIdx.x) + 1) * kChunk;
  if (end >= args.count) return;
  const std::uint32_t key = args.keys[end - 1];
  if (key >= args.entries || args.keys[end] != key) return;
  if (end > kChunk && args.keys[end - kChunk] == key && args.keys[end - kChunk - 1] == key) return;  // began earlier
  const int column = (blockIdx.y * kThreads + threadIdx.x) * N;
  if (column >= args.width) return;
  // Where the run ends, by bisection: then the parts can be read without waiting for each other. The commonest token of
  // a text makes a run of 200 chunks.
  std::int64_t low = end, high = args.count;  // keys[low] is key, keys[high] is not
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    if (args.keys[middle] == key)
      low = middle;
    else
      high = middle;
  }
  const std::int64_t last = low / kChunk;
  float sum[N], more[N];
  load(args.last + blockIdx.x * static_cast<std::int64_t>(args.width) + column, sum);
#pragma unroll 8
  for (std::int64_t chunk = blockIdx.x + 1; chunk <= last; ++chunk) {
    load(args.first + chunk * args.width + column, more);
#pragma unroll
    for (int j = 0; j < N; ++j) sum[j] += more[j];
  }
  add_to(args.table + static_cast<std::int64_t>(key) * args.width + column, sum, args.scale);
}

template <class T, class G, int N>
void sum_runs(const CudaBackend& backend, const Sums<T, G>& args) {
  const dim3 grid(blocks_for(args.count, kChunk), blocks_for(args.width, kThreads * N));
  sum_chunks_kernel<T, G, N><<<grid, kThreads, 0, backend.stream()>>>(args);
  launch_check("embedding_backward chunks");
  join_chunks_kernel<T, G, N><<<grid, kThreads, 0, backend.stream()>>>(args);
  launch_check("embedding_backward join");
}

}  // namespace
}  // namespace cuda

void CudaBackend::embedding_backward(const Tensor& dy, const Tensor& ids, float scale, const Grad& table) {
  using namespace cuda;
  if (!table) return;
  if (!table.accumulate) fill(table.into, 0);
  const std::int64_t count = ids.size(), width = table.into.width(), entries = table.into.rows();
  if (count == 0 || width == 0 || entries == 0) return;
  check(count < (std::int64_t{1} << 31), "embedding_backward: cuda: {} ids", count);

  const int bits = std::bit_width(static_cast<std::uint64_t>(entries));
  const int items = static_cast<int>(count);
  std::size_t sort_bytes = 0;
  cuda_check(cub::DeviceRadixSort::SortPairs<std::uint32_t, std::uint32_t>(nullptr, sort_bytes, nullptr, nullptr,
                                                                           nullptr, nullptr, items, 0, bits, stream()),
             "embedding_backward sort");
  const std::size_t list = round_up_256(static_cast<std::size_t>(count) * sizeof(std::uint32_t));
  const std::size_t parts = round_up_256(static_cast<std::size_t>(divide_up(count, kChunk) * width) * sizeof(float));
  auto* memory = static_cast<std::byte*>(scratch(4 * list + 2 * parts + sort_bytes));
  const auto words = [&](int i) { return reinterpret_cast<std::uint32_t*>(memory + i * list); };
  prepare_kernel<<<blocks_for(count, kThreads), kThreads, 0, stream()>>>(
      pointer<std::int32_t>(ids), count, static_cast<std::uint32_t>(entries), words(0), words(1));
  launch_check("embedding_backward prepare");
  cuda_check(cub::DeviceRadixSort::SortPairs(memory + 4 * list + 2 * parts, sort_bytes, words(0), words(2), words(1),
                                             words(3), items, 0, bits, stream()),
             "embedding_backward sort");

  with_float(dy.dtype(), "embedding_backward", [&](auto from) {
    using T = typename decltype(from)::type;
    const auto run = [&](auto to) {
      using G = typename decltype(to)::type;
      const Sums<T, G> args = {.dy = pointer<T>(dy),
                               .keys = words(2),
                               .rows = words(3),
                               .table = pointer<G>(table.into),
                               .first = reinterpret_cast<float*>(memory + 4 * list),
                               .last = reinterpret_cast<float*>(memory + 4 * list + parts),
                               .count = count,
                               .entries = static_cast<std::uint32_t>(entries),
                               .width = static_cast<int>(width),
                               .scale = scale};
      // Four columns per thread: 16 bytes of the f32 sums.
      if (width % 4 == 0 && aligned16(dy) && aligned16(table.into))
        sum_runs<T, G, 4>(*this, args);
      else
        sum_runs<T, G, 1>(*this, args);
    };
    if (table.into.dtype() == DType::f32)
      run(Type<float>{});
    else
      run(from);
  });
}

}  // namespace attend
