// One token step of a decoder with up to 64 rows in one kernel: all layers, no launches in between. many_rows_plan.h
// says which block does what. A layer has four products, and each ends in two exchanges:
//   - inside of a cluster every rank sends the others their rows of its partial sums. A gate in the receiver's shared
//     memory counts their bytes.
//   - between clusters the owner of a row writes what became of the sum to memory: the stream with its moments, the
//     heads' attention, the hidden units. Numbers carry a mark (mark_of_layer), and readers wait for that of their
//     layer.
// Whoever writes to a place again has heard of all who read it: the moments in front of each norm come from every
// cluster, and a cluster's from all of its ranks. Between Input and Expand, Expand and Input, Output and Contract,
// Contract and Output there is such a norm, and places are used by no more than one of each. A decoder that reads a
// memory has two more products, and a norm on both sides of each: Input, Query, Expand receive their sums in one place,
// Output, MemoryOutput, Contract in another.
//
// The stream is f32, each part in the registers of its owner; others see it in bf16 if there are many rows. Readers
// join the moments of its parts by the formula of Chan et al. 1979. Weights are fetched into shared memory as soon as
// the product before the last one is done.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "attend/cuda/decode/many_rows_attention.cuh"
#include "attend/cuda/decode/many_rows_params.h"
#include "attend/cuda/decode/many_rows_plan.h"
#include "attend/cuda/decode/many_rows_products.cuh"

namespace attend::cuda {

// Tiles: of 8 rows, 1, 2, 4 or 8.
template <class Shape, int Tiles, class Machine, class Stamps>
class ManyRowsBlock {
 public:
  using Shared = typename Shape::Shared;
  using Input = typename Shape::Input;
  using Output = typename Shape::Output;
  using Expand = typename Shape::Expand;
  using Contract = typename Shape::Contract;
  using Query = typename Shape::Query;
  static constexpr int C = Shape::kWidth, D = kManyHead, kClusters = Shape::kClusters;
  static constexpr bool kMany = many_tiles(Tiles);
  template <class P>
  using Sums = ManySums<P, Tiles>;

  __device__ ManyRowsBlock(const ManyRowsParams& p, Shared& shared)
      : p_(p),
        s_(shared),
        thread_(Machine::thread()),
        rank_(Machine::block() % kManyRanks),
        cluster_(Machine::block() / kManyRanks),
        mine_(dealt_rows(rank_, p.rows)) {}

  __device__ void run() {
    Stamps::kernel(p_.stamps, Moment::kBeginClock, Moment::kBeginTime);
    begin();
    for (int layer = 0; layer < p_.layers; ++layer) {
      Stamps::moment(p_.stamps, layer, Moment::kStart);
      project(layer);
      add_attention(layer);
      if constexpr (Shape::kMemory) attend_to_memory(layer), add_memory(layer);
      expand(layer);
      add_hidden(layer);
    }
    Machine::let_next_kernel_start();
    finish();
    Stamps::kernel(p_.stamps, Moment::kEndClock, Moment::kEndTime);
  }

 private:
  using Moment = StepMoment;
  enum Gate { kSlots, kOutputWeights = 2, kQueryWeights, kMemoryOutputWeights, kRounded, kAdded, kGates };
  enum Stream { kBeforeLayer, kBehindAttention, kBehindMemory };
  __device__ int lane() const { return thread_ % 32; }
  __device__ int warp() const { return thread_ / 32; }
  // What follows works its addresses out again. Kept from layer to layer, they would fill all registers.
  __device__ void forget_addresses() {
    Machine::hide(thread_), Machine::hide(rank_), Machine::hide(cluster_);
    thread_ &= kManyThreads - 1, rank_ &= kManyRanks - 1;  // known before, too
  }
  __device__ void note(int layer, Moment::Phase phase, Moment::Step step) {
    Stamps::moment(p_.stamps, layer, Moment::of(phase, step));
  }

