// Attention in the kernel of many rows (many_rows_kernel.cuh): a cluster has a head, and each rank attends for its
// rows, to their keys in the cache and to a memory.
#pragma once

#include <cmath>
#include <cstdint>

#include "attend/cuda/decode/many_rows_attention.cuh"
#include "attend/cuda/decode/many_rows_exchange.cuh"

namespace attend::cuda {

template <class Shape, int Tiles, class Machine, class Stamps>
class ManyRowsHeads : public ManyRowsExchange<Shape, Tiles, Machine, Stamps> {
  using Base = ManyRowsExchange<Shape, Tiles, Machine, Stamps>;
  using Moment = StepMoment;
  using Input = typename Shape::Input;
  using Query = typename Shape::Query;

 public:
  using Base::Base;

 protected:
  using Base::C, Base::D, Base::lane, Base::warp, Base::own_number, Base::own_row, Base::own_column, Base::owns;
  using Base::forget_addresses, Base::note, Base::wait, Base::orders, Base::fetch, Base::fetch_query;
  using Base::mixed_for, Base::block_at, Base::write_four, Base::read_normed;
  using Base::multiply, Base::take_bias, Base::join;
  using Base::p_, Base::s_, Base::thread_, Base::rank_, Base::cluster_, Base::mine_;
  using typename Base::Gate, typename Base::Stream;

  // What stays the same from layer to layer.
  __device__ void begin_heads() {
    if (const int i = ManyKeys<Tiles>::row(warp()); i < mine_) {
      const int row = dealt_row(rank_, i);
      old_keys_ = p_.lengths[row] - 1;
      if constexpr (Shape::kMemory)
        memory_keys_ = p_.memory_lengths ? p_.memory_lengths[row / p_.group] : p_.memory_room;
    }
    if (const int i = thread_ / (Input::kColumns / 4); i < mine_) slot_ = p_.slots[dealt_row(rank_, i)];
  }
  // The first keys and values of a row, whole positions: all heads lie beside each other. An eighth of a row at a time,
  // by one warp of all blocks in turn.
  __device__ void plan_keys_ahead() {
    const int first = thread_ - (kManyRanks + 1) * 32, i = Machine::block() + first * Shape::kBlocks;
    static_assert(32 * Shape::kBlocks >= kManyMostRows * kManyRanks);
    if (first < 0 || first >= 32 || i >= p_.rows * kManyRanks) return;
    const int row = i / kManyRanks, length = p_.lengths[row] - 1;
    const int keys = length < p_.keys_ahead ? length : p_.keys_ahead, each = (keys + kManyRanks - 1) / kManyRanks;
    const int begin = i % kManyRanks * each;
    ahead_from_ = (row * p_.capacity + begin) * 2 * C;
    ahead_keys_ = keys - begin < each ? keys - begin : each;
  }
  __device__ void fetch_keys_to_l2(int layer) const {
    if (ahead_keys_ > 0 && layer < p_.layers)
      Machine::fetch_to_l2(p_.caches[layer] + ahead_from_,
                           static_cast<std::uint32_t>(ahead_keys_) * 2 * C * sizeof(std::uint16_t));
  }

