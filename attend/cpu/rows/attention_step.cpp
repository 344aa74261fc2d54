// Attention of one query: decoding. In a cache by heads the keys and values of a head are two streams without gaps,
// each read once, so that the time is that of reading them; in bf16 there are half as many bytes. Sums are taken in the
// order of the keys, whatever lies between them, so a prompt that is read query by query gives the same bits.
#include "attend/cpu/rows/attention_tile.h"
#include "attend/cpu/rows/table.h"

namespace attend::cpu::ATTEND_ROWS {

// Keys whose scores are kept at a time, and how many of them are multiplied side by side: the sums of eight and more
// hide the latency of multiply-adds.
constexpr std::int64_t kStepKeys = 256;
constexpr int kSideBySide = kLanes == 4 ? 8 : kLanes;
// Vectors of a row of values that are summed in registers at a time.
constexpr int kStepVectors = kLanes == 8 ? 8 : 16;
// Vectors that are read at once: on arm64, where one holds four numbers, 16 bytes of bf16 are two.
constexpr int kRead = kLanes == 4 ? 2 : 1;

template <class K>
ATTEND_INLINE void read(const K* from, Vec (&to)[kRead]) {
  for (int i = 0; i < kRead; ++i) to[i] = load(from + i * kLanes);
}
#if defined(__aarch64__)
ATTEND_INLINE void read(const Bf16Bits* from, Vec (&to)[kRead]) {
  const uint16x8_t bits = vld1q_u16(from);
  to[0] = (Vec)vshll_n_u16(vget_low_u16(bits), 16);
  to[1] = (Vec)vshll_high_n_u16(bits, 16);
}
#endif

// scores[s] = q · keys[s] for s < count, rounded up to kSideBySide; keys lie `stride` apart, and D = width is a
// multiple of kRead vectors.
template <class K>
static void step_scores(const float* q, const K* keys, std::int64_t stride, std::int64_t width, std::int64_t count,
                        float* scores) {
  for (std::int64_t s = 0; s < count; s += kSideBySide) {
    const K* key[kSideBySide];
    for (int j = 0; j < kSideBySide; ++j) key[j] = keys + smaller(s + j, count - 1) * stride;
    Vec sum[kSideBySide] = {};
    for (std::int64_t i = 0; i < width; i += kRead * kLanes)
      for (int j = 0; j < kSideBySide; ++j) {
        Vec k[kRead];
        read(key[j] + i, k);
        for (int r = 0; r < kRead; ++r) sum[j] += load(q + i + r * kLanes) * k[r];
      }
    for (int j = 0; j < kSideBySide; j += kLanes) {
      Vec part[kLanes];
      for (int i = 0; i < kLanes; ++i) part[i] = sum[j + i];
      store(scores + s + j, sums_of(part));
    }
  }
}

// y[..] += sum over s of weights[s] · values[s][..], of kVectors vectors; rows of values are `stride` apart.
template <int kVectors, class K>
ATTEND_INLINE void step_values(const float* weights, const K* values, std::int64_t stride, std::int64_t count,
                               float* y) {
  Vec sum[kVectors];
  for (int v = 0; v < kVectors; ++v) sum[v] = load(y + v * kLanes);
  for (std::int64_t s = 0; s < count; ++s, values += stride) {
    const Vec weight = splat(weights[s]);
    for (int v = 0; v < kVectors; v += kRead) {
      Vec x[kRead];
      read(values + v * kLanes, x);
      for (int r = 0; r < kRead; ++r) sum[v + r] += weight * x[r];
    }
  }
  for (int v = 0; v < kVectors; ++v) store(y + v * kLanes, sum[v]);
}

// As many columns at a time as registers hold, then half as many.
template <int kVectors, class K>
static void step_columns(const float* weights, const K* values, std::int64_t stride, std::int64_t width,
                         std::int64_t count, float* y, std::int64_t from) {
  for (; from + kVectors * kLanes <= width; from += kVectors * kLanes)
    step_values<kVectors>(weights, values + from, stride, count, y + from);
  if constexpr (kVectors > kRead)
    if (from < width) step_columns<kVectors / 2>(weights, values, stride, width, count, y, from);
}

template <class E, class K>
static void attention_step_of(const AttentionHead& head) {
  alignas(64) float q[kAttentionWidth], y[kAttentionWidth], scores[kStepKeys + kSideBySide];
  const std::int64_t width = head.width;
  gather(static_cast<const E*>(head.q), head.q_stride, 1, width, head.scale, q);
  for (std::int64_t i = 0; i < width; i += kLanes) store(y + i, Vec{});
  float max = -kInfinity, sum = 0;
  for (std::int64_t first = 0; first < head.keys; first += kStepKeys) {
    const std::int64_t count = smaller(head.keys - first, kStepKeys);
    step_scores(q, static_cast<const K*>(head.k) + first * head.k_stride, head.k_stride, width, count, scores);
    const float factor = weigh(scores, count, count, max, sum);
    if (factor != 1.0f)
      for (std::int64_t i = 0; i < width; i += kLanes) store(y + i, load(y + i) * factor);
    step_columns<kStepVectors>(scores, static_cast<const K*>(head.v) + first * head.v_stride, head.v_stride, width,
                               count, y, 0);
  }
  const float inverse = sum > 0 ? 1.0f / sum : sum == 0 ? 0.0f : kNan;
  for (std::int64_t i = 0; i < width; i += kLanes) store(static_cast<E*>(head.y) + i, load(y + i) * inverse);
  if (head.lse) head.lse[0] = sum == 0 ? -kInfinity : max + logarithm(sum);
}

void set_attention_step(RowKernels& table) {
  table.attention_step[0][0] = attention_step_of<float, float>;
  table.attention_step[0][1] = attention_step_of<float, Bf16Bits>;
  table.attention_step[1][1] = attention_step_of<Bf16Bits, Bf16Bits>;
  table.attention_step_lanes = kRead * kLanes;
}

}  // namespace attend::cpu::ATTEND_ROWS