  __device__ void wait(int gate) {
    Machine::wait(s_.gates[gate], parities_ >> gate & 1);
    parities_ ^= 1u << gate;
  }
  // One thread orders this block's bytes of a product. Input, Expand and Contract of all layers take turns in two
  // slots.
  __device__ void fetch(int turn) {
    const int layer = turn / 3;
    if (layer >= p_.layers) return;
    const std::uint8_t* from = p_.packed + layer * Shape::kLayerBytes;
    std::uint8_t* to = s_.slots[turn % 2];
    if (turn % 3 == 0) return fetch_bytes<Shape::kInputBytes>(to, from + Shape::kInputAt, kSlots + turn % 2);
    if (turn % 3 == 1) return fetch_bytes<Shape::kExpandBytes>(to, from + Shape::kExpandAt, kSlots + turn % 2);
    fetch_bytes<Shape::kContractBytes>(to, from + Shape::kContractAt, kSlots + turn % 2);
  }
  __device__ void fetch_output(int layer) {
    if (layer < p_.layers)
      fetch_bytes<Shape::kOutputBytes>(s_.output, p_.packed + layer * Shape::kLayerBytes + Shape::kOutputAt,
                                       kOutputWeights);
  }
  __device__ void fetch_query(int layer) {
    if constexpr (Shape::kMemory)
      if (layer < p_.layers)
        fetch_bytes<Shape::kQueryBytes>(s_.memory.query, p_.packed + layer * Shape::kLayerBytes + Shape::kQueryAt,
                                        kQueryWeights);
  }
  __device__ void fetch_memory_output(int layer) {
    if constexpr (Shape::kMemory)
      if (layer < p_.layers)
        fetch_bytes<Shape::kOutputBytes>(
            s_.memory.output, p_.packed + layer * Shape::kLayerBytes + Shape::kMemoryOutputAt, kMemoryOutputWeights);
  }
  template <int kBytes>
  __device__ void fetch_bytes(std::uint8_t* to, const std::uint8_t* of_all, int gate) {
    Machine::expect(s_.gates[gate], kBytes);
    Machine::fetch(to, of_all + std::int64_t{kBytes} * Machine::block(), kBytes, s_.gates[gate]);
  }

  // All blocks. What this block wrote is there for whoever waits.
  __device__ void arrive() {
    Machine::sync();
    target_ += Shape::kBlocks;
    if (thread_ == 0) Machine::arrive_at(p_.arrivals);
  }
  __device__ void wait_for_all() {
    if (thread_ == 0)
      while (static_cast<std::int32_t>(Machine::arrivals_at(p_.arrivals) - target_) < 0) {
      }
    Machine::sync();
  }
  // Whether a message is of this layer: the last bits of all f32, or of the first bf16 of each half.
  static __device__ bool floats_are_new(const Words& x, std::uint32_t mark) {
    return (((x.x ^ mark) | (x.y ^ mark) | (x.z ^ mark) | (x.w ^ mark)) & 1u) == 0;
  }
  static __device__ bool halves_are_new(const Words& x, std::uint32_t mark) {
    return (((x.x ^ mark) | (x.z ^ mark)) & 1u) == 0;
  }

  // f32 row by row, or bf16 in swizzled blocks.
  __device__ float* stream_at(Stream which, int row, int column) const {
    return p_.stream + (static_cast<int>(which) * kManyMostRows + row) * C + column;
  }
  __device__ std::uint16_t* half_stream(Stream which) const {
    return reinterpret_cast<std::uint16_t*>(stream_at(which, 0, 0));
  }
  __device__ float* moments_at(Stream which, int row) const {
    return p_.moments + (static_cast<int>(which) * kManyMostRows + row) * kClusters * 2;
  }
  // What the attention in front of this stream has found.
  __device__ std::uint16_t* mixed_for(Stream behind) const {
    return p_.mixed + (static_cast<int>(behind) - kBehindAttention) * kManyMostRows * C;
  }
  __device__ static int block_at(int row, int column) { return in_swizzled_blocks(row, column, kManyMostTiles); }

  // Four columns of one of this rank's rows of the stream belong to each of the first 16 threads a row.
  static constexpr int kOwners = (Tiles * 16 + 31) / 32 * 32;
  static_assert(D == 64 && kOwners <= kManyThreads);
  __device__ int own_number() const { return thread_ / 16; }
  __device__ int own_row() const { return dealt_row(rank_, own_number()); }
  __device__ int own_column() const { return cluster_ * D + thread_ % 16 * 4; }
  __device__ bool owns() const { return thread_ < kOwners && own_number() < mine_; }

