// See attend/cpu/windows.h.
#include "attend/cpu/windows.h"

#include <algorithm>
#include <cstring>

#include "attend/cpu/gemm/kernel.h"
#include "attend/cpu/scratch.h"

namespace attend::cpu {

namespace {

thread_local detail::Scratch laid_out;

constexpr int kMostRows = 32;  // of a panel

}  // namespace

void Windows::lay_out(std::int64_t p, std::int64_t k, std::int64_t depth, std::byte* to) const {
  const auto element = static_cast<std::int64_t>(bytes_of(dtype));
  const std::int64_t ow = p % results_w, oh = p / results_w % results_h, b = p / (results_w * results_h);
  const std::int64_t w = ow * window.stride.w - window.padding.w, line = kernel_w * inputs, end = k + depth;
  // All taps of a line of the window are neighbours in memory.
  const bool run = inputs == channels && window.dilation.w == 1 && w >= 0 && w + kernel_w <= width;
  while (k < end) {
    const std::int64_t i = k / line, in_line = k - i * line, tap = in_line / inputs, c = in_line - tap * inputs;
    const std::int64_t h = oh * window.stride.h - window.padding.h + i * window.dilation.h;
    const bool inside = i < kernel_h && h >= 0 && h < height;
    const std::int64_t at = w + tap * window.dilation.w;
    const std::int64_t count = std::min(end - k, run || !inside ? line - in_line : inputs - c);
    const auto bytes = static_cast<std::size_t>(count * element);
    if (inside && at >= 0 && at < width)
      std::memcpy(to, x + (((b * height + h) * width + at) * channels + c) * element, bytes);
    else
      std::memset(to, outside, bytes);
    to += bytes, k += count;
  }
}

detail::Operand Windows::in_place(std::int64_t p, int rows, std::int64_t k) const {
  const std::int64_t ow = p % results_w, oh = p / results_w % results_h, b = p / (results_w * results_h);
  const std::int64_t line = kernel_w * inputs, i = k / line;
  const std::int64_t w = ow * window.stride.w - window.padding.w, last = w + (rows - 1) * window.stride.w;
  const std::int64_t h = oh * window.stride.h - window.padding.h + i * window.dilation.h;
  const bool inside = ow + rows <= results_w && w >= 0 && last + kernel_w <= width && h >= 0 && h < height;
  if (!inside || inputs != channels || window.dilation.w != 1) return {};
  const std::int64_t at = ((b * height + h) * width + w) * channels + k - i * line;
  return {x + at * static_cast<std::int64_t>(bytes_of(dtype)), dtype, window.stride.w * channels, 1};
}

bool Windows::in_runs() const {
  const auto fits = [](std::int64_t results, std::int64_t stride, std::int64_t taps, std::int64_t dilation,
                       std::int64_t size) { return (results - 1) * stride + (taps - 1) * dilation < size; };
  return inputs == channels && window.dilation.w == 1 && window.padding.h == 0 && window.padding.w == 0 &&
         fits(results_h, window.stride.h, kernel_h, window.dilation.h, height) &&
         fits(results_w, window.stride.w, kernel_w, 1, width);
}

void Windows::pack(const detail::Kernel& kernel, std::int64_t p, int rows, int width_of_panel, std::int64_t k,
                   std::int64_t depth, std::byte* to) const {
  const std::int64_t line = kernel_w * inputs, end = k + depth;
  // Line by line of the window, if the kernel's steps of k end where taps do.
  const bool lines = inputs % kernel.k_step == 0;
  const auto element = static_cast<std::int64_t>(bytes_of(dtype));
  std::int64_t rows_at[kMostRows];
  const bool apart = lines && rows <= kMostRows && kernel.packs_apart && dtype != DType::bf16 && in_runs();
  if (apart) {
    std::int64_t ow = p % results_w, oh = p / results_w % results_h, b = p / (results_w * results_h);
    for (int r = 0; r < rows; ++r) {
      rows_at[r] = ((b * height + oh * window.stride.h) * width + ow * window.stride.w) * channels * element;
      if (++ow < results_w) continue;
      ow = 0;
      if (++oh == results_h) oh = 0, ++b;
    }
  }
  for (std::int64_t next; k < end; k = next) {
    next = lines ? std::min(end, (k / line + 1) * line) : end;
    const std::int64_t count = next - k, i = k / line;
    detail::Operand from;
    if (apart)
      from = {x + (i * window.dilation.h * width * channels + k - i * line) * element, dtype, 0, 1, rows_at};
    else if (lines)
      from = in_place(p, rows, k);
    if (from.data == nullptr) {
      const auto bytes = count * static_cast<std::int64_t>(bytes_of(dtype));
      // A step more: a row that ends within one is read to its end.
      std::byte* buffer = laid_out.get(static_cast<std::size_t>(rows * bytes + 64));
      for (int r = 0; r < rows; ++r) lay_out(p + r, k, count, buffer + r * bytes);
      from = {buffer, dtype, count, 1};
    }
    kernel.pack_a(from, rows, width_of_panel, count, to);
    to += count * width_of_panel * kernel.element_bytes();
  }
}

}  // namespace attend::cpu
