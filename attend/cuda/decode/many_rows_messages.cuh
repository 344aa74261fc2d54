// What the blocks of the kernel of many rows (many_rows_kernel.cuh) tell each other through memory: the stream with its
// moments, the heads' attention, the hidden units. Readers wait for the mark of their layer (many_rows_plan.h) and
// leave what they have read in shared memory, where the tensor cores read it.
#pragma once

#include <bit>
#include <cstdint>

#include "attend/cuda/decode/many_rows_base.cuh"

namespace attend::cuda {

template <class Shape, int Tiles, class Machine, class Stamps>
class ManyRowsMessages : public ManyRowsBase<Shape, Tiles, Machine, Stamps> {
  using Base = ManyRowsBase<Shape, Tiles, Machine, Stamps>;
  using Expand = typename Shape::Expand;

 public:
  using Base::Base;

 protected:
  using Base::C, Base::D, Base::kMany, Base::kOwners;
  using Base::note, Base::wait, Base::lane, Base::warp, Base::own_number, Base::own_row, Base::own_column, Base::owns;
  using Base::p_, Base::s_, Base::thread_, Base::rank_, Base::cluster_, Base::mine_;
  using Moment = StepMoment;
  static constexpr int kClusters = Shape::kClusters;
  // In front of a layer, behind its attention, and behind that to a memory.
  enum Stream { kBeforeLayer, kBehindAttention, kBehindMemory };

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

  __device__ void take_stream() {
    if (!owns()) return;
    const Pair x = *reinterpret_cast<const Pair*>(p_.x + own_row() * C + own_column());
    own_[0] = std::bit_cast<float>(x.x << 16), own_[1] = std::bit_cast<float>(x.x & 0xffff0000u);
    own_[2] = std::bit_cast<float>(x.y << 16), own_[3] = std::bit_cast<float>(x.y & 0xffff0000u);
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
  // Four neighbours of a row of activations, marked.
  static __device__ void write_four(std::uint16_t* to, const float (&x)[4], std::uint32_t mark) {
    const std::uint32_t first = marked_bf16(std::bit_cast<std::uint32_t>(x[0]), mark);
    Machine::store_message(to, Pair{(Machine::pack(x[0], x[1]) & 0xffff0000u) | first, Machine::pack(x[2], x[3])});
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

  // The norm of this rank's slice of all rows, to shared memory. floats: the norm's weight and bias. A warp reads 32
  // columns of four rows of f32 at once, or a block of bf16.
  template <class P>
  __device__ void read_normed(P, Stream which, int gate, const float* floats, int layer, Moment::Phase phase) {
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
    const std::uint32_t mark = mark_of_layer(layer);
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
  __device__ void read_blocks(P, const std::uint16_t* from, std::uint16_t* to, int gate, int layer,
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
        [&](const Words& piece) { return halves_are_new(piece, mark_of_layer(layer)); });
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

  float own_[4] = {};  // the stream, of owners

 private:
  // Whether a message is of this layer: the last bits of all f32, or of the first bf16 of each half.
  static __device__ bool floats_are_new(const Words& x, std::uint32_t mark) {
    return (((x.x ^ mark) | (x.y ^ mark) | (x.z ^ mark) | (x.w ^ mark)) & 1u) == 0;
  }
  static __device__ bool halves_are_new(const Words& x, std::uint32_t mark) {
    return (((x.x ^ mark) | (x.z ^ mark)) & 1u) == 0;
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
};

}  // namespace attend::cuda