  __device__ void begin() {
    if (thread_ == 0) {
      for (int i = 0; i < kGates; ++i) Machine::init(s_.gates[i]);
      Machine::gates_are_ready();
      Machine::show_to_engines();
      fetch(0), fetch(1), fetch_output(0), fetch_query(0), fetch_memory_output(0);
    }
    Machine::wait_for_kernel_before();
    if (thread_ == 0) target_ = *static_cast<const volatile std::uint32_t*>(p_.before);
    if (const int i = ManyKeys<Tiles>::row(warp()); i < mine_) {
      const int row = dealt_row(rank_, i);
      old_keys_ = p_.lengths[row] - 1;
      if constexpr (Shape::kMemory)
        memory_keys_ = p_.memory_lengths ? p_.memory_lengths[row / p_.group] : p_.memory_room;
    }
    if (const int i = thread_ / (Input::kColumns / 4); i < mine_) slot_ = p_.slots[dealt_row(rank_, i)];
    if (owns()) {
      const Pair x = *reinterpret_cast<const Pair*>(p_.x + own_row() * C + own_column());
      own_[0] = std::bit_cast<float>(x.x << 16), own_[1] = std::bit_cast<float>(x.x & 0xffff0000u);
      own_[2] = std::bit_cast<float>(x.y << 16), own_[3] = std::bit_cast<float>(x.y & 0xffff0000u);
    }
    forget_messages();
    if (thread_ < kOwners) publish(kBeforeLayer, mark_of_layer(0));
    plan_keys_ahead();
    fetch_keys_to_l2(0);
    arrive();
    wait_for_all();
  }
  // What an earlier launch left does not look like a message of layer 0.
  __device__ void forget_messages() {
    constexpr Words kOld = {~0u, ~0u, ~0u, ~0u};
    static_assert(mark_of_layer(0) == 0);
    constexpr int kHidden = Expand::kColumns / 8, kMixed = D / 8, kStream = kMany ? D / 8 : D / 4;
    constexpr int kOfAttention = kMixed + kStream + 1, kOfRow = kHidden + Shape::kAttentions * kOfAttention;
    for (int at = thread_; at < mine_ * kOfRow; at += kManyThreads) {
      const int row = dealt_row(rank_, at / kOfRow), of_row = at % kOfRow - kHidden;
      if (of_row < 0) {
        Machine::store_message(p_.hidden + block_at(row, Expand::column(cluster_, (of_row + kHidden) * 8)), kOld);
        continue;
      }
      const auto behind = static_cast<Stream>(kBehindAttention + of_row / kOfAttention);
      const int i = of_row % kOfAttention;
      if (i < kMixed)
        Machine::store_message(mixed_for(behind) + block_at(row, cluster_ * D + i * 8), kOld);
      else if (kMany && i < kMixed + kStream)
        Machine::store_message(half_stream(behind) + block_at(row, cluster_ * D + (i - kMixed) * 8), kOld);
      else if (i < kMixed + kStream)
        Machine::store_message(stream_at(behind, row, cluster_ * D + (i - kMixed) * 4), kOld);
      else
        Machine::store_message(moments_at(behind, row) + cluster_ * 2, Pair{kOld.x, kOld.y});
    }
  }

