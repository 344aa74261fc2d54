// Partial products in the kernel of many rows (many_rows_kernel.cuh), and their exchange inside a cluster: every rank
// sends each other its rows of the sums, and gates count the bytes.
#pragma once

#include <bit>
#include <cstdint>

#include "attend/cuda/decode/many_rows_messages.cuh"
#include "attend/cuda/decode/many_rows_products.cuh"

namespace attend::cuda {

template <class Shape, int Tiles, class Machine, class Stamps>
class ManyRowsExchange : public ManyRowsMessages<Shape, Tiles, Machine, Stamps> {
  using Base = ManyRowsMessages<Shape, Tiles, Machine, Stamps>;
  template <class P>
  using Sums = ManySums<P, Tiles>;

 public:
  using Base::Base;

 protected:
  using Base::kMany, Base::lane, Base::warp, Base::p_, Base::s_, Base::thread_, Base::rank_, Base::mine_;
  using typename Base::Gate;

  // The partial product of all rows, each to its owner. Behind it the weights may be replaced.
  template <class P>
  __device__ void multiply(P, const std::uint16_t* x, const std::uint8_t* weights) {
    if constexpr (kMany) {
      std::uint8_t* out = P::kAdded ? s_.added_out : s_.rounded_out;
      multiply_by_groups<P, Tiles, Machine>(x, weights, warp(), lane(), [&](int i, int column, float a, float b) {
        *reinterpret_cast<std::uint32_t*>(out + Sums<P>::sent_at(lane() / 4, i, column)) = Machine::pack(a, b);
      });
      expect_sums<P>();
      constexpr int kOfRank = Sums<P>::of_rows(Tiles) / 16;
      ATTEND_UNROLLED
      for (int i = 0; i < (kManyRanks * kOfRank + kManyThreads - 1) / kManyThreads; ++i) {
        const int unit = thread_ + i * kManyThreads, rank = unit / kOfRank, at = unit % kOfRank * 16;
        if (rank < kManyRanks && at < Sums<P>::of_rows(dealt_rows(rank, p_.rows)))
          Machine::send(received<P>() + Sums<P>::received_at(rank_, 0, 0) + at,
                        *reinterpret_cast<const Words*>(out + Sums<P>::sent_at(rank, 0, 0) + at),
                        s_.gates[gate_of<P>()], rank);
      }
    } else {
      multiply_by_warps<P, Tiles, Machine>(x, weights, warp(), lane(), [&](int i, int column, float a, float b) {
        const int to = lane() / 4;
        if (dealt_row(to, i) >= p_.rows) return;
        std::uint8_t* at = received<P>() + Sums<P>::received_at(rank_, i, column);
        std::uint64_t& gate = s_.gates[gate_of<P>()];
        if constexpr (Sums<P>::kShort)
          Machine::send(at, Machine::pack(a, b), gate, to);
        else
          Machine::send(at, Pair{std::bit_cast<std::uint32_t>(a), std::bit_cast<std::uint32_t>(b)}, gate, to);
      });
      expect_sums<P>();
    }
  }

  // Four columns of a row of this rank from a product that is rounded: the sums of all ranks and the bias.
  template <class P>
  struct FourOf {
    static constexpr int kOfRow = P::kColumns / 4;
    static_assert(kManyMostTiles * kOfRow <= kManyThreads);
    int i, column;
    float x[4] = {};
  };
  template <class P>
  __device__ FourOf<P> take_bias(P, const float* bias) const {
    FourOf<P> four{.i = thread_ / FourOf<P>::kOfRow, .column = thread_ % FourOf<P>::kOfRow * 4};
    const Words bits = *reinterpret_cast<const Words*>(bias + four.column);
    four.x[0] = std::bit_cast<float>(bits.x), four.x[1] = std::bit_cast<float>(bits.y);
    four.x[2] = std::bit_cast<float>(bits.z), four.x[3] = std::bit_cast<float>(bits.w);
    return four;
  }
  template <class P>
  __device__ void join(FourOf<P>& four) {
    add_parts(P{}, s_.rounded_in, four.i, four.column, four.x);
  }
  // x += four columns of row number i from all ranks.
  template <class P>
  __device__ static void add_parts(P, const std::uint8_t* in, int i, int column, float (&x)[4]) {
    if constexpr (Sums<P>::kShort) {
      Pair parts[kManyRanks];
      ATTEND_UNROLLED
      for (int k = 0; k < kManyRanks; ++k)
        parts[k] = *reinterpret_cast<const Pair*>(in + Sums<P>::received_at(k, i, column));
      ATTEND_UNROLLED
      for (int k = 0; k < kManyRanks; ++k) {
        x[0] += std::bit_cast<float>(parts[k].x << 16), x[1] += std::bit_cast<float>(parts[k].x & 0xffff0000u);
        x[2] += std::bit_cast<float>(parts[k].y << 16), x[3] += std::bit_cast<float>(parts[k].y & 0xffff0000u);
      }
    } else {
      Floats parts[kManyRanks];
      ATTEND_UNROLLED
      for (int k = 0; k < kManyRanks; ++k)
        parts[k] = *reinterpret_cast<const Floats*>(in + Sums<P>::received_at(k, i, column));
      ATTEND_UNROLLED
      for (int k = 0; k < kManyRanks; ++k)
        x[0] += parts[k].x, x[1] += parts[k].y, x[2] += parts[k].z, x[3] += parts[k].w;
    }
  }

 private:
  template <class P>
  __device__ void expect_sums() {
    Machine::sync();
    if (thread_ == 0 && mine_ > 0) Machine::expect(s_.gates[gate_of<P>()], kManyRanks * Sums<P>::of_rows(mine_));
  }
  template <class P>
  static constexpr int gate_of() {
    return P::kAdded ? Gate::kAdded : Gate::kRounded;
  }
  template <class P>
  __device__ std::uint8_t* received() {
    return P::kAdded ? s_.added_in : s_.rounded_in;
  }
};

}  // namespace attend::cuda
