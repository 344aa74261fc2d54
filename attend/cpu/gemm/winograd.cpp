// See attend/cpu/winograd.h. A chunk of tiles is transformed, panel by panel of the micro-kernel's rows, into memory
// that the caches hold; then each task multiplies a block of tiles by a panel of outputs, place after place, transforms
// the products back and writes them. The transformed weights are read in one run.
#include "attend/cpu/winograd.h"

#include <algorithm>
#include <array>

#include "attend/base/error.h"
#include "attend/cpu/gemm/bias.h"
#include "attend/cpu/gemm/blocked.h"
#include "attend/cpu/gemm/kernel.h"
#include "attend/cpu/rows/kernels.h"
#include "attend/cpu/scratch.h"

namespace attend::cpu {

namespace {

using detail::Kernel;
using detail::Scratch;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

constexpr std::int64_t kChunk = std::int64_t{1} << 20;  // transformed numbers of all threads at a time
constexpr std::int64_t kBlock = std::int64_t{1} << 17;  // of a task: half of a small L2
constexpr std::int64_t kChannels = 64;                  // transformed at a time
constexpr std::int64_t kApart = 16;  // between places: powers of two apart they would share the sets of a cache
constexpr std::int64_t kMostPlaces = places_of(WinogradTile::four);
constexpr std::array<float, kChannels> kZeros{};  // outside of the image

thread_local Scratch transformed;                     // the caller's
thread_local Scratch unpacked, products, results_of;  // each worker's own

float* floats(Scratch& scratch, std::int64_t count) {
  return reinterpret_cast<float*>(scratch.get(static_cast<std::size_t>(count) * sizeof(float)));
}

class Winograd {
 public:
  explicit Winograd(const WinogradProduct& product)
      : product_(product),
        windows_(product.windows),
        kernel_(product.weights->kernel()),
        rows_(row_kernels()),
        form_(product.weights->tile() == WinogradTile::two ? 0 : 1),
        side_(static_cast<std::int64_t>(product.weights->tile())),
        places_(places_of(product.weights->tile())),
        inputs_(product.weights->inputs()),
        outputs_(product.weights->outputs()),
        down_(ceil_div(windows_.results_h, side_)),
        across_(ceil_div(windows_.results_w, side_)) {
    product_.out.bias = detail::bias_in_f32(product.out.bias, product.out.bias_dtype, outputs_);
  }

  void run(ThreadPool& pool) {
    const std::int64_t tiles = product_.batch * down_ * across_, all = places_ * inputs_;
    const std::int64_t chunks = ceil_div(tiles * all, kChunk), chunk = ceil_div(tiles, chunks);
    width_ = ceil_div(chunk, ceil_div(chunk, kernel_.mr));
    in_place_ = width_ <= kernel_.in_place;
    if (!in_place_) width_ = ceil_div(width_, kernel_.row_multiple) * kernel_.row_multiple;
    slice_ = width_ * inputs_ + kApart;
    // A block of two panels at least, so that weights are read once for both, and enough of them for all threads.
    const std::int64_t panels = ceil_div(chunk, width_), some = panels * panels_n() / (8 * pool.threads());
    const std::int64_t most = std::min(std::max<std::int64_t>(2, some), ceil_div(kBlock, width_ * all));
    high_ = ceil_div(panels, ceil_div(panels, most));
    tiles_ = floats(transformed, panels * places_ * slice_);
    for (first_ = 0; first_ < tiles; first_ += chunk) {
      count_ = std::min(chunk, tiles - first_);
      const std::int64_t panels_m = ceil_div(count_, width_);
      pool.run({ThreadPool::runs<&Winograd::transform>(panels_m * ceil_div(inputs_, kChannels), 1, *this),
                ThreadPool::runs<&Winograd::multiply>(ceil_div(panels_m, high_) * panels_n(), panels_n(), *this)});
    }
  }

 private:
  std::int64_t panels_n() const { return ceil_div(outputs_, kernel_.nr); }
  float* panel(std::int64_t p) const { return tiles_ + p * places_ * slice_; }

  struct Tile {
    std::int64_t image, y, x;  // of the first result
  };
  Tile tile(std::int64_t t) const { return {t / (down_ * across_), t / across_ % down_ * side_, t % across_ * side_}; }

  // Where a tile's places lie, from a channel on.
  std::array<const float*, kMostPlaces> places(const Tile& tile, std::int64_t channel) const {
    std::array<const float*, kMostPlaces> from;
    const float* image = reinterpret_cast<const float*>(windows_.x) +
                         tile.image * windows_.height * windows_.width * windows_.channels + channel;
    const std::int64_t side = side_ + 2;
    for (std::int64_t i = 0; i < side; ++i)
      for (std::int64_t j = 0; j < side; ++j) {
        const std::int64_t h = tile.y - windows_.window.padding.h + i, w = tile.x - windows_.window.padding.w + j;
        const bool inside = h >= 0 && h < windows_.height && w >= 0 && w < windows_.width;
        from[static_cast<std::size_t>(i * side + j)] =
            inside ? image + (h * windows_.width + w) * windows_.channels : kZeros.data();
      }
    return from;
  }

