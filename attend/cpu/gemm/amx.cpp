// AMX: tiles of 16 rows x 64 bytes, and one instruction that multiplies two of them (16 x 16 x 32 bf16, or
// 16 x 16 x 64 int8). Two by two tiles of C need four loads for four products, and the loads hide behind the products.
// f32 is done as hi*hi + hi*lo + lo*hi over bf16 pieces: twelve products for ten loads.
#include "attend/cpu/gemm/kernel.h"
#include "attend/cpu/gemm/pack.h"

#if defined(__x86_64__)

#include <algorithm>
#include <cstring>

#include "attend/cpu/gemm/amx_dot.h"
#include "attend/cpu/gemm/amx_streams.h"
#include "attend/cpu/gemm/avx512.h"
#include "attend/cpu/gemm/pack_bf16.h"

#define ATTEND_AMX __attribute__((target("amx-tile,amx-bf16,amx-int8,avx512f")))
#define ATTEND_AMX_INLINE ATTEND_AMX __attribute__((always_inline)) inline

namespace attend::cpu::detail {

namespace {

constexpr int kRows = 32, kColumns = 32;
constexpr int kFetch = 4;                      // lines per step: eight steps of 32 rows bring in what one takes of B
constexpr std::int64_t kStream = 2048;         // how far ahead a stream of B is fetched, in bytes
constexpr std::int64_t kPitch = kColumns * 4;  // a row of a tile of B

// All eight tiles whole: edges are zero in the packed panels. Up to eight rows of A: half of tiles 0 to 4, which takes
// half the time.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};

  explicit TileConfig(std::uint8_t few) { std::fill_n(rows, 5, few); }
};

ATTEND_AMX void begin_tiles(std::int64_t rows) {
  static const TileConfig whole(16), half(8);
  _tile_loadconfig(rows > 8 ? &whole : &half);
}

ATTEND_AMX void end_tiles() { _tile_release(); }

// Tile numbers are part of the instruction, so the steps are spelled out. C is in tiles 0 to 3 (row-major), A in
// 4 and 5, B in 6 and 7.
struct Bf16Tiles {
  using Rows = Bf16Rows;
  static constexpr int kDepth = 32;
  ATTEND_AMX_INLINE static void product00() { _tile_dpbf16ps(0, 4, 6); }
  ATTEND_AMX_INLINE static void product01() { _tile_dpbf16ps(1, 4, 7); }
  ATTEND_AMX_INLINE static void product10() { _tile_dpbf16ps(2, 5, 6); }
  ATTEND_AMX_INLINE static void product11() { _tile_dpbf16ps(3, 5, 7); }
  // The second panel of two, with its B in 5 and 6.
  ATTEND_AMX_INLINE static void second0() { _tile_dpbf16ps(2, 4, 5); }
  ATTEND_AMX_INLINE static void second1() { _tile_dpbf16ps(3, 4, 6); }
};

struct Int8Tiles {
  using Rows = Int8Rows;
  static constexpr int kDepth = 64;
  ATTEND_AMX_INLINE static void product00() { _tile_dpbssd(0, 4, 6); }
  ATTEND_AMX_INLINE static void product01() { _tile_dpbssd(1, 4, 7); }
  ATTEND_AMX_INLINE static void product10() { _tile_dpbssd(2, 5, 6); }
  ATTEND_AMX_INLINE static void product11() { _tile_dpbssd(3, 5, 7); }
  ATTEND_AMX_INLINE static void second0() { _tile_dpbssd(2, 4, 5); }
  ATTEND_AMX_INLINE static void second1() { _tile_dpbssd(3, 4, 6); }
};

template <int M, int N>
ATTEND_AMX_INLINE void start(const TileProduct& t) {
  const std::int64_t pitch = 4 * t.tile_stride;
  float* low = t.tile + 16 * t.tile_stride;
  if (t.add) {
    _tile_loadd(0, t.tile, pitch);
    if constexpr (N == 2) _tile_loadd(1, t.tile + 16, pitch);
    if constexpr (M == 2) _tile_loadd(2, low, pitch);
    if constexpr (M == 2 && N == 2) _tile_loadd(3, low + 16, pitch);
    return;
  }
  _tile_zero(0);
  if constexpr (N == 2) _tile_zero(1);
  if constexpr (M == 2) _tile_zero(2);
  if constexpr (M == 2 && N == 2) _tile_zero(3);
}

template <int M, int N>
ATTEND_AMX_INLINE void finish(const TileProduct& t) {
  const std::int64_t pitch = 4 * t.tile_stride;
  float* low = t.tile + 16 * t.tile_stride;
  _tile_stored(0, t.tile, pitch);
  if constexpr (N == 2) _tile_stored(1, t.tile + 16, pitch);
  if constexpr (M == 2) _tile_stored(2, low, pitch);
  if constexpr (M == 2 && N == 2) _tile_stored(3, low + 16, pitch);
}

// A part of the next panel of B, on its way to L2 (TileProduct::fetch).
template <int Lines>
struct Fetch {
  const std::byte* from;
  std::int64_t step, also;

