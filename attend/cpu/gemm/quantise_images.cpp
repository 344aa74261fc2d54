// See quantise_images.h.
#include "attend/cpu/gemm/quantise_images.h"

#include <algorithm>
#include <cstring>

#include "attend/cpu/gemm/pad_images.h"
#include "attend/cpu/scratch.h"

namespace attend::cpu::detail {

namespace {

constexpr std::int64_t kPiece = 16384;  // numbers at a time

std::int64_t round_up(std::int64_t a, std::int64_t to) { return (a + to - 1) / to * to; }

}  // namespace

QuantisedImages quantise_images(const Kernel& kernel, const Windows& from, std::int64_t m, bool pad, ThreadPool& pool) {
  thread_local Scratch scratch;
  PaddedImages padded(from, m);
  if (!pad) padded.h = {0, from.height, from.height}, padded.w = {0, from.width, from.width};
  const Axis &h = padded.h, &w = padded.w;
  const std::int64_t line = w.inside * from.channels, line_to = w.all * from.channels, image = h.inside * line;
  const std::int64_t rows = from.results_h * from.results_w, pieces = (image + kPiece - 1) / kPiece;
  const std::int64_t images = padded.images, bytes = round_up(padded.lines() * line_to, 64);
  std::byte* to = scratch.get(static_cast<std::size_t>(bytes + 4 * (m + images * pieces)));
  float* scales = reinterpret_cast<float*>(to + bytes);
  float* most = scales + m;  // [images, pieces]
  const auto element = static_cast<std::int64_t>(bytes_of(from.dtype));
  const auto find_largest = [&](std::int64_t i) {
    const std::int64_t begin = i % pieces * kPiece;
    most[i] =
        kernel.largest({from.x + (i / pieces * image + begin) * element, from.dtype}, std::min(kPiece, image - begin));
  };
  const std::int64_t lines = std::max<std::int64_t>(1, kPiece / line_to), parts = (h.all + lines - 1) / lines;
  const auto outside = [&](std::byte* begin, std::int64_t count) {
    std::memset(begin, kernel.a_offset, static_cast<std::size_t>(count));
  };
  const auto round = [&](std::int64_t i) {
    const std::int64_t which = i / parts, first = i % parts * lines;
    const float largest = *std::max_element(most + which * pieces, most + (which + 1) * pieces);
    const float inverse = largest > 0 ? 127.0f / largest : 0.0f;
    for (std::int64_t l = first; l < std::min(h.all, first + lines); ++l) {
      std::byte* into = to + (which * h.all + l) * line_to;
      const std::int64_t y = l - h.before, left = w.before * from.channels;
      if (y < 0 || y >= h.inside) {
        outside(into, line_to);
        continue;
      }
      outside(into, left);
      kernel.round({from.x + (which * image + y * line) * element, from.dtype}, line, inverse, kernel.a_offset,
                   into + left);
      outside(into + left + line, line_to - left - line);
    }
    if (first == 0) std::fill_n(scales + which * rows, rows, largest / 127.0f);
  };
  pool.run({ThreadPool::each(images * pieces, find_largest), ThreadPool::each(images * parts, round)});
  Windows windows = pad ? padded.windows(from, to) : from;
  windows.x = to, windows.dtype = DType::i8, windows.outside = kernel.a_offset;
  return {windows, scales};
}

}  // namespace attend::cpu::detail
