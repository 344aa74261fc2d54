// global_attention: sets of every kind, inside and outside of the band, in packed batches where each sequence has its
// own, causal and not, with projections of their own; and attention whose keys are seen only by some.
#include <fmt/core.h>

#include <algorithm>

#include "attend/ops/global_attention.h"
#include "attend/ops/layout.h"
#include "tests/ops/attention_reference.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

using Set = std::vector<std::int32_t>;

struct GlobalSpec {
  std::string name;
  bool packed = true;                            // else all have as many queries, and as many keys
  std::vector<std::int32_t> queries, keys = {};  // of each sequence; keys: as many
  std::vector<Set> sets;
  AttentionWindow window = {};
  bool causal = false;
  std::int64_t heads = 2, head = 16;
  std::vector<std::int32_t> key_lengths = {};
  bool fused = false;         // q, k and v are thirds of one input
  bool own = false;           // the global positions read by another q, k, v
  std::int64_t multiple = 1;  // of the places in front
  bool always_copies = false;
};

std::int64_t sum_of(const std::vector<std::int32_t>& counts) {
  std::int64_t sum = 0;
  for (std::int64_t count : counts) sum += count;
  return sum;
}

const std::vector<std::int32_t>& keys_of(const GlobalSpec& spec) {
  return spec.keys.empty() ? spec.queries : spec.keys;
}

ops::AttentionLayout layout_of(const GlobalSpec& spec) {
  ops::AttentionLayout layout{.causal = spec.causal};
  const std::vector<std::int32_t>& keys = keys_of(spec);
  for (std::size_t b = 0; b < spec.queries.size(); ++b) {
    const std::int64_t length = spec.key_lengths.empty() ? keys[b] : spec.key_lengths[b];
    layout.sequences.push_back(
        {layout.query_rows, spec.queries[b], layout.key_rows, spec.packed ? length : keys[b], length});
    layout.query_rows += spec.queries[b], layout.key_rows += keys[b];
  }
  return layout;
}

Tensor given_ints(const Tensor& beside, const std::vector<std::int32_t>& values) {
  Tensor tensor = make_tensor(beside.backend(), {static_cast<std::int64_t>(values.size())}, DType::i32);
  upload(tensor, values);
  return tensor;
}

std::array<Tensor, 3> three(std::span<const Tensor> in, const GlobalSpec& spec, std::size_t first) {
  if (spec.fused && first == 0) return ops::split<3>(in[0]);
  return {in[first], in[first + 1], in[first + 2]};
}

Tensors run_global(const GlobalSpec& spec, std::span<const Tensor> in) {
  const auto [q, k, v] = three(in, spec, 0);
  ops::AttentionOptions options{.heads = spec.heads};
  options.mask.causal = spec.causal, options.mask.window = spec.window;
  const ops::AttentionLayout layout = layout_of(spec);
  if (spec.packed) {
    std::vector<std::int32_t> queries, keys;
    for (const auto& sequence : layout.sequences) {
      queries.push_back(static_cast<std::int32_t>(sequence.query_row));
      keys.push_back(static_cast<std::int32_t>(sequence.key_row));
    }
    queries.push_back(static_cast<std::int32_t>(layout.query_rows));
    keys.push_back(static_cast<std::int32_t>(layout.key_rows));
    options.mask.query_offsets = given_ints(q, queries), options.mask.key_offsets = given_ints(q, keys);
    options.mask.max_queries = *std::ranges::max_element(spec.queries);
    options.mask.max_keys = *std::ranges::max_element(keys_of(spec));
  }
  if (!spec.key_lengths.empty()) options.mask.key_lengths = given_ints(q, spec.key_lengths);
  const ops::GlobalPositions globals(
      q.backend(),
      ops::global_lists(layout, spec.sets, {.multiple = spec.multiple, .always_copies = spec.always_copies}));
  ops::GlobalProjections own;
  if (spec.own) {
    const auto [q2, k2, v2] = three(in, spec, spec.fused ? 1 : 3);
    own = {q2, k2, v2};
  }
  return {ops::global_attention(q, k, v, options, globals, own)};
}

