// What both directions of a group norm share. A thread keeps to its channels, 16 bytes of them where they are aligned,
// and goes down the places of a chunk. Sums over places are left for each image, chunk and channel. A second kernel
// adds the chunks, in the same order every time, and a third one makes of them what each group needs.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <type_traits>

#include "attend/cuda/launch.cuh"

namespace attend::cuda {

inline constexpr int kNormThreads = 256, kAddThreads = 512;

template <class T>
struct Norm {
  const T *x, *weight, *bias;
  std::int64_t images, places, chunk;  // places of a chunk
  int channels, groups, each;          // channels of a group
  int chunks, columns;                 // columns of threads in a block; the rest of them are rows
  float eps;

  __device__ std::int64_t group(std::int64_t a, int c) const { return a * groups + c / each; }
  __device__ float weight_at(int c) const { return weight ? to_float(weight[c]) : 1.0f; }
};

// What a thread loads at once, as it lies in memory: packs of bf16 that wait for their turn would take a register for
// each number.
template <class T, int N>
using Raw = std::conditional_t<N == 1, T, uint4>;

template <int N, class T>
__device__ __forceinline__ Raw<T, N> raw_at(const T* from) {
  return *reinterpret_cast<const Raw<T, N>*>(from);
}

template <class T>
__device__ __forceinline__ void unpack(T raw, float (&x)[1]) {
  x[0] = to_float(raw);
}
__device__ __forceinline__ void unpack(const uint4& raw, float (&x)[4]) {
  x[0] = __uint_as_float(raw.x), x[1] = __uint_as_float(raw.y);
  x[2] = __uint_as_float(raw.z), x[3] = __uint_as_float(raw.w);
}
__device__ __forceinline__ void unpack(const uint4& raw, float (&x)[8]) {  // bf16 is the upper half of f32
  const unsigned pairs[] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
  for (int i = 0; i < 4; ++i)
    x[2 * i] = __uint_as_float(pairs[i] << 16), x[2 * i + 1] = __uint_as_float(pairs[i] & 0xffff0000u);
}

// The channels of a thread, and its places: `count` of them from begin on, `rows` apart.
template <int N>
struct Seat {
  std::int64_t a, begin;
  int channel, rows, count;
  template <class T>
  __device__ explicit Seat(const Norm<T>& norm)
      : a(blockIdx.x / norm.chunks),
        begin(blockIdx.x % norm.chunks * norm.chunk + threadIdx.x / norm.columns),
        channel((blockIdx.y * norm.columns + threadIdx.x % norm.columns) * N),
        rows(kNormThreads / norm.columns) {
    const std::int64_t end = min((blockIdx.x % norm.chunks + 1) * norm.chunk, norm.places);
    count = channel < norm.channels && begin < end ? static_cast<int>((end - begin + rows - 1) / rows) : 0;
  }
  template <class T>
  __device__ std::int64_t at(const Norm<T>& norm, std::int64_t place) const {
    return (a * norm.places + place) * norm.channels + channel;
  }
};

// read(i, at) and then use(i, at) for each place of a seat. The reads of `AtOnce` places come before all that is made
// of them, so that their loads are in flight together, whatever is stored.
template <int AtOnce, int N, class T, class Read, class Use>
__device__ __forceinline__ void for_places(const Norm<T>& norm, const Seat<N>& seat, const Read& read, const Use& use) {
  const std::int64_t step = static_cast<std::int64_t>(seat.rows) * norm.channels;
  std::int64_t at = seat.at(norm, seat.begin);
  for (int n = 0; n < seat.count; n += AtOnce, at += AtOnce * step) {
#pragma unroll
    for (int i = 0; i < AtOnce; ++i)
      if (n + i < seat.count) read(i, at + i * step);
#pragma unroll
    for (int i = 0; i < AtOnce; ++i)
      if (n + i < seat.count) use(i, at + i * step);
  }
}

// What the norm makes of a thread's channels: (x - middle) · scale + bias. Backward must see the very same number,
// because a relu's slope follows from its sign.
template <int N>
struct Line {
  float middle[N], scale[N], bias[N];
  template <class T>
  __device__ Line(const Norm<T>& norm, const Seat<N>& seat, const float* mean, const float* rstd) {
    const int channel = min(seat.channel, norm.channels - N);  // of a seat beyond the last, something to read
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const std::int64_t group = norm.group(seat.a, channel + j);
      middle[j] = mean[group], scale[j] = rstd[group], bias[j] = 0;
    }
    if (norm.bias) load(norm.bias + channel, bias);
    if (!norm.weight) return;
    float weight[N];
    load(norm.weight + channel, weight);
#pragma unroll
    for (int j = 0; j < N; ++j) scale[j] *= weight[j];
  }
  __device__ float operator()(int j, float centred) const { return fmaf(centred, scale[j], bias[j]); }
};

// Sums of all rows of the block, left in those of its first row and stored in sums [A, chunks, 2, C].
template <class T, int N>
__device__ void store_sums(const Norm<T>& norm, const Seat<N>& seat, const float (&first)[N], const float (&second)[N],
                           float* sums) {
  __shared__ float shared[2 * N][kNormThreads];
#pragma unroll
  for (int j = 0; j < N; ++j) shared[j][threadIdx.x] = first[j], shared[N + j][threadIdx.x] = second[j];
  for (int half = seat.rows / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x / norm.columns < half)
#pragma unroll
      for (int j = 0; j < 2 * N; ++j) shared[j][threadIdx.x] += shared[j][threadIdx.x + half * norm.columns];
  }
  if (threadIdx.x >= norm.columns || seat.channel >= norm.channels) return;
  float* to = sums + static_cast<std::int64_t>(blockIdx.x) * 2 * norm.channels + seat.channel;
