// AdamW (Loshchilov & Hutter 2019), SGD with momentum, and the gradient norm that clipping needs, over flat buffers.
#include <cmath>

#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

void CpuBackend::gradient_norm(const Tensor& gradient, float max_norm, const Tensor& norm) {
  const float* data = gradient.data<float>();
  const std::int64_t n = gradient.size(), pieces = (n + cpu::kPiece - 1) / cpu::kPiece;
  auto* sums = reinterpret_cast<double*>(scratch(2 * std::max<std::int64_t>(1, pieces)));
  pool().for_range(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece)
      sums[piece] = rows_.sum_of_squares(data + piece * cpu::kPiece, std::min(cpu::kPiece, n - piece * cpu::kPiece));
  });
  double total = 0;
  for (std::int64_t piece = 0; piece < pieces; ++piece) total += sums[piece];
  const auto length = static_cast<float>(std::sqrt(total));
  float* out = norm.data<float>();
  out[0] = length;
  if (!std::isfinite(length))
    out[1] = 0;
  else
    out[1] = max_norm > 0 && length > max_norm ? max_norm / length : 1.0f;
}

namespace {

// The clip scale; 0 means that this step is skipped.
float clip_of(const Optimizer& args) { return args.norm.defined() ? args.norm.data<float>()[1] : 1.0f; }

// The copy the model computes with, when it is not the master itself.
void* value_of(const Optimizer& args) { return args.value.raw() == args.master.raw() ? nullptr : args.value.raw(); }

}  // namespace

void CpuBackend::adamw(const Optimizer& args, float beta1, float beta2, float eps, const Tensor& m, const Tensor& v) {
  stop_recording();
  cpu::AdamRows rows;
  rows.clip = clip_of(args);
  if (rows.clip == 0) return;
  rows.value = value_of(args);
  rows.master = args.master.data<float>();
  rows.gradient = args.gradient.data<float>();
  rows.m = m.data<float>(), rows.v = v.data<float>();
  const float* rate = args.rate.data<float>();
  rows.rate = rate[0], rows.correction1 = rate[1], rows.correction2 = rate[2];
  rows.beta1 = beta1, rows.beta2 = beta2, rows.eps = eps, rows.decay = args.weight_decay;
  cpu::for_rows(pool(), args.master.size(), 2,
                [&](std::int64_t begin, std::int64_t end) { rows_.adamw[cpu::kind_of(args.value)](rows, begin, end); });
}

void CpuBackend::sgd(const Optimizer& args, const Momentum& momentum, const Tensor& velocity) {
  stop_recording();
  cpu::SgdRows rows;
  rows.clip = clip_of(args);
  if (rows.clip == 0) return;
  rows.value = value_of(args);
  rows.master = args.master.data<float>();
  rows.gradient = args.gradient.data<float>();
  rows.velocity = velocity.defined() ? velocity.data<float>() : nullptr;
  rows.rate = args.rate.data<float>()[0];
  rows.momentum = momentum.share, rows.nesterov = momentum.nesterov, rows.decay = args.weight_decay;
  cpu::for_rows(pool(), args.master.size(), 2,
                [&](std::int64_t begin, std::int64_t end) { rows_.sgd[cpu::kind_of(args.value)](rows, begin, end); });
}

}  // namespace attend
