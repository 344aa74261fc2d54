// The end of a product: scale, bias, activation, accumulate, rounding, fused into the write of a tile. Written once
// with GCC vectors; each instruction set inlines it at its own width.
#pragma once

#include <cstring>

#include "attend/cpu/activation_math.h"
#include "attend/cpu/gemm/kernel.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace attend::cpu::detail {

template <int Width>
struct TileWriter {
  using F = typename Lanes<Width>::Float;
  using I = typename Lanes<Width>::Int;
  using Loose = typename Lanes<Width>::Loose;
  using Half = typename Lanes<Width>::Half;
  using Word = typename Lanes<Width>::Word;

  // count < Width only at the right edge.
  [[gnu::always_inline]] static F load(const float* from, int count) {
    if (count == Width) return *reinterpret_cast<const Loose*>(from);
    F v{};
    std::memcpy(&v, from, static_cast<std::size_t>(count) * 4);
    return v;
  }

  [[gnu::always_inline]] static void store(F v, std::byte* to, DType dtype, int count) {
    const auto n = static_cast<std::size_t>(count);
    if (dtype == DType::f32) {
      if (count == Width)
        *reinterpret_cast<Loose*>(to) = v;
      else
        std::memcpy(to, &v, n * 4);
      return;
    }
    const Word w = (Word)v;
    const Word rounded = (w + 0x7fffu + ((w >> 16) & 1u)) >> 16;
    const Word nan = (w >> 16) | 0x40u;
    const Word kept = v == v ? rounded : nan;  // NOLINT(misc-redundant-expression): NaN is not
    const Half h = __builtin_convertvector(kept, Half);
    if (count == Width)
      std::memcpy(to, &h, sizeof h);
    else
      std::memcpy(to, &h, n * 2);
  }

  [[gnu::always_inline]] static F load_old(const std::byte* from, DType dtype, int count) {
    if (dtype == DType::f32) return load(reinterpret_cast<const float*>(from), count);
    Half h{};
    if (count == Width)
      std::memcpy(&h, from, sizeof h);
    else
      std::memcpy(&h, from, static_cast<std::size_t>(count) * 2);
    return (F)(__builtin_convertvector(h, Word) << 16);
  }

  // The product before scale and bias: f32, or int32 with its scales.
  [[gnu::always_inline]] static F value(const TileOutput& out, int r, int j, int count) {
    const F raw = load(out.tile + r * out.tile_stride + j, count);
    if (out.row_scales == nullptr) return raw;
    I whole = (I)raw;
    if (out.offsets != nullptr) whole -= (I)load(reinterpret_cast<const float*>(out.offsets + j), count);
    return __builtin_convertvector(whole, F) * out.row_scales[r] * load(out.col_scales + j, count);
  }

  // `Count` vectors of row r from column j on, `lanes` of each.
  template <Activation kActivation, int Count>
  [[gnu::always_inline]] static void vectors(const TileOutput& out, int r, int j, int lanes) {
    const std::int64_t bytes = static_cast<std::int64_t>(bytes_of(out.c_dtype));
    const std::int64_t at = (r * out.c_stride + j) * bytes, step = Width * bytes;
    Several<Width, Count> v;
#pragma GCC unroll 3
    for (int i = 0; i < Count; ++i) {
      v.of[i] = value(out, r, j + i * Width, lanes) * out.alpha;
      if (out.bias != nullptr) v.of[i] += load(out.bias + j + i * Width, lanes);
      if (out.residual != nullptr) v.of[i] += load_old(out.residual + at + i * step, out.c_dtype, lanes);
      if (out.pre != nullptr) store(v.of[i], out.pre + at + i * step, out.c_dtype, lanes);
    }
    v = activate<kActivation>(v);
#pragma GCC unroll 3
    for (int i = 0; i < Count; ++i) {
      std::byte* to = out.c + at + i * step;
      if (out.accumulate) v.of[i] += load_old(to, out.c_dtype, lanes);
      store(v.of[i], to, out.c_dtype, lanes);
    }
  }

  // A copy of its own: what is stored could change the other's fields, for all the compiler knows, and they would be
  // read anew for every vector (writing was 20 % of BERT's time in int8, and 17 % so).
  template <Activation kActivation, bool kWhole>
  [[gnu::always_inline]] static void rows_of(const TileOutput out) {
    // On arm64 the columns of a tile together; AVX-512 looks ahead far enough by itself (two were slower there).
#if defined(__aarch64__)
    constexpr int kCount = 3;
#else
    constexpr int kCount = 1;
#endif
    for (int r = 0; r < out.rows; ++r) {
      int j = 0;
      for (; j + kCount * Width <= out.cols; j += kCount * Width) vectors<kActivation, kCount>(out, r, j, Width);
      if constexpr (kWhole && kCount == 1) continue;
      for (; j < out.cols; j += Width)
        vectors<kActivation, 1>(out, r, j, kWhole || out.cols - j >= Width ? Width : out.cols - j);
    }
  }

  template <Activation kActivation>
  [[gnu::always_inline]] static void rows(const TileOutput& out) {
    out.cols % Width == 0 ? rows_of<kActivation, true>(out) : rows_of<kActivation, false>(out);
  }

