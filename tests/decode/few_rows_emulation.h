// The kernel of attend/cuda/decode/few_rows_kernel.cuh on the CPU, in f32, from the same plan: what a block does
// between two barriers is a loop over blocks here. It shows that the parts fit together; rounding, races and time it
// cannot show.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "attend/cuda/decode/few_rows_plan.h"

namespace attend::test {

// What a layer multiplies by, [in, out], f32.
struct EmulatedLayer {
  std::vector<float> norm1_weight, norm1_bias, input, input_bias, output, output_bias;
  std::vector<float> norm2_weight, norm2_bias, expand, expand_bias, contract, contract_bias;
};

// mma.sync.m16n8k16: what each lane holds of a [16, 16] (row, k), b [16, 8] (k, column) and c [16, 8], by the manual of
// PTX.
struct LaneOperands {
  float a[8] = {}, b[4] = {}, c[4] = {};
};
inline void emulate_mma(LaneOperands (&lanes)[32]) {
  float a[16][16], b[8][16];
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const std::size_t g = lane / 4, t = lane % 4;
    for (std::size_t i = 0; i < 8; ++i) a[g + (i / 2 % 2) * 8][2 * t + i % 2 + (i / 4) * 8] = lanes[lane].a[i];
    for (std::size_t i = 0; i < 4; ++i) b[g][2 * t + i % 2 + (i / 2) * 8] = lanes[lane].b[i];
  }
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t row = lane / 4 + (i / 2) * 8, column = lane % 4 * 2 + i % 2;
      float sum = 0;
      for (std::size_t k = 0; k < 16; ++k) sum += a[row][k] * b[column][k];
      lanes[lane].c[i] += sum;
    }
}

template <class Shape, class Activation>
class FewRowsEmulation {
 public:
  using Input = typename Shape::Input;
  using Output = typename Shape::Output;
  using Expand = typename Shape::Expand;
  using Contract = typename Shape::Contract;
  static constexpr int C = Shape::kWidth, F = Shape::kHidden, S = Shape::kOwned, D = cuda::kFewHead;

  FewRowsEmulation(std::vector<EmulatedLayer> layers, float eps, std::int64_t capacity, Activation activation)
      : eps_(eps),
        capacity_(capacity),
        activation_(activation),
        layers_(std::move(layers)),
        blocks_(Shape::kBlocks),
        caches_(layers_.size(), std::vector<float>(static_cast<std::size_t>(cuda::kFewMostRows * capacity * 2 * C))),
        stream_(cuda::kFewMostRows * C),
        moments_(cuda::kFewMostRows * Shape::kClusters * 2),
        queries_(cuda::kFewMostRows * C),
        mixed_(cuda::kFewMostRows * C),
        hidden_(cuda::kFewMostRows * F) {
    for (const EmulatedLayer& w : layers_)
      packed_.push_back(
          {pack<Input>(w.input), pack<Output>(w.output), pack<Expand>(w.expand), pack<Contract>(w.contract)});
  }

