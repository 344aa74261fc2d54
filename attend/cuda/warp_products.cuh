// Tiles of bf16 in shared memory and products of them on the tensor cores, one warp at a time (mma.sync m16n8k16,
// sm_80 and later). Accumulators and operands in registers have the layout of that instruction: in c[j][..] lane l
// holds rows l/4 (elements 0, 1) and l/4 + 8 (2, 3), columns 8j + 2(l%4) and the one after. wgmma has the same layout
// for each of its four warps, so that the kernels are written once for both (group_products.cuh).
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "attend/cuda/fast_math.cuh"

namespace attend::cuda {

// Rows of kColumns bf16 as panels of 64 columns (32 when there are only 32), so that a panel's row is one 128-byte (64)
// line of all banks. 16-byte chunks are permuted within the line by the row: eight rows of a column of chunks then
// lie in different banks, for ldmatrix as for the wgmma descriptors, whose 128-byte swizzle this is.
template <int kRows_, int kColumns_>
struct SharedTile {
  static constexpr int kRows = kRows_, kColumns = kColumns_;
  static constexpr int kPanel = kColumns % 64 == 0 ? 64 : 32;
  static constexpr int kPanelBytes = kRows * kPanel * 2;
  static constexpr int kBytes = kRows * kColumns * 2;

  static __device__ __forceinline__ std::uint32_t offset(int row, int chunk) {
    constexpr int kChunks = kPanel / 8;
    const int panel = chunk / kChunks, column = chunk % kChunks;
    const int permuted = kPanel == 64 ? column ^ (row & 7) : column ^ ((row >> 1) & 3);
    return panel * kPanelBytes + row * kPanel * 2 + permuted * 16;
  }
};

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// 16 bytes from global to shared memory in the background; zeros when not valid.
__device__ __forceinline__ void copy_async(std::uint32_t to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
}
__device__ __forceinline__ void copy_async_word(std::uint32_t to, const void* from, bool valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(valid ? 4 : 0) : "memory");
}
__device__ __forceinline__ void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ __forceinline__ void copy_async_wait() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }

// Copies tiles of rows from a matrix: which chunks are this thread's, and where they lie, is worked out once.
template <class Tile, int kThreads>
class TileCopier {
 public:
  __device__ __forceinline__ TileCopier(const __nv_bfloat16* from, std::int64_t stride, int width)
      : row_(static_cast<int>(threadIdx.x) % kChunks * 8 < width ? threadIdx.x / kChunks : 0x3fffffff),
        offset_(Tile::offset(threadIdx.x / kChunks, threadIdx.x % kChunks)),
        stride_(static_cast<int>(stride * 2)),
        from_(from + threadIdx.x / kChunks * stride + threadIdx.x % kChunks * 8) {}

  // Rows [row, row + kRows) of the matrix to the tile; zeros from `valid` of them on, and right of width.
  __device__ __forceinline__ void operator()(std::uint32_t tile, int row, int valid) const {
#pragma unroll
    for (int i = 0; i < Tile::kRows; i += kRowsAtOnce) {
      // The permutation repeats every 8 rows, so that the offsets of one thread's chunks differ by a constant.
      copy_async(tile + offset_ + i * Tile::kPanel * 2, source(row + i), row_ + i < valid);
    }
  }

 private:
  // One multiplication of 32 by 32 bits.
  __device__ __forceinline__ const void* source(int row) const {
    const void* at;
    asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(at) : "r"(row), "r"(stride_), "l"(from_));
    return at;
  }

  static constexpr int kChunks = Tile::kColumns / 8, kRowsAtOnce = kThreads / kChunks;
  static_assert(kThreads % kChunks == 0 && kRowsAtOnce % 8 == 0 && Tile::kRows % kRowsAtOnce == 0);
  int row_;  // the first of this thread's; far below any tile when its column is right of width
  std::uint32_t offset_;
  int stride_;  // bytes
  const __nv_bfloat16* from_;
};

__device__ __forceinline__ void load_matrices(std::uint32_t (&r)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_matrices_transposed(std::uint32_t (&r)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ void mma(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ std::uint32_t pack_bf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

// An accumulator tile as the left operand of the next product: columns become the summed axis.
template <int kColumns8>
__device__ __forceinline__ void to_operand(const float (&c)[kColumns8][4], std::uint32_t (&a)[kColumns8 / 2][4]) {
#pragma unroll
  for (int k = 0; k < kColumns8 / 2; ++k) {
    a[k][0] = pack_bf16(c[2 * k][0], c[2 * k][1]);
    a[k][1] = pack_bf16(c[2 * k][2], c[2 * k][3]);
    a[k][2] = pack_bf16(c[2 * k + 1][0], c[2 * k + 1][1]);
    a[k][3] = pack_bf16(c[2 * k + 1][2], c[2 * k + 1][3]);
  }
}

// 16 rows of a tile from `row` on, all columns, as a left operand.
template <class Tile>
__device__ __forceinline__ void load_operand(std::uint32_t (&a)[Tile::kColumns / 16][4], std::uint32_t tile, int row) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int k = 0; k < Tile::kColumns / 16; ++k)
    load_matrices(a[k], tile + Tile::offset(row + (lane & 15), 2 * k + (lane >> 4)));
}

template <int N>
__device__ __forceinline__ void clear(float (&c)[N][4]) {
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) c[j][e] = 0;
}

// Rows in memory that a warp writes or adds to.
struct RowWindow {
  __nv_bfloat16* data = nullptr;
  std::int64_t stride = 0;
  int rows = 0, width = 0;
  bool accumulate = false;
};