  // This block's part of the stream and its moments, by its owners.
  __device__ void publish(Stream which, std::uint32_t mark) {
    if (owns() && kMany) {
      write_four(half_stream(which) + block_at(own_row(), own_column()), own_, mark);
    } else if (owns()) {
      Words x;
      x.x = marked(std::bit_cast<std::uint32_t>(own_[0]), mark),
      x.y = marked(std::bit_cast<std::uint32_t>(own_[1]), mark);
      x.z = marked(std::bit_cast<std::uint32_t>(own_[2]), mark),
      x.w = marked(std::bit_cast<std::uint32_t>(own_[3]), mark);
      Machine::store_message(stream_at(which, own_row(), own_column()), x);
    }
    float mean = own_[0] + own_[1] + own_[2] + own_[3], squares = 0;
    ATTEND_UNROLLED
    for (int step = 1; step < 16; step <<= 1) mean += Machine::shuffle_xor(mean, step);
    mean /= D;
    ATTEND_UNROLLED
    for (int e = 0; e < 4; ++e) squares += (own_[e] - mean) * (own_[e] - mean);
    ATTEND_UNROLLED
    for (int step = 1; step < 16; step <<= 1) squares += Machine::shuffle_xor(squares, step);
    if (owns() && thread_ % 16 == 0)
      Machine::store_message(
          moments_at(which, own_row()) + cluster_ * 2,
          Pair{marked(std::bit_cast<std::uint32_t>(mean), mark), marked(std::bit_cast<std::uint32_t>(squares), mark)});
  }

  // The moments of all parts of a row: two parts in 16 bytes.
  struct Moments {
    Words parts[kClusters / 2];
    float mean, scale;
  };
  __device__ void load_moments(Moments& of, const float* from) const {
    ATTEND_UNROLLED
    for (int i = 0; i < kClusters / 2; ++i) of.parts[i] = Machine::load_message(from + i * 4);
  }
  __device__ void wait_for_moments(Moments& of, const float* from, std::uint32_t mark) const {
    for (;;) {
      bool all = true;
      ATTEND_UNROLLED
      for (int i = 0; i < kClusters / 2; ++i) all = all && floats_are_new(of.parts[i], mark);
      if (all) break;
      load_moments(of, from);
    }
    float mean[kClusters], squares[kClusters];
    ATTEND_UNROLLED
    for (int i = 0; i < kClusters / 2; ++i) {
      mean[2 * i] = std::bit_cast<float>(of.parts[i].x), squares[2 * i] = std::bit_cast<float>(of.parts[i].y);
      mean[2 * i + 1] = std::bit_cast<float>(of.parts[i].z), squares[2 * i + 1] = std::bit_cast<float>(of.parts[i].w);
    }
    float whole = 0, sum = 0;
    ATTEND_UNROLLED
    for (int i = 0; i < kClusters; ++i) whole += mean[i];
    whole /= kClusters;
    ATTEND_UNROLLED
    for (int i = 0; i < kClusters; ++i) sum += squares[i] + D * (mean[i] - whole) * (mean[i] - whole);
    of.mean = whole, of.scale = Machine::root_reciprocal(sum / C + p_.eps);
  }

  // Asks for all pieces i for which reads(i), and waits until they are new. Threads with few pieces wait for the first
  // before they ask for the others, which will be new then. early: there is no need to.
  template <int kEach, class Reads, class Load, class New>
  __device__ static void wait_for_pieces(Words (&x)[kEach], bool early, Reads&& reads, Load&& load, New&& is_new) {
    if (reads(0)) {
      x[0] = load(0);
      if (!kMany && !early)
        while (!is_new(x[0])) x[0] = load(0);
    }
    ATTEND_UNROLLED
    for (int i = 1; i < kEach; ++i)
      if (reads(i)) x[i] = load(i);
    ATTEND_UNROLLED
    for (int i = 0; i < kEach; ++i)
      if (reads(i))
        while (!is_new(x[i])) x[i] = load(i);
  }
  // The last two warps join the moments of all rows. These are written behind the rest.
  __device__ bool joins_moments() const { return thread_ >= kManyThreads - kManyMostRows; }
  __device__ void wait_for_norms(Stream which, std::uint32_t mark) {
    const int row = thread_ - (kManyThreads - kManyMostRows);
    if (!joins_moments() || row >= p_.rows) return;
    Moments moments;
    load_moments(moments, moments_at(which, row));
    wait_for_moments(moments, moments_at(which, row), mark);
    s_.norms[row][0] = moments.mean, s_.norms[row][1] = moments.scale;
  }
  __device__ static std::uint32_t normed(float x0, float x1, const float* norm, const float* weight,
                                         const float* bias) {
    return Machine::pack((x0 - norm[0]) * norm[1] * weight[0] + bias[0],
                         (x1 - norm[0]) * norm[1] * weight[1] + bias[1]);
  }

