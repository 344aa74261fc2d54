// Attention of a step of many rows: a warp's share of the keys of one row and head. Eight lanes hold a key and its
// value, 8 columns each. A warp takes a batch of 16 keys in four steps, and asks for those of the next one as soon as
// their registers are free.
#pragma once

#include <cmath>
#include <cstdint>

#include "attend/cuda/decode/many_rows_params.h"
#include "attend/cuda/decode/many_rows_plan.h"

namespace attend::cuda {

// Where the keys of a row lie: in its own row of a cache or memory, or each in the row that a table names. first: key 0
// of row 0, this lane's columns; the value lies `value` elements behind, the next key `next`. A row has room for so
// many.
struct KeyPlaces {
  const std::uint16_t* first;
  int value, next, room, row, keys;
  const std::int32_t* rows = nullptr;
};

template <int Tiles, class Machine>
class ManyAttention {
 public:
  using Plan = ManyKeys<Tiles>;
  static constexpr int kAtOnce = Plan::kAtOnce;

  // The softmax under way: o is this lane's 8 columns of Σ 2^(score - maximum) v.
  float maximum = -INFINITY, sum = 0, o[8] = {};

  // These keys are older than this step.
  __device__ __forceinline__ ManyAttention(const KeyPlaces& places, int warp, int lane)
      : at_(places), warp_(warp), lane_(lane) {
    look_up(0), load_keys(0), load_values(0), look_up(1);
  }

  // query and newest: of this lane's columns.
  __device__ __forceinline__ void attend(const Words& query, const Words& newest_key, const Words& newest_value) {
    float q[8], k[8];
    widen_query(query, q);
    widen(newest_key, k);
    const float score = score_of(q, k);
    if (warp_ % Plan::kWarpsOfRow == 0 && lane_ < 8) {  // one key and value of the row as all others
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
    const int batches = Plan::batches(at_.keys);
    for (int i = 0; i < batches; ++i) take(i, q);
    join_lanes();
  }
  __device__ __forceinline__ int key(int batch, int i) const { return Plan::key(warp_, batch * kAtOnce + i, lane_); }
  // The rows in which a batch of keys lies.
  __device__ __forceinline__ void look_up(int batch) {
    ATTEND_UNROLLED
    for (int i = 0; i < kAtOnce; ++i)
      if (!at_.rows)
        rows_[i] = at_.row;
      else if (key(batch, i) < at_.keys)
        rows_[i] = at_.rows[at_.row * at_.room + key(batch, i)];
  }
  __device__ __forceinline__ const std::uint16_t* place(int batch, int i) const {
    return at_.first + (static_cast<std::int64_t>(rows_[i]) * at_.room + key(batch, i)) * at_.next;
  }
  __device__ __forceinline__ void load_keys(int batch) {
    ATTEND_UNROLLED
    for (int i = 0; i < kAtOnce; ++i)
      if (key(batch, i) < at_.keys) k_[i] = Machine::load_once(place(batch, i));
  }
  __device__ __forceinline__ void load_values(int batch) {
    ATTEND_UNROLLED
    for (int i = 0; i < kAtOnce; ++i)
      if (key(batch, i) < at_.keys) v_[i] = Machine::load_once(place(batch, i) + at_.value);
  }
  static __device__ __forceinline__ float score_of(const float (&q)[8], const float (&k)[8]) {
    float score = 0;
    ATTEND_UNROLLED
    for (int e = 0; e < 8; ++e) score += q[e] * k[e];
    ATTEND_UNROLLED
    for (int step = 4; step > 0; step >>= 1) score += Machine::shuffle_xor(score, step);
    return score;
  }
  __device__ __forceinline__ void take(int batch, const float (&q)[8]) {
    float scores[kAtOnce], top = maximum;
    ATTEND_UNROLLED
    for (int i = 0; i < kAtOnce; ++i) {
      float k[8];
      widen(k_[i], k);
      scores[i] = score_of(q, k);
      if (key(batch, i) >= at_.keys) scores[i] = -INFINITY;
      top = fmaxf(top, scores[i]);
    }
    load_keys(batch + 1);
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
    load_values(batch + 1);
    look_up(batch + 2);
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

  KeyPlaces at_;
  int warp_, lane_;
  int rows_[kAtOnce] = {};  // of the keys that are loaded next
  Words k_[kAtOnce] = {}, v_[kAtOnce] = {};
};

}  // namespace attend::cuda