// 16 rows of accumulators times each row's factor, to rows row.. and columns 8·chunk.. of the window: through the same
// place of a shared tile, which must be this warp's own, so that memory sees 16-byte accesses.
template <class Tile, int M>
__device__ __forceinline__ void store_rows(const float (&c)[M][4], const float (&factors)[2], unsigned char* tile,
                                           int row, int chunk, const RowWindow& window) {
  const int lane = threadIdx.x & 31;
  __syncwarp();  // who used the place before is done with it
#pragma unroll
  for (int j = 0; j < M; ++j)
#pragma unroll
    for (int r = 0; r < 2; ++r)
      *reinterpret_cast<std::uint32_t*>(tile + Tile::offset(row + lane / 4 + 8 * r, chunk + j) + 4 * (lane & 3)) =
          pack_bf16(c[j][2 * r] * factors[r], c[j][2 * r + 1] * factors[r]);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 16 * M; i += 32) {
    const int at = row + (i + lane) / M, column = chunk + (i + lane) % M;
    if (at >= window.rows || column * 8 >= window.width) continue;
    uint4 bits = *reinterpret_cast<const uint4*>(tile + Tile::offset(at, column));
    auto* to = reinterpret_cast<uint4*>(window.data + at * window.stride + column * 8);
    if (window.accumulate) {
      const uint4 before = *to;
      const auto* x = reinterpret_cast<const __nv_bfloat162*>(&before);
      auto* y = reinterpret_cast<__nv_bfloat162*>(&bits);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float2 u = __bfloat1622float2(x[e]), w = __bfloat1622float2(y[e]);
        y[e] = __floats2bfloat162_rn(u.x + w.x, u.y + w.y);
      }
    }
    *to = bits;
  }
}

// Each warp multiplies 16 rows on its own.
struct WarpProducts {
  static constexpr bool kGroups = false;
  static __device__ __forceinline__ void begin() {}   // registers are ready to be read
  static __device__ __forceinline__ void commit() {}  // what was issued is one batch
  template <int kPending, class... C>
  static __device__ __forceinline__ void wait(C&...) {}  // until at most kPending batches are under way and c is there
  template <class C>
  static __device__ __forceinline__ void hold(C&) {}   // c is in its registers here
  static __device__ __forceinline__ void publish() {}  // shared memory was written; before the barrier

  // c = a · Bᵀ, B the first 8·N rows of the tile.  a [16, K]  B [8·N, K]
  template <class Tile, int N, int K>
  static __device__ __forceinline__ void times_rows(float (&c)[N][4], const std::uint32_t (&a)[K][4],
                                                    std::uint32_t tile) {
    const int lane = threadIdx.x & 31;
    clear(c);
#pragma unroll
    for (int k = 0; k < K; ++k)
#pragma unroll
      for (int n = 0; n < N; n += 2) {
        std::uint32_t b[4];
        load_matrices(b, tile + Tile::offset(8 * n + (lane & 7) + ((lane >> 4) << 3), 2 * k + ((lane >> 3) & 1)));
        mma(c[n], a[k], b[0], b[1]);
        mma(c[n + 1], a[k], b[2], b[3]);
      }
  }

  // The same with a read from shared memory: 16 rows of its tile from `row` on.
  template <class TileA, class TileB, int N>
  static __device__ __forceinline__ void rows_times_rows(float (&c)[N][4], std::uint32_t a_tile, int row,
                                                         std::uint32_t b_tile) {
    const int lane = threadIdx.x & 31;
    clear(c);
#pragma unroll
    for (int k = 0; k < TileA::kColumns / 16; ++k) {
      std::uint32_t a[4];
      load_matrices(a, a_tile + TileA::offset(row + (lane & 15), 2 * k + (lane >> 4)));
#pragma unroll
      for (int n = 0; n < N; n += 2) {
        std::uint32_t b[4];
        load_matrices(b, b_tile + TileB::offset(8 * n + (lane & 7) + ((lane >> 4) << 3), 2 * k + ((lane >> 3) & 1)));
        mma(c[n], a, b[0], b[1]);
        mma(c[n + 1], a, b[2], b[3]);
      }
    }
  }

  // c += a · B, B the first 16·K rows of the tile, 8·N columns from `column` on.
  template <class Tile, int N, int K>
  static __device__ __forceinline__ void add_times_columns(float (&c)[N][4], const std::uint32_t (&a)[K][4],
                                                           std::uint32_t tile, int column) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int k = 0; k < K; ++k)
#pragma unroll
      for (int n = 0; n < N; n += 2) {
        std::uint32_t b[4];
        load_matrices_transposed(b, tile + Tile::offset(16 * k + (lane & 15), column / 8 + n + (lane >> 4)));
        mma(c[n], a[k], b[0], b[1]);
        mma(c[n + 1], a[k], b[2], b[3]);
      }
  }

  // c += Aᵀ · B: 16 columns of tile A from a_column on, 8·N of tile B from b_column on, all rows.
  template <class TileA, class TileB, int N>
  static __device__ __forceinline__ void add_columns_times_columns(float (&c)[N][4], std::uint32_t a_tile, int a_column,
                                                                   std::uint32_t b_tile, int b_column) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int k = 0; k < TileA::kRows / 16; ++k) {
      std::uint32_t a[4];
      load_matrices_transposed(
          a, a_tile + TileA::offset(16 * k + (lane & 7) + ((lane >> 4) << 3), a_column / 8 + ((lane >> 3) & 1)));
#pragma unroll
      for (int n = 0; n < N; n += 2) {
        std::uint32_t b[4];
        load_matrices_transposed(b, b_tile + TileB::offset(16 * k + (lane & 15), b_column / 8 + n + (lane >> 4)));
        mma(c[n], a, b[0], b[1]);
        mma(c[n + 1], a, b[2], b[3]);
      }
    }
  }
};

}  // namespace attend::cuda