  // Queries, keys and values of this rank's rows, and their attention.
  __device__ void project(int layer) {
    forget_addresses();
    const std::uint8_t* weights = s_.slots[3 * layer % 2];
    const auto* floats = reinterpret_cast<const float*>(weights + Input::kWeightBytes);
    read_normed(Input{}, Stream::kBeforeLayer, Gate::kSlots + 3 * layer % 2, floats, layer, Moment::kInput);
    auto four = take_bias(Input{}, floats + 2 * Input::kSlice);
    multiply(Input{}, s_.x, weights);
    if (orders()) fetch(3 * layer + 2);
    note(layer, Moment::kInput, Moment::kMultiplied);
    if (p_.places)  // of beams
      attend_to_cache<true>(four, layer);
    else
      attend_to_cache<false>(four, layer);
    if (owns()) join_warps(Stream::kBehindAttention, layer);
    note(layer, Moment::kAttend, Moment::kDone);
    fetch_keys_to_l2(layer + 1);
  }
  // The newest key and value join the cache, and all are attended to. Table: it names the rows in which older ones lie.
  template <bool Table, class Four>
  __device__ void attend_to_cache(Four& four, int layer) {
    // Older keys are loaded while the partial sums are on their way.
    std::uint16_t* cache = p_.caches[layer];
    const int number = ManyKeys<Tiles>::row(warp());
    ManyAttention<Tiles, Machine, Table> attention({.first = cache + cluster_ * D + lane() % 8 * 8,
                                                    .value = C,
                                                    .next = 2 * C,
                                                    .room = static_cast<int>(p_.capacity),
                                                    .row = dealt_row(rank_, number),
                                                    .keys = old_keys_,
                                                    .table = p_.places},
                                                   warp(), lane());
    if (mine_ > 0) wait(Gate::kRounded);
    note(layer, Moment::kInput, Moment::kMet);
    if (four.i < mine_) {
      join(four);
      const Pair bits = {Machine::pack(four.x[0], four.x[1]), Machine::pack(four.x[2], four.x[3])};
      *reinterpret_cast<Pair*>(&s_.attention.projected[four.i][four.column]) = bits;
      if (four.column >= D)
        *reinterpret_cast<Pair*>(cache + std::int64_t{slot_} * 2 * C + Input::column(cluster_, four.column) - C) = bits;
    }
    Machine::sync();
    note(layer, Moment::kInput, Moment::kDone);
    if (number < mine_) {
      const auto* projected = reinterpret_cast<const Words*>(s_.attention.projected[number]) + lane() % 8;
      attention.attend(projected[0], projected[D / 8], projected[2 * D / 8]);
      keep(attention);
    }
    Machine::sync();
    note(layer, Moment::kAttend, Moment::kMultiplied);
  }
  // Queries of this rank's rows, and their attention to the memory.
  __device__ void attend_to_memory(int layer) {
    forget_addresses();
    const std::uint8_t* weights = s_.memory.query;
    const auto* floats = reinterpret_cast<const float*>(weights + Query::kWeightBytes);
    read_normed(Query{}, Stream::kBehindAttention, Gate::kQueryWeights, floats, layer, Moment::kQuery);
    auto four = take_bias(Query{}, floats + 2 * Query::kSlice);
    multiply(Query{}, s_.x, weights);
    if (orders()) fetch_query(layer + 1);
    note(layer, Moment::kQuery, Moment::kMultiplied);
    const int number = ManyKeys<Tiles>::row(warp());
    ManyAttention<Tiles, Machine, false> attention({.first = p_.memories[layer] + cluster_ * D + lane() % 8 * 8,
                                                    .value = C,
                                                    .next = 2 * C,
                                                    .room = p_.memory_room,
                                                    .row = dealt_row(rank_, number) / p_.group,
                                                    .keys = memory_keys_},
                                                   warp(), lane());
    if (mine_ > 0) wait(Gate::kRounded);
    note(layer, Moment::kQuery, Moment::kMet);
    if (four.i < mine_) {
      join(four);
      *reinterpret_cast<Pair*>(&s_.attention.projected[four.i][four.column]) = {Machine::pack(four.x[0], four.x[1]),
                                                                                Machine::pack(four.x[2], four.x[3])};
    }
    Machine::sync();
    note(layer, Moment::kQuery, Moment::kDone);
    if (number < mine_) {
      attention.attend(reinterpret_cast<const Words*>(s_.attention.projected[number])[lane() % 8]);
      keep(attention);
    }
    Machine::sync();
    note(layer, Moment::kMemory, Moment::kMultiplied);
    if (owns()) join_warps(Stream::kBehindMemory, layer);
    note(layer, Moment::kMemory, Moment::kDone);
  }

 private:
  // What a warp has found.
  template <bool Table>
  __device__ void keep(const ManyAttention<Tiles, Machine, Table>& attention) {
    if (lane() < 8) {
      auto* to = reinterpret_cast<Floats*>(&s_.attention.found[warp()][lane() * 8]);
      to[0] = {attention.o[0], attention.o[1], attention.o[2], attention.o[3]};
      to[1] = {attention.o[4], attention.o[5], attention.o[6], attention.o[7]};
    }
    if (lane() == 0)
      s_.attention.softmax[warp()][0] = attention.maximum, s_.attention.softmax[warp()][1] = attention.sum;
  }
  // Four columns of a row, from what its warps found.
  __device__ void join_warps(Stream behind, int layer) {
    constexpr int kWarpsOfRow = ManyKeys<Tiles>::kWarpsOfRow;
    const int first = own_number() * kWarpsOfRow, column = thread_ % 16 * 4;
    float top = -INFINITY, sum = 0, x[4] = {};
    ATTEND_UNROLLED
    for (int i = 0; i < kWarpsOfRow; ++i) top = fmaxf(top, s_.attention.softmax[first + i][0]);
    ATTEND_UNROLLED
    for (int i = 0; i < kWarpsOfRow; ++i) {
      const float weight = ManyAttention<Tiles, Machine, false>::weight_of(s_.attention.softmax[first + i][0], top);
      const Floats found = *reinterpret_cast<const Floats*>(&s_.attention.found[first + i][column]);
      sum += weight * s_.attention.softmax[first + i][1];
      x[0] += weight * found.x, x[1] += weight * found.y, x[2] += weight * found.z, x[3] += weight * found.w;
    }
    ATTEND_UNROLLED
    for (int e = 0; e < 4; ++e) x[e] = sum == 0 ? 0.0f : x[e] / sum;  // a memory may be empty
    write_four(mixed_for(behind) + block_at(own_row(), own_column()), x, mark_of_layer(layer));
  }

  int old_keys_ = 0, memory_keys_ = 0;  // of this warp's row
  int slot_ = 0;                        // of this thread's row of a joined product
  int ahead_keys_ = 0;                  // those that this thread fetches into the L2 cache
  std::int64_t ahead_from_ = 0;
};

}  // namespace attend::cuda
