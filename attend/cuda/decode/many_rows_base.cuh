// A block of the kernel of many rows (many_rows_kernel.cuh): what of the stream it owns, its gates and weights, and the
// barrier of all blocks.
#pragma once

#include <cstdint>

#include "attend/cuda/decode/many_rows_params.h"
#include "attend/cuda/decode/many_rows_plan.h"

namespace attend::cuda {

template <class Shape, int Tiles, class Machine, class Stamps>
class ManyRowsBase {
 public:
  using Shared = typename Shape::Shared;
  __device__ ManyRowsBase(const ManyRowsParams& p, Shared& shared)
      : p_(p),
        s_(shared),
        thread_(Machine::thread()),
        rank_(Machine::block() % kManyRanks),
        cluster_(Machine::block() / kManyRanks),
        mine_(dealt_rows(rank_, p.rows)) {}

 protected:
  using Moment = StepMoment;
  enum Gate { kSlots, kOutputWeights = 2, kQueryWeights, kMemoryOutputWeights, kRounded, kAdded, kGates };
  static constexpr int C = Shape::kWidth, D = kManyHead;
  static constexpr bool kMany = many_tiles(Tiles);

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

  // Four columns of one of this rank's rows of the stream belong to each of the first 16 threads a row.
  static constexpr int kOwners = (Tiles * 16 + 31) / 32 * 32;
  static_assert(D == 64 && kOwners <= kManyThreads);
  __device__ int own_number() const { return thread_ / 16; }
  __device__ int own_row() const { return dealt_row(rank_, own_number()); }
  __device__ int own_column() const { return cluster_ * D + thread_ % 16 * 4; }
  __device__ bool owns() const { return thread_ < kOwners && own_number() < mine_; }

  __device__ void open_gates() {
    for (int i = 0; i < kGates; ++i) Machine::init(s_.gates[i]);
    Machine::gates_are_ready();
    Machine::show_to_engines();
  }
  __device__ void wait(int gate) {
    Machine::wait(s_.gates[gate], parities_ >> gate & 1);
    parities_ ^= 1u << gate;
  }

  // One thread orders this block's bytes of a product. Input, Expand and Contract of all layers take turns in two
  // slots.
  __device__ bool orders() const { return thread_ == kManyRanks * 32; }
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

  const ManyRowsParams& p_;
  Shared& s_;
  int thread_, rank_, cluster_, mine_;
  std::uint32_t target_ = 0;  // arrivals to wait for, of thread 0

 private:
  template <int kBytes>
  __device__ void fetch_bytes(std::uint8_t* to, const std::uint8_t* of_all, int gate) {
    Machine::expect(s_.gates[gate], kBytes);
    Machine::fetch(to, of_all + std::int64_t{kBytes} * Machine::block(), kBytes, s_.gates[gate]);
  }

  std::uint32_t parities_ = 0;  // of the gates' next phases
};

}  // namespace attend::cuda