  explicit Fetch(const TileProduct& t)
      : from(t.fetch != nullptr ? t.fetch : t.b), step(t.fetch != nullptr ? t.fetch_step : 0), also(t.fetch_also) {}
  ATTEND_AMX_INLINE void next() {
#pragma GCC unroll 8
    for (int i = 0; i < Lines; ++i) _mm_prefetch(reinterpret_cast<const char*>(from + i * also), _MM_HINT_T1);
    from += step;
  }
};

template <class Tiles, int M, int N>
ATTEND_AMX void multiply_tiles(const TileProduct& t) {
  start<M, N>(t);
  Fetch<kFetch> fetch(t);
  const std::byte* a = t.a;
  const std::byte* b = t.b;
  const std::int64_t row = t.a_row, a_step = t.a_k;
  for (std::int64_t k = t.k; k > 0; k -= Tiles::kDepth) {
    fetch.next();
    // Few rows: memory decides.
    if constexpr (M == 1) {
#pragma GCC unroll 32
      for (int i = 0; i < 32; ++i) _mm_prefetch(reinterpret_cast<const char*>(b + kStream + 64 * i), _MM_HINT_T0);
    }
    _tile_loadd(6, b, kPitch);
    _tile_loadd(4, a, row);
    Tiles::product00();
    if constexpr (N == 2) {
      _tile_loadd(7, b + 64, kPitch);
      Tiles::product01();
    }
    if constexpr (M == 2) {
      _tile_loadd(5, a + 16 * row, row);
      Tiles::product10();
      if constexpr (N == 2) Tiles::product11();
    }
    a += a_step;
    b += 16 * kPitch;
  }
  finish<M, N>(t);
}

// As many lines as a tile holds.
ATTEND_AMX_INLINE void fetch_tile(const std::byte* from) {
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) _mm_prefetch(reinterpret_cast<const char*>(from + 64 * i), _MM_HINT_T0);
}

