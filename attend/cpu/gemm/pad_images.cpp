// See pad_images.h.
#include "attend/cpu/gemm/pad_images.h"

#include <cstring>

#include "attend/cpu/scratch.h"

namespace attend::cpu::detail {

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;  // of a copy

}  // namespace

Windows pad_images(const Windows& from, std::int64_t m, ThreadPool& pool) {
  const Extent2& padding = from.window.padding;
  const bool alone = from.kernel_h * from.kernel_w == 1, groups = from.inputs != from.channels;
  if (alone || groups || padding.h < 0 || padding.w < 0 || (padding.h == 0 && padding.w == 0)) return from;
  thread_local Scratch scratch;
  const PaddedImages padded(from, m);
  const std::int64_t place = from.channels * static_cast<std::int64_t>(bytes_of(from.dtype));
  const std::int64_t line = padded.w.inside * place, line_to = padded.w.all * place, left = padded.w.before * place;
  if (padded.lines() * line_to > kMostBytes) return from;
  std::byte* const places = scratch.get(static_cast<std::size_t>(padded.lines() * line_to));
  const auto zeros = [](std::byte* to, std::int64_t count) { std::memset(to, 0, static_cast<std::size_t>(count)); };
  const auto copy = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t l = begin; l < end; ++l) {
      std::byte* const to = places + l * line_to;
      const std::int64_t image = l / padded.h.all, y = l % padded.h.all - padded.h.before;
      if (y < 0 || y >= padded.h.inside) {
        zeros(to, line_to);
        continue;
      }
      zeros(to, left);
      std::memcpy(to + left, from.x + (image * padded.h.inside + y) * line, static_cast<std::size_t>(line));
      zeros(to + left + line, line_to - left - line);
    }
  };
  pool.for_range(padded.lines(),
                 std::max<std::int64_t>(1, (std::int64_t{1} << 16) / std::max<std::int64_t>(1, line_to)), copy);
  return padded.windows(from, places);
}

}  // namespace attend::cpu::detail
