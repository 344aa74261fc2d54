// The output layer of a greedy step, and the choice of the token: logits [rows, V] are never in memory. cuBLASLt needs
// 119 µs for 64 rows of 50,257 logits, which do not begin on 16 bytes, and the choice another 16; the table is read in
// 18 µs. Up to 128 rows, Hopper.
//
// A block keeps up to 64 rows of the states in shared memory and walks over tiles of 128 rows of the table, which
// stream through a ring of stages. The table's rows are the rows of m16n8k16, and rows of the batch its columns. What
// the blocks know of each row is joined by a second kernel.
//
// Both lie in shared memory as blocks of 8 rows and 32 columns, 512 bytes, row by row. Lane l of a warp takes 16 bytes
// of such a block, row l / 4 and columns 8 (l % 4) on: all banks are used once. Those are the operands of two products
// of m16n8k16, in which lane l holds columns 2 (l % 4), .. of each; as both sides are permuted alike, the sum is the
// same.
#include <algorithm>
#include <type_traits>

#include "attend/cuda/capability.h"
#include "attend/cuda/early_launch.cuh"
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/choice.cuh"
#include "attend/cuda/warp_products.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 256, kGroupRows = 64, kGroupTiles = kGroupRows / 8;  // rows of the states at a time
constexpr int kTile = 128, kStep = 64, kStageBytes = kTile * kStep * 2;  // rows and columns of the table in a stage
constexpr int kAcross = 4;                                               // warps along the tile, 32 rows each
constexpr int kMostRows = 128, kMostWidth = 1024;

// Where (row, k) of a matrix in blocks lies, if `tiles` blocks of 8 rows make a column of blocks. Elements.
constexpr int in_blocks(int row, int k, int tiles) {
  return ((k / 32) * tiles + row / 8) * 256 + row % 8 * 32 + k % 32;
}
// What lane l holds of the accumulators of a 16 x 8 tile: a row of the table and a row of the states.
constexpr int accumulator_column(int lane, int e) { return lane / 4 + e / 2 * 8; }
constexpr int accumulator_row(int lane, int e) { return lane % 4 * 2 + e % 2; }

struct LikeliestParams {
  const bf16* states = nullptr;  // [rows, width]
  const bf16* table = nullptr;   // [V, width]
  const std::uint8_t* suppressed = nullptr;
  std::int64_t state_stride = 0, table_stride = 0;
  int rows = 0, width = 0, vocabulary = 0;
  Choice* found = nullptr;  // [blocks of a group, rows]
};

template <int kPending>
__device__ __forceinline__ void copy_async_wait_for() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// kRowTiles: tiles of 8 rows of each of the two warps that share them. kStages: of the ring.
template <int kRowTiles, int kStages>
class LikeliestBlock {
 public:
  __device__ LikeliestBlock(const LikeliestParams& p, unsigned char* shared)
      : p_(p),
        states_(shared),
        stages_(shared + kGroupRows * p.width * 2),
        first_row_(static_cast<int>(blockIdx.y) * kGroupRows),
        lane_(static_cast<int>(threadIdx.x) % kWarp),
        along_(static_cast<int>(threadIdx.x) / kWarp % kAcross),
        across_(static_cast<int>(threadIdx.x) / kWarp / kAcross),
        chunks_(p.width / kStep) {}

  __device__ void run() {
    const int tiles = (p_.vocabulary + kTile - 1) / kTile, mine = static_cast<int>(blockIdx.x);
    const int steps = (tiles - mine + static_cast<int>(gridDim.x) - 1) / static_cast<int>(gridDim.x) * chunks_;
#pragma unroll
    for (int i = 0; i + 1 < kStages; ++i) load_stage(i, steps);
    wait_for_kernel_before();  // the table is older than that kernel
    let_next_kernel_start();
    load_states();
    copy_async_wait();
    float sums[2][kRowTiles][4];
    for (int i = 0; i < steps; ++i) {
      copy_async_wait_for<kStages - 2>();
      __syncthreads();  // this step's stage is there for all, and all are done with the one that is loaded next
      load_stage(i + kStages - 1, steps);
      const int chunk = i % chunks_;
      if (chunk == 0) {
#pragma unroll
        for (auto& tile : sums) clear(tile);
      }
      multiply(sums, i % kStages, chunk);
      if (chunk + 1 == chunks_) choose(sums, tile_of(i));
    }
    copy_async_wait();
    finish();
  }

