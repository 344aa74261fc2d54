// Who does what in a token step of up to 128 rows in one kernel (few_rows_step.cuh): which columns a block multiplies,
// where everything lies in memory, and how often blocks wait for each other. Plain constexpr arithmetic, so that tests
// without a GPU can hold it against its rules and compute a step with it (tests/cuda/few_rows_test.cpp).
//
// A cluster of eight blocks has a head of attention: its queries, keys and values, and in every other product as large
// a part of the columns. So 12 clusters and 96 blocks for GPT-2: a Hopper GPU of 132 multiprocessors has room for 15
// clusters of eight or fewer, since they lie in groups of uneven size. Rank r of a cluster has an eighth of the summed
// axis: a block's weights of a whole layer fit into shared memory, and what it reads of the activations is small.
// Ranks then add up their partial sums through shared memory: rank r those of row tile r.
//
// Everything that the tensor cores read lies in blocks of 8 rows and 32 columns, 512 bytes, row by row. Lane l of a
// warp takes 16 bytes of such a block, row l / 4 and columns 8 (l % 4) on: all banks are used once. Those are the
// operands of two products of m16n8k16, in which lane l holds columns 2 (l % 4), .. of each; as weights and activations
// are permuted alike, the sum is the same.
#pragma once

#include <cstdint>

namespace attend::cuda {

inline constexpr int kFewRanks = 8, kFewThreads = 512, kFewWarps = kFewThreads / 32;
inline constexpr int kFewMostRows = 128, kFewGroupRows = 64;  // rows come in groups of 64, a phase takes one by one
inline constexpr int kFewTiles = kFewGroupRows / 8, kFewGroups = kFewMostRows / kFewGroupRows;
inline constexpr int kFewHead = 64;
inline constexpr int kFewBlockElements = 8 * 32;  // of a block of 8 rows and 32 columns

// Where (row, k) of a matrix in blocks lies, if `tiles` blocks of 8 rows make a column of blocks. Elements.
constexpr int in_blocks(int row, int k, int tiles) {
  return ((k / 32) * tiles + row / 8) * kFewBlockElements + row % 8 * 32 + k % 32;
}

// What lane l holds. Of a block: 8 neighbours of one row.
constexpr int lane_row(int lane) { return lane / 4; }
constexpr int lane_k(int lane) { return lane % 4 * 8; }
// Of the accumulators of a 16 x 8 tile: columns of the result are the tile's rows, and rows of the batch its columns.
constexpr int accumulator_column(int lane, int e) { return lane / 4 + e / 2 * 8; }
constexpr int accumulator_row(int lane, int e) { return lane % 4 * 2 + e % 2; }
// A product of N columns and a sum over K, as clusters and ranks share it. kParts: the columns are so many matrices
// beside each other (queries, keys, values), and a cluster has the same part of each.
template <int N, int K, int Clusters, int Parts = 1>
struct FewProduct {
  static constexpr int kN = N, kK = K;
  static constexpr int kColumns = N / Clusters, kSlice = K / kFewRanks;  // of a cluster, of a rank
  static constexpr int kTiles = kColumns / 16, kChunks = kSlice / 32;
  static constexpr int kWeightBytes = kColumns * kSlice * 2;
  static_assert(N % (Clusters * 16) == 0 && K % (kFewRanks * 32) == 0);

  // In the whole matrix.
  static constexpr int column(int cluster, int j) {
    constexpr int kEachPart = kColumns / Parts;
    return j / kEachPart * (N / Parts) + cluster * kEachPart + j % kEachPart;
  }
  static constexpr int summed(int rank, int k) { return rank * kSlice + k; }
  // In a block's packed weights, elements.
  static constexpr int weight_at(int j, int k) { return in_blocks(j, k, kColumns / 8); }
  // In shared memory: activations of a group of rows (elements of bf16), and partial sums (f32).
  static constexpr int x_at(int row, int k) { return in_blocks(row, k, kFewTiles); }
  static constexpr int partial_at(int tile, int j, int row) { return (tile * kColumns + j) * 8 + row; }
  static constexpr int kPartials = kFewTiles * kColumns * 8;