  // The norm of this rank's slice of all rows, to shared memory. floats: the norm's weight and bias. A warp reads 32
  // columns of four rows of f32 at once, or a block of bf16.
  template <class P>
  __device__ void read_normed(Stream which, std::uint32_t mark, int gate, const float* floats, int layer,
                              Moment::Phase phase) {
    static_assert(P::kK == C);
    constexpr int kUnits = kMany ? Tiles * P::kChunks : Tiles * 2 * P::kChunks;
    constexpr int kEach = (kUnits + kManyWarps - 1) / kManyWarps;
    const auto row_of = [&](int i) {
      const int unit = warp() + i * kManyWarps;
      return kMany ? unit % Tiles * 8 + lane() / 4 : unit / P::kChunks * 4 + lane() / 8;
    };
    const auto k_of = [&](int i) {
      const int unit = warp() + i * kManyWarps;
      return kMany ? unit / Tiles * 32 + (lane() % 4 ^ lane() / 8) * 8 : unit % P::kChunks * 32 + lane() % 8 * 4;
    };
    const auto reads = [&](int i) { return warp() + i * kManyWarps < kUnits && row_of(i) < p_.rows; };
    const auto load = [&](int i) {
      const int row = row_of(i), k = P::summed(rank_, k_of(i));
      if constexpr (kMany) return Machine::load_message(half_stream(which) + block_at(row, k));
      return Machine::load_message(stream_at(which, row, k));
    };
    Words x[kEach] = {};
    wait_for_norms(which, mark);
    wait_for_pieces(x, joins_moments(), reads, load, [&](const Words& piece) {
      return kMany ? halves_are_new(piece, mark) : floats_are_new(piece, mark);
    });
    Machine::sync();
    note(layer, phase, Moment::kCame);
    wait(gate);
    ATTEND_UNROLLED
    for (int i = 0; i < kEach; ++i) {
      if (!reads(i)) continue;
      const int row = row_of(i), k = k_of(i);
      const float norm[2] = {s_.norms[row][0], s_.norms[row][1]};
      constexpr int kMost = kMany ? 8 : 4;
      alignas(16) float weight[kMost], bias[kMost];
      ATTEND_UNROLLED
      for (int e = 0; e < kMost; e += 4) {
        *reinterpret_cast<Floats*>(weight + e) = *reinterpret_cast<const Floats*>(floats + k + e);
        *reinterpret_cast<Floats*>(bias + e) = *reinterpret_cast<const Floats*>(floats + P::kSlice + k + e);
      }
      std::uint16_t* to = s_.x + P::x_at(row, k);
      if constexpr (kMany) {
        float wide[8];
        widen(x[i], wide);
        *reinterpret_cast<Words*>(to) = {
            normed(wide[0], wide[1], norm, weight, bias), normed(wide[2], wide[3], norm, weight + 2, bias + 2),
            normed(wide[4], wide[5], norm, weight + 4, bias + 4), normed(wide[6], wide[7], norm, weight + 6, bias + 6)};
      } else {
        const auto wide = std::bit_cast<Floats>(x[i]);
        *reinterpret_cast<Pair*>(to) = {normed(wide.x, wide.y, norm, weight, bias),
                                        normed(wide.z, wide.w, norm, weight + 2, bias + 2)};
      }
    }
    Machine::show_to_engines();
    Machine::sync();
    note(layer, phase, Moment::kRead);
  }