#pragma unroll
  for (int j = 0; j < N; ++j) to[j] = shared[j][threadIdx.x], to[norm.channels + j] = shared[N + j][threadIdx.x];
}

__device__ __forceinline__ double warp_sum(double x) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) x += __shfl_xor_sync(0xffffffffu, x, apart);
  return x;
}

// [A, chunks, width] -> f64 [A, width]. So many threads of a block are side by side as a strip of the width has
// columns, and the chunks are dealt to the rows of them.
static __global__ void __launch_bounds__(kAddThreads)
    add_chunks_kernel(const float* sums, int chunks, int width, int columns, double* totals) {
  __shared__ double shared[kAddThreads];
  const int strips = (width + columns - 1) / columns, rows = kAddThreads / columns;
  const std::int64_t a = blockIdx.x / strips;
  const int c = blockIdx.x % strips * columns + threadIdx.x % columns;
  const float* from = sums + a * chunks * width + c;
  double sum = 0;
  if (c < width) {
#pragma unroll 8
    for (int chunk = threadIdx.x / columns; chunk < chunks; chunk += rows)
      sum += from[static_cast<std::int64_t>(chunk) * width];
  }
  shared[threadIdx.x] = sum;
  for (int half = rows / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half * columns) shared[threadIdx.x] += shared[threadIdx.x + half * columns];
  }
  if (threadIdx.x < columns && c < width) totals[a * width + c] = shared[threadIdx.x];
}

// Where the sums lie in scratch memory.
struct Sums {
  float* of_chunks;  // [A, chunks, 2, C]
  double* totals;    // [A, 2, C]
  float* means;      // [A, G, 2]
  template <class T>
  Sums(CudaBackend& backend, const Norm<T>& norm) {
    const std::int64_t width = 2 * norm.images * norm.channels, all = norm.chunks * width;
    const std::int64_t groups = 2 * norm.images * norm.groups;
    of_chunks =
        static_cast<float*>(backend.scratch(static_cast<std::size_t>(all + 2 * width + groups) * sizeof(float)));
    totals = reinterpret_cast<double*>(of_chunks + all);
    means = of_chunks + all + 2 * width;
  }
};

// Both sums of each image and channel over all chunks.
template <class T>
void add_chunks(const CudaBackend& backend, const Norm<T>& norm, const Sums& sums) {
  int rows = 1;  // so many that a thread adds about eight numbers
  while (rows < 64 && 8 * rows < norm.chunks) rows *= 2;
  const int columns = kAddThreads / rows, width = 2 * norm.channels;
  const unsigned blocks = blocks_for(norm.images * divide_up(width, columns), 1);
  add_chunks_kernel<<<blocks, kAddThreads, 0, backend.stream()>>>(sums.of_chunks, norm.chunks, width, columns,
                                                                  sums.totals);
}

template <class T>
Norm<T> norm_of(const GroupNorm& args, int pack) {
  constexpr int kMostColumns = 64;
  // Twelve for each unit of an H200: whole waves of the two, three or four that a unit holds at a time.
  constexpr std::int64_t kBlocks = 1584;
  const std::int64_t A = args.x.dim(0), N = args.x.dim(1), C = args.x.dim(2), packs = C / pack;
  check(C <= 0x3fffffff, "group_norm: cuda: {} channels", C);
  int columns = 1;
  while (columns < packs && columns < kMostColumns) columns *= 2;
  const std::int64_t across = A * divide_up(packs, columns), rows = kNormThreads / columns;
  // As many chunks as fill the device, of at least four places for each thread.
  const std::int64_t chunks =
      std::clamp<std::int64_t>(divide_up(kBlocks, across), 1, std::max<std::int64_t>(1, divide_up(N, 4 * rows)));
  const std::int64_t chunk = divide_up(N, chunks);
  return {.x = pointer<T>(args.x),
          .weight = pointer<T>(args.weight),
          .bias = pointer<T>(args.bias),
          .images = A,
          .places = N,
          .chunk = chunk,
          .channels = static_cast<int>(C),
          .groups = static_cast<int>(args.groups),
          .each = static_cast<int>(C / args.groups),
          .chunks = static_cast<int>(divide_up(N, chunk)),
          .columns = columns,
          .eps = args.eps};
}

template <class T>
dim3 grid_of(const Norm<T>& norm, int pack) {
  return dim3(blocks_for(norm.images * norm.chunks, 1),
              static_cast<unsigned>(divide_up(norm.channels / pack, norm.columns)));
}

// body(type, pack): 16 bytes at a time where all of these allow it.
template <class Body>
void with_pack(DType dtype, const char* op, std::int64_t channels, std::initializer_list<Tensor> touched, Body&& body) {
  const bool aligned = std::all_of(touched.begin(), touched.end(), [](const Tensor& x) { return aligned16(x); });
  with_float(dtype, op, [&](auto type) {
    constexpr int kMost = kPack<typename decltype(type)::type>;
    if (aligned && channels % kMost == 0)
      body(type, std::integral_constant<int, kMost>{});
    else
      body(type, std::integral_constant<int, 1>{});
  });
}

// body(true or false), as a constant.
template <class Body>
void with_flag(bool flag, Body&& body) {
  if (flag)
    body(std::true_type{});
  else
    body(std::false_type{});
}

}  // namespace attend::cuda