  // x [rows, C] -> what the layers make of it, before the last norm. Row r is at position lengths[r] - 1.
  std::vector<float> step(const std::vector<float>& x, const std::vector<int>& lengths) {
    rows_ = static_cast<int>(lengths.size()), lengths_ = lengths;
    for_each_block([&](Block& block) {
      for (int group = 0; group < groups(); ++group)
        for (int i = 0; i < S * 8; ++i) {
          const int row = own_row(block, group) + i / S;
          block.own[group][i % S][i / S] = row < rows_ ? x[at(row * C + block.cluster * S + i % S)] : 0.0f;
        }
      for (int group = 0; group < groups(); ++group) publish(block, group);
    });
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      const EmulatedLayer& w = layers_[layer];
      for (int group = 0; group < groups(); ++group) {
        multiply<Input>(group, packed_[layer][0], &w.norm1_weight, &w.norm1_bias, {});
        project(group, layer);
      }
      attend(layer);
      for (int group = 0; group < groups(); ++group) {
        multiply<Output>(group, packed_[layer][1], nullptr, nullptr, mixed_);
        add_to_stream<Output>(group, w.output_bias);
      }
      for (int group = 0; group < groups(); ++group) {
        multiply<Expand>(group, packed_[layer][2], &w.norm2_weight, &w.norm2_bias, {});
        expand(group, w.expand_bias);
      }
      for (int group = 0; group < groups(); ++group) {
        multiply<Contract>(group, packed_[layer][3], nullptr, nullptr, hidden_);
        add_to_stream<Contract>(group, w.contract_bias);
      }
    }
    return {stream_.begin(), stream_.begin() + rows_ * C};
  }

 private:
  struct Block {
    int cluster = 0, rank = 0;
    std::vector<float> x, partials;
    float own[cuda::kFewGroups][S][8] = {};
  };
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  template <class Body>
  void for_each_block(Body&& body) {
    for (int i = 0; i < Shape::kBlocks; ++i) {
      Block& block = blocks_[at(i)];
      block.cluster = i / cuda::kFewRanks, block.rank = i % cuda::kFewRanks;
      body(block);
    }
  }
  const Block& rank_of(const Block& block, int rank) const {
    return blocks_[at(block.cluster * cuda::kFewRanks + rank)];
  }
  int groups() const { return (rows_ + cuda::kFewGroupRows - 1) / cuda::kFewGroupRows; }
  int tiles_of(int group) const { return std::min((rows_ - group * cuda::kFewGroupRows + 7) / 8, cuda::kFewTiles); }
  static int own_row(const Block& block, int group) { return group * cuda::kFewGroupRows + block.rank * 8; }

  // The weights of all blocks in the order in which they read them.
  template <class P>
  static std::vector<std::vector<float>> pack(const std::vector<float>& matrix) {
    std::vector<std::vector<float>> all;
    for (int i = 0; i < Shape::kBlocks; ++i) {
      std::vector<float> block(at(P::kColumns * P::kSlice));
      for (int k = 0; k < P::kSlice; ++k)
        for (int j = 0; j < P::kColumns; ++j)
          block[at(P::weight_at(j, k))] =
              matrix[at(std::int64_t{P::summed(i % cuda::kFewRanks, k)} * P::kN + P::column(i / cuda::kFewRanks, j))];
      all.push_back(std::move(block));
    }
    return all;
  }

  void publish(const Block& block, int group) {
    for (int i = 0; i < 8; ++i) {
      const int row = own_row(block, group) + i;
      if (row >= rows_) return;
      float mean = 0, squares = 0;
      for (int column = 0; column < S; ++column) {
        const float x = block.own[group][column][i];
        stream_[at(row * C + block.cluster * S + column)] = x;
        mean += x / S;
      }
      for (int column = 0; column < S; ++column)
        squares += (block.own[group][column][i] - mean) * (block.own[group][column][i] - mean);
      moments_[at((row * Shape::kClusters + block.cluster) * 2)] = mean;
      moments_[at((row * Shape::kClusters + block.cluster) * 2 + 1)] = squares;
    }
  }
  std::array<float, 2> norm_of(int row) const {
    const float* parts = moments_.data() + row * Shape::kClusters * 2;
    float mean = 0, squares = 0;
    for (int i = 0; i < Shape::kClusters; ++i) mean += parts[2 * i] / Shape::kClusters;
    for (int i = 0; i < Shape::kClusters; ++i)
      squares += parts[2 * i + 1] + S * (parts[2 * i] - mean) * (parts[2 * i] - mean);
    return {mean, 1 / std::sqrt(squares / C + eps_)};
  }

  // Every block's slice of a group's rows, normed or as it lies in memory, and its partial product.
  template <class P>
  void multiply(int group, const std::vector<std::vector<float>>& weights, const std::vector<float>* norm_weight,
                const std::vector<float>* norm_bias, const std::vector<float>& from) {
    for_each_block([&](Block& block) {
      // Blocks that nobody fills are not numbers: nothing may depend on them.
      block.x.assign(at(P::kSlice * cuda::kFewGroupRows), std::numeric_limits<float>::quiet_NaN());
      block.partials.assign(at(P::kPartials), std::numeric_limits<float>::quiet_NaN());
      for (int i = 0; i < tiles_of(group) * 8; ++i) {
        const int row = group * cuda::kFewGroupRows + i;
        for (int k = 0; k < P::kSlice; ++k) {
          const int column = P::summed(block.rank, k);
          float& to = block.x[at(P::x_at(i, k))];
          if (!norm_weight) {
            // A rank's slice of a group is one piece of memory, in the order of shared memory.
            to = from[at(cuda::activation_at(group * cuda::kFewGroupRows, P::summed(block.rank, 0), P::kK)) +
                      at(P::x_at(i, k))];
          } else if (row < rows_) {
            const auto [mean, scale] = norm_of(row);
            to = (stream_[at(row * C + column)] - mean) * scale * (*norm_weight)[at(column)] + (*norm_bias)[at(column)];
          } else {
            to = 0;
          }
        }
      }
      const std::vector<float>& w = weights[at(block.cluster * cuda::kFewRanks + block.rank)];
      for (int warp = 0; warp < cuda::kFewWarps; ++warp) {
        if (P::row_tile_of(warp, 0) >= tiles_of(group)) continue;
        for (int i = 0; i < P::kEach; ++i)
          for (int j = 0; j < 2; ++j) multiply_tile<P>(block, w, P::tile_of(warp, i), P::row_tile_of(warp, j));
      }
    });
  }
  template <class P>
  static void multiply_tile(Block& block, const std::vector<float>& w, int tile, int row_tile) {
    LaneOperands lanes[32];
    for (int chunk = 0; chunk < P::kChunks; ++chunk)
      for (std::size_t half = 0; half < 2; ++half) {  // multiply_chunk: the first and the second four of a lane's eight
        for (std::size_t lane = 0; lane < 32; ++lane) {
          const float* low = w.data() + P::weight_at(tile * 16, chunk * 32) + lane * 8 + half * 4;
          const float* high = w.data() + P::weight_at(tile * 16 + 8, chunk * 32) + lane * 8 + half * 4;
          const float* x = block.x.data() + P::x_at(row_tile * 8, chunk * 32) + lane * 8 + half * 4;
          LaneOperands& to = lanes[lane];
          to.a[0] = low[0], to.a[1] = low[1], to.a[2] = high[0], to.a[3] = high[1];
          to.a[4] = low[2], to.a[5] = low[3], to.a[6] = high[2], to.a[7] = high[3];
          std::copy_n(x, 4, to.b);
        }
        emulate_mma(lanes);
      }
    for (int lane = 0; lane < 32; ++lane)
      for (int e = 0; e < 4; ++e)
        block.partials[at(P::partial_at(row_tile, tile * 16 + cuda::accumulator_column(lane, e),
                                        cuda::accumulator_row(lane, e)))] = lanes[lane].c[e];
  }
  // What all ranks found of this rank's row tile: take(column of the cluster, row, sum).
  template <class P, class Take>
  void join_ranks(Block& block, int group, Take&& take) {
    if (block.rank >= tiles_of(group)) return;
    for (int j = 0; j < P::kColumns; ++j)
      for (int i = 0; i < 8; ++i) {
        float sum = 0;
        for (int rank = 0; rank < cuda::kFewRanks; ++rank)
          sum += rank_of(block, rank).partials[at(P::partial_at(block.rank, j, i))];
        if (own_row(block, group) + i < rows_) take(j, i, sum);
      }
  }

  void project(int group, std::size_t layer) {
    for_each_block([&](Block& block) {
      join_ranks<Input>(block, group, [&](int j, int i, float sum) {
        const int row = own_row(block, group) + i, column = Input::column(block.cluster, j);
        const float x = sum + layers_[layer].input_bias[at(column)];
        if (column < C)
          queries_[at(row * C + column)] = x;
        else
          caches_[layer][at((row * capacity_ + lengths_[at(row)] - 1) * 2 * C + column - C)] = x;
      });
    });
  }
  // Each rank's part of the keys of all rows, then what rank row % 8 makes of all parts.
  void attend(std::size_t layer) {
    for_each_block([&](Block& block) {
      block.partials.assign(at(Shape::kPartials), std::numeric_limits<float>::quiet_NaN());
      for (int row = 0; row < rows_; ++row) {
        const int length = lengths_[at(row)], each = cuda::keys_of_rank(length);
        const int begin = std::min(block.rank * each, length), end = std::min(begin + each, length);
        float maximum = -std::numeric_limits<float>::infinity(), sum = 0;
        std::vector<float> scores, o(D);
        for (int key = begin; key < end; ++key) {
          const float* k = caches_[layer].data() + (row * capacity_ + key) * 2 * C + block.cluster * D;
          float score = 0;
          for (int d = 0; d < D; ++d) score += queries_[at(row * C + block.cluster * D + d)] * k[d] * 0.125f;
          scores.push_back(score), maximum = std::max(maximum, score);
        }
        for (int key = begin; key < end; ++key) {
          const float weight = std::exp(scores[at(key - begin)] - maximum);
          sum += weight;
          for (int d = 0; d < D; ++d)
            o[at(d)] += weight * caches_[layer][at((row * capacity_ + key) * 2 * C + C + block.cluster * D + d)];
        }
        for (int d = 0; d < D; ++d) block.partials[at(Shape::found_at(row, d))] = o[at(d)];
        block.partials[at(Shape::maximum_at(row))] = maximum, block.partials[at(Shape::maximum_at(row) + 1)] = sum;
      }
    });
    for_each_block([&](Block& block) {
      for (int i = 0; i < cuda::joined_rows(block.rank, rows_) * D; ++i) {
        const int row = cuda::joined_row(block.rank, i / D), d = i % D;
        float top = -std::numeric_limits<float>::infinity(), sum = 0, x = 0;
        for (int k = 0; k < cuda::kFewRanks; ++k)
          top = std::max(top, rank_of(block, k).partials[at(Shape::maximum_at(row))]);
        for (int k = 0; k < cuda::kFewRanks; ++k) {
          const std::vector<float>& found = rank_of(block, k).partials;
          const float weight = std::exp(found[at(Shape::maximum_at(row))] - top);
          sum += weight * found[at(Shape::maximum_at(row) + 1)], x += weight * found[at(Shape::found_at(row, d))];
        }
        mixed_[at(cuda::activation_at(row, block.cluster * D + d, C))] = x / sum;
      }
    });
  }
  template <class P>
  void add_to_stream(int group, const std::vector<float>& bias) {
    for_each_block([&](Block& block) {
      join_ranks<P>(block, group, [&](int j, int i, float sum) {
        block.own[group][j][i] += sum + bias[at(P::column(block.cluster, j))];
      });
    });
    for_each_block([&](Block& block) {
      if (block.rank < tiles_of(group)) publish(block, group);
    });
  }
  void expand(int group, const std::vector<float>& bias) {
    for_each_block([&](Block& block) {
      join_ranks<Expand>(block, group, [&](int j, int i, float sum) {
        const int column = Expand::column(block.cluster, j);
        hidden_[at(cuda::activation_at(own_row(block, group) + i, column, F))] = activation_(sum + bias[at(column)]);
      });
    });
  }

  float eps_;
  std::int64_t capacity_;
  Activation activation_;
  std::vector<EmulatedLayer> layers_;
  std::vector<std::array<std::vector<std::vector<float>>, 4>> packed_;  // [layer][phase][block]
  std::vector<Block> blocks_;
  std::vector<std::vector<float>> caches_;  // [layer][rows, capacity, 2C]
  std::vector<float> stream_, moments_, queries_, mixed_, hidden_;
  int rows_ = 0;
  std::vector<int> lengths_;
};

}  // namespace attend::test
