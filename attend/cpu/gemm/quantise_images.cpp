// See quantise_images.h.
#include "attend/cpu/gemm/quantise_images.h"

#include <algorithm>
#include <utility>

#include "attend/cpu/scratch.h"

namespace attend::cpu::detail {

namespace {

constexpr std::int64_t kPiece = 16384;  // numbers at a time

std::int64_t round_up(std::int64_t a, std::int64_t to) { return (a + to - 1) / to * to; }

}  // namespace

QuantisedImages quantise_images(const Kernel& kernel, const Windows& from, std::int64_t m, ThreadPool& pool) {
  thread_local Scratch scratch;
  const std::int64_t image = from.height * from.width * from.channels, rows = from.results_h * from.results_w;
  const std::int64_t images = m / rows, pieces = (image + kPiece - 1) / kPiece;
  const std::int64_t bytes = round_up(images * image, 64);
  std::byte* to = scratch.get(static_cast<std::size_t>(bytes + 4 * (m + images * pieces)));
  float* scales = reinterpret_cast<float*>(to + bytes);
  float* most = scales + m;  // [images, pieces]
  const auto element = static_cast<std::int64_t>(bytes_of(from.dtype));
  const auto piece_of = [&](std::int64_t i) {
    const std::int64_t begin = i % pieces * kPiece;
    return std::pair{i / pieces * image + begin, std::min(kPiece, image - begin)};
  };
  const auto find_largest = [&](std::int64_t i) {
    const auto [begin, count] = piece_of(i);
    most[i] = kernel.largest({from.x + begin * element, from.dtype}, count);
  };
  const auto round = [&](std::int64_t i) {
    const auto [begin, count] = piece_of(i);
    const float* of_image = most + i / pieces * pieces;
    const float largest = *std::max_element(of_image, of_image + pieces);
    kernel.round({from.x + begin * element, from.dtype}, count, largest > 0 ? 127.0f / largest : 0.0f, kernel.a_offset,
                 to + begin);
    if (i % pieces == 0) std::fill_n(scales + i / pieces * rows, rows, largest / 127.0f);
  };
  pool.run({ThreadPool::each(images * pieces, find_largest), ThreadPool::each(images * pieces, round)});
  QuantisedImages quantised{from, scales};
  quantised.windows.x = to, quantised.windows.dtype = DType::i8, quantised.windows.outside = kernel.a_offset;
  return quantised;
}

}  // namespace attend::cpu::detail
