// Attention backward: one task per head, all its queries and keys; with a bias gradient one task per head and group,
// which takes the sequences of the group in order. The loops are in rows/attention_backward.cpp.
#include "attend/cpu/attention_heads.h"
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/scratch.h"

namespace attend {

namespace {

void place(const cpu::AttentionHeads& heads, const Grad& grad, std::int64_t row, std::int64_t h, cpu::Out& out,
           std::int64_t& stride) {
  if (!grad) return;
  out = {heads.element(grad.into, row, h), grad.accumulate};
  stride = grad.into.row_stride();
}

// Rows [begin, end) of a gradient that nothing flows into.
void clear(CpuBackend& backend, const Grad& grad, std::int64_t begin, std::int64_t end) {
  if (!grad || grad.accumulate || begin >= end) return;
  backend.fill(grad.into.flat_rows().slice_first(begin, end - begin), 0.0f);
}

}  // namespace

bool CpuBackend::attention_backward(const Attention& args, const Tensor& y, const Tensor& lse, const Tensor& dy,
                                    const Grad& dq, const Grad& dk, const Grad& dv, const Grad& dbias,
                                    const AttentionSums&) {
  stop_recording();
  const cpu::AttentionHeads heads(args);
  const std::int64_t B = heads.sequences(), H = heads.heads();
  const std::int64_t groups = dbias ? std::min(args.mask.bias.dim(0), B) : B;
  // Keys and queries that no sequence reaches.
  if (heads.packed()) {
    clear(*this, dq, heads.queries_used(), args.q.rows());
    // With lengths of their own, sequences may leave keys out anywhere.
    const std::int64_t from = args.mask.key_lengths.defined() ? 0 : heads.first_key(B);
    clear(*this, dk, from, args.k.rows());
    clear(*this, dv, from, args.k.rows());
  } else if (args.mask.key_lengths.defined()) {
    for (std::int64_t b = 0; b < B; ++b) {
      const std::int64_t end = heads.first_key(b) + heads.most_keys();
      clear(*this, dk, heads.first_key(b) + heads.count_keys(b), end);
      clear(*this, dv, heads.first_key(b) + heads.count_keys(b), end);
    }
  }
  // The bias gradient is summed in f32: in place where it is f32, else beside.
  const bool beside = dbias && dbias.into.dtype() != DType::f32;
  float* bias_sums = beside ? scratch(dbias.into.size()) : dbias ? dbias.into.data<float>() : nullptr;
  if (dbias && (beside || !dbias.accumulate)) std::fill_n(bias_sums, dbias.into.size(), 0.0f);

  // A matrix unit takes bf16 as it is, and f32 in two pieces when the caller allows that.
  const int kind = cpu::kind_of(args.q);
  const bool tiles = rows_.attention_backward_tiles[kind] && !heads.bars() && !args.mask.bias.defined() &&
                     heads.most_queries() >= 8 && (kind == 1 || precision_ == cpu::Precision::split);
  const auto kernel = tiles ? rows_.attention_backward_tiles[kind] : rows_.attention_backward[kind];
  const std::int64_t floats = tiles ? cpu::attention_tiles_floats(heads.most_queries(), heads.width())
                                    : cpu::attention_backward_floats(heads.most_queries(), heads.width());
  const std::int64_t work = heads.most_queries() * heads.keys_of_a_stretch(0) * heads.width() / 3;
  cpu::for_rows(pool(), groups * H, work, [&](std::int64_t begin, std::int64_t end) {
    static thread_local cpu::detail::Scratch memory;  // copies of a head's rows
    auto* rows = reinterpret_cast<float*>(memory.get(static_cast<std::size_t>(floats) * sizeof(float)));
    for (std::int64_t task = begin; task < end; ++task)
      for (std::int64_t b = task / H; b < B; b += groups) {
        const std::int64_t h = task % H, query = heads.first_query(b), key = heads.first_key(b);
        cpu::AttentionHead head = heads.head(b, h);
        head.y = heads.element(y, query, h), head.y_stride = y.row_stride();
        head.dy = heads.element(dy, query, h), head.dy_stride = dy.row_stride();
        head.lse = heads.lse(lse, b, h), head.lse_stride = H;
        place(heads, dq, query, h, head.dq, head.dq_stride);
        place(heads, dk, key, h, head.dk, head.dk_stride);
        place(heads, dv, key, h, head.dv, head.dv_stride);
        if (dbias) head.dbias = bias_sums + heads.bias_offset(b, h), head.bias_stride = heads.most_keys();
        head.work = rows;
        kernel(head);
      }
  });
  if (beside)
    cpu::for_rows(pool(), dbias.into.size(), 1, [&](std::int64_t begin, std::int64_t end) {
      cpu::Out out{cpu::at(dbias.into.raw(), begin, DType::bf16), dbias.accumulate};
      rows_.scale[0][1](bias_sums + begin, 1.0f, out, end - begin);
    });
  return false;
}

}  // namespace attend
