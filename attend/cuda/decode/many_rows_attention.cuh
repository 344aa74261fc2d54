// Attention of a step of many rows: a warp's share of the keys of one row and head. Eight lanes hold a key and its
// value, 8 columns each. A warp takes a batch of 16 keys in four steps, and asks for those of the next one as soon as
// their registers are free.
#pragma once

#include <cmath>
#include <cstdint>

#include "attend/cuda/decode/many_rows_params.h"
#include "attend/cuda/decode/many_rows_plan.h"

namespace attend::cuda {

// Where the keys of a row lie. first: key 0 of row 0, this lane's columns; the value lies `value` elements behind, the
// next key `next`. A row has room for so many. With a table each lies in the row that it names, else all in `row`.
struct KeyPlaces {
  const std::uint16_t* first;
  int value, next, room, row, keys;
  const std::int32_t* table = nullptr;
};

// A lane's keys of the batch under way and of the next: number i lies kApart keys behind the one before. Without a
// table these steps are constants in the instructions that load, and nothing is looked up.
template <class Plan, bool Table>
class KeyWalk {
 public:
  static constexpr int kAtOnce = Plan::kAtOnce, kApart = Plan::kWarpsOfRow * 4;

  __device__ __forceinline__ KeyWalk(const KeyPlaces& places, int warp, int lane) : at_(places) {
    const int key = Plan::key(warp, 0, lane);
    left_ = at_.keys - key;
    if constexpr (Table) {
      at_.table += at_.row * at_.room + key;
      at_.first += static_cast<std::int64_t>(key) * at_.next;
    } else {
      at_.first += (static_cast<std::int64_t>(at_.row) * at_.room + key) * at_.next;
    }
  }
  __device__ __forceinline__ bool has(int i) const { return i * kApart < left_; }
  __device__ __forceinline__ const std::uint16_t* key(int i) const {
    const std::uint16_t* place = at_.first + i * kApart * at_.next;
    if constexpr (Table) place += static_cast<std::int64_t>(rows_[i % kAtOnce] * at_.room) * at_.next;
    return place;
  }
  __device__ __forceinline__ const std::uint16_t* value(int i) const { return key(i) + at_.value; }
  // The rows of four keys from number `first` on, long before these are loaded.
  __device__ __forceinline__ void look_up(int first) {
    if constexpr (Table) {
      ATTEND_UNROLLED
      for (int i = 0; i < kAtOnce; ++i)
        if (has(first + i)) rows_[i] = at_.table[(first + i) * kApart];
    }
  }
  __device__ __forceinline__ void advance() {
    left_ -= kAtOnce * kApart, at_.first += kAtOnce * kApart * at_.next;
    if constexpr (Table) at_.table += kAtOnce * kApart;
  }

 private:
  KeyPlaces at_;
  int left_;                // keys of the row from this lane's first on
  int rows_[kAtOnce] = {};  // of the keys that are loaded next
};

template <int Tiles, class Machine, bool Table>
class ManyAttention {
 public:
  using Plan = ManyKeys<Tiles>;
  static constexpr int kAtOnce = Plan::kAtOnce;

  // The softmax under way: o is this lane's 8 columns of Σ 2^(score - maximum) v.
  float maximum = -INFINITY, sum = 0, o[8] = {};

  // These keys are older than this step.
  __device__ __forceinline__ ManyAttention(const KeyPlaces& places, int warp, int lane)
      : walk_(places, warp, lane),
        batches_(Plan::batches(places.keys)),
        begins_(warp % Plan::kWarpsOfRow == 0 && lane < 8) {
    walk_.look_up(0);
    load_keys(0), load_values(0);
    walk_.look_up(kAtOnce);
  }

