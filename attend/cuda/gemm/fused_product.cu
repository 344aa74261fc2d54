// A product with an activation at its end, on Hopper's tensor cores (sm_90a), in bf16:
//   forward   y = f(a b + bias), and what went into f kept
//   backward  d = (a b) f'(kept), and the sums of its columns, in one partial sum for each 128 rows
// cuBLASLt has such endings, but the matrix units wait while they run: 0.63 ms for 65536 x 3072 x 768 with GELU against
// 0.45 without. Here two warpgroups take turns: while one multiplies, the other ends its tile. A third orders the
// copies: two blocks on the same columns share what they read of b.
#include "attend/cuda/gemm/fused_product.cuh"

#include "attend/cuda/bulk_copy.cuh"
#include "attend/cuda/capability.h"
#include "attend/cuda/group_multiply.cuh"
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/activation.cuh"
#include "attend/cuda/rows/block.cuh"
#include "attend/cuda/rows/column_sums.cuh"
#include "attend/cuda/tensor_map.h"

namespace attend::cuda {
namespace {

constexpr int kRows = 128, kColumns = 192, kDepth = 64;  // of a warpgroup's tile, and of one step along k
constexpr int kStages = 4, kSlots = 4;
constexpr int kGroup = 128, kThreads = 3 * kGroup;

using TileA = SharedTile<kRows, kDepth>;
using TileB = SharedTile<kColumns, kDepth>;        // b is stored [n, k]
using TileColumns = SharedTile<kDepth, kColumns>;  // b is stored [k, n]: three panels, read down their columns
using Panel = SharedTile<64, 64>;                  // of a result on its way out

struct Shared {
  unsigned char a[kStages][TileA::kBytes];
  unsigned char b[kStages][TileB::kBytes];
  unsigned char panels[2][kSlots][Panel::kBytes];
  float sums[2][4][64];
  std::uint64_t full[kStages], empty[kStages], loaded[2][kSlots];
  std::uint64_t turn[2];  // of the groups to multiply
};
static_assert(sizeof(Shared) <= 227 * 1024);

struct Maps {
  CUtensorMap a, b, c, kept;
};

struct Problem {
  int row_pairs = 0, column_tiles = 0, steps = 0;  // tiles in twos along the rows: one for each block of a cluster
  int columns = 0;
  const bf16* bias;  // forward; may be null
  float* partial;    // backward; [2 row_pairs, columns] or null
  bool keep;         // forward: kept is wanted
  Activation kind;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

constexpr int kPanels = kColumns / 64 * 2;
// Of the 65,536 registers: the accumulators alone are 192 per thread.
constexpr int kCopierRegisters = 40, kProductRegisters = 232;

// The place of a tile: those of one row of tiles follow each other, so that they share a in the cache.
struct Place {
  int row, column;
  __device__ __forceinline__ Place(const Problem& problem, int tile)
      : row((tile / problem.column_tiles * 2 + static_cast<int>(block_of_cluster())) * kRows),
        column(tile % problem.column_tiles * kColumns) {}
};

// One warp, of which one thread orders.
template <bool kByColumns>
__device__ __forceinline__ void copy_tiles(Shared& shared, const Maps& maps, const Problem& problem, int tiles) {
  const int rank = static_cast<int>(block_of_cluster());
  std::uint32_t step = 0;
  for (int tile = blockIdx.x / 2; tile < tiles; tile += gridDim.x / 2) {
    const Place place(problem, tile);
#pragma unroll 1
    for (int k = 0; k < problem.steps; ++k, ++step) {
      const std::uint32_t stage = step % kStages, full = shared_address(&shared.full[stage]);
      if (step >= kStages) barrier_wait(shared_address(&shared.empty[stage]), (step / kStages - 1) & 1);
      __syncwarp();
      if (threadIdx.x % kWarp != 0) continue;
      barrier_expect(full, TileA::kBytes + TileB::kBytes);
      copy_tile(shared_address(shared.a[stage]), maps.a, k * kDepth, place.row, full);
      // Each block fetches one half of b, for both.
      const std::uint32_t b = shared_address(shared.b[stage]);
      if constexpr (kByColumns) {
        const std::uint32_t half = b + rank * (TileColumns::kPanelBytes / 2);
        for (int panel = 0; panel < kColumns / 64; ++panel)
          copy_tile_to_all(half + panel * TileColumns::kPanelBytes, maps.b, place.column + panel * 64,
                           k * kDepth + rank * (kDepth / 2), full, 3);
      } else {
        copy_tile_to_all(b + rank * (TileB::kBytes / 2), maps.b, k * kDepth, place.column + rank * (kColumns / 2), full,
                         3);
      }
    }
  }
}

// The group's turn'th tile; step counts the stages that were filled before it. Its stages are full in turn with the
// other group's, and it waits for the first of them only when the other has seen the last of its own.
template <bool kByColumns>
__device__ __forceinline__ void multiply_tile(Shared& shared, float (&c)[2][24][4], int group, int turn,
                                              std::uint32_t step, int steps) {
  using Products = GroupProducts;
  const auto release = [&](std::uint32_t at) {
    if (threadIdx.x % kWarp < 2) barrier_arrive(shared_address(&shared.empty[at % kStages]), threadIdx.x % kWarp);
  };
  barrier_wait(shared_address(&shared.turn[group]), (turn + group + 1) & 1);
#pragma unroll 1
  for (int k = 0; k < steps; ++k, ++step) {
    const std::uint32_t stage = step % kStages;
    barrier_wait(shared_address(&shared.full[stage]), (step / kStages) & 1);
    __syncwarp();
    const TileDescriptor a = TileDescriptor::of<TileA>(shared_address(shared.a[stage]));
    const std::uint32_t b_address = shared_address(shared.b[stage]);
    const TileDescriptor b =
        kByColumns ? TileDescriptor::of<TileColumns>(b_address) : TileDescriptor::of<TileB>(b_address);
    Products::begin();
#pragma unroll
    for (int part = 0; part < kDepth / 16; ++part) {
      const std::uint64_t from_b = b.at(kByColumns ? Products::along_rows(part) : part * 32);
#pragma unroll
      for (int half = 0; half < 2; ++half)
        multiply<false, kByColumns>(c[half], a.at(half * 64 * 128 + part * 32), from_b, k + part > 0);
    }
    Products::commit();
    if (k + 1 == steps && threadIdx.x % kWarp == 0) barrier_arrive(shared_address(&shared.turn[1 - group]));
    if (k == 0) continue;
    Products::wait<1>();
    release(step - 1);
  }
  Products::wait<0>(c[0], c[1]);
  release(step - 1);
}

// f and f', right to what bf16 can tell apart. A warp has its scheduler to itself here, so instructions count: GELU
// with one of the special function unit instead of two.
template <Activation Kind>
__device__ __forceinline__ float ending(float x) {
  if constexpr (Kind != Activation::gelu_tanh) return activate<Kind>(x);
  const float half = 0.5f * x;
  return half + half * tanh_rough(x * (0.5f * kGeluSlope + 0.5f * kGeluSlope * kGeluCubic * x * x));
}
template <Activation Kind>
__device__ __forceinline__ float slope(float x) {
  if constexpr (Kind != Activation::gelu_tanh) return derivative<Kind>(x);
  const float square = x * x, half = 0.5f * x;
  const float t = tanh_rough(x * (0.5f * kGeluSlope + 0.5f * kGeluSlope * kGeluCubic * square));
  const float steep = half * (0.5f * kGeluSlope + 1.5f * kGeluSlope * kGeluCubic * square);
  return 0.5f + 0.5f * t + steep * (1.0f - t * t);
}

// Calls body with the kind as a constant: those that fused_product() lets in.
template <class Body>
__device__ __forceinline__ void with_kind(Activation kind, Body&& body) {
  if (kind == Activation::gelu_tanh)
    body.template operator()<Activation::gelu_tanh>();
  else if (kind == Activation::gelu)
    body.template operator()<Activation::gelu>();
  else
    body.template operator()<Activation::relu>();
}

// Where this lane's row of the four 8 x 8 matrices lies that are columns 16 part .. of its warp's 16 rows of a panel.
__device__ __forceinline__ std::uint32_t place_in_panel(int part) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp % 4;
  return Panel::offset(warp * 16 + lane % 16, part * 2 + lane / 16);
}

// Panel by panel: f, two panels in shared memory, out to kept and to c.
__device__ __forceinline__ void end_forward(Shared& shared, const Maps& maps, const Problem& problem,
                                            const Place& place, int group, float (&c)[2][24][4]) {
  const bool first = threadIdx.x % kGroup == 0;
#pragma unroll
  for (int panel = 0; panel < kPanels; ++panel) {
    const int strip = panel / 2, half = panel % 2;
    const std::uint32_t kept = shared_address(shared.panels[group][panel % 2 * 2]), out = kept + Panel::kBytes;
    const int column = place.column + strip * 64;
    __nv_bfloat162 bias[8] = {};
    if (problem.bias)
#pragma unroll
      for (int block = 0; block < 8; ++block) {
        const int at = column + block * 8 + threadIdx.x % 4 * 2;
        bias[block] = *reinterpret_cast<const __nv_bfloat162*>(problem.bias + (at < problem.columns ? at : 0));
      }
    if (first) wait_for_stores<1>();
    group_barrier(group);
    with_kind(problem.kind, [&]<Activation Kind>() {
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        std::uint32_t before[4], after[4];
#pragma unroll
        for (int block = 0; block < 2; ++block) {
          float(&x)[4] = c[half][strip * 8 + part * 2 + block];
          const float2 shift = __bfloat1622float2(bias[part * 2 + block]);
          x[0] += shift.x, x[1] += shift.y, x[2] += shift.x, x[3] += shift.y;
          before[block * 2] = pack_bf16(x[0], x[1]), before[block * 2 + 1] = pack_bf16(x[2], x[3]);
#pragma unroll
          for (int e = 0; e < 4; ++e) x[e] = ending<Kind>(x[e]);
          after[block * 2] = pack_bf16(x[0], x[1]), after[block * 2 + 1] = pack_bf16(x[2], x[3]);
        }
        if (problem.keep) store_matrices(kept + place_in_panel(part), before);
        store_matrices(out + place_in_panel(part), after);
      }
    });
    GroupProducts::publish();
    group_barrier(group);
    if (first) {
      if (problem.keep) store_tile(maps.kept, column, place.row + half * 64, kept);
      store_tile(maps.c, column, place.row + half * 64, out);
      commit_stores();
    }
  }
}

// The panels of kept, in the order in which they are needed, three ahead of their use.
struct Ahead {
  std::uint32_t count = 0;  // panels used

