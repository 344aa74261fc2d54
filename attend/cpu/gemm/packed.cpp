// Weights packed once, and products with them.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "attend/base/error.h"
#include "attend/cpu/features.h"
#include "attend/cpu/gemm.h"
#include "attend/cpu/gemm/bias.h"
#include "attend/cpu/gemm/blocked.h"
#include "attend/cpu/gemm/lines.h"
#include "attend/cpu/gemm/pad_images.h"
#include "attend/cpu/gemm/quantise_images.h"
#include "attend/cpu/recording.h"
#include "attend/cpu/scratch.h"

namespace attend::cpu {

using detail::Job;
using detail::Kernel;
using detail::KernelSet;
using detail::Operand;

// Memory of packed weights: the panels; for int8 then a scale and an offset for each of n columns.
struct PackedWeights::Access {
  static const Kernel& kernel(const PackedWeights& w) { return *static_cast<const Kernel*>(w.kernel_); }
  static std::byte* panels(const PackedWeights& w) { return w.data_.get(); }
  static float* scales(const PackedWeights& w) {
    return reinterpret_cast<float*>(panels(w) + detail::packed_bytes(kernel(w), w.n_, w.k_));
  }
  static std::int32_t* offsets(const PackedWeights& w) { return reinterpret_cast<std::int32_t*>(scales(w) + w.n_); }

  static PackedWeights make(const Matrix& w, std::int64_t n, std::int64_t k, DType as, Precision precision,
                            ThreadPool* pool);
};

namespace {

const Kernel& choose(DType as, Precision precision) {
  static const KernelSet set = detail::choose_kernels(features());
  if (as == DType::i8) return *set.int8;
  if (as == DType::bf16) return set.bf16 != nullptr ? *set.bf16 : *set.f32;
  return precision == Precision::split && set.split != nullptr ? *set.split : *set.f32;
}

template <class T>
void turn(const Operand& from, std::int64_t cols, std::int64_t k, const Operand& turned) {
  T* to = reinterpret_cast<T*>(const_cast<std::byte*>(turned.data));
  const T* line = reinterpret_cast<const T*>(from.data);
  for (std::int64_t i = 0; i < k; ++i, line += from.k_step)
    for (std::int64_t c = 0; c < cols; ++c) to[c * k + i] = line[c];
}

// One panel of int8 weights: quantised row by row into a buffer, then packed.
void pack_int8_panel(const Kernel& kernel, const Operand& from, std::int64_t cols, std::int64_t k, std::byte* to,
                     float* scales, std::int32_t* offsets) {
  thread_local detail::Scratch rows_scratch, turned_scratch;
  const std::int64_t padded = kernel.padded(k);
  std::byte* rows = rows_scratch.get(static_cast<std::size_t>(cols * padded));
  Operand source = from;
  if (from.k_step != 1) {
    // Side by side in memory: turned first, line by line, because a column alone takes a word from each line.
    source = {turned_scratch.get(static_cast<std::size_t>(cols * k) * 4), from.dtype, k, 1};
    from.dtype == DType::f32 ? turn<float>(from, cols, k, source) : turn<Bf16>(from, cols, k, source);
  }
  for (std::int64_t c = 0; c < cols; ++c) {
    scales[c] = kernel.quantise({source.at(c, 0).data, source.dtype}, k, padded, 0, rows + c * padded);
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < k; ++i) sum += static_cast<std::int8_t>(rows[c * padded + i]);
    offsets[c] = kernel.a_offset * sum;
  }
  kernel.pack_b({rows, DType::i8, padded, 1}, static_cast<int>(cols), kernel.nr, padded, to);
}

// Where activations go as int8, with their scales behind them. Whole tiles of rows, so that all can be read in place.
detail::Quantised room_for_rows(const Kernel& kernel, const Operand& from, std::int64_t m, std::int64_t k,
                                Recording* recording) {
  thread_local detail::Scratch scratch;
  const std::int64_t padded = kernel.padded(k), multiple = kernel.row_multiple;
  const std::int64_t bytes = ((m + multiple - 1) / multiple * multiple * padded + 63) / 64 * 64;
  const auto size = static_cast<std::size_t>(bytes + 4 * m);
  std::byte* rows = recording != nullptr ? recording->memory(size) : scratch.get(size);
  return {from, k, rows, reinterpret_cast<float*>(rows + bytes)};
}

}  // namespace