  // The common cases: f32, whole vectors, at most a bias and the scales of an int8 product.
  template <bool kScaled>
  [[gnu::always_inline]] static void rows_plain(const TileOutput& out) {
    const int cols = out.cols;
    const float alpha = out.alpha;
    const float* bias = out.bias;
    const bool accumulate = out.accumulate;
    for (int r = 0; r < out.rows; ++r) {
      float* c = reinterpret_cast<float*>(out.c) + r * out.c_stride;
      const float* tile = out.tile + r * out.tile_stride;
      const float scale = kScaled ? out.row_scales[r] : 1;
      for (int j = 0; j < cols; j += Width) {
        F v = *reinterpret_cast<const Loose*>(tile + j);
        if constexpr (kScaled) {
          I whole = (I)v;
          if (out.offsets != nullptr) whole -= (I)load(reinterpret_cast<const float*>(out.offsets + j), Width);
          v = __builtin_convertvector(whole, F) * scale * *reinterpret_cast<const Loose*>(out.col_scales + j);
        }
        v *= alpha;
        if (bias != nullptr) v += *reinterpret_cast<const Loose*>(bias + j);
        if (accumulate) v += *reinterpret_cast<const Loose*>(c + j);
        *reinterpret_cast<Loose*>(c + j) = v;
      }
    }
  }

  // What most convolutions do: f32, whole vectors, a bias, perhaps a residual, perhaps ReLU. Column by column, so that
  // the bias and the scales of an int8 product stay where they are (writing was 7 % of ResNet-50's time by rows_of, and
  // 10 % in int8).
  template <bool kScaled, bool kRelu, bool kResidual>
  [[gnu::always_inline]] static void columns_biased(const TileOutput& out) {
    const std::int64_t stride = out.c_stride;
    const int rows = out.rows, tile_stride = out.tile_stride;
    const float* row_scales = out.row_scales;
    for (int j = 0; j < out.cols; j += Width) {
      const F bias = *reinterpret_cast<const Loose*>(out.bias + j);
      F scales{};
      I offsets{};
      if constexpr (kScaled) {
        scales = *reinterpret_cast<const Loose*>(out.col_scales + j);
        if (out.offsets != nullptr) offsets = (I)load(reinterpret_cast<const float*>(out.offsets + j), Width);
      }
      const float* tile = out.tile + j;
      const float* residual = reinterpret_cast<const float*>(out.residual) + (kResidual ? j : 0);
      float* c = reinterpret_cast<float*>(out.c) + j;
      for (int r = 0; r < rows; ++r, tile += tile_stride, c += stride) {
        Several<Width, 1> v;
        if constexpr (kScaled)
          v.of[0] = __builtin_convertvector((I)load(tile, Width) - offsets, F) * row_scales[r] * scales + bias;
        else
          v.of[0] = *reinterpret_cast<const Loose*>(tile) + bias;
        if constexpr (kResidual) v.of[0] += *reinterpret_cast<const Loose*>(residual + r * stride);
        if constexpr (kRelu) v = activate<Activation::relu>(v);
        *reinterpret_cast<Loose*>(c) = v.of[0];
      }
    }
  }

  [[gnu::always_inline]] static bool is_biased(const TileOutput& out) {
    return (out.activation == Activation::relu || out.activation == Activation::none) && out.c_dtype == DType::f32 &&
           out.bias != nullptr && out.alpha == 1 && !out.accumulate && out.pre == nullptr && out.cols % Width == 0;
  }

  template <bool kScaled>
  [[gnu::always_inline]] static void write_biased(const TileOutput& out) {
    if (out.activation == Activation::none)
      return out.residual == nullptr ? columns_biased<kScaled, false, false>(out)
                                     : columns_biased<kScaled, false, true>(out);
    out.residual == nullptr ? columns_biased<kScaled, true, false>(out) : columns_biased<kScaled, true, true>(out);
  }

  [[gnu::always_inline]] static void write(const TileOutput& out) {
    if (is_biased(out)) return out.row_scales == nullptr ? write_biased<false>(out) : write_biased<true>(out);
    switch (out.activation) {
      case Activation::relu:
        return rows<Activation::relu>(out);
      case Activation::gelu:
        return rows<Activation::gelu>(out);
      case Activation::gelu_tanh:
        return rows<Activation::gelu_tanh>(out);
      case Activation::silu:
        return rows<Activation::silu>(out);
      case Activation::tanh:
        return rows<Activation::tanh>(out);
      case Activation::sigmoid:
        return rows<Activation::sigmoid>(out);
      case Activation::leaky_relu:
        return rows<Activation::leaky_relu>(out);
      case Activation::none:
        break;
    }
    if (out.c_dtype == DType::f32 && out.pre == nullptr && out.residual == nullptr && out.cols % Width == 0)
      return out.row_scales == nullptr ? rows_plain<false>(out) : rows_plain<true>(out);
    rows<Activation::none>(out);
  }
};

}  // namespace attend::cpu::detail

#pragma GCC diagnostic pop
