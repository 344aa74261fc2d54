// Convolutions as products whose rows are windows: on every kernel of this machine the same as with the windows laid
// out in memory, bit by bit; and with packed weights (f32, bf16, int8) against loops in double.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "attend/cpu/features.h"
#include "attend/cpu/gemm.h"
#include "attend/cpu/gemm/blocked.h"
#include "attend/cpu/gemm/lines.h"
#include "tests/cpu/gemm_buffer.h"

namespace attend::cpu {
namespace {

using detail::Kernel;
using test::Buffer;

struct ImageCase {
  std::int64_t batch, height, width, channels;
  std::int64_t kernel_h, kernel_w;
  Convolution window = {};
  std::int64_t outputs = 20;

  Windows windows(const void* x, DType dtype) const {
    return {.x = static_cast<const std::byte*>(x),
            .dtype = dtype,
            .window = window,
            .height = height,
            .width = width,
            .channels = channels,
            .results_h = images::windows(height, kernel_h, window.stride.h, window.padding.h, window.dilation.h),
            .results_w = images::windows(width, kernel_w, window.stride.w, window.padding.w, window.dilation.w),
            .kernel_h = kernel_h,
            .kernel_w = kernel_w,
            .inputs = channels / window.groups};
  }
};

// Edges on all sides, panels across lines and images, channels that fill steps of k and such that do not.
std::vector<ImageCase> image_cases() {
  return {
      {2, 5, 6, 3, 3, 3, {.padding = {1, 1}}},
      {1, 9, 31, 64, 3, 3, {.padding = {1, 1}}},
      {2, 7, 7, 64, 3, 3, {.padding = {1, 1}}, 70},
      {1, 14, 14, 64, 3, 3, {.stride = {2, 2}, .padding = {1, 1}}},
      {1, 37, 40, 3, 7, 7, {.stride = {2, 2}, .padding = {3, 3}}, 64},
      {2, 11, 10, 20, 3, 2, {.stride = {1, 2}, .padding = {0, 1}, .dilation = {2, 1}}},
      {1, 13, 29, 32, 3, 3, {.padding = {2, 2}, .dilation = {2, 2}}},
      {3, 8, 9, 16, 1, 1, {.stride = {2, 2}}},
      {1, 1, 1, 5, 3, 3, {.padding = {1, 1}}},
      {1, 6, 6, 12, 3, 3, {.padding = {1, 1}, .groups = 3}},
      {1, 5, 5, 480, 3, 3, {.padding = {1, 1}}},  // k in pieces
      // Few channels, by lines: windows beyond both edges, gaps between lines and between windows, many images.
      {1, 3, 2, 3, 5, 5, {.padding = {2, 2}}, 40},
      {2, 12, 40, 3, 5, 5, {.padding = {6, 4}, .dilation = {3, 1}}, 33},
      {3, 9, 50, 6, 3, 3, {.stride = {1, 3}, .padding = {1, 2}}, 16},
      {2, 20, 33, 1, 13, 13, {.stride = {4, 2}}, 7},
      {1, 40, 90, 3, 7, 7, {.stride = {2, 2}, .padding = {3, 3}}, 3},  // several tasks
  };
}

std::int64_t windows_of(const ImageCase& c) {
  const Windows windows = c.windows(nullptr, DType::f32);
  return c.batch * windows.results_h * windows.results_w;
}

// Element k of row p, by the definition: -1 outside of the image.
std::int64_t image_place(const ImageCase& c, std::int64_t p, std::int64_t k) {
  const Windows g = c.windows(nullptr, DType::f32);
  const std::int64_t ow = p % g.results_w, oh = p / g.results_w % g.results_h, b = p / (g.results_w * g.results_h);
  const std::int64_t channel = k % g.inputs, j = k / g.inputs % c.kernel_w, i = k / g.inputs / c.kernel_w;
  const std::int64_t h = oh * c.window.stride.h - c.window.padding.h + i * c.window.dilation.h;
  const std::int64_t w = ow * c.window.stride.w - c.window.padding.w + j * c.window.dilation.w;
  if (h < 0 || w < 0 || h >= c.height || w >= c.width) return -1;
  return ((b * c.height + h) * c.width + w) * c.channels + channel;
}

// The same product with the windows laid out, and not, and line by line where the kernel does that.
void check_windows(const Kernel& kernel, const ImageCase& c, DType dtype, ThreadPool* pool) {
  const std::int64_t m = windows_of(c), n = c.outputs, real_k = c.windows(nullptr, dtype).row();
  const bool int8 = kernel.element == DType::i8;
  const std::int64_t k = int8 ? kernel.padded(real_k) : real_k, element = static_cast<std::int64_t>(bytes_of(dtype));
  Buffer x(1, c.batch * c.height * c.width * c.channels, int8 ? DType::f32 : dtype, 1, 0);
  std::vector<std::byte> bytes(static_cast<std::size_t>(c.batch * c.height * c.width * c.channels));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(random_word(3, 1, i));
  const std::byte* source = int8 ? bytes.data() : static_cast<const std::byte*>(x.data());
  std::vector<std::byte> matrix(static_cast<std::size_t>(m * k * element + 64));
  for (std::int64_t p = 0; p < m; ++p)
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t place = i < real_k ? image_place(c, p, i) : -1;
      std::byte* to = matrix.data() + (p * k + i) * element;
      if (place >= 0)
        std::memcpy(to, source + place * element, static_cast<std::size_t>(element));
      else
        std::memset(to, kernel.a_offset, static_cast<std::size_t>(element));
    }
  std::vector<std::byte> panels(static_cast<std::size_t>(detail::packed_bytes(kernel, n, k)));
  for (std::size_t i = 0; i < panels.size(); ++i) panels[i] = std::byte{0x3c};  // 0.0115 as f32 and as bf16, 60 as int8
  const std::vector<float> ones(static_cast<std::size_t>(std::max(m, n)), 1.0f);
  std::vector<float> laid_out(static_cast<std::size_t>(m * n)), implicit(laid_out);
  detail::Job job{.m = m, .n = n, .k = k};
  job.a = {matrix.data(), dtype, k, 1}, job.b_panels = panels.data(), job.rows_alike = true;
  job.out = {.c = laid_out.data(), .c_stride = n};
  if (int8) job.dequantise = {.rows = ones.data(), .cols = ones.data()};
  detail::multiply_blocked(kernel, job, pool);
  job.a = {nullptr, dtype, k, 1}, job.windows = c.windows(source, dtype), job.out.c = implicit.data();
  job.windows.outside = kernel.a_offset;
  detail::multiply_blocked(kernel, job, pool);
  ASSERT_EQ(std::memcmp(laid_out.data(), implicit.data(), laid_out.size() * 4), 0) << kernel.name;
  if (pool == nullptr || int8 || dtype != kernel.element || detail::line_of(kernel, job.windows) == 0) return;
  std::fill(implicit.begin(), implicit.end(), 0.0f);
  detail::multiply_lines(kernel, job, *pool);
  // The lines of a window are summed one by one.
  for (std::size_t i = 0; i < laid_out.size(); ++i) ASSERT_NEAR(laid_out[i], implicit[i], 5e-6) << kernel.name << i;
}

TEST(Convolution, WindowsAreAsLaidOut) {
  ThreadPool pool(2);
  for (const char* cap :
       {"generic", "avx2", "avx512", "avx512_bf16", "amx", "neon", "neon_dot", "neon_bf16", "neon_i8mm"})
    for (const ImageCase& c : image_cases()) {
      const detail::KernelSet set = detail::choose_kernels(capped(features(), cap));
      SCOPED_TRACE(
          fmt::format("{}, {} x {} x {}, window {} x {}", cap, c.height, c.width, c.channels, c.kernel_h, c.kernel_w));
      for (ThreadPool* threads : {&pool, static_cast<ThreadPool*>(nullptr)}) {
        check_windows(*set.f32, c, DType::f32, threads);
        check_windows(*set.f32, c, DType::bf16, threads);
        if (set.split != nullptr) check_windows(*set.split, c, DType::f32, threads);
        if (set.bf16 != nullptr) check_windows(*set.bf16, c, DType::bf16, threads);
        if (set.bf16 != nullptr) check_windows(*set.bf16, c, DType::f32, threads);
        check_windows(*set.int8, c, DType::i8, threads);
      }
    }
}

// Errors as in packed_gemm_test.cpp; an int8 product has one step for all the windows of an image.
TEST(Convolution, PackedWeightsAgainstLoops) {
  ThreadPool pool(2);
  for (const ImageCase& c : image_cases())
    for (const DType as : {DType::f32, DType::bf16, DType::i8})
      for (const DType dtype : {DType::f32, DType::bf16}) {
        if (c.window.groups > 1) continue;
        SCOPED_TRACE(fmt::format("{} x {} x {}, window {} x {}, {} as {}", c.height, c.width, c.channels, c.kernel_h,
                                 c.kernel_w, name_of(dtype), name_of(as)));
        const std::int64_t m = windows_of(c), n = c.outputs, k = c.windows(nullptr, dtype).row();
        const std::int64_t image = c.height * c.width * c.channels;
        Buffer x(1, c.batch * image, dtype, 1, 0), w(n, k, DType::f32, 2, 0), bias(1, n, DType::f32, 3, 0);
        Buffer y(m, n, DType::f32, 4);
        const PackedWeights weights =
            PackedWeights::pack({w.data(), w.dtype, w.stride}, n, k, as).for_windows(c.windows(x.data(), dtype), pool);
        PackedGemm g{.m = m, .a_dtype = dtype, .windows = c.windows(x.data(), dtype), .weights = &weights};
        g.out = {.c = y.data(), .c_stride = y.stride, .bias = bias.data(), .activation = Activation::relu};
        gemm_packed(g, pool);
        std::vector<double> largest(static_cast<std::size_t>(c.batch), 0.0);  // of each image
        for (std::int64_t i = 0; i < c.batch * image; ++i) {
          double& most = largest[static_cast<std::size_t>(i / image)];
          most = std::max(most, std::abs(static_cast<double>(x.at(0, i))));
        }
        std::vector<double> window(static_cast<std::size_t>(k)), weight(static_cast<std::size_t>(n * k));
        for (std::int64_t i = 0; i < n * k; ++i) weight[static_cast<std::size_t>(i)] = w.at(i / k, i % k);
        for (std::int64_t p = 0; p < m; ++p) {
          for (std::int64_t i = 0; i < k; ++i) {
            const std::int64_t place = image_place(c, p, i);
            window[static_cast<std::size_t>(i)] = place < 0 ? 0 : x.at(0, place);
          }
          for (std::int64_t o = 0; o < n; ++o) {
            double sum = bias.at(0, o), size = 0, square_x = 0, square_w = 0, most_w = 0;
            for (std::int64_t i = 0; i < k; ++i) {
              const double u = window[static_cast<std::size_t>(i)], v = weight[static_cast<std::size_t>(o * k + i)];
              sum += u * v, size += std::abs(u * v), square_x += u * u, square_w += v * v;
              most_w = std::max(most_w, std::abs(v));
            }
            const double step_x = largest[static_cast<std::size_t>(p / (m / c.batch))] / 127, step_w = most_w / 127;
            const double int8 =
                6 / std::sqrt(12.0) * std::sqrt(step_x * step_x * square_w + step_w * step_w * square_x);
            const double bound = as == DType::f32    ? 6e-6 * size
                                 : as == DType::bf16 ? 6.0 / 512 * 1.5 * std::sqrt(square_x * square_w / k)
                                                     : int8;
            ASSERT_NEAR(y.now(p, o), std::max(0.0, sum), bound + 1e-5) << p << ", " << o;
          }
        }
      }
}

}  // namespace
}  // namespace attend::cpu
