// The left side of a convolution as a product: row p is the window that result p reads, [kh, kw, inputs] of an image
// [B, H, W, C]. Windows are laid out (im2col) a panel at a time, as the micro-kernel's panels are packed, and never as
// a matrix in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attend/base/dtype.h"
#include "attend/tensor/images.h"

namespace attend::cpu {

namespace detail {
struct Kernel;
struct Operand;
}  // namespace detail

struct Windows {
  const std::byte* x = nullptr;  // of the first channel of the group
  DType dtype = DType::f32;      // f32, bf16, or i8: quantised already
  Convolution window = {};
  std::int64_t height = 0, width = 0, channels = 0;  // of x
  std::int64_t results_h = 0, results_w = 0;
  std::int64_t kernel_h = 0, kernel_w = 0, inputs = 0;  // inputs: channels of a group
  int outside = 0;                                      // every byte outside of the image: what zero is quantised to

  std::int64_t row() const { return kernel_h * kernel_w * inputs; }
  // Elements [k, k + depth) of row p; past the row as outside of the image.
  void lay_out(std::int64_t p, std::int64_t k, std::int64_t depth, std::byte* to) const;
  // The same of `rows` rows from p on, as kernel.pack_a packs a panel of `width_of_panel` rows.
  void pack(const detail::Kernel& kernel, std::int64_t p, int rows, int width_of_panel, std::int64_t k,
            std::int64_t depth, std::byte* to) const;

 private:
  // Whether every window is inside of the image, and each of its lines one run of memory.
  bool in_runs() const;
  // Rows p to p + rows - 1 from k to the end of its line of the window, if all are inside of the image and a step apart
  // in memory; else no data.
  detail::Operand in_place(std::int64_t p, int rows, std::int64_t k) const;
};

}  // namespace attend::cpu