  // This rank's slice of all rows of activations, to shared memory: a warp reads a block of 8 rows and 32 columns.
  template <class P>
  __device__ void read_blocks(const std::uint16_t* from, std::uint16_t* to, std::uint32_t mark, int gate, int layer,
                              Moment::Phase phase) {
    constexpr int kUnits = Tiles * P::kChunks, kEach = (kUnits + kManyWarps - 1) / kManyWarps;
    const auto at_of = [&](int i) {
      const int unit = warp() + i * kManyWarps;
      return (unit / Tiles * kManyMostTiles + unit % Tiles) * kManyBlock + lane() * 8;
    };
    const auto reads = [&](int i) {
      const int unit = warp() + i * kManyWarps;
      return unit < kUnits && unit % Tiles * 8 + lane() / 4 < p_.rows;
    };
    from += rank_ * P::kChunks * kManyMostTiles * kManyBlock;
    Words x[kEach] = {};
    wait_for_pieces(
        x, false, reads, [&](int i) { return Machine::load_message(from + at_of(i)); },
        [&](const Words& piece) { return halves_are_new(piece, mark); });
    Machine::sync();  // all threads are done with what lay there
    note(layer, phase, Moment::kCame);
    ATTEND_UNROLLED
    for (int i = 0; i < kEach; ++i)
      if (reads(i)) *reinterpret_cast<Words*>(to + at_of(i)) = x[i];
    wait(gate);
    Machine::show_to_engines();
    Machine::sync();
    note(layer, phase, Moment::kRead);
  }

