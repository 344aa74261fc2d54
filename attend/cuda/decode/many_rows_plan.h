// Who does what in a token step of up to 64 rows in one kernel (many_rows_kernel.cuh): which columns a block
// multiplies, where everything lies in memory, and how messages are marked. Plain constexpr arithmetic, so that a test
// without a GPU can hold it against its rules and run the kernel with it (tests/decode/many_rows_test.cpp).
//
// A cluster of eight blocks has a head of attention: its queries, keys and values, and in every other product as large
// a part of the columns. A decoder that reads a memory has two more: queries, and what becomes of the values. Rank r of
// a cluster has an eighth of the summed axis: a block's weights of most of a layer fit into shared memory, and what it
// reads of the activations is small. Rows are dealt to the ranks like cards: rank r has rows r, r + 8, .. Each rank
// sends the others their rows of its partial sums. So the owner of a row has its query, key and value, attends for it,
// and keeps its part of the stream, with few rows as with many.
//
// What the tensor cores read lies in blocks of 8 rows and 32 columns, 512 bytes, row by row, with the 16-byte chunks of
// a row permuted by its number: the 64-byte swizzle of wgmma. A warp that reads a block 16 bytes a lane uses all banks
// once. Lane l then holds columns 8 (l % 4) on of row l / 4: the operands of two products of m16n8k16, which expects
// columns 2 (l % 4), .. in each; as weights and activations are permuted alike, the sum is the same.
#pragma once

#include <cstdint>
#include <type_traits>

namespace attend::cuda {

inline constexpr int kManyRanks = 8, kManyThreads = 512, kManyWarps = kManyThreads / 32;
inline constexpr int kManyMostRows = 64, kManyMostTiles = kManyMostRows / 8;
inline constexpr int kManyHead = 64;
inline constexpr int kSharedOfBlock = 227 * 1024;  // bytes that a block may have on Hopper
inline constexpr int kManyBlock = 8 * 32;          // elements of a block of 8 rows and 32 columns

// Rows of a rank: row number i is rank + 8 i.
constexpr int dealt_rows(int rank, int rows) { return (rows - rank + kManyRanks - 1) / kManyRanks; }
constexpr int dealt_row(int rank, int i) { return rank + i * kManyRanks; }

// Where (row, k) of a matrix in blocks lies, if `tiles` blocks of 8 rows make a column of blocks. Elements.
constexpr int in_swizzled_blocks(int row, int k, int tiles) {
  return ((k / 32) * tiles + row / 8) * kManyBlock + row % 8 * 32 + ((k % 32 / 8) ^ (row / 2 % 4)) * 8 + k % 8;
}
// Where a lane's 16 bytes of a block lie, in units of 16 bytes: columns 8 (lane % 4) on of row lane / 4.
constexpr int lane_in_block(int lane) { return lane / 4 * 4 + (lane % 4 ^ lane / 8); }

// A product of N columns and a sum over K, as clusters and ranks share it. Parts: the columns are so many matrices
// beside each other (queries, keys, values), and a cluster has the same part of each.
// Added: its sums are added to the stream; those of others are rounded to bf16.
template <int N, int K, int Clusters, bool Added, int Parts = 1>
struct ManyProduct {
  static constexpr int kN = N, kK = K;
  static constexpr bool kAdded = Added;
  static constexpr int kColumns = N / Clusters, kSlice = K / kManyRanks;  // of a cluster, of a rank
  static constexpr int kTiles = kColumns / 8, kChunks = kSlice / 32;
  static constexpr int kWeightBytes = kColumns * kSlice * 2;
  static_assert(N % (Clusters * 64) == 0 && K % (kManyRanks * 32) == 0);