  // query and newest: of this lane's columns.
  __device__ __forceinline__ void attend(const Words& query, const Words& newest_key, const Words& newest_value) {
    float q[8], k[8];
    widen_query(query, q);
    widen(newest_key, k);
    const float score = score_of(q, k);
    if (begins_) {  // one key and value of the row as all others
      maximum = score, sum = 1;
      widen(newest_value, o);
    }
    take_all(q);
  }
  // To the older keys alone.
  __device__ __forceinline__ void attend(const Words& query) {
    float q[8];
    widen_query(query, q);
    take_all(q);
  }
  static __device__ __forceinline__ float weight_of(float score, float top) {
    return top == -INFINITY ? 0.0f : Machine::power_of_two(score - top);
  }

 private:
  static __device__ __forceinline__ void widen_query(const Words& query, float (&q)[8]) {
    constexpr float kScale = 0.125f * 1.4426950408889634f;  // 1 / √64, for powers of two
    static_assert(kManyHead == 64);
    widen(query, q);
    ATTEND_UNROLLED
    for (int e = 0; e < 8; ++e) q[e] *= kScale;
  }
  __device__ __forceinline__ void take_all(const float (&q)[8]) {
    for (int i = 0; i < batches_; ++i) take(q);
    join_lanes();
  }
  __device__ __forceinline__ void load_keys(int first) {
    ATTEND_UNROLLED
    for (int i = 0; i < kAtOnce; ++i)
      if (walk_.has(first + i)) k_[i] = Machine::load_once(walk_.key(first + i));
  }
  __device__ __forceinline__ void load_values(int first) {
    ATTEND_UNROLLED
    for (int i = 0; i < kAtOnce; ++i)
      if (walk_.has(first + i)) v_[i] = Machine::load_once(walk_.value(first + i));
  }
  static __device__ __forceinline__ float score_of(const float (&q)[8], const float (&k)[8]) {
    float score = 0;
    ATTEND_UNROLLED
    for (int e = 0; e < 8; ++e) score += q[e] * k[e];
    ATTEND_UNROLLED
    for (int step = 4; step > 0; step >>= 1) score += Machine::shuffle_xor(score, step);
    return score;
  }
  __device__ __forceinline__ void take(const float (&q)[8]) {
    float scores[kAtOnce], top = maximum;
    ATTEND_UNROLLED
    for (int i = 0; i < kAtOnce; ++i) {
      float k[8];
      widen(k_[i], k);
      scores[i] = score_of(q, k);
      if (!walk_.has(i)) scores[i] = -INFINITY;
      top = fmaxf(top, scores[i]);
    }
    load_keys(kAtOnce);
    const float scale = weight_of(maximum, top);
    maximum = top;
    sum *= scale;
    ATTEND_UNROLLED
    for (int e = 0; e < 8; ++e) o[e] *= scale;
    ATTEND_UNROLLED
    for (int i = 0; i < kAtOnce; ++i) {
      if (scores[i] == -INFINITY) continue;  // its value was never loaded
      const float weight = Machine::power_of_two(scores[i] - top);
      float v[8];
      widen(v_[i], v);
      sum += weight;
      ATTEND_UNROLLED
      for (int e = 0; e < 8; ++e) o[e] += weight * v[e];
    }
    load_values(kAtOnce);
    walk_.advance();
    walk_.look_up(kAtOnce);
  }
  // The four keys that a warp takes at once become one.
  __device__ __forceinline__ void join_lanes() {
    ATTEND_UNROLLED
    for (int step = 8; step <= 16; step <<= 1) {
      const float other = Machine::shuffle_xor(maximum, step), top = fmaxf(maximum, other);
      const float mine = weight_of(maximum, top), theirs = weight_of(other, top);
      maximum = top;
      sum = sum * mine + Machine::shuffle_xor(sum, step) * theirs;
      ATTEND_UNROLLED
      for (int e = 0; e < 8; ++e) o[e] = o[e] * mine + Machine::shuffle_xor(o[e], step) * theirs;
    }
  }

  KeyWalk<Plan, Table> walk_;
  int batches_;
  bool begins_;
  Words k_[kAtOnce] = {}, v_[kAtOnce] = {};
};

}  // namespace attend::cuda
