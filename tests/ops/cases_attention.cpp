// attention: every mask, unequal lengths, packed sequences, windows of one projection, every kind of head width.
#include <fmt/core.h>

#include "attend/ops/attention.h"
#include "tests/ops/attention_reference.h"
#include "tests/ops/attention_specs.h"

namespace attend::test {

namespace {

void add_dense(std::vector<Case>& cases) {
  for (std::int64_t head : {8, 16, 24, 32, 40, 64, 80, 96, 128, 256}) {
    cases.push_back(dense_case(
        {.name = fmt::format("head_{}", head), .batch = 2, .queries = 5, .keys = 7, .heads = 2, .head = head}));
    cases.push_back(dense_case({.name = fmt::format("head_{}_causal", head),
                                .queries = 19,
                                .keys = 19,
                                .heads = 3,
                                .head = head,
                                .causal = true}));
  }
  cases.push_back(dense_case({.name = "one"}));
  cases.push_back(dense_case({.name = "empty_batch", .batch = 0, .queries = 3, .keys = 4, .heads = 2}));
  cases.push_back(dense_case({.name = "no_queries", .batch = 2, .queries = 0, .keys = 4, .heads = 2}));
  cases.push_back(dense_case({.name = "no_keys", .batch = 2, .queries = 3, .keys = 0, .heads = 2}));
  cases.push_back(
      dense_case({.name = "scale", .batch = 2, .queries = 6, .keys = 9, .heads = 2, .head = 24, .scale = 0.7f}));
  // More keys than queries: the last query sees the last key (a decoder that goes on from a cache).
  cases.push_back(dense_case(
      {.name = "causal_more_keys", .batch = 2, .queries = 3, .keys = 17, .heads = 2, .head = 16, .causal = true}));
  // More queries than keys: the first ones see nothing.
  cases.push_back(dense_case(
      {.name = "causal_more_queries", .batch = 2, .queries = 9, .keys = 4, .heads = 1, .head = 32, .causal = true}));
  cases.push_back(
      dense_case({.name = "decode", .batch = 3, .queries = 1, .keys = 67, .heads = 2, .head = 64, .causal = true}));
  cases.push_back(dense_case(
      {.name = "lengths", .batch = 4, .queries = 5, .keys = 9, .heads = 2, .head = 24, .key_lengths = {9, 1, 0, 4}}));
  cases.push_back(dense_case({.name = "lengths_causal",
                              .batch = 3,
                              .queries = 17,
                              .keys = 17,
                              .heads = 2,
                              .head = 32,
                              .causal = true,
                              .key_lengths = {17, 3, 0}}));
  cases.push_back(
      dense_case({.name = "bias", .batch = 2, .queries = 7, .keys = 9, .heads = 3, .head = 16, .groups = 1}));
  cases.push_back(dense_case({.name = "bias_f32",
                              .batch = 2,
                              .queries = 7,
                              .keys = 9,
                              .heads = 3,
                              .head = 16,
                              .groups = 1,
                              .bias_f32 = true}));
  // Swin's windows: sequence b takes group b % G.
  cases.push_back(
      dense_case({.name = "bias_groups", .batch = 6, .queries = 9, .keys = 9, .heads = 2, .head = 32, .groups = 3}));
  cases.push_back(dense_case(
      {.name = "bias_window_49", .batch = 2, .queries = 49, .keys = 49, .heads = 2, .head = 32, .groups = 2}));
  cases.push_back(dense_case(
      {.name = "bias_windows_49", .batch = 6, .queries = 49, .keys = 49, .heads = 2, .head = 32, .groups = 2}));
  cases.push_back(dense_case(
      {.name = "bias_windows_64", .batch = 3, .queries = 37, .keys = 64, .heads = 2, .head = 40, .groups = 1}));
  // More than a GPU has blocks for: a block takes several, and adds up the gradient of the bias.
  cases.push_back(dense_case(
      {.name = "bias_windows_many", .batch = 68, .queries = 3, .keys = 33, .heads = 64, .head = 8, .groups = 2}));
  cases.push_back(dense_case({.name = "bias_causal_lengths",
                              .batch = 4,
                              .queries = 6,
                              .keys = 6,
                              .heads = 2,
                              .head = 8,
                              .causal = true,
                              .key_lengths = {6, 2, 5, 0},
                              .groups = 2}));
  cases.push_back(
      dense_case({.name = "fused", .batch = 2, .queries = 11, .keys = 11, .heads = 2, .head = 24, .fused = true}));
  cases.push_back(dense_case({.name = "fused_causal",
                              .batch = 2,
                              .queries = 33,
                              .keys = 33,
                              .heads = 3,
                              .head = 64,
                              .causal = true,
                              .fused = true}));
  cases.push_back(
      dense_case({.name = "dropout", .batch = 2, .queries = 7, .keys = 13, .heads = 2, .head = 16, .dropout = 0.25f}));
  cases.push_back(dense_case({.name = "dropout_causal",
                              .batch = 2,
                              .queries = 35,
                              .keys = 35,
                              .heads = 2,
                              .head = 32,
                              .causal = true,
                              .dropout = 0.1f}));
  cases.push_back(dense_case({.name = "dropout_bias_lengths",
                              .batch = 2,
                              .queries = 9,
                              .keys = 10,
                              .heads = 2,
                              .head = 8,
                              .key_lengths = {10, 7},
                              .groups = 1,
                              .dropout = 0.5f}));
  // Past every tile.
  cases.push_back(dense_case({.name = "tiles", .queries = 130, .keys = 139, .heads = 2, .head = 64}));
  cases.push_back(
      dense_case({.name = "tiles_causal", .queries = 150, .keys = 150, .heads = 1, .head = 64, .causal = true}));
  cases.push_back(
      dense_case({.name = "tiles_causal_128", .queries = 70, .keys = 133, .heads = 1, .head = 128, .causal = true}));
  cases.push_back(dense_case({.name = "tiles_128", .queries = 130, .keys = 139, .heads = 2, .head = 128}));
  cases.push_back(dense_case({.name = "tiles_96_fused",
                              .batch = 2,
                              .queries = 197,
                              .keys = 197,
                              .heads = 2,
                              .head = 96,
                              .causal = true,
                              .fused = true}));
  cases.push_back(dense_case({.name = "tiles_lengths_128",
                              .batch = 3,
                              .queries = 140,
                              .keys = 261,
                              .heads = 1,
                              .head = 128,
                              .causal = true,
                              .key_lengths = {261, 130, 0}}));
  cases.push_back(dense_case({.name = "tiles_no_keys_128", .batch = 2, .queries = 70, .keys = 0, .head = 128}));
  // Blocks share the keys of one query.
  cases.push_back(dense_case(
      {.name = "decode_far", .batch = 1, .queries = 1, .keys = 701, .heads = 2, .head = 64, .causal = true}));
  cases.push_back(dense_case({.name = "decode_far_lengths",
                              .batch = 3,
                              .queries = 2,
                              .keys = 1100,
                              .heads = 2,
                              .head = 128,
                              .causal = true,
                              .key_lengths = {1100, 3, 900}}));
  cases.push_back(dense_case({.name = "tiles_lengths_dropout",
                              .batch = 2,
                              .queries = 66,
                              .keys = 131,
                              .heads = 1,
                              .head = 64,
                              .key_lengths = {131, 65},
                              .dropout = 0.2f}));
}

void add_packed(std::vector<Case>& cases) {
  cases.push_back(packed_case({.name = "plain", .queries = {3, 1, 7}, .keys = {5, 2, 1}, .heads = 2, .head = 16}));
  cases.push_back(packed_case(
      {.name = "causal", .queries = {5, 17, 1, 9}, .keys = {5, 17, 1, 9}, .heads = 2, .head = 24, .causal = true}));
  cases.push_back(
      packed_case({.name = "empty_sequences", .queries = {0, 3, 2, 0}, .keys = {4, 0, 3, 0}, .heads = 1, .head = 8}));
  cases.push_back(packed_case(
      {.name = "fused", .queries = {33, 2, 19}, .keys = {33, 2, 19}, .heads = 2, .head = 64, .fused = true}));
  cases.push_back(
      packed_case({.name = "cross_causal", .queries = {2, 5}, .keys = {9, 6}, .heads = 2, .head = 8, .causal = true}));
  cases.push_back(packed_case({.name = "tiles_128",
                               .queries = {130, 1, 75, 200},
                               .keys = {130, 1, 75, 200},
                               .heads = 1,
                               .head = 128,
                               .causal = true}));
  cases.push_back(
      packed_case({.name = "tiles_cross_80", .queries = {70, 3, 140}, .keys = {131, 260, 64}, .heads = 2, .head = 80}));
  for (const bool causal : {false, true})
    cases.push_back(packed_case({.name = causal ? "tiles_empty_causal_128" : "tiles_empty_128",
                                 .queries = {70, 0, 140, 66, 0},
                                 .keys = {131, 64, 0, 1, 0},
                                 .heads = 2,
                                 .head = 128,
                                 .causal = causal}));
  cases.push_back(packed_case({.name = "cache",
                               .queries = {1, 1, 2},
                               .keys = {12, 12, 12},
                               .key_lengths = {5, 12, 7},
                               .heads = 2,
                               .head = 32,
                               .causal = true}));
  cases.push_back(
      packed_case({.name = "dropout", .queries = {5, 3}, .keys = {7, 4}, .heads = 2, .head = 8, .dropout = 0.3f}));
  cases.push_back(packed_case(
      {.name = "tiles", .queries = {70, 5, 66}, .keys = {70, 5, 66}, .heads = 1, .head = 64, .causal = true}));
}

// Bands of every kind, some wider than the text, some of the own place alone; past every tile, where whole tiles are
// barred in front, behind and between the globals and the band.
void add_windows(std::vector<Case>& cases) {
  struct Band {
    const char* name;
    bool causal;
    AttentionWindow window;
  };
  constexpr Band kBands[] = {{"itself", true, {.before = 0}},
                             {"causal", true, {.before = 3}},
                             {"causal_wide", true, {.before = 500, .after = 2}},
                             {"boundless", false, {.before = std::int64_t{1} << 40, .after = 400, .globals = 900}},
                             {"causal_globals", true, {.before = 2, .globals = 2}},
                             {"both", false, {.before = 2, .after = 1}},
                             {"nobody_else", false, {.before = 0, .after = 0}},
                             {"behind", false, {.before = 4}},
                             {"ahead", false, {.after = 3}},
                             {"globals", false, {.before = 1, .after = 1, .globals = 3}},
                             {"globals_far", false, {.before = 1, .after = 0, .globals = 70}}};
  for (const Band& band : kBands) {
    const auto add = [&](DenseSpec spec) {
      spec.name = fmt::format("window_{}_{}", band.name, spec.name);
      spec.causal = band.causal, spec.window = band.window;
      cases.push_back(dense_case(spec));
    };
    add({.name = "few", .batch = 2, .queries = 11, .keys = 11, .heads = 2, .head = 24});
    add({.name = "more_keys", .batch = 2, .queries = 3, .keys = 17, .heads = 2, .head = 16});
    add({.name = "more_queries", .queries = 9, .keys = 4, .heads = 1, .head = 32});
    add({.name = "step", .batch = 2, .queries = 1, .keys = 67, .heads = 2, .head = 64});
    add({.name = "lengths", .batch = 3, .queries = 19, .keys = 19, .heads = 2, .head = 32, .key_lengths = {19, 4, 0}});
    // A weight of 1 has no gradient: bf16 leaves noise where dropout should find 0.
    if (band.window.before != 0)
      add({.name = "dropout", .queries = 70, .keys = 70, .heads = 1, .head = 64, .dropout = 0.2f});
    add({.name = "bias", .batch = 2, .queries = 9, .keys = 9, .heads = 2, .head = 16, .groups = 1});
    add({.name = "tiles", .queries = 331, .keys = 331, .heads = 1, .head = 64, .fused = true});
    add({.name = "tiles_128", .queries = 201, .keys = 201, .heads = 1, .head = 128});
  }
  for (const AttentionWindow window :
       {AttentionWindow{.before = 100, .after = 40}, AttentionWindow{.before = 130, .after = 66, .globals = 5}})
    for (const bool causal : {false, true})
      for (const std::int64_t head : {32, 64, 128, 256}) {
        if (window.globals == 0 && (head == 32 || head == 256)) continue;
        cases.push_back(dense_case({.name = fmt::format("window_band_{}_{}_{}", causal, window.globals, head),
                                    .queries = head > 64 ? 260 : 560,
                                    .keys = head > 64 ? 260 : 560,
                                    .heads = 1,
                                    .head = head,
                                    .causal = causal,
                                    .window = window}));
      }
  const AttentionWindow near{.before = 2, .after = 1}, marked{.before = 3, .after = 3, .globals = 2};
  cases.push_back(packed_case(
      {.name = "window", .queries = {5, 17, 1, 9}, .keys = {5, 17, 1, 9}, .heads = 2, .head = 24, .window = near}));
  cases.push_back(packed_case({.name = "window_causal_globals",
                               .queries = {70, 5, 0, 166},
                               .keys = {70, 5, 0, 166},
                               .heads = 1,
                               .head = 64,
                               .causal = true,
                               .fused = true,
                               .window = marked}));
  cases.push_back(packed_case({.name = "window_globals",
                               .queries = {70, 1, 0, 166},
                               .keys = {70, 1, 0, 166},
                               .heads = 1,
                               .head = 64,
                               .window = marked}));
  cases.push_back(packed_case({.name = "window_cache",
                               .queries = {1, 1, 2},
                               .keys = {12, 12, 12},
                               .key_lengths = {5, 12, 7},
                               .heads = 2,
                               .head = 32,
                               .causal = true,
                               .window = near}));
}

void add_bench(std::vector<Case>& cases, Case::Size size, const DenseSpec& spec) {
  Case one = dense_case(spec);
  one.size = size;
  const double pairs =
      spec.window.before >= 0
          ? static_cast<double>(spec.batch * spec.heads * spec.queries * (spec.window.before + 1))
          : static_cast<double>(spec.batch * spec.heads * spec.queries * spec.keys) * (spec.causal ? 0.5 : 1);
  one.forward.flops = 4 * pairs * static_cast<double>(spec.head);
  one.backward.flops = 2.5 * one.forward.flops;  // five products instead of two
  cases.push_back(std::move(one));
}

// Attention as the first lecture draws it, without projections: x reads x. All three gradients meet in one tensor.
Case of_itself() {
  const AttentionReference reference{.heads = 2, .sequences = {{0, 5, 0, 5, 5}}, .max_queries = 5, .max_keys = 5};
  return {
      .name = "attention_of_itself",
      .inputs = {reals({1, 5, 16})},
      .run = [](std::span<const Tensor> in) { return Tensors{ops::attention(in[0], in[0], in[0], {.heads = 2})}; },
      .reference = [reference](std::span<const Array> in) { return Arrays{reference(in[0], in[0], in[0])}; },
  };
}

}  // namespace

static void add_attention_cases(std::vector<Case>& cases) {
  add_dense(cases);
  cases.push_back(of_itself());
  add_packed(cases);
  add_windows(cases);
  add_bench(cases, Case::Size::base,
            {.name = "8x128_8x64", .batch = 8, .queries = 128, .keys = 128, .heads = 8, .head = 64});
  add_bench(cases, Case::Size::base,
            {.name = "1x1024_8x64_causal", .queries = 1024, .keys = 1024, .heads = 8, .head = 64, .causal = true});
  add_bench(
      cases, Case::Size::base,
      {.name = "8x128_8x64_dropout", .batch = 8, .queries = 128, .keys = 128, .heads = 8, .head = 64, .dropout = 0.1f});
  add_bench(cases, Case::Size::base,
            {.name = "1x4096_8x64_causal_window_256",
             .queries = 4096,
             .keys = 4096,
             .heads = 8,
             .head = 64,
             .causal = true,
             .window = {.before = 256}});
  for (const std::int64_t before : {-1, 511})
    add_bench(cases, Case::Size::large,
              {.name = fmt::format("4x16384_16x64_causal{}", before < 0 ? "" : "_window_512"),
               .batch = 4,
               .queries = 16384,
               .keys = 16384,
               .heads = 16,
               .head = 64,
               .causal = true,
               .window = {.before = before}});
  for (const std::int64_t keys : {128, 8192})  // one token after so many
    add_bench(cases, Case::Size::large,
              {.name = fmt::format("decode_1x{}_12x64", keys), .queries = 1, .keys = keys, .heads = 12, .head = 64});
  add_bench(cases, Case::Size::large,
            {.name = "64x1024_12x64_causal_fused",
             .batch = 64,
             .queries = 1024,
             .keys = 1024,
             .heads = 12,
             .head = 64,
             .causal = true,
             .fused = true});
  add_bench(cases, Case::Size::large,
            {.name = "64x1024_12x64_causal",
             .batch = 64,
             .queries = 1024,
             .keys = 1024,
             .heads = 12,
             .head = 64,
             .causal = true});
  add_bench(cases, Case::Size::large,
            {.name = "16x1024_16x128_causal",
             .batch = 16,
             .queries = 1024,
             .keys = 1024,
             .heads = 16,
             .head = 128,
             .causal = true});
  add_bench(
      cases, Case::Size::large,
      {.name = "1024x49_4x32_bias", .batch = 1024, .queries = 49, .keys = 49, .heads = 4, .head = 32, .groups = 64});
}

const CaseList kAttentionCases("attention", add_attention_cases);

}  // namespace attend::test