PackedWeights PackedWeights::Access::make(const Matrix& w, std::int64_t n, std::int64_t k, DType as,
                                          Precision precision, ThreadPool* pool) {
  check(n >= 0 && k >= 0, "pack: {} x {} must not be negative", n, k);
  check(is_float(w.dtype), "pack: the weight is {}; it must be f32 or bf16", name_of(w.dtype));
  check(is_float(as) || as == DType::i8, "pack: cannot keep weights as {}; only f32, bf16 and i8", name_of(as));
  const std::int64_t width = w.transposed ? n : k, height = w.transposed ? k : n;
  check(w.stride >= width || height <= 1, "pack: rows of {} weights, but the stride is {}", width, w.stride);
  PackedWeights packed;
  packed.n_ = n, packed.k_ = k, packed.dtype_ = as;
  const Kernel& kernel = choose(as, precision);
  packed.kernel_ = &kernel;
  const std::int64_t panels_bytes = detail::packed_bytes(kernel, n, k);
  packed.bytes_ = static_cast<std::size_t>(panels_bytes + (as == DType::i8 ? 8 * n : 0));
  packed.data_ = std::shared_ptr<std::byte[]>(detail::allocate(packed.bytes_), [](std::byte* p) { std::free(p); });
  const Operand from{static_cast<const std::byte*>(w.data), w.dtype, w.transposed ? 1 : w.stride,
                     w.transposed ? w.stride : 1};
  const auto one = [&](std::int64_t p) {
    const std::int64_t col = p * kernel.nr, cols = std::min<std::int64_t>(kernel.nr, n - col);
    std::byte* to = panels(packed) + col * kernel.padded(k) * kernel.element_bytes();
    if (as == DType::i8)
      pack_int8_panel(kernel, from.at(col, 0), cols, k, to, scales(packed) + col, offsets(packed) + col);
    else
      kernel.pack_b(from.at(col, 0), static_cast<int>(cols), kernel.nr, k, to);
  };
  const std::int64_t count = (n + kernel.nr - 1) / kernel.nr;
  if (pool != nullptr)
    pool->for_each(count, one);
  else
    for (std::int64_t p = 0; p < count; ++p) one(p);
  return packed;
}

PackedWeights PackedWeights::pack(const Matrix& w, std::int64_t n, std::int64_t k, DType as, Precision precision) {
  return Access::make(w, n, k, as, precision, nullptr);
}

PackedWeights PackedWeights::pack(const Matrix& w, std::int64_t n, std::int64_t k, DType as, Precision precision,
                                  ThreadPool& pool) {
  return Access::make(w, n, k, as, precision, &pool);
}

namespace {

// to[i] = the sum over planes of element (row, i) of a panel [k / k_step][planes][k_step / unit][nr][unit].
template <class T>
void read_panel_row(const Kernel& kernel, const std::byte* panel, std::int64_t row, std::int64_t k, float* to) {
  const T* data = reinterpret_cast<const T*>(panel) + row * kernel.b_unit;
  const std::int64_t unit = kernel.b_unit, step = kernel.k_step, plane = kernel.nr * step;
  for (std::int64_t i = 0; i < k; i += unit) {
    const T* group = data + i / step * plane * kernel.planes + i % step / unit * unit * kernel.nr;
    for (std::int64_t u = 0; u < std::min(unit, k - i); ++u) {
      to[i + u] = static_cast<float>(group[u]);
      if (kernel.planes == 2) to[i + u] += static_cast<float>(group[plane + u]);
    }
  }
}

}  // namespace

void PackedWeights::read_row(std::int64_t row, float* to) const {
  check(row >= 0 && row < n_, "pack: row {} of {}", row, n_);
  const Kernel& kernel = Access::kernel(*this);
  const std::byte* panel =
      Access::panels(*this) + row / kernel.nr * kernel.nr * kernel.padded(k_) * kernel.element_bytes();
  const std::int64_t in_panel = row % kernel.nr;
  if (kernel.element == DType::f32) return read_panel_row<float>(kernel, panel, in_panel, k_, to);
  if (kernel.element == DType::bf16) return read_panel_row<Bf16>(kernel, panel, in_panel, k_, to);
  read_panel_row<std::int8_t>(kernel, panel, in_panel, k_, to);
  const float scale = Access::scales(*this)[row];
  for (std::int64_t i = 0; i < k_; ++i) to[i] *= scale;
}