std::array<Array, 3> three_arrays(std::span<const Array> in, const GlobalSpec& spec, std::size_t first) {
  if (!spec.fused || first > 0) return {in[first], in[first + 1], in[first + 2]};
  const std::int64_t width = spec.heads * spec.head;
  std::array<Array, 3> parts;
  for (int i = 0; i < 3; ++i) {
    parts[static_cast<std::size_t>(i)] = Array(in[0].shape.with_last(width));
    for (std::int64_t r = 0; r < in[0].rows(); ++r)
      for (std::int64_t c = 0; c < width; ++c) parts[static_cast<std::size_t>(i)].at(r, c) = in[0].at(r, i * width + c);
  }
  return parts;
}

Arrays global_reference(const GlobalSpec& spec, std::span<const Array> in) {
  AttentionReference reference{.heads = spec.heads, .causal = spec.causal};
  const ops::AttentionLayout layout = layout_of(spec);
  for (std::size_t b = 0; b < layout.sequences.size(); ++b) {
    const auto& [query_row, queries, key_row, keys, visible] = layout.sequences[b];
    reference.sequences.push_back({query_row, queries, key_row, keys, visible, spec.sets[b]});
  }
  AttentionReference all = reference;
  reference.before = spec.window.before, reference.after = spec.window.after;
  const auto parts = three_arrays(in, spec, 0);
  Array y = reference(parts[0], parts[1], parts[2]);
  if (!spec.own) return {y};
  const auto own = three_arrays(in, spec, spec.fused ? 1 : 3);
  const Array read = all(own[0], own[1], own[2]);
  for (std::size_t b = 0; b < layout.sequences.size(); ++b)
    for (const std::int64_t key : spec.sets[b]) {
      const auto& sequence = layout.sequences[b];
      const std::int64_t t = key - (sequence.keys - sequence.queries);
      for (std::int64_t c = 0; t >= 0 && c < y.width(); ++c)
        y.at(sequence.query_row + t, c) = read.at(sequence.query_row + t, c);
    }
  return {y};
}

Case global_case(const GlobalSpec& spec) {
  const std::int64_t width = spec.heads * spec.head, queries = sum_of(spec.queries), keys = sum_of(keys_of(spec));
  const auto batch = static_cast<std::int64_t>(spec.queries.size());
  const auto shape = [&](std::int64_t rows, std::int64_t wide) {
    return spec.packed ? Shape{rows, wide} : Shape{batch, rows / batch, wide};
  };
  std::vector<Input> inputs;
  if (spec.fused) inputs.push_back(reals(shape(queries, 3 * width), -2, 2));
  for (int i = spec.fused ? 1 : 0; i < (spec.own ? 2 : 1); ++i)
    for (const bool of_keys : {false, true, true})
      inputs.push_back(reals(shape(of_keys ? keys : queries, width), -2, 2));
  return {.name = "global_attention_" + spec.name,
          .inputs = std::move(inputs),
          .run = [spec](std::span<const Tensor> in) { return run_global(spec, in); },
          .reference = [spec](std::span<const Array> in) { return global_reference(spec, in); }};
}

Set every(std::int32_t count, std::int32_t step = 1) {
  Set set;
  for (std::int32_t i = 0; i < count; i += step) set.push_back(i);
  return set;
}