  // Orders the panel that is `panel` of tile, or one of the group's next tile.
  __device__ __forceinline__ void order(Shared& shared, const Maps& maps, const Problem& problem, int group, int tile,
                                        int panel, int tiles) const {
    if (panel >= kPanels) tile += gridDim.x, panel -= kPanels;  // two tiles on, of gridDim / 2 clusters
    if (tile >= tiles) return;
    const Place place(problem, tile);
    const std::uint32_t slot = (count + 3) % kSlots, loaded = shared_address(&shared.loaded[group][slot]);
    barrier_expect(loaded, Panel::kBytes);
    copy_tile(shared_address(shared.panels[group][slot]), maps.kept, place.column + panel / 2 * 64,
              place.row + panel % 2 * 64, loaded);
  }
};

// Adds up a strip of 64 columns over the group's 128 rows: lanes, then warps, in order.
__device__ __forceinline__ void add_columns(Shared& shared, const Problem& problem, const Place& place, int group,
                                            int strip, float (&sums)[8][2]) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp % 4;
#pragma unroll
  for (int block = 0; block < 8; ++block)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float& sum = sums[block][e];
      for (int distance = 4; distance < kWarp; distance *= 2) sum += __shfl_xor_sync(0xffffffff, sum, distance);
      if (lane < 4) shared.sums[group][warp][block * 8 + lane * 2 + e] = sum;
    }
  group_barrier(group);
  const int at = threadIdx.x % kGroup, column = place.column + strip * 64 + at;
  if (at < 64 && column < problem.columns) {
    const auto& of = shared.sums[group];
    problem.partial[static_cast<std::int64_t>(place.row / kRows) * problem.columns + column] =
        (of[0][at] + of[1][at]) + (of[2][at] + of[3][at]);
  }
}