bool PackedWeights::may_filter() const {
  const Kernel& kernel = Access::kernel(*this);
  return kernel.no_dots || (kernel.element == DType::f32 && kernel.planes == 1);
}

double PackedWeights::speed() const { return Access::kernel(*this).speed; }

PackedWeights PackedWeights::for_windows(const Windows& windows, ThreadPool& pool) const {
  const std::int64_t line = windows.kernel_w * windows.inputs;
  const DType as = Access::kernel(*this).no_dots ? DType::f32 : dtype_;
  const std::int64_t padded = detail::line_of(choose(as, Precision::exact), windows);
  if (padded < line || (padded == line && as == dtype_) || windows.row() != k_) return *this;
  const std::int64_t wider = windows.kernel_h * padded;
  std::vector<float> row(static_cast<std::size_t>(k_)), rows(static_cast<std::size_t>(n_ * wider));
  for (std::int64_t i = 0; i < n_; ++i) {
    read_row(i, row.data());
    for (std::int64_t h = 0; h < windows.kernel_h; ++h)
      std::copy_n(row.data() + h * line, line, rows.data() + i * wider + h * padded);
  }
  return pack({rows.data(), DType::f32, wider, false}, n_, wider, as, Precision::exact, pool);
}

void gemm_packed(const PackedGemm& g, ThreadPool& pool, Recording* recording) {
  using Access = PackedWeights::Access;
  check(g.weights != nullptr && !g.weights->empty(), "gemm_packed: there are no weights");
  const PackedWeights& w = *g.weights;
  check(is_float(g.a_dtype), "gemm_packed: a is {}; it must be f32 or bf16", name_of(g.a_dtype));
  check(is_float(g.out.c_dtype), "gemm_packed: c is {}; it must be f32 or bf16", name_of(g.out.c_dtype));
  const bool windows = g.windows.x != nullptr;
  const Kernel& kernel = Access::kernel(w);
  const std::int64_t line = windows ? detail::line_of(kernel, g.windows) : 0;
  const bool by_lines = line > 0 && g.windows.kernel_h * line == w.k();
  check(!windows || by_lines || g.windows.row() == w.k(), "gemm_packed: windows of {} elements, and rows of {} weights",
        g.windows.row(), w.k());
  check(windows || g.a_stride >= w.k() || g.m <= 1, "gemm_packed: rows of a have {} elements, but its stride is {}",
        w.k(), g.a_stride);
  check(g.out.c_stride >= w.n() || g.m <= 1, "gemm_packed: rows of c have {} elements, but its stride is {}", w.n(),
        g.out.c_stride);
  if (g.m <= 0 || w.n() == 0) return;
  Job job{.m = g.m,
          .n = w.n(),
          .k = w.k(),
          .a = {static_cast<const std::byte*>(g.a), g.a_dtype, g.a_stride, 1},
          .b = {},
          .windows = g.windows,
          .b_panels = Access::panels(w),
          .out = g.out,
          .dequantise = {},
          .rows_alike = true};
  job.out.bias = detail::bias_in_f32(g.out.bias, g.out.bias_dtype, w.n(), recording);
  if (w.dtype() != DType::i8 && windows && !by_lines) job.windows = detail::pad_images(g.windows, g.m, pool);
  if (w.dtype() == DType::i8 && windows) {
    const detail::QuantisedImages images = detail::quantise_images(kernel, g.windows, g.m, !by_lines, pool);
    job.windows = images.windows, job.k = kernel.padded(w.k()), job.a.dtype = DType::i8;
    job.dequantise = {images.scales, Access::scales(w), kernel.a_offset != 0 ? Access::offsets(w) : nullptr};
  } else if (w.dtype() == DType::i8) {
    job.quantised = room_for_rows(kernel, job.a, g.m, w.k(), recording);
    job.k = kernel.padded(w.k());
    job.a = {job.quantised.rows, DType::i8, job.k, 1};
    job.dequantise = {job.quantised.scales, Access::scales(w), kernel.a_offset != 0 ? Access::offsets(w) : nullptr};
  }
  check(recording == nullptr || !windows, "gemm_packed: a convolution cannot be kept");
  if (by_lines && job.windows.dtype == kernel.element) return detail::multiply_lines(kernel, job, pool);
  if (recording != nullptr) return keep_blocked(kernel, job, pool, *recording);
  const bool small = g.m * w.n() * w.k() <= (1 << 16);
  multiply_blocked(kernel, job, small ? nullptr : &pool);
}

}  // namespace attend::cpu
