#include "tests/ops/attention_specs.h"

#include <algorithm>

#include "attend/ops/attention.h"
#include "attend/ops/layout.h"
#include "tests/ops/attention_reference.h"

namespace attend::test {

namespace {

// Where the optional inputs of a dense case stand after q, k, v (or the fused one).
struct DensePlaces {
  int lengths = -1, bias = -1;
  explicit DensePlaces(const DenseSpec& spec) {
    int next = spec.fused ? 1 : 3;
    if (!spec.key_lengths.empty()) lengths = next++;
    if (spec.groups) bias = next++;
  }
};

Tensors run_dense(const DenseSpec& spec, std::span<const Tensor> in) {
  const DensePlaces place(spec);
  std::array<Tensor, 3> qkv;
  if (spec.fused)
    qkv = ops::split<3>(in[0]);
  else
    qkv = {in[0], in[1], in[2]};
  ops::AttentionOptions options{.heads = spec.heads, .scale = spec.scale, .dropout = spec.dropout};
  options.mask.causal = spec.causal, options.mask.window = spec.window;
  if (place.lengths >= 0) options.mask.key_lengths = in[static_cast<std::size_t>(place.lengths)];
  if (place.bias >= 0) options.mask.bias = in[static_cast<std::size_t>(place.bias)];
  return {ops::attention(qkv[0], qkv[1], qkv[2], options)};
}

void set_window(AttentionReference& reference, const AttentionWindow& window) {
  reference.before = window.before, reference.after = window.after, reference.globals = window.globals;
}

Arrays dense_reference(const DenseSpec& spec, std::span<const Array> in) {
  const DensePlaces place(spec);
  const std::int64_t width = spec.heads * spec.head;
  AttentionReference reference{
      .heads = spec.heads, .scale = spec.scale, .dropout = spec.dropout, .causal = spec.causal};
  set_window(reference, spec.window);
  reference.max_queries = spec.queries, reference.max_keys = spec.keys;
  for (std::int64_t b = 0; b < spec.batch; ++b) {
    const std::int64_t visible = spec.key_lengths.empty() ? spec.keys : spec.key_lengths[static_cast<std::size_t>(b)];
    reference.sequences.push_back(
        {b * spec.queries, spec.queries, b * spec.keys, spec.keys, std::min(visible, spec.keys)});
  }
  if (place.bias >= 0) reference.bias = &in[static_cast<std::size_t>(place.bias)];
  if (!spec.fused) return {reference(in[0], in[1], in[2])};
  Array parts[3];
  for (int i = 0; i < 3; ++i) {
    parts[i] = Array(in[0].shape.with_last(width));
    for (std::int64_t r = 0; r < in[0].rows(); ++r)
      for (std::int64_t c = 0; c < width; ++c) parts[i].at(r, c) = in[0].at(r, i * width + c);
  }
  return {reference(parts[0], parts[1], parts[2])};
}

std::vector<std::int32_t> offsets(const std::vector<std::int32_t>& lengths) {
  std::vector<std::int32_t> sums{0};
  for (std::int32_t length : lengths) sums.push_back(sums.back() + length);
  return sums;
}

}  // namespace

Case dense_case(const DenseSpec& spec) {
  const std::int64_t width = spec.heads * spec.head;
  std::vector<Input> inputs;
  if (spec.fused)
    inputs = {reals({spec.batch, spec.queries, 3 * width}, -2, 2)};
  else
    inputs = {reals({spec.batch, spec.queries, width}, -2, 2), reals({spec.batch, spec.keys, width}, -2, 2),
              reals({spec.batch, spec.keys, width})};
  if (!spec.key_lengths.empty()) inputs.push_back(ints(spec.key_lengths));
  if (spec.groups) {
    inputs.push_back(weights({spec.groups, spec.heads, spec.queries, spec.keys}, -2, 2));
    inputs.back().keeps_f32 = spec.bias_f32;
  }
  return {
      .name = "attention_" + spec.name,
      .inputs = std::move(inputs),
      .run = [spec](std::span<const Tensor> in) { return run_dense(spec, in); },
      .reference = [spec](std::span<const Array> in) { return dense_reference(spec, in); },
      .streams = spec.dropout > 0 ? 1 : 0,
  };
}

Case packed_case(const PackedSpec& spec) {
  const std::vector<std::int32_t> from = offsets(spec.queries), keys_from = offsets(spec.keys);
  const std::int64_t width = spec.heads * spec.head;
  const std::int64_t max_queries = *std::max_element(spec.queries.begin(), spec.queries.end());
  const std::int64_t max_keys = *std::max_element(spec.keys.begin(), spec.keys.end());
  const int after = spec.fused ? 1 : 3;
  std::vector<Input> inputs;
  if (spec.fused)
    inputs = {reals({from.back(), 3 * width}, -2, 2)};
  else
    inputs = {reals({from.back(), width}, -2, 2), reals({keys_from.back(), width}, -2, 2),
              reals({keys_from.back(), width})};
  inputs.push_back(ints(from));
  inputs.push_back(ints(keys_from));
  if (!spec.key_lengths.empty()) inputs.push_back(ints(spec.key_lengths));
  return {
      .name = "attention_packed_" + spec.name,
      .inputs = std::move(inputs),
      .run =
          [=](std::span<const Tensor> in) {
            std::array<Tensor, 3> qkv;
            if (spec.fused)
              qkv = ops::split<3>(in[0]);
            else
              qkv = {in[0], in[1], in[2]};
            ops::AttentionOptions options{.heads = spec.heads, .dropout = spec.dropout};
            options.mask = {.causal = spec.causal,
                            .key_lengths = spec.key_lengths.empty() ? Tensor() : in[after + 2],
                            .query_offsets = in[after],
                            .key_offsets = in[after + 1],
                            .max_queries = max_queries,
                            .max_keys = max_keys,
                            .window = spec.window};
            return Tensors{ops::attention(qkv[0], qkv[1], qkv[2], options)};
          },
      .reference =
          [=](std::span<const Array> in) {
            AttentionReference reference{.heads = spec.heads, .dropout = spec.dropout, .causal = spec.causal};
            set_window(reference, spec.window);
            reference.max_queries = max_queries, reference.max_keys = max_keys;
            for (std::size_t b = 0; b < spec.queries.size(); ++b) {
              const std::int64_t keys = spec.key_lengths.empty() ? spec.keys[b] : spec.key_lengths[b];
              reference.sequences.push_back({from[b], spec.queries[b], keys_from[b], keys, keys});
            }
            if (!spec.fused) return Arrays{reference(in[0], in[1], in[2])};
            Array parts[3];
            for (int i = 0; i < 3; ++i) {
              parts[i] = Array({from.back(), width});
              for (std::int64_t r = 0; r < in[0].rows(); ++r)
                for (std::int64_t c = 0; c < width; ++c) parts[i](r, c) = in[0](r, i * width + c);
            }
            return Arrays{reference(parts[0], parts[1], parts[2])};
          },
      .streams = spec.dropout > 0 ? 1 : 0,
  };
}

}  // namespace attend::test