// Panel by panel: kept comes into a slot, d replaces it there and goes out.
__device__ __forceinline__ void end_backward(Shared& shared, const Maps& maps, const Problem& problem, Ahead& ahead,
                                             int group, int tile, int tiles, float (&c)[2][24][4]) {
  const bool first = threadIdx.x % kGroup == 0;
  const Place place(problem, tile);
#pragma unroll
  for (int strip = 0; strip < kColumns / 64; ++strip) {
    float sums[8][2] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::uint32_t slot = ahead.count % kSlots, at = shared_address(shared.panels[group][slot]);
      barrier_wait(shared_address(&shared.loaded[group][slot]), (ahead.count / kSlots) & 1);
      with_kind(problem.kind, [&]<Activation Kind>() {
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {  // two parts at a time: their loads are under way together
          std::uint32_t kept[2][4];
#pragma unroll
          for (int part = 0; part < 2; ++part) load_matrices(kept[part], at + place_in_panel(pair * 2 + part));
#pragma unroll
          for (int part = 0; part < 2; ++part) {
            std::uint32_t out[4];
#pragma unroll
            for (int block = 0; block < 2; ++block) {
              const int column = (pair * 2 + part) * 2 + block;
              float(&d)[4] = c[half][strip * 8 + column];
#pragma unroll
              for (int row = 0; row < 2; ++row) {
                const float2 x =
                    __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(kept[part][block * 2 + row]));
                d[row * 2] *= slope<Kind>(x.x), d[row * 2 + 1] *= slope<Kind>(x.y);
                sums[column][0] += d[row * 2], sums[column][1] += d[row * 2 + 1];
                out[block * 2 + row] = pack_bf16(d[row * 2], d[row * 2 + 1]);
              }
            }
            store_matrices(at + place_in_panel(pair * 2 + part), out);
          }
        }
      });
      GroupProducts::publish();
      group_barrier(group);
      if (first) {
        store_tile(maps.c, place.column + strip * 64, place.row + half * 64, at);
        commit_stores();
        wait_for_stores<1>();  // the slot of the panel before this one is free
        ahead.order(shared, maps, problem, group, tile, strip * 2 + half + 3, tiles);
      }
      ++ahead.count;
    }
    if (problem.partial) add_columns(shared, problem, place, group, strip, sums);
  }
}

