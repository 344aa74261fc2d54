// Bahdanau's additive attention scores (Bahdanau et al. 2015, appendix A.1.2) and their gradients.
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

void CpuBackend::additive_scores(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& scores) {
  const std::int64_t T = q.dim(1), S = k.dim(1), C = q.dim(2);
  const DType dtype = q.dtype();
  // A tanh is some twenty operations.
  cpu::for_rows(pool(), q.dim(0) * T, 16 * S * C, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      cpu::AdditiveRows args;
      args.q = cpu::at(q.raw(), row * C, dtype);
      args.k = cpu::at(k.raw(), row / T * S * C, dtype);
      args.v = v.raw();
      args.queries = 1, args.keys = S, args.width = C, args.stride = C;
      args.scores = cpu::at(scores.raw(), row * S, dtype);
      rows_.additive_scores[cpu::kind_of(q)](args);
    }
  });
}

void CpuBackend::additive_scores_backward(const Tensor& dscores, const Tensor& q, const Tensor& k, const Tensor& v,
                                          const Grad& dq, const Grad& dk, const Grad& dv) {
  const std::int64_t B = q.dim(0), T = q.dim(1), S = k.dim(1), C = q.dim(2);
  const DType dtype = q.dtype();
  // dk is summed over the queries in f32: in place where it is f32, else beside. dv: a row of sums per sequence.
  const bool beside = dk && dk.into.dtype() != DType::f32;
  float* sums = scratch((beside ? B * S * C : 0) + std::max<std::int64_t>(1, B) * C);
  float* dk_sums = beside ? sums + std::max<std::int64_t>(1, B) * C : dk ? dk.into.data<float>() : nullptr;
  std::fill_n(sums, std::max<std::int64_t>(1, B) * C, 0.0f);
  if (dk_sums && (beside || !dk.accumulate)) std::fill_n(dk_sums, B * S * C, 0.0f);
  constexpr std::int64_t kColumns = 64;
  const std::int64_t blocks = (C + kColumns - 1) / kColumns;
  cpu::for_rows(pool(), B * blocks, 16 * T * S * kColumns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t b = task / blocks, column = task % blocks * kColumns;
      cpu::AdditiveRows args;
      args.q = cpu::at(q.raw(), b * T * C + column, dtype);
      args.k = cpu::at(k.raw(), b * S * C + column, dtype);
      args.v = cpu::at(v.raw(), column, dtype);
      args.queries = T, args.keys = S, args.width = std::min(kColumns, C - column), args.stride = C;
      args.dscores = cpu::at(dscores.raw(), b * T * S, dtype);
      if (dq) args.dq = {cpu::at(dq.into.raw(), b * T * C + column, dtype), dq.accumulate};
      if (dk_sums) args.dk = dk_sums + b * S * C + column;
      if (dv) args.dv = sums + b * C + column;
      rows_.additive_scores_backward[cpu::kind_of(q)](args);
    }
  });
  finish_columns(sums, std::max<std::int64_t>(1, B), C, dv);
  if (!beside) return;
  cpu::for_rows(pool(), B * S * C, 1, [&](std::int64_t begin, std::int64_t end) {
    cpu::Out out{cpu::at(dk.into.raw(), begin, dk.into.dtype()), dk.accumulate};
    rows_.scale[0][cpu::kind_of(dk.into)](dk_sums + begin, 1.0f, out, end - begin);
  });
}

}  // namespace attend
