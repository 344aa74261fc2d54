// See lines.h. A task is a few lines of results: it copies the lines of the image that they read, then multiplies them
// by one panel of outputs after the other. Each line of a window is summed by itself and then added, whatever the
// batch.
#include "attend/cpu/gemm/lines.h"

#include <algorithm>
#include <cstring>

#include "attend/cpu/scratch.h"

namespace attend::cpu::detail {

namespace {

constexpr std::int64_t kChannels = 8;    // from here on, panels are packed quickly
constexpr std::int64_t kShortest = 12;   // elements of a line: a tile is read and written for each line
constexpr std::int64_t kCopied = 32768;  // bytes of the image in a task, about
constexpr std::int64_t kPast = 64;       // bytes that a step of k may read past a line

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

thread_local Scratch image_lines, tiles;  // each worker's own

class Lines {
 public:
  Lines(const Kernel& kernel, const Job& job)
      : kernel_(kernel),
        job_(job),
        windows_(job.windows),
        element_(kernel.element_bytes()),
        line_(line_of(kernel, windows_)),
        pixel_(windows_.channels * element_) {
    const Convolution& window = windows_.window;
    width_ = ceil_div(windows_.results_w, ceil_div(windows_.results_w, kernel.mr));
    copied_ = ((windows_.results_w - 1) * window.stride.w + windows_.kernel_w) * pixel_;
    const std::int64_t few = std::max<std::int64_t>(1, kCopied / (copied_ * window.stride.h));
    high_ = ceil_div(windows_.results_h, ceil_div(windows_.results_h, few));
  }

  void run(ThreadPool& pool) {
    const std::int64_t images = job_.m / (windows_.results_h * windows_.results_w);
    pool.run({ThreadPool::runs<&Lines::run_tasks>(images * tasks(), 1, *this)});
  }

 private:
  std::int64_t tasks() const { return ceil_div(windows_.results_h, high_); }  // of an image

  void run_tasks(std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) {
      const std::int64_t first = begin % tasks() * high_;
      run_task(begin / tasks(), first, std::min(high_, windows_.results_h - first));
    }
  }

  // `count` lines of results of an image, from `first` on.
  void run_task(std::int64_t image, std::int64_t first, std::int64_t count) {
    const std::int64_t stride = windows_.window.stride.h, dilation = windows_.window.dilation.h;
    const std::int64_t lines = (count - 1) * stride + (windows_.kernel_h - 1) * dilation + 1;
    std::byte* copy = image_lines.get(static_cast<std::size_t>(lines * copied_ + kPast));
    for (std::int64_t i = 0; i < lines; ++i)
      copy_line(image, first * stride - windows_.window.padding.h + i, copy + i * copied_);
    std::memset(copy + lines * copied_, windows_.outside, kPast);
    float* tile = reinterpret_cast<float*>(tiles.get(static_cast<std::size_t>(kernel_.mr * kernel_.nr * 4)));
    for (std::int64_t column = 0; column < job_.n; column += kernel_.nr)
      for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t at = 0; at < windows_.results_w; at += width_) {
          const int rows = static_cast<int>(std::min(width_, windows_.results_w - at));
          multiply(copy + i * stride * copied_ + at * windows_.window.stride.w * pixel_, rows, column, tile);
          write((image * windows_.results_h + first + i) * windows_.results_w + at, rows, column, tile);
        }
  }

  // Line h of an image with what is outside of it on both sides.
  void copy_line(std::int64_t image, std::int64_t h, std::byte* to) const {
    if (h < 0 || h >= windows_.height) {
      std::memset(to, windows_.outside, static_cast<std::size_t>(copied_));
      return;
    }
    const std::int64_t left = std::min(windows_.window.padding.w * pixel_, copied_);
    const std::int64_t inside = std::min(windows_.width * pixel_, copied_ - left);
    std::memset(to, windows_.outside, static_cast<std::size_t>(left));
    std::memcpy(to + left, windows_.x + (image * windows_.height + h) * windows_.width * pixel_,
                static_cast<std::size_t>(inside));
    std::memset(to + left + inside, windows_.outside, static_cast<std::size_t>(copied_ - left - inside));
  }

  void multiply(const std::byte* windows, int rows, std::int64_t column, float* tile) const {
    const std::int64_t unit = kernel_.nr * kernel_.b_unit * element_;
    TileProduct product{.k = line_, .a_k = kernel_.a_unit * element_, .b_k = unit, .b_ahead = kernel_.ahead};
    product.a_row = windows_.window.stride.w * pixel_;
    product.rows = rows, product.cols = columns(column);
    product.tile = tile, product.tile_stride = kernel_.nr;
    for (std::int64_t i = 0; i < windows_.kernel_h; ++i) {
      product.a = windows + i * windows_.window.dilation.h * copied_;
      product.b = job_.b_panels + (column * windows_.kernel_h + i * kernel_.nr) * line_ * element_;
      product.add = i > 0;
      kernel_.multiply(product);
    }
  }

  int columns(std::int64_t column) const {
    return static_cast<int>(std::min<std::int64_t>(kernel_.nr, job_.n - column));
  }

  void write(std::int64_t row, int rows, std::int64_t column, const float* tile) const {
    kernel_.write(tile_output(kernel_, job_.out, job_.dequantise, row, rows, column, columns(column), tile));
  }

  const Kernel& kernel_;
  const Job& job_;
  const Windows& windows_;
  const std::int64_t element_, line_, pixel_;  // bytes; elements; bytes
  std::int64_t width_ = 0;                     // results in a tile
  std::int64_t copied_ = 0;                    // bytes of a line of the image with its padding
  std::int64_t high_ = 0;                      // lines of results in a task
};

}  // namespace

std::int64_t line_of(const Kernel& kernel, const Windows& windows) {
  const bool reads_rows = kernel.in_place >= kernel.mr && kernel.planes == 1 && kernel.begin == nullptr;
  const std::int64_t line = windows.kernel_w * windows.inputs;
  const bool few = windows.inputs < kChannels && line >= kShortest;
  const bool neighbours = windows.inputs == windows.channels && windows.window.dilation.w == 1;
  return reads_rows && few && neighbours ? kernel.padded(line) : 0;
}

void multiply_lines(const Kernel& kernel, const Job& job, ThreadPool& pool) { Lines(kernel, job).run(pool); }

}  // namespace attend::cpu::detail