#endif

template <bool kByColumns, bool kBackward>
__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(kThreads, 1)
    fused_product_kernel(const __grid_constant__ Maps maps, const __grid_constant__ Problem problem) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) unsigned char memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  // The same in all lanes, and said so: what follows from it then stays in the registers for addresses of tiles.
  const int group = __shfl_sync(0xffffffff, static_cast<int>(threadIdx.x) / kGroup, 0);
  const int tiles = problem.row_pairs * problem.column_tiles;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      barrier_init(shared_address(&shared.full[stage]), 1);
      barrier_init(shared_address(&shared.empty[stage]), 2 * 4);  // the warps of a group, in both blocks
    }
    for (int group = 0; group < 2; ++group) {
      for (int slot = 0; slot < kSlots; ++slot) barrier_init(shared_address(&shared.loaded[group][slot]), 1);
      barrier_init(shared_address(&shared.turn[group]), 4);
    }
    barriers_are_ready();
  }
  cluster_barrier();
  if (group == 2) {
    fewer_registers<kCopierRegisters>();
    if (threadIdx.x < 2 * kGroup + kWarp) copy_tiles<kByColumns>(shared, maps, problem, tiles);
  } else {
    more_registers<kProductRegisters>();
    const int clusters = gridDim.x / 2;
    int tile = blockIdx.x / 2 + group * clusters;
    Ahead ahead;
    if (kBackward && threadIdx.x % kGroup == 0)
      for (int panel = 0; panel < 3; ++panel)
        Ahead{static_cast<std::uint32_t>(panel) - 3}.order(shared, maps, problem, group, tile, panel, tiles);
    for (int turn = 0; tile < tiles; tile += 2 * clusters, ++turn) {
      float c[2][24][4];
      multiply_tile<kByColumns>(shared, c, group, turn, (2 * turn + group) * problem.steps, problem.steps);
      if constexpr (kBackward)
        end_backward(shared, maps, problem, ahead, group, tile, tiles, c);
      else
        end_forward(shared, maps, problem, Place(problem, tile), group, c);
    }
    if (threadIdx.x % kGroup == 0) wait_for_stores<0>();
  }
  cluster_barrier();  // a block's barriers are there as long as the other may arrive at them
