// The loops of rows.h for one instruction set. Vectors are GCC's own, shuffled by hand where the compiler would take
// bytes apart one by one; the other loops are plain, and it vectorises them.
#include <algorithm>
#include <cstring>

#include "attend/image/rows.h"

#ifndef ATTEND_IMAGE_ROWS
#define ATTEND_IMAGE_ROWS rows_generic
#endif

namespace attend::image::ATTEND_IMAGE_ROWS {

namespace {

typedef std::uint8_t Bytes __attribute__((vector_size(16)));
typedef std::int32_t Ints __attribute__((vector_size(16)));

std::uint8_t rounded(std::int32_t sum, int bits) { return static_cast<std::uint8_t>(std::clamp(sum >> bits, 0, 255)); }

// Pixel kPixel of the five in a vector, a channel a number; the fourth number is another pixel's, and nobody's.
template <int kPixel>
Ints channels(Bytes five) {
  constexpr int p = 3 * kPixel;
  return reinterpret_cast<Ints>(
      __builtin_shufflevector(five, Bytes{}, p, 16, 16, 16, p + 1, 16, 16, 16, p + 2, 16, 16, 16, 16, 16, 16, 16));
}

// The bytes of a pixel from its sums. Writes four; the fourth is overwritten by the next pixel.
void store_pixel(Ints sum, int bits, std::uint8_t* to) {
  sum >>= bits;
  sum = sum < 0 ? Ints{} : sum;
  sum = sum > 255 ? Ints{255, 255, 255, 255} : sum;
  const Bytes bytes = reinterpret_cast<Bytes>(sum);
  const Bytes packed = __builtin_shufflevector(bytes, bytes, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12);
  std::memcpy(to, &packed, 4);
}

// kRows rows together share the loads of the weights. kGroups: 0 when their number is not known beforehand.
template <int kRows, int kGroups>
void along_rows(const std::uint8_t* from, std::size_t from_stride, std::uint8_t* to, std::size_t to_stride,
                const GroupedWeights& weights) {
  const int groups = kGroups > 0 ? kGroups : weights.groups;
  const std::int32_t* weight = weights.values.data();
  const std::int32_t half = 1 << (weights.bits - 1);
  for (const int first_pixel : weights.from) {
    Ints sums[kRows];
    for (Ints& sum : sums) sum = Ints{half, half, half, half};
    const std::uint8_t* at = from + 3 * static_cast<std::ptrdiff_t>(first_pixel);
    for (int g = 0; g < groups; ++g, at += 3 * kTapGroup, weight += kGroupStride) {
      Ints first;
      std::memcpy(&first, weight, sizeof first);
      for (int r = 0; r < kRows; ++r) {
        Bytes five;
        std::memcpy(&five, at + static_cast<std::size_t>(r) * from_stride, sizeof five);
        sums[r] += channels<0>(five) * first[0];
        sums[r] += channels<1>(five) * first[1];
        sums[r] += channels<2>(five) * first[2];
        sums[r] += channels<3>(five) * first[3];
        sums[r] += channels<4>(five) * weight[4];
      }
    }
    for (int r = 0; r < kRows; ++r) store_pixel(sums[r], weights.bits, to + static_cast<std::size_t>(r) * to_stride);
    to += 3;
  }
}

template <int kRows>
void along_some(const std::uint8_t* from, std::size_t from_stride, std::uint8_t* to, std::size_t to_stride,
                const GroupedWeights& weights) {
  if (weights.groups == 1) return along_rows<kRows, 1>(from, from_stride, to, to_stride, weights);
  if (weights.groups == 2) return along_rows<kRows, 2>(from, from_stride, to, to_stride, weights);
  along_rows<kRows, 0>(from, from_stride, to, to_stride, weights);
}

void along_rgb(const std::uint8_t* from, std::size_t from_stride, std::uint8_t* to, std::size_t to_stride, int count,
               const GroupedWeights& weights) {
  int y = 0;
  for (; y + 2 <= count; y += 2)
    along_some<2>(from + static_cast<std::size_t>(y) * from_stride, from_stride,
                  to + static_cast<std::size_t>(y) * to_stride, to_stride, weights);
  if (y < count)
    along_some<1>(from + static_cast<std::size_t>(y) * from_stride, from_stride,
                  to + static_cast<std::size_t>(y) * to_stride, to_stride, weights);
}

// The sums of up to eight rows at a time. What came before is in sums, unless this is the first part.
template <int kTaps>
void add_rows(const std::uint8_t* from, std::size_t stride, const std::int32_t* weights, std::int32_t* sums,
              std::size_t bytes) {
  for (std::size_t x = 0; x < bytes; ++x) {
    std::int32_t sum = sums[x];
    for (int t = 0; t < kTaps; ++t) sum += from[static_cast<std::size_t>(t) * stride + x] * weights[t];
    sums[x] = sum;
  }
}

// All rows of a short filter, without memory for sums.
template <int kTaps>
void mix_rows(const std::uint8_t* __restrict from, std::size_t stride, const std::int32_t* weights, int bits,
              std::uint8_t* __restrict to, std::size_t bytes) {
  for (std::size_t x = 0; x < bytes; ++x) {
    std::int32_t sum = 1 << (bits - 1);
    for (int t = 0; t < kTaps; ++t) sum += from[static_cast<std::size_t>(t) * stride + x] * weights[t];
    to[x] = rounded(sum, bits);
  }
}

constexpr std::size_t kPiece = 1024;  // bytes of a row whose sums stay in the first cache

void across_many(const std::uint8_t* from, std::size_t stride, const std::int32_t* weights, int taps, int bits,
                 std::uint8_t* to, std::size_t bytes) {
  std::int32_t sums[kPiece];
  for (std::size_t begin = 0; begin < bytes; begin += kPiece) {
    const std::size_t size = std::min(kPiece, bytes - begin);
    std::fill_n(sums, size, 1 << (bits - 1));
    int t = 0;
    const auto row = [&] { return from + static_cast<std::size_t>(t) * stride + begin; };
    for (; t + 8 <= taps; t += 8) add_rows<8>(row(), stride, weights + t, sums, size);
    for (; t + 4 <= taps; t += 4) add_rows<4>(row(), stride, weights + t, sums, size);
    for (; t < taps; ++t) add_rows<1>(row(), stride, weights + t, sums, size);
    for (std::size_t x = 0; x < size; ++x) to[begin + x] = rounded(sums[x], bits);
  }
}

void across(const std::uint8_t* from, std::size_t stride, const std::int32_t* weights, int taps, int bits,
            std::uint8_t* to, std::size_t bytes) {
  switch (taps) {
    case 1:
      return mix_rows<1>(from, stride, weights, bits, to, bytes);
    case 2:
      return mix_rows<2>(from, stride, weights, bits, to, bytes);
    case 3:
      return mix_rows<3>(from, stride, weights, bits, to, bytes);
    case 4:
      return mix_rows<4>(from, stride, weights, bits, to, bytes);
    case 5:
      return mix_rows<5>(from, stride, weights, bits, to, bytes);
    case 6:
      return mix_rows<6>(from, stride, weights, bits, to, bytes);
    case 7:
      return mix_rows<7>(from, stride, weights, bits, to, bytes);
    case 8:
      return mix_rows<8>(from, stride, weights, bits, to, bytes);
    default:
      return across_many(from, stride, weights, taps, bits, to, bytes);
  }
}

void planes(const std::uint8_t* row, std::size_t width, const float* scale, const float* shift, float* const* plane) {
  float* __restrict red = plane[0];
  float* __restrict green = plane[1];
  float* __restrict blue = plane[2];
  const float scales[] = {scale[0], scale[1], scale[2]}, shifts[] = {shift[0], shift[1], shift[2]};
  for (std::size_t x = 0; x < width; ++x) {
    red[x] = static_cast<float>(row[3 * x]) * scales[0] + shifts[0];
    green[x] = static_cast<float>(row[3 * x + 1]) * scales[1] + shifts[1];
    blue[x] = static_cast<float>(row[3 * x + 2]) * scales[2] + shifts[2];
  }
}

}  // namespace

extern const Rows kRows;
const Rows kRows = {along_rgb, across, planes};

}  // namespace attend::image::ATTEND_IMAGE_ROWS