// One sequence of the set's size, and sets in one batch that have nothing in common.
void add_sets(std::vector<Case>& cases, const std::string& name, const AttentionWindow& window, bool causal) {
  const auto add = [&](GlobalSpec spec) {
    spec.name = fmt::format("{}{}_{}", causal ? "causal_" : "", name, spec.name);
    spec.window = window, spec.causal = causal;
    cases.push_back(global_case(spec));
  };
  add({.name = "few", .queries = {11}, .sets = {{7, 2}}, .head = 24});
  add({.name = "first", .queries = {13}, .sets = {{0, 1, 2}}, .head = 8});
  add({.name = "first_copied", .queries = {13}, .sets = {{0, 1, 2}}, .head = 8, .always_copies = true});
  add({.name = "first_of_all", .queries = {13, 2, 0, 7}, .sets = {{0, 1, 2}, {0, 1}, {}, {2, 0, 1}}, .own = true});
  add({.name = "last", .queries = {9}, .sets = {{8}}});
  add({.name = "none", .queries = {9, 4}, .sets = {{}, {}}});
  add({.name = "all", .queries = {9}, .sets = {every(9)}, .head = 8});
  add({.name = "different", .queries = {5, 17, 1, 0, 9}, .sets = {{4}, {3, 4, 5, 11, 16}, {0}, {}, {}}});
  add({.name = "dense", .packed = false, .queries = {12, 12, 12}, .sets = {{5}, {}, {0, 4, 9, 11}}, .fused = true});
  add({.name = "lengths",
       .packed = false,
       .queries = {14, 14, 14},
       .sets = {{13, 1}, {2, 5}, {0, 7}},
       .key_lengths = {14, 6, 0},
       .multiple = 4});
  add({.name = "more_keys", .queries = {3, 4}, .keys = {17, 9}, .sets = {{2, 15}, {8}}});
  add({.name = "more_queries", .queries = {9, 2}, .keys = {4, 6}, .sets = {{0, 3}, {5, 1}}, .head = 32});
  add({.name = "cache",
       .queries = {1, 1, 2},
       .keys = {12, 12, 12},
       .sets = {{4}, {0, 9}, {5, 2}},
       .head = 32,
       .key_lengths = {5, 12, 7}});
  add({.name = "own", .queries = {15, 6, 2}, .sets = {{9, 4}, {0}, {}}, .own = true, .multiple = 8});
  add({.name = "own_fused",
       .packed = false,
       .queries = {10, 10},
       .sets = {{3}, {8, 6, 2}},
       .fused = true,
       .own = true});
  add({.name = "tiles", .queries = {331}, .sets = {{0, 64, 65, 130, 200, 330}}, .heads = 1, .head = 64, .fused = true});
}

// Keys that only some see, without anything else: the mask of the kernels.
Case seen_from_case(const std::string& name, bool causal, std::int64_t before, std::int64_t head) {
  constexpr std::int64_t kBatch = 2, kQueries = 70, kKeys = 133;
  std::vector<std::int32_t> from(kBatch * kKeys);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = i % 5 == 2 ? kSeenByNone : i % 7 == 3 ? static_cast<std::int32_t>(i % 50) : 0;
  return {.name = "attention_seen_from_" + name,
          .inputs = {reals({kBatch, kQueries, head}, -2, 2), reals({kBatch, kKeys, head}, -2, 2),
                     reals({kBatch, kKeys, head}), ints(from)},
          .run =
              [=](std::span<const Tensor> in) {
                ops::AttentionOptions options;
                options.mask.causal = causal, options.mask.window.before = before;
                options.mask.seen_from = in[3];
                return Tensors{ops::attention(in[0], in[1], in[2], options)};
              },
          .reference =
              [=](std::span<const Array> in) {
                AttentionReference reference{.causal = causal, .before = before};
                for (std::int64_t b = 0; b < kBatch; ++b) {
                  reference.sequences.push_back({b * kQueries, kQueries, b * kKeys, kKeys, kKeys});
                  reference.sequences.back().seen_from.assign(from.begin() + b * kKeys, from.begin() + (b + 1) * kKeys);
                }
                return Arrays{reference(in[0], in[1], in[2])};
              }};
}

}  // namespace

static void add_global_attention_cases(std::vector<Case>& cases) {
  for (const bool causal : {false, true}) {
    add_sets(cases, "near", {.before = 1, .after = 1}, causal);
    add_sets(cases, "own_place", {.before = 0, .after = 0}, causal);
    add_sets(cases, "uneven", {.before = 5, .after = 2}, causal);
    add_sets(cases, "back", {.before = 2}, causal);
    add_sets(cases, "wide", {.before = 400, .after = 400}, causal);
    add_sets(cases, "full", {}, causal);
  }
  for (const std::int64_t head : {32, 64, 128, 256})
    cases.push_back(global_case({.name = fmt::format("band_{}", head),
                                 .queries = {260, 75},
                                 .sets = {every(260, 37), {70, 1, 2}},
                                 .window = {.before = 70, .after = 40},
                                 .heads = 1,
                                 .head = head}));
  cases.push_back(seen_from_case("all", false, -1, 64));
  cases.push_back(seen_from_case("causal", true, -1, 128));
  cases.push_back(seen_from_case("window", false, 20, 32));
}

const CaseList kGlobalAttentionCases("global_attention", add_global_attention_cases);

}  // namespace attend::test