 private:
  __device__ int tile_of(int step) const {
    return static_cast<int>(blockIdx.x) + step / chunks_ * static_cast<int>(gridDim.x);
  }
  // 16 bytes at a time, eight threads for 128 bytes of a row; rows behind the last are zeros.
  __device__ void load_stage(int step, int steps) {
    if (step < steps) {
      const std::uint32_t stage = shared_address(stages_ + step % kStages * kStageBytes);
      const int first = tile_of(step) * kTile, column = step % chunks_ * kStep;
#pragma unroll
      for (int i = 0; i < kTile * kStep / 8 / kThreads; ++i) {
        const int at = static_cast<int>(threadIdx.x) + i * kThreads, row = at / 8, k = at % 8 * 8;
        const bool valid = first + row < p_.vocabulary;
        copy_async(stage + in_blocks(row, k, kTile / 8) * 2,
                   p_.table + (valid ? first + row : 0) * p_.table_stride + column + k, valid);
      }
    }
    copy_async_commit();  // of no copies, too: batches are counted
  }
  __device__ void load_states() {
    const int pieces = p_.width / 8, rows = min(p_.rows - first_row_, kGroupRows);
    for (int at = threadIdx.x; at < kGroupRows * pieces; at += kThreads) {
      const int row = at / pieces, k = at % pieces * 8;
      const bool valid = row < rows;
      copy_async(shared_address(states_) + in_blocks(row, k, kGroupTiles) * 2,
                 p_.states + (first_row_ + (valid ? row : 0)) * p_.state_stride + k, valid);
    }
    copy_async_commit();
  }
  __device__ __forceinline__ void multiply(float (&sums)[2][kRowTiles][4], int stage, int chunk) const {
    const auto* table = reinterpret_cast<const uint4*>(stages_ + stage * kStageBytes) + lane_;
    const auto* states = reinterpret_cast<const uint4*>(states_) + lane_;
#pragma unroll
    for (int half = 0; half < kStep / 32; ++half) {
      uint4 low[2], high[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        low[i] = table[in_blocks(along_ * 32 + i * 16, half * 32, kTile / 8) / 8];
        high[i] = table[in_blocks(along_ * 32 + i * 16 + 8, half * 32, kTile / 8) / 8];
      }
#pragma unroll
      for (int j = 0; j < kRowTiles; ++j) {
        const uint4 x = states[in_blocks(row_tile(j) * 8, chunk * kStep + half * 32, kGroupTiles) / 8];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          mma(sums[i][j], {low[i].x, high[i].x, low[i].y, high[i].y}, x.x, x.y);
          mma(sums[i][j], {low[i].z, high[i].z, low[i].w, high[i].w}, x.z, x.w);
        }
      }
    }
  }
  __device__ int row_tile(int j) const { return across_ * kRowTiles + j; }

  // Four logits of each of this lane's rows. They are compared as bf16 would keep them, so that equal ones are the same
  // as where logits are in memory.
  __device__ __forceinline__ void choose(const float (&sums)[2][kRowTiles][4], int tile) {
#pragma unroll
    for (int j = 0; j < kRowTiles; ++j)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        Choice& mine = found_[j][r];
        float logits[4], most = mine.sum.max, sum = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int id = tile * kTile + along_ * 32 + i / 2 * 16 + accumulator_column(lane_, i % 2 * 2);
          logits[i] = id < p_.vocabulary ? rounded<bf16>(sums[i / 2][j][i % 2 * 2 + r]) : -INFINITY;
          most = fmaxf(most, logits[i]);
          if (id >= p_.vocabulary || (p_.suppressed && p_.suppressed[id])) continue;
          const unsigned long long key = choice_key(logits[i], id);
          mine.best = key > mine.best ? key : mine.best;
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) sum += logits[i] == -INFINITY ? 0.0f : __expf(logits[i] - most);  // NaN stays NaN
        mine.sum = merge(mine.sum, {most, sum});
      }
  }

  // Lanes of the same rows, then warps of the same rows.
  __device__ void finish() {
    __syncthreads();
    auto* shared = reinterpret_cast<Choice*>(stages_);  // [kAcross][kGroupRows]
#pragma unroll
    for (int j = 0; j < kRowTiles; ++j)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        Choice x = found_[j][r];
#pragma unroll
        for (int step = 4; step <= 16; step <<= 1) x = join_with_lane(x, step);
        if (lane_ < 4) shared[along_ * kGroupRows + row_tile(j) * 8 + accumulator_row(lane_, r)] = x;
      }
    __syncthreads();
    const int row = static_cast<int>(threadIdx.x);
    if (row >= kRowTiles * 16 || first_row_ + row >= p_.rows) return;
    Choice x = shared[row];
    for (int i = 1; i < kAcross; ++i) x = join(x, shared[i * kGroupRows + row]);
    p_.found[blockIdx.x * p_.rows + first_row_ + row] = x;
  }

  const LikeliestParams& p_;
  unsigned char *states_, *stages_;
  int first_row_, lane_, along_, across_, chunks_;
  Choice found_[kRowTiles][2];
};

