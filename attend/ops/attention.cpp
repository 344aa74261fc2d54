// Scaled dot-product attention (Vaswani et al. 2017, section 3.2.1): checks, the fused kernel, the probe and backward.
#include "attend/ops/attention.h"

#include <array>
#include <cmath>
#include <utility>

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

void check_mask(const Tensor& q, const Tensor& k, std::int64_t heads, const AttentionMask& mask) {
  const bool packed = mask.query_offsets.defined();
  for (const Tensor& ints : {mask.key_lengths, mask.query_offsets, mask.key_offsets, mask.seen_from, mask.key_rows})
    if (ints.defined()) check_ints("attention", ints, q);
  if (packed) {
    check(q.rank() == 2 && k.rank() == 2, "attention: packed q and k must be [rows, H·D], not {} and {}", q.shape(),
          k.shape());
    const Shape& offsets = mask.query_offsets.shape();
    check(offsets.rank() == 1 && offsets[0] >= 1, "attention: query_offsets must be [B + 1], not {}", offsets);
    check(mask.key_offsets.defined() && mask.key_offsets.shape() == offsets,
          "attention: query_offsets are {}, so key_offsets must be too", offsets);
    check(mask.max_queries > 0 || q.rows() == 0, "attention: packed rows need max_queries and max_keys");
    check(!mask.bias.defined(), "attention: a bias needs dense q and k");
  } else {
    check(q.rank() == 3 && k.rank() >= 3, "attention: q and k must be [B, T, H·D], not {} and {}", q.shape(),
          k.shape());
    const bool one_cache = k.rank() == 4 && k.dim(0) == 1;
    check(q.dim(0) == k.dim(0) || one_cache, "attention: q is {} and k is {}: the batches differ", q.shape(),
          k.shape());
  }
  const AttentionWindow& window = mask.window;
  check(window.before >= -1 && window.after >= -1 && window.globals >= 0,
        "attention: a window of {} before and {} after with {} global positions; -1 is all, and none is less",
        window.before, window.after, window.globals);
  const std::int64_t batch = packed ? mask.query_offsets.dim(0) - 1 : q.dim(0);
  check(!mask.key_lengths.defined() || mask.key_lengths.shape() == Shape{batch},
        "attention: {} sequences, but key_lengths is {}", batch,
        mask.key_lengths.defined() ? mask.key_lengths.shape() : Shape{});
  if (const Tensor& from = mask.seen_from; from.defined())
    check(k.rank() < 4 && from.contiguous() && from.size() == k.rows(),
          "attention: k is {}, so seen_from must have one number for each of its rows, not {}", k.shape(),
          from.shape());
  if (const Tensor& rows = mask.key_rows; rows.defined())
    check(!packed && !q.backend().on_host() && rows.contiguous() && rows.shape() == Shape{batch, k.dim(1)},
          "attention: k is {}, so key_rows must be its first two sizes, on a GPU, not {}", k.shape(), rows.shape());
  if (mask.bias.defined()) {
    const Shape& bias = mask.bias.shape();
    const std::int64_t keys = k.dim(k.rank() == 4 ? 2 : 1);
    check(bias.rank() == 4 && bias[0] > 0 && bias[1] == heads && bias[2] == q.dim(1) && bias[3] == keys,
          "attention: q is {} and k is {} with {} heads, so bias must be [G, {}, {}, {}], not {}", q.shape(), k.shape(),
          heads, heads, q.dim(1), keys, bias);
    check(batch % bias[0] == 0, "attention: {} sequences do not divide among the {} groups of the bias", batch,
          bias[0]);
    if (&mask.bias.backend() != &q.backend()) [[unlikely]]
      fail("attention: q lies on {}, the bias on {}", q.backend().name(), mask.bias.backend().name());
    check(mask.bias.contiguous() && (mask.bias.dtype() == DType::f32 || mask.bias.dtype() == q.dtype()),
          "attention: the bias must be contiguous f32 or {}", q.dtype());
  }
}

