// The list of cases that bench/cuda_attention.cu checks: every kernel, every mask, sizes that fit no tile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/support/attention_problem.cuh"

namespace attend::bench {

// Windows wider than the text, texts without tokens, keys that no query sees, and rows so far apart that their offsets
// pass 2^32.
inline void add_edges(std::vector<Case>& list) {
  for (int width : {64, 128}) {
    const std::string d = "long D" + std::to_string(width);
    const Case text = {.name = d, .heads = 2, .queries = 300, .keys = 300, .width = width, .causal = true, .pad = 8};
    for (const AttentionWindow window :
         {AttentionWindow{.before = 299}, AttentionWindow{.before = 5000, .globals = 400},
          AttentionWindow{.before = std::int64_t{1} << 40, .after = std::int64_t{1} << 40, .globals = 1000}}) {
      Case wide = text, crossed = text, holes = text;
      wide.name += " window wider " + std::to_string(window.globals), wide.window = window;
      crossed.name = wide.name + " T>S", crossed.window = window, crossed.keys = 130, crossed.causal = false;
      holes.name = wide.name + " holes", holes.window = window;
      holes.packed = holes.holes = true, holes.batch = 7;
      for (const Case& c : {wide, crossed, holes}) list.push_back(c);
    }
    Case holes = text, apart = text, far = text;
    holes.name += " packed holes", holes.queries = holes.keys = 2100, holes.packed = holes.holes = true;
    holes.batch = 7;
    apart.name += " packed cross holes", apart.queries = 2100, apart.keys = 700, apart.causal = false;
    apart.packed = apart.holes = true, apart.batch = 7;
    list.push_back(holes), list.push_back(apart);
    far.name += " far rows", far.queries = far.keys = 2100, far.heads = 1, far.pad = 348000;  // 18 GB
    if (device_memory() >> 30 > 64) list.push_back(far);
  }
}

// Long texts, wide heads and windows: blocks that own keys, and those that stay.
inline void add_long(std::vector<Case>& list) {
  for (int width : {40, 64, 80, 128}) {
    const std::string d = "long D" + std::to_string(width);
    const Case plain = {.name = d, .batch = 2, .heads = 2, .queries = 2100, .keys = 2100, .width = width, .pad = 8};
    Case causal = plain, crossed = plain, packed = plain;
    causal.name += " causal", causal.causal = true;
    crossed.name += " T<S causal lengths", crossed.keys = 2305, crossed.causal = crossed.lengths = true;
    crossed.batch = 3, crossed.heads = 1;
    packed.name += " packed causal", packed.causal = packed.packed = packed.accumulate = true, packed.batch = 4;
    for (const Case& c : {plain, causal, crossed, packed}) list.push_back(c);
    for (const AttentionWindow window : {AttentionWindow{.before = 100, .after = 40}, AttentionWindow{.before = 512},
                                         AttentionWindow{.before = 130, .after = 66, .globals = 150}})
      for (bool is_causal : {false, true}) {
        Case one = causal;
        one.name = d + " window " + std::to_string(window.before) + " " + std::to_string(window.globals);
        one.name += is_causal ? " causal" : "";
        one.causal = is_causal, one.window = window, one.queries = one.keys = 700;
        list.push_back(one);
        one.name += " packed", one.packed = true, one.batch = 5;
        list.push_back(one);
      }
  }
  list.push_back({.name = "long T4097 causal", .batch = 1, .heads = 1, .queries = 4097, .keys = 4097, .causal = true});
  list.push_back({.name = "long many heads D128 causal",
                  .batch = 20,
                  .heads = 8,
                  .queries = 513,
                  .keys = 513,
                  .width = 128,
                  .causal = true});
  add_edges(list);
  for (int keys : {257, 3000, 8192})
    for (int width : {32, 64, 128, 256})
      list.push_back({.name = "long decode S" + std::to_string(keys) + " D" + std::to_string(width),
                      .batch = 1,
                      .queries = 1,
                      .keys = keys,
                      .width = width,
                      .causal = true});
  list.push_back({.name = "long decode lengths",
                  .batch = 3,
                  .queries = 3,
                  .keys = 2000,
                  .causal = true,
                  .lengths = true,
                  .window = {.before = 700, .globals = 9}});
}

// Keys that only some queries see, by every kernel.
inline void add_hidden(std::vector<Case>& list) {
  for (int width : {24, 40, 64, 80, 128, 256})
    for (const AttentionWindow window : {AttentionWindow{}, AttentionWindow{.before = 90, .after = 30, .globals = 70}})
      for (bool is_causal : {false, true}) {
        Case one = {.name = "hidden D" + std::to_string(width), .queries = 300, .keys = 371, .width = width, .pad = 8};
        one.name += window.before > 0 ? " window" : "", one.name += is_causal ? " causal" : "";
        one.causal = is_causal, one.window = window, one.hides = 9;
        Case dropped = one, packed = one, brief = one, sparse = one;
        dropped.name += " dropout", dropped.dropout = 0.2f;
        packed.name += " packed", packed.packed = packed.accumulate = true, packed.batch = 5;
        brief.name += " few queries", brief.queries = 3;
        sparse.name += " sparse", sparse.hides = 411, sparse.queries = sparse.keys = 2100, sparse.heads = 1;
        for (const Case& c : {one, dropped, packed, brief, sparse}) list.push_back(c);
      }
  list.push_back({.name = "hidden short", .queries = 40, .keys = 50, .hides = 5});
  list.push_back({.name = "hidden f32", .bf16 = false, .queries = 140, .keys = 170, .causal = true, .hides = 5});
  list.push_back({.name = "hidden bias", .queries = 140, .keys = 170, .groups = 1, .hides = 5});
}

inline std::vector<Case> cases() {
  std::vector<Case> list;
  add_long(list);
  add_hidden(list);
  for (int width : {8, 24, 32, 64, 80, 128, 256}) {
    std::string d("D");
    d += std::to_string(width);
    list.push_back({.name = d, .width = width});
    list.push_back(
        {.name = d + " causal long", .batch = 1, .queries = 517, .keys = 517, .width = width, .causal = true});
    list.push_back({.name = d + " T<S causal", .queries = 70, .keys = 301, .width = width, .causal = true});
    list.push_back({.name = d + " T>S causal lengths",
                    .batch = 3,
                    .queries = 301,
                    .keys = 130,
                    .width = width,
                    .causal = true,
                    .lengths = true});
    list.push_back({.name = d + " packed causal",
                    .batch = 5,
                    .queries = 180,
                    .keys = 180,
                    .width = width,
                    .causal = true,
                    .packed = true,
                    .accumulate = true});
    list.push_back({.name = d + " bias dropout causal",
                    .queries = 136,
                    .keys = 136,
                    .width = width,
                    .causal = true,
                    .groups = 1,
                    .dropout = 0.2f});
    list.push_back({.name = d + " f32", .bf16 = false, .queries = 90, .keys = 140, .width = width, .causal = true});
  }
  list.push_back({.name = "packed cross", .batch = 5, .queries = 77, .keys = 150, .packed = true});
  list.push_back({.name = "packed cross lengths",
                  .batch = 5,
                  .queries = 77,
                  .keys = 150,
                  .causal = true,
                  .lengths = true,
                  .packed = true});
  list.push_back({.name = "packed dropout", .batch = 5, .queries = 77, .keys = 151, .packed = true, .dropout = 0.1f});
  list.push_back({.name = "lengths accumulate", .batch = 3, .lengths = true, .accumulate = true});
  list.push_back({.name = "bias f32 groups -inf", .batch = 5, .groups = 2, .bias_masks = true});
  list.push_back({.name = "bias bf16 accumulate", .batch = 5, .groups = 2, .bias_bf16 = true, .accumulate = true});
  list.push_back({.name = "dropout S%8=0", .batch = 3, .queries = 65, .keys = 200, .dropout = 0.3f});
  list.push_back({.name = "dropout S odd", .batch = 3, .queries = 65, .keys = 201, .causal = true, .dropout = 0.3f});
  for (int side : {5, 16, 29, 32, 33, 60, 64})
    for (int width : {24, 32, 40, 64}) {
      const std::string name = "short T" + std::to_string(side) + " D" + std::to_string(width);
      const Case short_case = {.name = name, .batch = 7, .queries = side, .keys = side, .width = width};
      Case causal = short_case, crossed = short_case, packed = short_case;
      causal.name += " causal dropout", causal.causal = true, causal.dropout = 0.2f;
      crossed.name += " crossed lengths", crossed.keys = 65 - side, crossed.lengths = true, crossed.accumulate = true;
      packed.name += " packed dropout", packed.packed = true, packed.dropout = 0.1f, packed.pad = 8;
      for (const Case& c : {short_case, causal, crossed, packed}) list.push_back(c);
    }
  list.push_back({.name = "short bias dropout", .queries = 30, .keys = 41, .groups = 2, .dropout = 0.2f});
  list.push_back({.name = "T1", .queries = 1, .keys = 333});
  list.push_back({.name = "T1 causal D80 lengths",
                  .batch = 3,
                  .queries = 1,
                  .keys = 333,
                  .width = 80,
                  .causal = true,
                  .lengths = true});
  list.push_back({.name = "T3 causal bias", .queries = 3, .keys = 1100, .causal = true, .groups = 2});
  list.push_back({.name = "T1 f32", .bf16 = false, .queries = 1, .keys = 333});
  list.push_back(
      {.name = "T4 packed D256", .batch = 4, .queries = 4, .keys = 99, .width = 256, .causal = true, .packed = true});
  list.push_back({.name = "T1 dropout", .queries = 1, .keys = 64, .dropout = 0.5f});
  list.push_back({.name = "S1", .queries = 65, .keys = 1});
  list.push_back({.name = "S0", .queries = 65, .keys = 0});
  list.push_back({.name = "T64 S64", .queries = 64, .keys = 64, .causal = true});
  list.push_back({.name = "T128 S128 pad", .queries = 128, .keys = 128, .causal = true, .pad = 8});
  list.push_back({.name = "odd rows (exact bf16)", .batch = 3, .lengths = true, .accumulate = true, .pad = 3});
  list.push_back(
      {.name = "odd rows packed dropout", .batch = 3, .causal = true, .packed = true, .dropout = 0.1f, .pad = 3});
  list.push_back({.name = "f32 packed lengths",
                  .bf16 = false,
                  .batch = 4,
                  .causal = true,
                  .lengths = true,
                  .packed = true,
                  .accumulate = true});
  list.push_back(
      {.name = "f32 bias dropout", .bf16 = false, .batch = 4, .groups = 2, .dropout = 0.2f, .bias_masks = true});
  list.push_back(
      {.name = "many heads (one part)", .batch = 40, .heads = 8, .queries = 300, .keys = 300, .causal = true});
  list.push_back({.name = "many heads D128 accumulate",
                  .batch = 40,
                  .heads = 8,
                  .queries = 150,
                  .keys = 300,
                  .width = 128,
                  .accumulate = true});
  return list;
}

}  // namespace attend::bench