  // In the whole matrix.
  static constexpr int column(int cluster, int j) {
    constexpr int kEachPart = kColumns / Parts;
    return j / kEachPart * (N / Parts) + cluster * kEachPart + j % kEachPart;
  }
  static constexpr int summed(int rank, int k) { return rank * kSlice + k; }
  // Elements of bf16: in a block's packed weights, and in shared memory, where there is room for all rows.
  static constexpr int weight_at(int j, int k) { return in_swizzled_blocks(j, k, kTiles); }
  static constexpr int x_at(int row, int k) { return in_swizzled_blocks(row, k, kManyMostTiles); }
};

// From 17 rows on a kernel multiplies by wgmma, sends sums 16 bytes at a time instead of from registers, and keeps what
// blocks tell each other of the stream in bf16. Measured on an H200: docs/lab/decode.md.
constexpr bool many_tiles(int tiles) { return tiles >= 4; }

// Partial sums on their way to the owners of the rows. bf16 for queries, keys, values and hidden units, which become
// bf16 behind the sum, and with many rows for all. Bytes: of row number i of a rank, as they are sent to it from shared
// memory, and as they come from a rank. The pad keeps the stores of a warp in different banks.
template <class P, int Tiles>
struct ManySums {
  static constexpr bool kShort = !P::kAdded || many_tiles(Tiles);
  static constexpr int kBytes = kShort ? 2 : 4;
  static constexpr int of_rows(int rows) { return rows * P::kColumns * kBytes; }
  static constexpr int sent_at(int to, int i, int j) {
    static_assert(kShort);
    return to * (of_rows(Tiles) + 16) + (i * P::kColumns + j) * kBytes;
  }
  static constexpr int received_at(int from, int i, int j) { return ((from * Tiles + i) * P::kColumns + j) * kBytes; }
};

// Warps share the columns of a product of up to 16 rows on mma.sync, in tiles of 8.
template <class P>
struct ManyWarps {
  static constexpr int most() {
    int warps = kManyWarps;
    while (P::kTiles % warps != 0) --warps;
    return warps;
  }
  static constexpr int kWarps = most(), kColumns = P::kTiles / kWarps;  // tiles of a warp
  static constexpr int column_tile(int warp, int i) { return warp * kColumns + i; }
};
// And on wgmma: four warps have 64 rows and as many columns.
template <class P>
struct ManyGroups {
  static constexpr int kGroups = P::kColumns > kManyHead ? 4 : 1, kColumns = P::kColumns / kGroups;
};
// What lane l holds of the sums of a tile of 16 rows and 8 columns, on either: c[0], c[1] of row l / 4 and c[2], c[3]
// of the row 8 behind it. So all rows of a lane belong to rank l / 4.
constexpr int sum_row(int lane, int e) { return lane / 4 + e / 2 * 8; }
constexpr int sum_column(int lane, int e) { return lane % 4 * 2 + e % 2; }

// Attention: warps share the rows of a rank, and those of a row its keys, four at a time.
template <int Tiles>
struct ManyKeys {
  static constexpr int kWarpsOfRow = kManyWarps / Tiles, kAtOnce = 4, kBatch = kAtOnce * 4;
  static constexpr int row(int warp) { return warp / kWarpsOfRow; }
  static constexpr int key(int warp, int step, int lane) {
    return (step * kWarpsOfRow + warp % kWarpsOfRow) * 4 + lane / 8;
  }
  static constexpr int batches(int keys) { return (keys + kWarpsOfRow * kBatch - 1) / (kWarpsOfRow * kBatch); }
};

// Messages between clusters carry a mark instead of waiting for a barrier: the last bit of each f32, and of one bf16 of
// four. It changes from layer to layer, so a reader sees whether memory holds this layer's numbers or the last one's.
constexpr std::uint32_t mark_of_layer(int layer) { return static_cast<std::uint32_t>(layer) & 1u; }
constexpr std::uint32_t marked(std::uint32_t bits, std::uint32_t mark) { return (bits & ~1u) | mark; }
// The bits of an f32 to the nearest bf16 with that last bit. Infinity may become not a number.
constexpr std::uint32_t marked_bf16(std::uint32_t bits, std::uint32_t mark) {
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u | mark;
  return mark ? (bits >> 17 << 1 | 1u) : ((bits + 0x10000u) >> 17 << 1);
}

// The shape of a model: width, heads, hidden units, and whether its layers attend to a memory, too.
template <int C, int H, int F, bool Memory = false>
struct ManyShape {
  static constexpr int kWidth = C, kHeads = H, kHidden = F;
  static constexpr bool kMemory = Memory;
  static constexpr int kAttentions = Memory ? 2 : 1, kStreams = kAttentions + 1;  // kStreams: places of messages
  static constexpr int kClusters = H, kBlocks = kClusters * kManyRanks;
  using Input = ManyProduct<3 * C, C, kClusters, false, 3>;
  using Output = ManyProduct<C, C, kClusters, true>;
  using Expand = ManyProduct<F, C, kClusters, false>;
  using Contract = ManyProduct<C, F, kClusters, true>;
  using Query = ManyProduct<C, C, kClusters, false>;  // of a memory
  static_assert(C == H * kManyHead && kClusters % 2 == 0);