// Checks a cache by heads, [B, 2·H, S, D], which is both keys and values.
void check_cache(const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t heads) {
  check(q.backend().on_host() && &k.backend() == &q.backend() && !recorded({q, k}),
        "attention: keys by heads {} are a cache of the host's, and not to be learned through", k.shape());
  check(k.dtype() == q.dtype() || (k.dtype() == DType::bf16 && q.dtype() == DType::f32),
        "attention: q is {}, the cache {}", q.dtype(), k.dtype());
  check(k.contiguous() && v.defined() && k.raw() == v.raw() && k.dim(1) == 2 * heads && k.dim(3) * heads == q.width(),
        "attention: q is {} with {} heads, so a cache by heads must be [B, {}, S, {}], not {}", q.shape(), heads,
        2 * heads, q.width() / heads, k.shape());
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  check_floats("attention", {q});
  check(options.heads > 0 && q.rank() >= 2 && q.width() % options.heads == 0,
        "attention: width {} does not divide among {} heads", q.rank() > 0 ? q.width() : 1, options.heads);
  const std::int64_t head = q.width() / options.heads;
  const bool by_heads = k.defined() && k.rank() == 4;
  if (by_heads)
    check_cache(q, k, v, options.heads);
  else
    check_floats("attention", {q, k, v});
  check(k.shape() == v.shape(), "attention: k is {}, so v must be too, not {}", k.shape(), v.shape());
  check(by_heads || q.width() == k.width(), "attention: q is {} and k is {}: the widths differ", q.shape(), k.shape());
  check(head % 8 == 0 && (head <= 128 || head == 256),
        "attention: head width {} is not a multiple of 8 up to 128, or 256", head);
  check_mask(q, k, options.heads, options.mask);
  const std::int64_t keys = k.dim(by_heads ? 2 : 1);

  const Tensor& made = lead({&q, &k, &v});
  const Attention args{.q = q,
                       .k = k,
                       .v = v,
                       .heads = options.heads,
                       .scale = options.scale != 0 ? options.scale : 1.0f / std::sqrt(static_cast<float>(head)),
                       .mask = options.mask,
                       .dropout = made.pass() ? made.pass()->dropout(options.dropout) : Dropout{}};
  // y [B, T, H·D]. lse [rows, H] is the log of each row's sum of exponentials; backward recomputes weights from it.
  Tensor y = like(made, q.shape()), lse = like(y, {q.rows(), options.heads}, DType::f32);
  q.backend().attention(args, y, lse);
  // The weights for a probe, [B, H, T, S].
  if (Probe* probe = made.pass() ? made.pass()->probe() : nullptr) {
    const bool packed = options.mask.query_offsets.defined();
    const std::int64_t batch = packed ? options.mask.query_offsets.dim(0) - 1 : q.dim(0);
    Tensor weights = like(
        y, {batch, options.heads, packed ? options.mask.max_queries : q.dim(1), packed ? options.mask.max_keys : keys},
        DType::f32);
    q.backend().attention_weights(args, lse, weights);
    if (options.weights)
      *options.weights = weights;
    else
      probe->attention(options.label, weights);
  }
  return record(y, {q, k, v, options.mask.bias}, [args, y, lse](const Tensor& dy, Grads& grad) {
    // The kernels write each gradient separately. If one tensor is two of q, k and v, the later gradient gets its own
    // memory and is added afterwards.
    const std::array<Tensor, 3> of = {args.q, args.k, args.v};
    std::array<Grad, 3> into, sums, added;
    for (std::size_t i = 0; i < of.size(); ++i) {
      std::size_t first = 0;
      while (of[first].raw() != of[i].raw()) ++first;
      if (first == i)
        into[i] = grad(of[i]), sums[i] = Grads::sums(of[i], into[i]);
      else if (into[first])
        into[i] = {like(into[first].into)}, added[i] = {into[first].into, true};
    }
    const bool summed =
        dy.backend().attention_backward(args, y, lse, dy, into[0], into[1], into[2], grad(args.mask.bias),
                                        {.dq = sums[0], .dk = sums[1], .dv = sums[2]});
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (added[i]) dy.backend().scale(into[i].into, 1, added[i]);
      if (!summed || added[i]) Grads::forget_sums(added[i] ? added[i] : into[i]);
    }
  });
}

}  // namespace attend::ops
