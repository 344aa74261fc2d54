// The plan of a step of many rows (attend/cuda/decode/many_rows_plan.h): everything is done once, and fits.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "attend/base/dtype.h"
#include "attend/base/random.h"
#include "attend/cuda/decode/many_rows_plan.h"

namespace attend::test::many_rows {
namespace {

using LargeShape = cuda::ManyShape<768, 12, 3072>;
using SmallShape = cuda::ManyShape<256, 4, 1024>;
using BaseReader = cuda::ManyShape<512, 8, 2048, true>;
using SmallReader = cuda::ManyShape<256, 4, 1024, true>;

// Numbers 0 to size - 1, each once.
class Once {
 public:
  explicit Once(std::int64_t size) : seen_(static_cast<std::size_t>(size)) {}
  void add(std::int64_t i) {
    good_ = good_ && i >= 0 && i < static_cast<std::int64_t>(seen_.size()) && !seen_[static_cast<std::size_t>(i)];
    if (good_) seen_[static_cast<std::size_t>(i)] = true, ++count_;
  }
  bool all() const { return good_ && count_ == seen_.size(); }

 private:
  std::vector<bool> seen_;
  std::size_t count_ = 0;
  bool good_ = true;
};

template <class P, int Tiles>
void expect_whole_messages() {
  using Sums = cuda::ManySums<P, Tiles>;
  for (int i = 0; i < Tiles; ++i)
    for (int j = 0; j < P::kColumns; ++j)
      EXPECT_EQ(Sums::received_at(3, i, j) - Sums::received_at(3, 0, 0), (i * P::kColumns + j) * Sums::kBytes);
  EXPECT_LE(cuda::kManyRanks * Sums::of_rows(Tiles),
            P::kAdded ? int{LargeShape::kAddedBytes} : int{LargeShape::kRoundedBytes});
  EXPECT_EQ(Sums::of_rows(1) % 16, 0);
  if constexpr (cuda::many_tiles(Tiles)) {
    // What is sent to a rank is one piece that goes 16 bytes at a time, and so is what comes from one.
    for (int rank = 0; rank < cuda::kManyRanks; ++rank) {
      EXPECT_EQ(Sums::sent_at(rank, 0, 0) % 16, 0);
      EXPECT_EQ(Sums::received_at(rank, 0, 0) % 16, 0);
      EXPECT_GE(Sums::sent_at(rank, 0, 0), rank == 0 ? 0 : Sums::sent_at(rank - 1, 0, 0) + Sums::of_rows(Tiles));
    }
    for (int i = 0; i < Tiles; ++i)
      for (int j = 0; j < P::kColumns; ++j)
        EXPECT_EQ(Sums::sent_at(3, i, j) - Sums::sent_at(3, 0, 0), (i * P::kColumns + j) * Sums::kBytes);
    // A warp's stores of sums use all banks.
    Once banks(32);
    for (int lane = 0; lane < 32; ++lane) banks.add(Sums::sent_at(lane / 4, 0, cuda::sum_column(lane, 0)) / 4 % 32);
    EXPECT_TRUE(banks.all());
  }
}

template <class P>
void expect_whole_sums() {
  using Warps = cuda::ManyWarps<P>;
  using Groups = cuda::ManyGroups<P>;
  Once by_warps(16 * P::kColumns), by_groups(64 * P::kColumns);
  for (int lane = 0; lane < 32; ++lane)
    for (int e = 0; e < 4; ++e) {
      for (int warp = 0; warp < Warps::kWarps; ++warp)
        for (int j = 0; j < Warps::kColumns; ++j)
          by_warps.add(cuda::sum_row(lane, e) * P::kColumns + Warps::column_tile(warp, j) * 8 +
                       cuda::sum_column(lane, e));
      for (int warp = 0; warp < Groups::kGroups * 4; ++warp)
        for (int j = 0; j < Groups::kColumns / 8; ++j)
          by_groups.add((warp % 4 * 16 + cuda::sum_row(lane, e)) * P::kColumns + warp / 4 * Groups::kColumns + j * 8 +
                        cuda::sum_column(lane, e));
      EXPECT_EQ(cuda::sum_row(lane, e) % 8, lane / 4) << "all rows of a lane are those of one rank";
    }
  EXPECT_TRUE(by_warps.all()) << P::kColumns;
  EXPECT_TRUE(by_groups.all()) << P::kColumns;
  expect_whole_messages<P, 1>();
  expect_whole_messages<P, 2>();
  expect_whole_messages<P, 4>();
  expect_whole_messages<P, 8>();
}

template <class P>
void expect_whole_product(int clusters) {
  Once matrix(std::int64_t{P::kN} * P::kK), weights(P::kColumns * P::kSlice), x(P::kSlice * cuda::kManyMostRows);
  for (int cluster = 0; cluster < clusters; ++cluster)
    for (int rank = 0; rank < cuda::kManyRanks; ++rank)
      for (int j = 0; j < P::kColumns; ++j)
        for (int k = 0; k < P::kSlice; ++k)
          matrix.add(std::int64_t{P::column(cluster, j)} * P::kK + P::summed(rank, k));
  for (int k = 0; k < P::kSlice; ++k) {
    for (int j = 0; j < P::kColumns; ++j) weights.add(P::weight_at(j, k));
    for (int row = 0; row < cuda::kManyMostRows; ++row) x.add(P::x_at(row, k));
  }
  EXPECT_TRUE(matrix.all());
  EXPECT_TRUE(weights.all());
  EXPECT_TRUE(x.all());
  // A lane's 16 bytes of a block are 8 neighbours of its row, and a warp's use each bank four times.
  for (int lane = 0; lane < 32; ++lane)
    for (int e = 0; e < 8; ++e) {
      EXPECT_EQ(P::weight_at(8 + lane / 4, lane % 4 * 8 + e), P::weight_at(8, 0) + cuda::lane_in_block(lane) * 8 + e);
      EXPECT_EQ(P::x_at(8 + lane / 4, lane % 4 * 8 + e), P::x_at(8, 0) + cuda::lane_in_block(lane) * 8 + e);
    }
  for (int lane = 0; lane < 32; lane += 8) {
    Once chunks(8);
    for (int i = 0; i < 8; ++i) chunks.add(cuda::lane_in_block(lane + i) % 8);
    EXPECT_TRUE(chunks.all());
  }
  // A slice of the activations in memory is one piece in the order of shared memory.
  EXPECT_EQ(cuda::in_swizzled_blocks(0, P::summed(5, 0), cuda::kManyMostTiles),
            5 * P::kChunks * cuda::kManyMostTiles * cuda::kManyBlock);
  expect_whole_sums<P>();
}

template <class Shape>
void expect_whole_plan() {
  expect_whole_product<typename Shape::Input>(Shape::kClusters);
  expect_whole_product<typename Shape::Output>(Shape::kClusters);
  expect_whole_product<typename Shape::Expand>(Shape::kClusters);
  expect_whole_product<typename Shape::Contract>(Shape::kClusters);
  expect_whole_product<typename Shape::Query>(Shape::kClusters);
  EXPECT_LE(sizeof(typename Shape::Shared), std::size_t{cuda::kSharedOfBlock});
  // The hidden units may only take the place of what the product in front of them needs.
  using Shared = typename Shape::Shared;
  EXPECT_LE(offsetof(Shared, hidden) + sizeof(Shared::hidden), offsetof(Shared, rounded_out));
  EXPECT_LE(offsetof(Shared, x) + sizeof(Shared::x), offsetof(Shared, rounded_out));
  EXPECT_LE(sizeof(typename Shape::Attention), sizeof(Shared::added_out));
  for (int cluster = 0; cluster < Shape::kClusters; ++cluster)
    for (int j = 0; j < 3 * cuda::kManyHead; ++j)
      EXPECT_EQ(Shape::Input::column(cluster, j),
                j / cuda::kManyHead * Shape::kWidth + cluster * cuda::kManyHead + j % cuda::kManyHead);
}

template <int Tiles>
void expect_all_keys() {
  using Keys = cuda::ManyKeys<Tiles>;
  Once rows(Tiles);
  for (int warp = 0; warp < cuda::kManyWarps; warp += Keys::kWarpsOfRow) rows.add(Keys::row(warp));
  EXPECT_TRUE(rows.all());
  for (int length = 0; length < 300; ++length) {
    Once keys(length);
    for (int warp = 0; warp < Keys::kWarpsOfRow; ++warp)
      for (int step = 0; step < Keys::batches(length) * Keys::kAtOnce; ++step)
        for (int lane = 0; lane < 32; lane += 8)
          if (const int key = Keys::key(warp, step, lane); key < length) keys.add(key);
    ASSERT_TRUE(keys.all()) << length;
  }
}

TEST(ManyRowsPlan, EverythingOnce) {
  expect_whole_plan<LargeShape>();
  expect_whole_plan<SmallShape>();
  expect_whole_plan<BaseReader>();
  expect_whole_plan<SmallReader>();
  EXPECT_LE(LargeShape::kBlocks, 132) << "one block per multiprocessor";
  for (int rows = 1; rows <= cuda::kManyMostRows; ++rows) {
    Once dealt(rows);
    for (int rank = 0; rank < cuda::kManyRanks; ++rank)
      for (int i = 0; i < cuda::dealt_rows(rank, rows); ++i) dealt.add(cuda::dealt_row(rank, i));
    ASSERT_TRUE(dealt.all()) << rows;
  }
  expect_all_keys<1>();
  expect_all_keys<2>();
  expect_all_keys<4>();
  expect_all_keys<8>();
}

TEST(ManyRowsPlan, MarksAreTheNearestNumbers) {
  EXPECT_NE(cuda::mark_of_layer(0), cuda::mark_of_layer(1));
  double bias = 0, count = 0;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const std::uint32_t bits = random_word(3, 1, i);
    const float x = std::bit_cast<float>(bits);
    for (const std::uint32_t mark : {0u, 1u}) {
      const std::uint32_t half = cuda::marked_bf16(bits, mark);
      EXPECT_EQ(half & 1u, mark);
      EXPECT_EQ(half >> 16, 0u);
      EXPECT_EQ(cuda::marked(bits, mark) & 1u, mark);
      Bf16 stored;
      stored.bits = static_cast<std::uint16_t>(half);
      const float y = stored;
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(y));
      } else if (std::isfinite(x) && std::abs(x) < 3e38f) {
        EXPECT_LE(std::abs(double{x} - double{y}), std::abs(double{x}) / 128 + 2e-40) << "one last bit";
        bias += (double{y} - double{x}) / std::max(std::abs(double{x}), 1e-30), ++count;
      }
    }
  }
  EXPECT_LT(std::abs(bias / count), 1e-4) << "neither up nor down";
}

}  // namespace
}  // namespace attend::test::many_rows
