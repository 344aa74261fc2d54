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
//
// A block is a class with a base class for each idea: what it owns and its weights (many_rows_base.cuh), messages
// between clusters (many_rows_messages.cuh), products and their exchange in a cluster (many_rows_exchange.cuh),
// attention (many_rows_heads.cuh). Here are the phases of a layer.
#pragma once

#include <bit>
#include <cstdint>

#include "attend/cuda/decode/many_rows_heads.cuh"

namespace attend::cuda {

// Tiles: of 8 rows, 1, 2, 4 or 8.
template <class Shape, int Tiles, class Machine, class Stamps>
class ManyRowsBlock : public ManyRowsHeads<Shape, Tiles, Machine, Stamps> {
  using Base = ManyRowsHeads<Shape, Tiles, Machine, Stamps>;
  using Moment = StepMoment;
  using Output = typename Shape::Output;
  using Expand = typename Shape::Expand;
  using Contract = typename Shape::Contract;
  using Base::begin_heads, Base::plan_keys_ahead, Base::fetch_keys_to_l2, Base::project, Base::attend_to_memory;
  using Base::C, Base::kOwners, Base::own_number, Base::own_row, Base::own_column, Base::owns;
  using Base::forget_addresses, Base::note, Base::wait, Base::open_gates, Base::arrive, Base::wait_for_all;
  using Base::moments_at, Base::load_moments, Base::wait_for_moments, Base::mixed_for, Base::block_at;
  using Base::multiply, Base::take_bias, Base::join, Base::add_parts;
  using Base::orders, Base::fetch, Base::fetch_output, Base::fetch_query, Base::fetch_memory_output;
  using Base::p_, Base::s_, Base::thread_, Base::rank_, Base::cluster_, Base::mine_, Base::own_, Base::target_;
  using Base::take_stream, Base::forget_messages, Base::publish, Base::write_four, Base::read_normed, Base::read_blocks;
  using typename Base::Gate, typename Base::Moments, typename Base::Stream;

 public:
  using Base::Base;

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
  __device__ void begin() {
    if (thread_ == 0) {
      open_gates();
      fetch(0), fetch(1), fetch_output(0), fetch_query(0), fetch_memory_output(0);
    }
    Machine::wait_for_kernel_before();
    if (thread_ == 0) target_ = *static_cast<const volatile std::uint32_t*>(p_.before);
    begin_heads();
    take_stream();
    forget_messages();
    if (thread_ < kOwners) publish(Stream::kBeforeLayer, mark_of_layer(0));
    plan_keys_ahead();
    fetch_keys_to_l2(0);
    arrive();
    wait_for_all();
  }

  // A product's sums, and the bias, are added to the stream, which is published again.
  template <class P>
  __device__ void add_to_stream(P, const std::uint16_t* x, const std::uint8_t* weights, int layer, Moment::Phase phase,
                                Stream which, std::uint32_t mark) {
    const Words bias = reinterpret_cast<const Words*>(weights + P::kWeightBytes)[thread_ % 16];
    multiply(P{}, x, weights);
    if (orders()) {
      if (phase == Moment::kOutput)
        fetch_output(layer + 1);
      else if (phase == Moment::kMemoryOutput)
        fetch_memory_output(layer + 1);
      else
        fetch(3 * layer + 4);
    }
    note(layer, phase, Moment::kMultiplied);
    if (mine_ > 0) wait(Gate::kAdded);
    note(layer, phase, Moment::kMet);
    if (thread_ < kOwners) {
      if (owns()) {
        float x[4] = {std::bit_cast<float>(bias.x), std::bit_cast<float>(bias.y), std::bit_cast<float>(bias.z),
                      std::bit_cast<float>(bias.w)};
        add_parts(P{}, s_.added_in, own_number(), thread_ % 16 * 4, x);
        ATTEND_UNROLLED
        for (int e = 0; e < 4; ++e) own_[e] += x[e];
      }
      publish(which, mark);
    }
    note(layer, phase, Moment::kDone);
  }
  __device__ void add_attention(int layer) {
    forget_addresses();
    read_blocks(Output{}, mixed_for(Stream::kBehindAttention), s_.x, Gate::kOutputWeights, layer, Moment::kOutput);
    add_to_stream(Output{}, s_.x, s_.output, layer, Moment::kOutput, Stream::kBehindAttention, mark_of_layer(layer));
  }
  __device__ void add_memory(int layer) {
    forget_addresses();
    read_blocks(Output{}, mixed_for(Stream::kBehindMemory), s_.x, Gate::kMemoryOutputWeights, layer,
                Moment::kMemoryOutput);
    add_to_stream(Output{}, s_.x, s_.memory.output, layer, Moment::kMemoryOutput, Stream::kBehindMemory,
                  mark_of_layer(layer));
  }
  __device__ void add_hidden(int layer) {
    forget_addresses();
    const int slot = (3 * layer + 2) % 2;
    read_blocks(Contract{}, p_.hidden, s_.hidden, Gate::kSlots + slot, layer, Moment::kContract);
    add_to_stream(Contract{}, s_.hidden, s_.slots[slot], layer, Moment::kContract, Stream::kBeforeLayer,
                  mark_of_layer(layer + 1));
  }

  __device__ void expand(int layer) {
    forget_addresses();
    const int slot = (3 * layer + 1) % 2;
    const std::uint8_t* weights = s_.slots[slot];
    const auto* floats = reinterpret_cast<const float*>(weights + Expand::kWeightBytes);
    read_normed(Expand{}, Shape::kMemory ? Stream::kBehindMemory : Stream::kBehindAttention, Gate::kSlots + slot,
                floats, layer, Moment::kExpand);
    auto four = take_bias(Expand{}, floats + 2 * Expand::kSlice);
    multiply(Expand{}, s_.x, weights);
    if (orders()) fetch(3 * layer + 3);
    note(layer, Moment::kExpand, Moment::kMultiplied);
    if (mine_ > 0) wait(Gate::kRounded);
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
      const float* from = moments_at(Stream::kBeforeLayer, own_row());
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
};

}  // namespace attend::cuda
