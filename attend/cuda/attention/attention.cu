// Attention on the page of kernels: from tensors to the launchers of attention.cuh.
#include <algorithm>

#include "attend/cuda/attention/attention.cuh"
#include "attend/cuda/cuda_backend.h"
#include "attend/cuda/cuda_check.h"
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/column_sums.cuh"

namespace attend {
namespace {

const std::int32_t* ints(const Tensor& x) { return x.defined() ? x.data<std::int32_t>() : nullptr; }

cuda::AttentionParams params_of(const Attention& args, const Tensor& y, const Tensor& lse) {
  const AttentionMask& mask = args.mask;
  const bool packed = mask.query_offsets.defined();
  check(args.q.rows() <= 0x7fffffff && args.k.rows() <= 0x7fffffff,
        "cuda: attention: q has {} rows and k has {}, at most {}", args.q.rows(), args.k.rows(), 0x7fffffff);
  cuda::AttentionParams p;
  p.bf16 = args.q.dtype() == DType::bf16;
  p.q = args.q.raw(), p.k = args.k.raw(), p.v = args.v.raw();
  p.q_stride = args.q.row_stride(), p.k_stride = args.k.row_stride(), p.v_stride = args.v.row_stride();
  p.y = y.defined() ? y.raw() : nullptr;
  p.lse = lse.defined() ? lse.data<float>() : nullptr;
  p.batch = static_cast<int>(packed ? mask.query_offsets.size() - 1 : args.q.dim(0));
  p.heads = static_cast<int>(args.heads);
  p.width = static_cast<int>(args.q.width() / args.heads);
  p.queries = static_cast<int>(packed ? mask.max_queries : args.q.dim(1));
  p.keys = static_cast<int>(packed ? mask.max_keys : args.k.dim(1));
  p.query_rows = args.q.rows(), p.key_rows = args.k.rows();
  p.scale = args.scale;
  p.causal = mask.causal, p.windowed = mask.windowed() || mask.seen_from.defined(), p.window = mask.window;
  p.key_lengths = ints(mask.key_lengths), p.seen_from = ints(mask.seen_from);
  p.query_offsets = ints(mask.query_offsets), p.key_offsets = ints(mask.key_offsets);
  p.rows_of_keys = ints(mask.key_rows);
  if (mask.bias.defined()) {
    p.bias = mask.bias.raw();
    p.bias_bf16 = mask.bias.dtype() == DType::bf16;
    p.groups = static_cast<int>(mask.bias.dim(0));
  }
  p.dropout_rate = args.dropout.rate, p.seed = args.dropout.seed, p.stream = args.dropout.stream;
  return p;
}

cuda::AttentionGradient gradient_of(const Grad& grad) {
  if (!grad) return {};
  return {.data = grad.into.raw(), .stride = grad.into.row_stride(), .accumulate = grad.accumulate};
}

// A bias that many sequences share is a long sum for few blocks: it is cut up until the device is full, within 64 MB.
int bias_chunks(const cuda::AttentionParams& p, std::int64_t size) {
  constexpr std::int64_t kBlocks = 16 * 132, kMost = 1 << 24, kTile = 64;
  if (size == 0 || p.batch == 0) return 1;
  const std::int64_t tiles = cuda::divide_up(p.queries, kTile) * cuda::divide_up(p.keys, kTile);
  const std::int64_t wanted = cuda::divide_up(kBlocks, std::int64_t{p.groups} * p.heads * tiles);
  const std::int64_t most = std::min<std::int64_t>(p.batch / p.groups, kMost / size);
  return static_cast<int>(std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(most, 1)));
}

}  // namespace

void CudaBackend::attention(const Attention& args, const Tensor& y, const Tensor& lse) {
  const cuda::AttentionParams p = params_of(args, y, lse);
  check(!p.rows_of_keys || cuda::attention_decodes(p),
        "cuda: attention: key_rows are for a few queries at a time, not {}", p.queries);
  cuda::launch_attention_forward(p, stream());
  launch_check("attention");
}

bool CudaBackend::attention_backward(const Attention& args, const Tensor& y, const Tensor& lse, const Tensor& dy,
                                     const Grad& dq, const Grad& dk, const Grad& dv, const Grad& dbias,
                                     const AttentionSums& sums) {
  const cuda::AttentionParams p = params_of(args, y, lse);
  cuda::AttentionBackwardParams g;
  g.dy = dy.raw();
  g.dq = gradient_of(dq), g.dk = gradient_of(dk), g.dv = gradient_of(dv), g.dbias = gradient_of(dbias);
  g.dbias_bf16 = dbias && dbias.into.dtype() == DType::bf16;
  const std::int64_t bias_size = dbias ? dbias.into.size() : 0;
  g.bias_chunks = dbias ? bias_chunks(p, bias_size) : 1;
  cudaStream_t on = stream();
  const bool summed = sums && cuda::attention_backward_leaves_sums(p, g);
  const std::int64_t width = args.q.width();
  const std::size_t own = cuda::round_up_256(cuda::attention_backward_scratch(p));
  const std::size_t partials =
      cuda::round_up_256(summed ? sizeof(float) * static_cast<std::size_t>(p.batch * 3 * width) : 0);
  const std::size_t bias_partials =
      g.bias_chunks > 1 ? sizeof(float) * static_cast<std::size_t>(g.bias_chunks * bias_size) : 0;
  auto* memory = static_cast<unsigned char*>(scratch(own + partials + bias_partials));
  g.scratch = memory;
  if (g.bias_chunks > 1) g.dbias = {memory + own + partials, 0, false}, g.dbias_bf16 = false;
  if (summed) g.sums = reinterpret_cast<float*>(memory + own);
  cuda::launch_attention_backward(p, g, on);
  launch_check("attention_backward");
  if (g.bias_chunks > 1)
    cuda::sum_partials(*this,
                       {.data = static_cast<const float*>(g.dbias.data),
                        .chunks = g.bias_chunks,
                        .width = bias_size,
                        .stride = bias_size},
                       dbias);
  if (summed)
    cuda::sum_partials(*this, {.data = g.sums, .chunks = p.batch, .width = width, .stride = 3 * width}, sums.dq,
                       sums.dk, sums.dv);
  return summed;
}

void CudaBackend::attention_weights(const Attention& args, const Tensor& lse, const Tensor& weights) {
  cuda::launch_attention_weights(params_of(args, {}, lse), weights.data<float>(), stream());
  launch_check("attention_weights");
}

}  // namespace attend