  // Warps share a group's product: four quarters of the columns, and four pairs of row tiles.
  static constexpr int kEach = kTiles / 4;  // column tiles of a warp
  static_assert(kTiles % 4 == 0 && kFewWarps == 16);
  static constexpr int tile_of(int warp, int i) { return warp % 4 * kEach + i; }
  static constexpr int row_tile_of(int warp, int i) { return warp / 4 * 2 + i; }
};

// Activations between phases, in device memory: rows in groups, each in blocks, so that a rank's slice is one piece.
constexpr std::int64_t activation_at(int row, int k, int width) {
  return std::int64_t{row / kFewGroupRows} * kFewGroupRows * width + in_blocks(row % kFewGroupRows, k, kFewTiles);
}

// Attention: each rank reads an eighth of a row's keys, and rank row % 8 joins what all ranks found.
constexpr int keys_of_rank(int length) { return (length + kFewRanks - 1) / kFewRanks; }
constexpr int joined_rows(int rank, int rows) { return (rows - rank + kFewRanks - 1) / kFewRanks; }
constexpr int joined_row(int rank, int i) { return rank + i * kFewRanks; }

// The shape of a model: width, heads, hidden units.
template <int C, int H, int F>
struct FewShape {
  static constexpr int kWidth = C, kHeads = H, kHidden = F;
  static constexpr int kClusters = H, kBlocks = kClusters * kFewRanks;
  using Input = FewProduct<3 * C, C, kClusters, 3>;
  using Output = FewProduct<C, C, kClusters>;
  using Expand = FewProduct<F, C, kClusters>;
  using Contract = FewProduct<C, F, kClusters>;
  static_assert(C == H * kFewHead);
  static constexpr int kOwned = C / kClusters;  // columns of the stream of a cluster; rank r has row tile r of each
  static_assert(kOwned == Output::kColumns && kOwned == Contract::kColumns && kOwned <= 64);

  // A block's bytes of a phase: for a product of the normed stream the norm's weight and bias of the slice, f32; the
  // bias of the cluster's columns, f32; the weights.
  template <class P>
  static constexpr int bytes_of_phase(bool normed) {
    return ((normed ? 2 * P::kSlice : 0) + P::kColumns) * 4 + P::kWeightBytes;
  }
  static constexpr int kInputBytes = bytes_of_phase<Input>(true), kOutputBytes = bytes_of_phase<Output>(false);
  static constexpr int kExpandBytes = bytes_of_phase<Expand>(true), kContractBytes = bytes_of_phase<Contract>(false);
  static_assert(kInputBytes % 16 == 0 && kOutputBytes % 16 == 0 && kExpandBytes % 16 == 0 && kContractBytes % 16 == 0);
  // In device memory: the blocks' bytes of a phase, phase by phase, layer by layer.
  static constexpr std::int64_t kInputAt = 0, kOutputAt = kInputAt + std::int64_t{kBlocks} * kInputBytes,
                                kExpandAt = kOutputAt + std::int64_t{kBlocks} * kOutputBytes,
                                kContractAt = kExpandAt + std::int64_t{kBlocks} * kExpandBytes,
                                kLayerBytes = kContractAt + std::int64_t{kBlocks} * kContractBytes;

  static constexpr int most(int a, int b) { return a > b ? a : b; }
  static constexpr int kMostSlice = most(Input::kSlice, Contract::kSlice);
  static constexpr int kMostColumns = most(Input::kColumns, Expand::kColumns);
  // f32: partial sums of a product, or partial softmaxes: 64 columns, the maximum and the sum of each row.
  static constexpr int kPartials = most(kFewTiles * kMostColumns * 8, kFewMostRows*(kFewHead + 2));
  static constexpr int found_at(int row, int d) { return row * kFewHead + d; }
  static constexpr int maximum_at(int row) { return kFewMostRows * kFewHead + row * 2; }  // and the sum behind it

  // What a block has in shared memory.
  struct Shared {
    alignas(128) std::uint8_t input[kInputBytes];
    alignas(128) std::uint8_t output[kOutputBytes];
    alignas(128) std::uint8_t expand[kExpandBytes];
    alignas(128) std::uint8_t contract[kContractBytes];
    // Partial sums take the place of what was multiplied.
    union {
      alignas(128) std::uint16_t x[kMostSlice * kFewGroupRows];  // bf16
      alignas(128) float partials[kPartials];
    };
    alignas(16) float own[kFewGroups][kOwned][8];         // this block's part of the stream: columns, rows of a tile
    alignas(16) std::uint16_t finished[8][kMostColumns];  // bf16, a row tile on its way to memory
    float norms[kFewGroupRows][2];                        // mean, 1 / deviation
    std::uint64_t gates[4];
  };

  // How often all blocks wait for each other in a step: once for the first moments, and four times in a layer.
  static constexpr int barriers(int layers) { return 1 + 4 * layers; }
};

inline constexpr int kSharedOfBlock = 227 * 1024;  // what a block may have on Hopper

}  // namespace attend::cuda
