// A product of bf16 matrices whose tiles somebody else fetches: the work says how tile number i of either operand gets
// into shared memory (in the background, by copy_async) and what becomes of the sums. Tensor cores by mma.sync, three
// tiles under way, 256 threads.
//
// Work has
//   kRowsA, kRowsB       true: the operand's tile is [its own axis, summed axis], else the other way round
//   A(work, first, z), B(work, first, z)   fetchers: operator()(tile, step) for 64 places of the summed axis from
//                                          64 · step on, from row (column) `first` of the result on
//   steps(z)             how many there are
//   store(c, place)      sums c of 16 rows by 8·N columns
#pragma once

#include "attend/cuda/warp_products.cuh"

namespace attend::cuda {

inline constexpr int kTileThreads = 256, kTileDepth = 64, kTileStages = 3;

template <int kPending>
__device__ __forceinline__ void copy_async_wait_for() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

template <bool kRows, int kWidth>
struct OperandTile {
  using type = SharedTile<kWidth, kTileDepth>;
};
template <int kWidth>
struct OperandTile<false, kWidth> {
  using type = SharedTile<kTileDepth, kWidth>;
};

// Where the sums of one warp belong.
struct TilePlace {
  int m, n;        // the tile's first row and column of the result
  int row, chunk;  // of the warp's, inside of the tile; the chunk in eights
  int z;
  unsigned char* shared;  // a place for kM x kN bf16, the tiles being read
};

template <class Work, int kM, int kN>
struct TileProduct {
  using ATile = typename OperandTile<Work::kRowsA, kM>::type;
  using BTile = typename OperandTile<Work::kRowsB, kN>::type;
  using CTile = SharedTile<kM, kN>;
  static constexpr int kStageBytes = ATile::kBytes + BTile::kBytes, kBytes = kStageBytes * kTileStages;
  static_assert(CTile::kBytes <= kBytes);
  // Eight warps: each 64 x 32 of 128 x 128, or 32 x 32 of 128 x 64, or 16 x 32 of 64 x 64.
  static constexpr int kWarpsN = kN / 32, kWarpsM = 8 / kWarpsN, kWarpM = kM / kWarpsM;
  static constexpr int kTilesM = kWarpM / 16, kTilesN = 4;
  static_assert(kTilesM >= 1 && kM % kWarpsM == 0);

  static __device__ __forceinline__ void multiply(float (&c)[kTilesM][kTilesN][4], std::uint32_t a_tile,
                                                  std::uint32_t b_tile, int row, int column) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int k = 0; k < kTileDepth / 16; ++k) {
      std::uint32_t a[kTilesM][4], b[kTilesN / 2][4];
#pragma unroll
      for (int i = 0; i < kTilesM; ++i) {
        const int m = row + 16 * i;
        if constexpr (Work::kRowsA)
          load_matrices(a[i], a_tile + ATile::offset(m + (lane & 15), 2 * k + (lane >> 4)));
        else
          load_matrices_transposed(
              a[i], a_tile + ATile::offset(16 * k + (lane & 7) + ((lane >> 4) << 3), m / 8 + ((lane >> 3) & 1)));
      }
#pragma unroll
      for (int j = 0; j < kTilesN / 2; ++j) {
        const int n = column + 16 * j;
        if constexpr (Work::kRowsB)
          load_matrices(b[j], b_tile + BTile::offset(n + (lane & 7) + ((lane >> 4) << 3), 2 * k + ((lane >> 3) & 1)));
        else
          load_matrices_transposed(b[j], b_tile + BTile::offset(16 * k + (lane & 15), n / 8 + (lane >> 4)));
      }
#pragma unroll
      for (int i = 0; i < kTilesM; ++i)
#pragma unroll
        for (int j = 0; j < kTilesN / 2; ++j) {
          mma(c[i][2 * j], a[i], b[j][0], b[j][1]);
          mma(c[i][2 * j + 1], a[i], b[j][2], b[j][3]);
        }
    }
  }

  static __device__ __forceinline__ void run(const Work& work) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const std::uint32_t base = shared_address(shared);
    const int m = blockIdx.x * kM, n = blockIdx.y * kN, z = blockIdx.z, warp = threadIdx.x / 32;
    const int row = warp / kWarpsN * kWarpM, column = warp % kWarpsN * 32;
    typename Work::template A<ATile> fetch_a(work, m, z);
    typename Work::template B<BTile> fetch_b(work, n, z);
    const int steps = work.steps(z);
    const auto fetch = [&](int step) {
      const std::uint32_t at = base + step % kTileStages * kStageBytes;
      if (step < steps) fetch_a(at, step), fetch_b(at + ATile::kBytes, step);
      copy_async_commit();
    };
    float c[kTilesM][kTilesN][4];
#pragma unroll
    for (int i = 0; i < kTilesM; ++i) clear(c[i]);
#pragma unroll
    for (int stage = 0; stage < kTileStages - 1; ++stage) fetch(stage);
    for (int step = 0; step < steps; ++step) {
      copy_async_wait_for<kTileStages - 2>();
      __syncthreads();
      fetch(step + kTileStages - 1);
      const std::uint32_t at = base + step % kTileStages * kStageBytes;
      multiply(c, at, at + ATile::kBytes, row, column);
    }
    copy_async_wait();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTilesM; ++i)
      work.template store<CTile>(c[i], TilePlace{m, n, row + 16 * i, column / 8, z, shared});
  }
};

template <class Work, int kM, int kN>
__global__ void __launch_bounds__(kTileThreads, 2) tile_product_kernel(Work work) {
  TileProduct<Work, kM, kN>::run(work);
}

}  // namespace attend::cuda
