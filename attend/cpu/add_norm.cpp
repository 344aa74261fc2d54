// Residual sum, dropout and layer norm in one walk (the "Add & Norm" box of Vaswani et al. 2017), and its gradient
// with the weight and bias gradients collected on the way.
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

void CpuBackend::add_norm(const AddNorm& args, const Tensor& sum, const Tensor& y, const Tensor& mean,
                          const Tensor& rstd) {
  cpu::NormRows rows;
  rows.x = args.x.raw();
  rows.branch = cpu::raw_or_null(args.branch);
  rows.weight = args.weight.raw();
  rows.bias = cpu::raw_or_null(args.bias);
  rows.drop = cpu::rule_of(args.dropout);
  rows.eps = args.eps;
  rows.width = args.x.width();
  rows.mean = mean.data<float>();
  rows.rstd = rstd.data<float>();
  rows.sum = cpu::raw_or_null(sum);
  rows.y = y.raw();
  if (rows.drop.threshold) stop_recording();  // the seed has been read, and the next step has another
  const std::int64_t work = rows.width * (rows.drop.threshold ? 4 : 2);
  run(cpu::RowWork{args.x.rows(), work,
                   [rows, norm = rows_.norm[cpu::kind_of(args.x)]](std::int64_t begin, std::int64_t end) {
                     norm(rows, begin, end);
                   }});
}

void CpuBackend::add_norm_backward(const AddNorm& args, const Tensor& dy, const Tensor& dsum, const Tensor& mean,
                                   const Tensor& rstd, const Grad& dx, const Grad& dbranch, const Grad& dweight,
                                   const Grad& dbias, const Grad& branch_sums) {
  const std::int64_t count = args.x.rows(), width = args.x.width();
  cpu::NormRows rows;
  rows.x = args.x.raw();
  rows.weight = args.weight.raw();
  rows.drop = cpu::rule_of(args.dropout);
  rows.width = width;
  rows.mean = mean.data<float>();
  rows.rstd = rstd.data<float>();
  rows.dy = dy.raw();
  rows.dsum = cpu::raw_or_null(dsum);
  rows.dx = cpu::out_of(dx);
  rows.dbranch = cpu::out_of(dbranch);
  // Partial sums: a row of weight sums, one of bias sums and one of the branch's for each chunk.
  const std::int64_t stride = 3 * width;
  const cpu::Chunks chunks(count, stride);
  float* partial = scratch(std::max<std::int64_t>(1, chunks.count) * stride);
  if (chunks.count == 0) std::fill_n(partial, stride, 0.0f);
  pool().for_each(chunks.count, [&](std::int64_t chunk) {
    float* mine = partial + chunk * stride;
    std::fill_n(mine, stride, 0.0f);
    const cpu::NormSums sums{dweight ? mine : nullptr, dbias ? mine + width : nullptr,
                             branch_sums ? mine + 2 * width : nullptr};
    rows_.norm_backward[cpu::kind_of(dy)](rows, sums, chunk * chunks.rows, std::min(count, (chunk + 1) * chunks.rows));
  });
  const std::int64_t parts = std::max<std::int64_t>(1, chunks.count);
  finish_columns(partial, parts, stride, dweight);
  finish_columns(partial + width, parts, stride, dbias);
  finish_columns(partial + 2 * width, parts, stride, branch_sums);
}

}  // namespace attend