  // Panels of tiles, some channels at a time.
  void transform(std::int64_t begin, std::int64_t end) {
    const std::int64_t parts = ceil_div(inputs_, kChannels);
    for (; begin < end; ++begin) {
      const std::int64_t p = begin / parts, channel = begin % parts * kChannels;
      const std::int64_t count = std::min(kChannels, inputs_ - channel), rows = std::min(width_, count_ - p * width_);
      const std::int64_t apart = width_ * kChannels + kApart;
      float* copy = in_place_ ? nullptr : floats(unpacked, places_ * apart);
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto from = places(tile(first_ + p * width_ + r), channel);
        if (in_place_)
          rows_.winograd_input[form_](from.data(), count, panel(p) + r * inputs_ + channel, slice_);
        else
          rows_.winograd_input[form_](from.data(), count, copy + r * kChannels, apart);
      }
      for (std::int64_t i = 0; i < places_ && !in_place_; ++i)
        kernel_.pack_a({reinterpret_cast<const std::byte*>(copy + i * apart), DType::f32, kChannels, 1},
                       static_cast<int>(rows), static_cast<int>(width_), count,
                       reinterpret_cast<std::byte*>(panel(p) + i * slice_ + channel * width_));
    }
  }

  // Tasks are numbered along the outputs, one block of tiles after the other.
  void multiply(std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) {
      const std::int64_t first = begin / panels_n() * high_, last = std::min(first + high_, ceil_div(count_, width_));
      const std::int64_t apart = (last - first) * width_ * kernel_.nr + kApart;
      float* sums = floats(products, places_ * apart);
      multiply_block(first, last, begin % panels_n(), sums, apart);
      write_block(first, last, begin % panels_n(), sums, apart);
    }
  }

  // Products of the panels [first, last) of tiles with a panel of outputs: [places][tiles][nr].
  void multiply_block(std::int64_t first, std::int64_t last, std::int64_t outputs, float* sums, std::int64_t apart) {
    const std::int64_t nr = kernel_.nr, weights = inputs_ * nr;
    const float* b = product_.weights->data() + outputs * places_ * weights;
    detail::TileProduct product{.k = inputs_, .b_k = nr * 4, .b_ahead = kernel_.ahead, .tile_stride = nr};
    product.a_row = in_place_ ? inputs_ * 4 : 4, product.a_k = in_place_ ? 4 : width_ * 4;
    product.cols = static_cast<int>(std::min(nr, outputs_ - outputs * nr));
    // The weights of the next place are fetched meanwhile, a part by each product.
    const std::int64_t part = kernel_.fetch_units > 0 ? inputs_ / kernel_.fetch_units * kernel_.fetch_lines * 64 : 0;
    product.fetch_step = 64 * kernel_.fetch_lines, product.fetch_also = 64;
    for (std::int64_t place = 0; place < places_; ++place, b += weights, sums += apart) {
      product.b = reinterpret_cast<const std::byte*>(b);
      const std::byte* next = product.b + weights * 4;
      for (std::int64_t p = first; p < last; ++p) {
        const std::int64_t fetched = (p - first) * part;
        product.fetch = fetched < weights * 4 && part > 0 ? next + fetched : nullptr;
        product.a = reinterpret_cast<const std::byte*>(panel(p) + place * slice_);
        product.rows = static_cast<int>(std::min(width_, count_ - p * width_));
        product.tile = sums + (p - first) * width_ * nr;
        kernel_.multiply(product);
      }
    }
  }

  // Tiles side by side in an image give whole lines of results.
  void write_block(std::int64_t first, std::int64_t last, std::int64_t outputs, const float* sums, std::int64_t apart) {
    const std::int64_t nr = kernel_.nr, begin = first_ + first * width_;
    const std::int64_t end = first_ + std::min(last * width_, count_);
    const std::int64_t cols = std::min(nr, outputs_ - outputs * nr);
    for (std::int64_t t = begin, next; t < end; t = next) {
      next = std::min(end, (t / across_ + 1) * across_);
      const std::int64_t line = (next - t) * side_ * nr;
      float* lines = floats(results_of, side_ * line);
      for (std::int64_t i = t; i < next; ++i)
        rows_.winograd_output[form_](sums + (i - begin) * nr, apart, cols, lines + (i - t) * side_ * nr, line, nr);
      const Tile at = tile(t);
      const std::int64_t pixels = std::min((next - t) * side_, windows_.results_w - at.x);
      for (std::int64_t i = 0; i < std::min(side_, windows_.results_h - at.y); ++i)
        write_line((at.image * windows_.results_h + at.y + i) * windows_.results_w + at.x, pixels, outputs * nr, cols,
                   lines + i * line);
    }
  }

  void write_line(std::int64_t pixel, std::int64_t pixels, std::int64_t column, std::int64_t columns,
                  const float* line) const {
    kernel_.write(detail::tile_output(kernel_, product_.out, {}, pixel, static_cast<int>(pixels), column,
                                      static_cast<int>(columns), line));
  }

  WinogradProduct product_;
  const Windows windows_;
  const Kernel& kernel_;
  const RowKernels& rows_;
  const int form_;  // in the tables of row loops
  const std::int64_t side_, places_, inputs_, outputs_;
  const std::int64_t down_, across_;    // tiles of an image
  std::int64_t width_ = 0;              // tiles in a panel
  bool in_place_ = false;               // panels are [place][width][inputs] and not [place][inputs][width]
  std::int64_t slice_ = 0;              // from a place of a panel to the next
  std::int64_t high_ = 0;               // panels in a task
  float* tiles_ = nullptr;              // [panel][place]
  std::int64_t first_ = 0, count_ = 0;  // the chunk
};

}  // namespace

void winograd(const WinogradProduct& product, ThreadPool& pool) {
  const WinogradWeights& weights = *product.weights;
  check(product.windows.inputs == weights.inputs() && product.windows.channels == weights.inputs(),
        "winograd: {} channels, and weights of {}", product.windows.inputs, weights.inputs());
  if (product.batch == 0 || weights.outputs() == 0) return;
  Winograd(product).run(pool);
}

}  // namespace attend::cpu