#endif
}

bool fits(const CudaBackend& backend, const Gemm& gemm) {
  constexpr std::int64_t kFewRows = 2 * kRows;  // below, most of a tile would be empty
  const auto rows_fit = [](const void* data, std::int64_t stride) { return aligned16(data) && stride % 8 == 0; };
  return gemm.in == DType::bf16 && gemm.out == DType::bf16 && gemm.batch == 1 && !gemm.transpose_a && gemm.alpha == 1 &&
         gemm.beta == 0 && gemm.m >= kFewRows && gemm.k > 0 && gemm.n % 8 == 0 && rows_fit(gemm.a, gemm.lda) &&
         rows_fit(gemm.b, gemm.ldb) && rows_fit(gemm.c, gemm.ldc) && (!gemm.pre || rows_fit(gemm.pre, gemm.ldpre)) &&
         has_wgmma(backend.device());
}

template <bool kByColumns, bool kBackward>
void launch(const CudaBackend& backend, const Gemm& gemm, Problem problem) {
  problem.row_pairs = static_cast<int>(divide_up(gemm.m, 2 * kRows));
  problem.column_tiles = static_cast<int>(divide_up(gemm.n, kColumns));
  problem.steps = static_cast<int>(divide_up(gemm.k, kDepth));
  problem.columns = static_cast<int>(gemm.n);
  Maps maps;
  maps.a = tensor_map({.data = gemm.a, .rows = gemm.m, .columns = gemm.k, .stride = gemm.lda, .tile_rows = kRows});
  maps.b = kByColumns ? tensor_map({gemm.b, gemm.k, gemm.n, gemm.ldb, kDepth / 2})
                      : tensor_map({gemm.b, gemm.n, gemm.k, gemm.ldb, kColumns / 2});
  maps.c = tensor_map({gemm.c, gemm.m, gemm.n, gemm.ldc});
  maps.kept = gemm.pre ? tensor_map({gemm.pre, gemm.m, gemm.n, gemm.ldpre}) : maps.c;
  const auto kernel = fused_product_kernel<kByColumns, kBackward>;
  static const bool allowed = [&] {
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)),
               "fused_product: shared memory");
    return true;
  }();
  static_cast<void>(allowed);
  const int clusters = std::min(backend.multiprocessors() / 2, problem.row_pairs * problem.column_tiles);
  kernel<<<2 * clusters, kThreads, sizeof(Shared), backend.stream()>>>(maps, problem);
  launch_check("fused_product");
}

}  // namespace

bool fused_product(CudaBackend& backend, const Gemm& gemm, Activation kind) {
  // cuBLASLt's relu costs nothing.
  if ((kind != Activation::gelu && kind != Activation::gelu_tanh) || !fits(backend, gemm)) return false;
  if (gemm.bias && !aligned16(gemm.bias)) return false;
  const Problem problem = {
      .bias = static_cast<const bf16*>(gemm.bias), .partial = nullptr, .keep = gemm.pre != nullptr, .kind = kind};
  gemm.transpose_b ? launch<false, false>(backend, gemm, problem) : launch<true, false>(backend, gemm, problem);
  return true;
}

bool fused_product_backward(CudaBackend& backend, const Gemm& gemm, Activation kind, const Grad& sums) {
  const bool known = kind == Activation::relu || kind == Activation::gelu || kind == Activation::gelu_tanh;
  if (!known || !gemm.pre || !fits(backend, gemm)) return false;
  Problem problem = {.bias = nullptr, .partial = nullptr, .keep = false, .kind = kind};
  const std::int64_t chunks = divide_up(gemm.m, 2 * kRows) * 2;
  if (sums) problem.partial = static_cast<float*>(backend.scratch(static_cast<std::size_t>(chunks * gemm.n) * 4));
  gemm.transpose_b ? launch<false, true>(backend, gemm, problem) : launch<true, true>(backend, gemm, problem);
  if (sums) sum_partials(backend, {.data = problem.partial, .chunks = chunks, .width = gemm.n, .stride = gemm.n}, sums);
  return true;
}

}  // namespace attend::cuda
