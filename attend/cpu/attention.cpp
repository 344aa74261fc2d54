// Attention forward: one task per head and stretch of queries. The loops are in rows/attention.cpp.
#include <cmath>
#include <limits>
#include <utility>

#include "attend/cpu/attention_heads.h"
#include "attend/cpu/cpu_backend.h"

namespace attend {

namespace {

// Query t of the head, with the keys that it sees, as if there were no others.
cpu::AttentionHead query_alone(cpu::AttentionHead head, std::int64_t t, DType q, DType y) {
  head.q = cpu::at(head.q, t * head.q_stride, q), head.y = cpu::at(head.y, t * head.y_stride, y);
  if (head.lse) head.lse += t * head.lse_stride;
  head.keys = std::clamp<std::int64_t>(t + head.shift + 1, 0, head.keys);
  head.queries = 1, head.shift = head.keys, head.few = true;
  return head;
}

}  // namespace

void CpuBackend::attention(const Attention& args, const Tensor& y, const Tensor& lse) {
  const cpu::AttentionHeads heads(args);
  if (heads.packed() || heads.drops()) stop_recording();  // offsets and the seed are read now
  const std::int64_t H = heads.heads(), D = heads.width(), step = cpu::attention_rows(D);
  const std::int64_t stretches = (heads.most_queries() + step - 1) / step;
  const int kind = cpu::kind_of(args.q), kept = cpu::kind_of(args.k);
  // A matrix unit takes bf16 as it is, and f32 in two pieces when the caller allows that.
  const bool tiles = rows_.attention_tiles[kind] && kind == kept && !heads.bars() &&
                     (kind == 1 || precision_ == cpu::Precision::split);
  // Keys and values are read once, and a multiply-add is a sixteenth of an element of that.
  const std::int64_t work = (2 + std::min(heads.most_queries(), step) / 8) * heads.keys_of_a_stretch(step) * D;
  const auto few = rows_.attention[kind][kept], many = tiles ? rows_.attention_tiles[kind] : few;
  const auto step_of = D % rows_.attention_step_lanes == 0 ? rows_.attention_step[kind][kept] : nullptr;
  const auto one = heads.steps() ? step_of : nullptr;
  const bool alone = exact_prompts_ && heads.plain();
  const DType q_dtype = args.q.dtype(), y_dtype = y.dtype();
  const auto attend = [=, y = cpu::View(y), lse = cpu::View(lse)](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t h = task % H, b = task / H / stretches, first = task / H % stretches * step;
      cpu::AttentionHead head = heads.head(b, h);
      if (first >= head.queries) continue;
      head.y = heads.element(y, heads.first_query(b), h), head.y_stride = y.stride;
      if (lse.data) head.lse = heads.lse(lse, b, h);
      head.lse_stride = H;
      if (one) {
        one(head);
        continue;
      }
      const std::int64_t last = std::min(head.queries, first + step);
      if (alone) {
        for (std::int64_t t = first; t < last; ++t) {
          const cpu::AttentionHead query = query_alone(head, t, q_dtype, y_dtype);
          step_of ? step_of(query) : few(query, 0, 1);
        }
        continue;
      }
      // Which kernel the queries get must not depend on how many of padding come behind them.
      const std::int64_t own = std::clamp(heads.own_queries(head), first, last);
      for (const auto& [from, to] : {std::pair(first, own), std::pair(own, last)}) {
        head.few = to - from <= 4;
        if (from < to) (to - from >= 8 ? many : few)(head, from, to);
      }
    }
  };
  run(cpu::RowWork{heads.sequences() * stretches * H, work, attend});
  // Rows behind the last packed sequence: zeros, as of a query that sees no key.
  if (!heads.packed() || heads.queries_used() >= args.q.rows()) return;
  const std::int64_t used = heads.queries_used(), rest = args.q.rows() - used;
  fill(y.flat_rows().slice_first(used, rest), 0.0f);
  if (lse.defined()) std::fill_n(lse.data<float>() + used * H, rest * H, -std::numeric_limits<float>::infinity());
}

void CpuBackend::attention_weights(const Attention& args, const Tensor& lse, const Tensor& weights) {
  const cpu::AttentionHeads heads(args);
  const std::int64_t H = heads.heads(), T = weights.dim(2), S = weights.dim(3);
  const DType dtype = args.q.dtype();
  cpu::for_rows(pool(), heads.sequences() * H * T, S * heads.width() / 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t t = task % T, h = task / T % H, b = task / T / H;
      const cpu::AttentionHead head = heads.head(b, h);
      cpu::AttentionWeightsRow row;
      row.weights = weights.data<float>() + task * S;
      if (t < head.queries) {
        row.q = cpu::at(head.q, t * head.q_stride, dtype);
        row.k = head.k, row.k_stride = head.k_stride, row.width = head.width;
        row.keys = std::clamp<std::int64_t>(
            head.windowed ? head.window.end(t) : std::min(head.keys, t + head.shift + 1), 0, S);
        row.scale = head.scale, row.lse = heads.lse(lse, b, h)[t * H];
        if (head.bias) row.bias = cpu::at(head.bias, t * head.bias_stride, head.bias_bf16 ? DType::bf16 : DType::f32);
        row.bias_bf16 = head.bias_bf16;
        rows_.attention_weights[cpu::kind_of(args.q)][cpu::kind_of(args.k)](row);
        if (head.windowed && head.window.globals < head.window.from(t))
          std::fill(row.weights + std::min(head.window.globals, row.keys),
                    row.weights + std::min(head.window.from(t), row.keys), 0.0f);
        for (std::int64_t s = 0; head.seen_from && s < row.keys; ++s)
          if (t < head.seen_from[s]) row.weights[s] = 0;
      }
      std::fill(row.weights + row.keys, row.weights + S, 0.0f);
    }
  });
}

}  // namespace attend
