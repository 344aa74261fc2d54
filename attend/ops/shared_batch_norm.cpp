// Batch norm over several processes, built from the kernels of batch norm and a few products of vectors, so that every
// device has it:
//   forward    Running statistics with momentum 1 give the mean and variance of the own batch. Those of all processes
//              follow from them, and a frozen norm applies them.
//   backward   Batch norm's backward uses the statistics of the own batch. The difference to those of all processes
//              is linear in x for each channel, so a frozen norm computes it.
#include "attend/ops/shared_batch_norm.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

Tensor row(const Tensor& pair, std::int64_t i) { return pair.slice_first(i, 1).reshape({pair.dim(1)}); }

// f32 [2, C]: mean and variance over the batches of all processes, from those of this one, whose variance is unbiased.
Tensor statistics_of_all(const Tensor& own, std::int64_t rows, BatchSums& sums) {
  Backend& backend = own.backend();
  const auto places = static_cast<double>(rows);
  const double share = 1.0 / sums.processes();
  const Tensor all = like(own), off = like(own, {own.dim(1)}), squares = like(off);
  backend.scale(row(own, 0), static_cast<float>(share), {row(all, 0)});
  sums.sum(row(all, 0));
  // The variance of all is the mean of the variances plus the mean squared difference of the means (Chan et al. 1979).
  backend.scale(row(own, 0), 1, {off});
  backend.scale(row(all, 0), -1, {off, true});
  backend.multiply(off, off, {squares});
  backend.scale(row(own, 1), static_cast<float>(share * (places - 1) / places), {row(all, 1)});
  backend.scale(squares, static_cast<float>(share), {row(all, 1), true});
  sums.sum(row(all, 1));
  return all;
}

// running = (1 - momentum) · running + momentum · new, with the unbiased variance.
void move_running(const GroupNorm& args, const Tensor& all, double places) {
  Backend& backend = all.backend();
  const double unbiased = places / std::max(1.0, places - 1);
  for (const Tensor& each : {args.running_mean, args.running_variance}) backend.scale(each, 1 - args.momentum, {each});
  backend.scale(row(all, 0), args.momentum, {args.running_mean, true});
  backend.scale(row(all, 1), static_cast<float>(static_cast<double>(args.momentum) * unbiased),
                {args.running_variance, true});
}

// [2, C] in x's dtype, as a norm reads it: weight · rstd · d. d is the difference between this batch's means and those
// of all processes, for Σ dy and for Σ dy · x̂.
Tensor corrections(const GroupNorm& args, const Tensor& rstd, const Tensor& own, BatchSums& sums) {
  Backend& backend = own.backend();
  const auto places = static_cast<double>(args.x.dim(1));
  const Tensor off = like(own), factors = like(own, {own.dim(1)}), scaled = like(own);
  backend.scale(own, -1, {off});
  sums.sum(off);
  backend.scale(off, static_cast<float>(1 / (places * sums.processes())), {off});
  backend.scale(own, static_cast<float>(1 / places), {off, true});
  const Tensor spread = rstd.reshape({own.dim(1)});
  if (args.weight.defined()) {
    const Tensor weight = like(factors);
    backend.scale(args.weight, 1, {weight});
    backend.multiply(spread, weight, {factors});
  } else {
    backend.scale(spread, 1, {factors});
  }
  backend.multiply(off, factors, {scaled});
  const Tensor read = like(own, own.shape(), args.x.dtype());
  backend.scale(scaled, 1, {read});
  return read;
}

void add_gradient(const Tensor& sums, const Grad& to) {
  if (to) sums.backend().scale(sums, 1, to);
}

}  // namespace

GroupNorm shared_batch_norm(const GroupNorm& args, const Tensor& y, const Tensor& mean, const Tensor& rstd,
                            BatchSums& sums) {
  Backend& backend = args.x.backend();
  const std::int64_t rows = args.x.dim(1), channels = args.x.dim(2);
  const Tensor own = like(mean, {2, channels});
  GroupNorm here = args;
  backend.fill(own, 0);
  here.running_mean = row(own, 0), here.running_variance = row(own, 1), here.momentum = 1;
  here.residual = {}, here.relu = false;
  backend.group_norm(here, y, mean, rstd);
  const Tensor all = statistics_of_all(own, rows, sums);
  if (args.running_mean.defined()) move_running(args, all, static_cast<double>(rows * sums.processes()));
  GroupNorm shared = args;
  shared.running_mean = row(all, 0), shared.running_variance = row(all, 1), shared.frozen = true;
  backend.group_norm(shared, y, mean, rstd);
  return shared;
}

void shared_batch_norm_backward(const GroupNorm& args, const Tensor& y, const Tensor& dy, const Tensor& mean,
                                const Tensor& rstd, const Grad& dx, const Tensor& dsum, const Grad& dweight,
                                const Grad& dbias, BatchSums& sums) {
  Backend& backend = dy.backend();
  const Tensor own = like(mean, {2, args.x.dim(2)});
  GroupNorm here = args;
  here.frozen = false;
  backend.group_norm_backward(here, y, dy, mean, rstd, dx, dsum, {row(own, 1)}, {row(own, 0)});
  add_gradient(row(own, 1), dweight);
  add_gradient(row(own, 0), dbias);
  // This runs even if dx is not wanted, because all processes must take part in the sums.
  const Tensor factors = corrections(args, rstd, own, sums);
  if (!dx) return;
  GroupNorm line = args;
  line.relu = false;
  line.bias = row(factors, 0), line.weight = row(factors, 1);
  const Tensor more = like(dy);
  backend.group_norm(line, more, mean, rstd);
  backend.scale(more, 1, {dx.into, true});
}

}  // namespace attend::ops