  // The partial product of all rows, each to its owner. Behind it the weights may be replaced.
  template <class P>
  __device__ void multiply(const std::uint16_t* x, const std::uint8_t* weights) {
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
  template <class P>
  __device__ void expect_sums() {
    Machine::sync();
    if (thread_ == 0 && mine_ > 0) Machine::expect(s_.gates[gate_of<P>()], kManyRanks * Sums<P>::of_rows(mine_));
  }
  template <class P>
  static constexpr int gate_of() {
    return P::kAdded ? kAdded : kRounded;
  }
  template <class P>
  __device__ std::uint8_t* received() {
    return P::kAdded ? s_.added_in : s_.rounded_in;
  }
  // The thread that orders weights.
  __device__ bool orders() const { return thread_ == kManyRanks * 32; }

  // Four columns of a row of this rank from a product that is rounded: the sums of all ranks and the bias.
  template <class P>
  struct FourOf {
    static constexpr int kOfRow = P::kColumns / 4;
    static_assert(kManyMostTiles * kOfRow <= kManyThreads);
    int i, column;
    float x[4] = {};
  };
  template <class P>
  __device__ FourOf<P> take_bias(const float* bias) const {
    FourOf<P> four{.i = thread_ / FourOf<P>::kOfRow, .column = thread_ % FourOf<P>::kOfRow * 4};
    const Words bits = *reinterpret_cast<const Words*>(bias + four.column);
    four.x[0] = std::bit_cast<float>(bits.x), four.x[1] = std::bit_cast<float>(bits.y);
    four.x[2] = std::bit_cast<float>(bits.z), four.x[3] = std::bit_cast<float>(bits.w);
    return four;
  }
  template <class P>
  __device__ void join(FourOf<P>& four) {
    add_parts<P>(s_.rounded_in, four.i, four.column, four.x);
  }
  // x += four columns of row number i from all ranks.
  template <class P>
  __device__ static void add_parts(const std::uint8_t* in, int i, int column, float (&x)[4]) {
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

  // Queries, keys and values of this rank's rows, and their attention.
  __device__ void project(int layer) {
    forget_addresses();
    const std::uint8_t* weights = s_.slots[3 * layer % 2];
    const auto* floats = reinterpret_cast<const float*>(weights + Input::kWeightBytes);
    read_normed<Input>(kBeforeLayer, mark_of_layer(layer), kSlots + 3 * layer % 2, floats, layer, Moment::kInput);
    FourOf<Input> four = take_bias<Input>(floats + 2 * Input::kSlice);
    multiply<Input>(s_.x, weights);
    if (orders()) fetch(3 * layer + 2);
    note(layer, Moment::kInput, Moment::kMultiplied);

    // Older keys are loaded while the partial sums are on their way.
    std::uint16_t* cache = p_.caches[layer];
    const int number = ManyKeys<Tiles>::row(warp());
    ManyAttention<Tiles, Machine> attention({.first = cache + cluster_ * D + lane() % 8 * 8,
                                             .value = C,
                                             .next = 2 * C,
                                             .room = static_cast<int>(p_.capacity),
                                             .row = dealt_row(rank_, number),
                                             .keys = old_keys_,
                                             .rows = p_.places},
                                            warp(), lane());
    if (mine_ > 0) wait(kRounded);
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
    if (owns()) join_warps(kBehindAttention, layer);
    note(layer, Moment::kAttend, Moment::kDone);
    fetch_keys_to_l2(layer + 1);
  }
  // Queries of this rank's rows, and their attention to the memory.
  __device__ void attend_to_memory(int layer) {
    forget_addresses();
    const std::uint8_t* weights = s_.memory.query;
    const auto* floats = reinterpret_cast<const float*>(weights + Query::kWeightBytes);
    read_normed<Query>(kBehindAttention, mark_of_layer(layer), kQueryWeights, floats, layer, Moment::kQuery);
    FourOf<Query> four = take_bias<Query>(floats + 2 * Query::kSlice);
    multiply<Query>(s_.x, weights);
    if (orders()) fetch_query(layer + 1);
    note(layer, Moment::kQuery, Moment::kMultiplied);
    const int number = ManyKeys<Tiles>::row(warp());
    ManyAttention<Tiles, Machine> attention({.first = p_.memories[layer] + cluster_ * D + lane() % 8 * 8,
                                             .value = C,
                                             .next = 2 * C,
                                             .room = p_.memory_room,
                                             .row = dealt_row(rank_, number) / p_.group,
                                             .keys = memory_keys_},
                                            warp(), lane());
    if (mine_ > 0) wait(kRounded);
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
    if (owns()) join_warps(kBehindMemory, layer);
    note(layer, Moment::kMemory, Moment::kDone);
  }
  // What a warp has found.
  __device__ void keep(const ManyAttention<Tiles, Machine>& attention) {
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
      const float weight = ManyAttention<Tiles, Machine>::weight_of(s_.attention.softmax[first + i][0], top);
      const Floats found = *reinterpret_cast<const Floats*>(&s_.attention.found[first + i][column]);
      sum += weight * s_.attention.softmax[first + i][1];
      x[0] += weight * found.x, x[1] += weight * found.y, x[2] += weight * found.z, x[3] += weight * found.w;
    }
    ATTEND_UNROLLED
    for (int e = 0; e < 4; ++e) x[e] = sum == 0 ? 0.0f : x[e] / sum;  // a memory may be empty
    write_four(mixed_for(behind) + block_at(own_row(), own_column()), x, mark_of_layer(layer));
  }
  // Four neighbours of a row of activations, marked.
  static __device__ void write_four(std::uint16_t* to, const float (&x)[4], std::uint32_t mark) {
    const std::uint32_t first = marked_bf16(std::bit_cast<std::uint32_t>(x[0]), mark);
    Machine::store_message(to, Pair{(Machine::pack(x[0], x[1]) & 0xffff0000u) | first, Machine::pack(x[2], x[3])});
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

  // A product's sums, and the bias, are added to the stream, which is published again.
  template <class P>
  __device__ void add_to_stream(const std::uint16_t* x, const std::uint8_t* weights, int layer, Moment::Phase phase,
                                Stream which, std::uint32_t mark) {
    const Words bias = reinterpret_cast<const Words*>(weights + P::kWeightBytes)[thread_ % 16];
    multiply<P>(x, weights);
    if (orders()) {
      if (phase == Moment::kOutput)
        fetch_output(layer + 1);
      else if (phase == Moment::kMemoryOutput)
        fetch_memory_output(layer + 1);
      else
        fetch(3 * layer + 4);
    }
    note(layer, phase, Moment::kMultiplied);
    if (mine_ > 0) wait(kAdded);
    note(layer, phase, Moment::kMet);
    if (thread_ < kOwners) {
      if (owns()) {
        float x[4] = {std::bit_cast<float>(bias.x), std::bit_cast<float>(bias.y), std::bit_cast<float>(bias.z),
                      std::bit_cast<float>(bias.w)};
        add_parts<P>(s_.added_in, own_number(), thread_ % 16 * 4, x);
        ATTEND_UNROLLED
        for (int e = 0; e < 4; ++e) own_[e] += x[e];
      }
      publish(which, mark);
    }
    note(layer, phase, Moment::kDone);
  }
  __device__ void add_attention(int layer) {
    forget_addresses();
    read_blocks<Output>(mixed_for(kBehindAttention), s_.x, mark_of_layer(layer), kOutputWeights, layer,
                        Moment::kOutput);
    add_to_stream<Output>(s_.x, s_.output, layer, Moment::kOutput, kBehindAttention, mark_of_layer(layer));
  }
  __device__ void add_memory(int layer) {
    forget_addresses();
    read_blocks<Output>(mixed_for(kBehindMemory), s_.x, mark_of_layer(layer), kMemoryOutputWeights, layer,
                        Moment::kMemoryOutput);
    add_to_stream<Output>(s_.x, s_.memory.output, layer, Moment::kMemoryOutput, kBehindMemory, mark_of_layer(layer));
  }
  __device__ void add_hidden(int layer) {
    forget_addresses();
    const int slot = (3 * layer + 2) % 2;
    read_blocks<Contract>(p_.hidden, s_.hidden, mark_of_layer(layer), kSlots + slot, layer, Moment::kContract);
    add_to_stream<Contract>(s_.hidden, s_.slots[slot], layer, Moment::kContract, kBeforeLayer,
                            mark_of_layer(layer + 1));
  }

  __device__ void expand(int layer) {
    forget_addresses();
    const int slot = (3 * layer + 1) % 2;
    const std::uint8_t* weights = s_.slots[slot];
    const auto* floats = reinterpret_cast<const float*>(weights + Expand::kWeightBytes);
    read_normed<Expand>(Shape::kMemory ? kBehindMemory : kBehindAttention, mark_of_layer(layer), kSlots + slot, floats,
                        layer, Moment::kExpand);
    FourOf<Expand> four = take_bias<Expand>(floats + 2 * Expand::kSlice);
    multiply<Expand>(s_.x, weights);
    if (orders()) fetch(3 * layer + 3);
    note(layer, Moment::kExpand, Moment::kMultiplied);
    if (mine_ > 0) wait(kRounded);
    note(layer, Moment::kExpand, Moment::kMet);
    if (four.i < mine_) {
      join(four);
      Machine::activate(p_.activation, four.x);
      write_four(p_.hidden + block_at(dealt_row(rank_, four.i), Expand::column(cluster_, four.column)), four.x,
                 mark_of_layer(layer));
    }
    note(layer, Moment::kExpand, Moment::kDone);
  }

  // The norm after the last layer, of this block's rows and columns.
  __device__ void finish() {
    if (owns()) {
      Moments moments;
      const float* from = moments_at(kBeforeLayer, own_row());
      load_moments(moments, from);
      wait_for_moments(moments, from, mark_of_layer(p_.layers));
      const Words weight = *reinterpret_cast<const Words*>(p_.norm_weight + own_column());
      const Words bias = *reinterpret_cast<const Words*>(p_.norm_bias + own_column());
      const auto normed = [&](float x, std::uint32_t w, std::uint32_t b) {
        return (x - moments.mean) * moments.scale * std::bit_cast<float>(w) + std::bit_cast<float>(b);
      };
      *reinterpret_cast<Pair*>(p_.states + own_row() * C + own_column()) = {
          Machine::pack(normed(own_[0], weight.x, bias.x), normed(own_[1], weight.y, bias.y)),
          Machine::pack(normed(own_[2], weight.z, bias.z), normed(own_[3], weight.w, bias.w))};
    }
    // All blocks have read the number: they have passed a barrier since.
    if (Machine::block() == 0 && thread_ == 0) *static_cast<volatile std::uint32_t*>(p_.before) = target_;
    Machine::sync_cluster();  // nobody leaves while others may still read or write its memory
  }

  const ManyRowsParams& p_;
  Shared& s_;
  int thread_, rank_, cluster_, mine_;
  std::uint32_t parities_ = 0, target_ = 0;  // target_: of thread 0
  int old_keys_ = 0, memory_keys_ = 0;       // of this warp's row
  int slot_ = 0;                             // of this thread's row of a joined product
  int ahead_keys_ = 0;                       // those that this thread fetches into the L2 cache
  std::int64_t ahead_from_ = 0;
  float own_[4] = {};  // the stream, of owners
};

}  // namespace attend::cuda