template <int kRowTiles, int kStages>
__global__ void __launch_bounds__(kThreads, 1) likeliest_of_blocks(const LikeliestParams p) {
  extern __shared__ __align__(128) unsigned char shared[];
  LikeliestBlock<kRowTiles, kStages>(p, shared).run();
}

struct JoinParams {
  const Choice* found = nullptr;
  int blocks = 0, rows = 0;
  float* values = nullptr;
  std::int32_t* ids = nullptr;
  float* log_sums = nullptr;
};
// A warp for each row.
__global__ void __launch_bounds__(kWarp) join_blocks(const JoinParams p) {
  wait_for_kernel_before();
  let_next_kernel_start();
  const int row = static_cast<int>(blockIdx.x);
  Choice x;
  for (int i = threadIdx.x; i < p.blocks; i += kWarp) x = join(x, p.found[i * p.rows + row]);
#pragma unroll
  for (int step = 16; step > 0; step >>= 1) x = join_with_lane(x, step);
  if (threadIdx.x > 0) return;
  p.values[row] = logit_of_choice(x.best), p.ids[row] = id_of_choice(x.best);
  p.log_sums[row] = x.sum.max + logf(x.sum.sum);
}

template <int kRowTiles>
void launch(const CudaBackend& backend, const LikeliestParams& p, unsigned blocks, unsigned groups) {
  const auto run = [&](auto stages) {
    constexpr int kStages = decltype(stages)::value;
    const auto kernel = likeliest_of_blocks<kRowTiles, kStages>;
    const int bytes = kGroupRows * p.width * 2 + kStages * kStageBytes;
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "likeliest");
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks, groups), config.blockDim = dim3(kThreads);
    config.dynamicSmemBytes = static_cast<std::size_t>(bytes), config.stream = backend.stream();
    config.attrs = &early, config.numAttrs = launches_early() ? 1 : 0;
    cuda_check(cudaLaunchKernelEx(&config, kernel, p), "likeliest");
  };
  if (p.width <= 768)
    run(std::integral_constant<int, 7>());
  else
    run(std::integral_constant<int, 5>());
}

}  // namespace
}  // namespace cuda

bool CudaBackend::likeliest(const Likeliest& args) {
  using namespace cuda;
  const Tensor &states = args.states, &table = args.table;
  const std::int64_t rows = states.rows(), width = states.width(), vocabulary = table.dim(0);
  const bool fits = rows >= 1 && rows <= kMostRows && width <= kMostWidth && width % kStep == 0 && has_wgmma() &&
                    states.dtype() == DType::bf16 && table.dtype() == DType::bf16 && rows_aligned16(states) &&
                    rows_aligned16(table) && vocabulary < (1 << 30) && args.values.width() == 1;
  if (!fits) return false;
  // Two groups of rows read the table at the same time, the second from the L2 cache.
  const auto groups = static_cast<unsigned>(divide_up(rows, kGroupRows));
  const auto blocks = static_cast<unsigned>(
      std::min<std::int64_t>(multiprocessors() / static_cast<int>(groups), divide_up(vocabulary, kTile)));
  auto* found = static_cast<Choice*>(scratch(sizeof(Choice) * blocks * static_cast<std::size_t>(rows)));
  const LikeliestParams p = {.states = pointer<bf16>(states),
                             .table = pointer<bf16>(table),
                             .suppressed = pointer<std::uint8_t>(args.suppressed),
                             .state_stride = states.row_stride(),
                             .table_stride = table.row_stride(),
                             .rows = static_cast<int>(rows),
                             .width = static_cast<int>(width),
                             .vocabulary = static_cast<int>(vocabulary),
                             .found = found};
  if (rows > 32)
    launch<4>(*this, p, blocks, groups);
  else if (rows > 16)
    launch<2>(*this, p, blocks, groups);
  else
    launch<1>(*this, p, blocks, groups);
  launch_early(true, join_blocks, static_cast<unsigned>(rows), kWarp, stream(),
               JoinParams{.found = found,
                          .blocks = static_cast<int>(blocks),
                          .rows = static_cast<int>(rows),
                          .values = pointer<float>(args.values),
                          .ids = pointer<std::int32_t>(args.ids),
                          .log_sums = pointer<float>(args.log_sums)});
  launch_check("likeliest");
  return true;
}

}  // namespace attend