// Up to 16 rows by two panels of B at once (TileProduct::panels). Lines are fetched between the tile loads, a tile's
// worth at a time: all of them at once kept the loads waiting (60 to 69 % of a thread's bandwidth, and 72 to 96 % so).
template <class Tiles>
ATTEND_AMX void multiply_two_panels(const TileProduct& t) {
  const std::int64_t pitch = 4 * t.tile_stride, row = t.a_row, a_step = t.a_k, apart = t.b_panel;
  float* other = t.tile + t.tile_panel;
  if (t.add) {
    _tile_loadd(0, t.tile, pitch);
    _tile_loadd(1, t.tile + 16, pitch);
    _tile_loadd(2, other, pitch);
    _tile_loadd(3, other + 16, pitch);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const std::byte* a = t.a;
  const std::byte* b = t.b;
  for (std::int64_t k = t.k; k > 0; k -= Tiles::kDepth) {
    _tile_loadd(4, a, row);
    _tile_loadd(6, b, kPitch);
    Tiles::product00();
    fetch_tile(b + kStream);
    _tile_loadd(7, b + 64, kPitch);
    Tiles::product01();
    fetch_tile(b + kStream + 1024);
    _tile_loadd(5, b + apart, kPitch);
    Tiles::second0();
    fetch_tile(b + apart + kStream);
    _tile_loadd(6, b + apart + 64, kPitch);
    Tiles::second1();
    fetch_tile(b + apart + kStream + 1024);
    a += a_step;
    b += 16 * kPitch;
  }
  _tile_stored(0, t.tile, pitch);
  _tile_stored(1, t.tile + 16, pitch);
  _tile_stored(2, other, pitch);
  _tile_stored(3, other + 16, pitch);
}

template <int M, int N>
ATTEND_AMX_INLINE void four_products() {
  Bf16Tiles::product00();
  if constexpr (N == 2) Bf16Tiles::product01();
  if constexpr (M == 2) Bf16Tiles::product10();
  if constexpr (M == 2 && N == 2) Bf16Tiles::product11();
}

template <int M, int N>
ATTEND_AMX void multiply_split(const TileProduct& t) {
  start<M, N>(t);
  Fetch<2 * kFetch> fetch(t);
  const std::byte* a = t.a;
  const std::byte* b = t.b;
  const std::int64_t a_step = t.a_k, a_low = a_step / 2;
  constexpr std::int64_t kLow = 16 * kPitch;
  for (std::int64_t k = t.k; k > 0; k -= 32) {
    fetch.next();
    if constexpr (M == 1) {
#pragma GCC unroll 64
      for (int i = 0; i < 64; ++i) _mm_prefetch(reinterpret_cast<const char*>(b + kStream + 64 * i), _MM_HINT_T0);
    }
    // lo * hi
    _tile_loadd(4, a + a_low, 64);
    _tile_loadd(6, b, kPitch);
    if constexpr (N == 2) _tile_loadd(7, b + 64, kPitch);
    if constexpr (M == 2) _tile_loadd(5, a + a_low + 1024, 64);
    four_products<M, N>();
    // hi * hi
    _tile_loadd(4, a, 64);
    if constexpr (M == 2) _tile_loadd(5, a + 1024, 64);
    four_products<M, N>();
    // hi * lo
    _tile_loadd(6, b + kLow, kPitch);
    if constexpr (N == 2) _tile_loadd(7, b + kLow + 64, kPitch);
    four_products<M, N>();
    a += a_step;
    b += 2 * kLow;
  }
  finish<M, N>(t);
}

// One row: vectors. More: tiles, two panels at a time.
int streams_of_tiles(std::int64_t rows) { return rows > 16 ? 0 : rows > 1 ? 2 : kStreams; }

template <class Tiles>
void multiply(const TileProduct& t) {
  using Rows = typename Tiles::Rows;
  if (t.rows == 1 && t.panels > 2) return multiply_amx_row<Rows, kStreams>(t);
  if (t.rows == 1) return t.panels == 2 ? multiply_amx_row<Rows, 2>(t) : multiply_amx_row<Rows, 1>(t);
  if (t.panels > 1) return multiply_two_panels<Tiles>(t);
  if (t.rows > 16)
    t.cols > 16 ? multiply_tiles<Tiles, 2, 2>(t) : multiply_tiles<Tiles, 2, 1>(t);
  else
    t.cols > 16 ? multiply_tiles<Tiles, 1, 2>(t) : multiply_tiles<Tiles, 1, 1>(t);
}

int streams_of_planes(std::int64_t rows) { return rows > 1 ? 0 : 2; }

void multiply_planes(const TileProduct& t) {
  if (t.panels > 1) return multiply_split_row<2>(t);
  if (t.rows > 16)
    t.cols > 16 ? multiply_split<2, 2>(t) : multiply_split<2, 1>(t);
  else
    t.cols > 16 ? multiply_split<1, 2>(t) : multiply_split<1, 1>(t);
}

// [k / 64][width][64] from quantised rows whose k is padded to 64.
void pack_int8_tiles(const Operand& from, int rows, int width, std::int64_t k, std::byte* to) {
  for (std::int64_t kk = 0; kk < k; kk += 64)
    for (int r = 0; r < width; ++r, to += 64)
      r < rows ? std::memcpy(to, from.data + r * from.row_step + kk, 64) : std::memset(to, 0, 64);
}

constexpr Kernel kBf16{.name = "amx bf16",
                       .element = DType::bf16,
                       .mr = kRows,
                       .nr = kColumns,
                       .row_multiple = 16,
                       .a_unit = 32,
                       .b_unit = 2,
                       .k_step = 32,
                       .speed = 300,
                       .kc = 1024,
                       .mc = 256,
                       .nc = 1024,
                       .fetch_lines = kFetch,
                       .fetch_units = 16,
                       .direct = true,
                       .a_tiles = true,
                       .pack_a = pack_bf16_tiles<1>,
                       .pack_b = pack_bf16_pairs<1>,
                       .multiply = multiply<Bf16Tiles>,
                       .write = write_avx512,
                       .begin = begin_tiles,
                       .end = end_tiles,
                       .streams = streams_of_tiles};

constexpr Kernel kSplit{.name = "amx split",
                        .element = DType::bf16,
                        .planes = 2,
                        .mr = kRows,
                        .nr = kColumns,
                        .row_multiple = 16,
                        .a_unit = 32,
                        .b_unit = 2,
                        .k_step = 32,
                        .speed = 120,
                        .kc = 1024,
                        .mc = 256,
                        .nc = 1024,
                        .fetch_lines = 2 * kFetch,
                        .fetch_units = 16,
                        .direct = true,
                        .pack_a = pack_bf16_tiles<2>,
                        .pack_b = pack_bf16_pairs<2>,
                        .multiply = multiply_planes,
                        .write = write_avx512,
                        .begin = begin_tiles,
                        .end = end_tiles,
                        .streams = streams_of_planes};

constexpr Kernel kInt8{.name = "amx int8",
                       .element = DType::i8,
                       .mr = kRows,
                       .nr = kColumns,
                       .row_multiple = 16,
                       .a_unit = 64,
                       .b_unit = 4,
                       .k_step = 64,
                       .speed = 500,
                       .kc = 2048,
                       .mc = 256,
                       .nc = 1024,
                       .fetch_lines = kFetch,
                       .fetch_units = 16,
                       .a_tiles = true,
                       .pack_a = pack_int8_tiles,
                       .pack_b = pack_int8_avx512,
                       .multiply = multiply<Int8Tiles>,
                       .write = write_avx512,
                       .largest = largest_avx512,
                       .round = round_avx512,
                       .begin = begin_tiles,
                       .end = end_tiles,
                       .streams = streams_of_tiles};

void dot(const DotProduct& d) {
  if (d.a_packed == nullptr || d.cols < kDotColumns) return dot_bf16_avx512(d);
  begin_tiles(16);
  dot_amx(d);
  end_tiles();
}

}  // namespace

KernelSet amx_kernels(const Features& features) {
  // Up to 16 rows of bf16 are multiplied with b where it lies: packing b would cost more than the product. Four take
  // vectors (80 % of a thread's bandwidth, 68 % on tiles), more take tiles.
  static const Kernel bf16 = [&features] {
    Kernel kernel = kBf16;
    if (features.avx512_bf16)
      kernel.dot = dot, kernel.dot_rows = 16, kernel.pack_dot = pack_bf16_pairs<1>, kernel.dot_packs = 5;
    return kernel;
  }();
  KernelSet set;
  if (features.amx_bf16) set.bf16 = &bf16, set.split = &kSplit;
  if (features.amx_int8) set.int8 = &kInt8;
  return set;
}

}  // namespace attend::cpu::detail

#else

namespace attend::cpu::detail {
KernelSet amx_kernels(const Features&) { return {}; }
}  // namespace attend::cpu::detail

#endif