  // A block's bytes of a phase: the weights; then f32, for a product of the normed stream the norm's weight and bias of
  // the slice, and the bias of the cluster's columns.
  template <class P>
  static constexpr int bytes_of_phase(bool normed) {
    return P::kWeightBytes + ((normed ? 2 * P::kSlice : 0) + P::kColumns) * 4;
  }
  static constexpr int kInputBytes = bytes_of_phase<Input>(true), kOutputBytes = bytes_of_phase<Output>(false);
  static constexpr int kExpandBytes = bytes_of_phase<Expand>(true), kContractBytes = bytes_of_phase<Contract>(false);
  static constexpr int kQueryBytes = bytes_of_phase<Query>(true);
  static_assert(kInputBytes % 16 == 0 && kOutputBytes % 16 == 0 && kExpandBytes % 16 == 0 && kContractBytes % 16 == 0 &&
                kQueryBytes % 16 == 0);
  // In device memory: the blocks' bytes of a phase, phase by phase, layer by layer.
  static constexpr std::int64_t kInputAt = 0, kOutputAt = kInputAt + std::int64_t{kBlocks} * kInputBytes,
                                kExpandAt = kOutputAt + std::int64_t{kBlocks} * kOutputBytes,
                                kContractAt = kExpandAt + std::int64_t{kBlocks} * kExpandBytes,
                                kQueryAt = kContractAt + std::int64_t{kBlocks} * kContractBytes,
                                kMemoryOutputAt = kQueryAt + std::int64_t{kBlocks} * (Memory ? kQueryBytes : 0),
                                kLayerBytes = kMemoryOutputAt + std::int64_t{kBlocks} * (Memory ? kOutputBytes : 0);

  static constexpr int most(int a, int b) { return a > b ? a : b; }
  static constexpr int kSlotBytes = most(most(kInputBytes, kExpandBytes), kContractBytes);
  static constexpr int kMostColumns = most(Input::kColumns, Expand::kColumns);
  // Partial sums of one product from all ranks, or to all.
  static constexpr int kRoundedBytes = kManyRanks * kManyMostTiles * kMostColumns * 2;
  static constexpr int kAddedBytes = kManyRanks * kManyMostTiles * kManyHead * 2;
  static_assert(!many_tiles(2) && kAddedBytes >= kManyRanks * 2 * kManyHead * 4);

  // What attention has of a rank's rows; no other phase needs it.
  struct Attention {
    alignas(16) std::uint16_t projected[kManyMostTiles][3 * kManyHead];  // bf16: query, key, value
    alignas(16) float found[kManyWarps][kManyHead];
    float softmax[kManyWarps][2];  // maximum, sum
  };
  struct MemoryWeights {
    alignas(1024) std::uint8_t query[kQueryBytes];
    alignas(1024) std::uint8_t output[kOutputBytes];
  };
  struct Nothing {};
  // What a block has in shared memory. The weights of three products take turns in two slots.
  struct Shared {
    alignas(1024) std::uint8_t slots[2][(kSlotBytes + 1023) / 1024 * 1024];
    alignas(1024) std::uint8_t output[kOutputBytes];
    // The hidden units lie where partial sums have come before, and behind them the activations of other products.
    union {
      alignas(1024) std::uint16_t hidden[kManyMostRows * Contract::kSlice];
      struct {
        alignas(1024) std::uint8_t rounded_in[kRoundedBytes];
        std::uint16_t x[kManyMostRows * Input::kSlice];
      };
    };
    alignas(128) std::uint8_t rounded_out[kRoundedBytes + kManyRanks * 16];
    alignas(128) std::uint8_t added_in[kAddedBytes];
    union {
      alignas(128) std::uint8_t added_out[kAddedBytes + kManyRanks * 16];
      Attention attention;
    };
    [[no_unique_address]] std::conditional_t<Memory, MemoryWeights, Nothing> memory;
    float norms[kManyMostRows][2];  // mean, 1 / deviation
    std::uint64_t gates[7];
  };
};

}  // namespace attend::cuda
