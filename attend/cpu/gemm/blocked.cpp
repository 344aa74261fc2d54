// Loops around the micro-kernel. C is cut into tasks of at most mc x nc, and a task walks slices of kc: for each
// panel of B, all panels of A. Between slices a task's tiles wait in f32; they are written to C once, through the
// kernel's epilogue. One block of rows (m <= mc): A is packed first, by all threads, and each task packs the panels of
// B as it comes to them. Several: B is packed first, in pieces of bounded size, and each task packs its block of A
// slice by slice. The side that is packed in the task goes from its source to the nearest cache and is used there;
// packing both sides ahead costs a fifth of the speed of AMX, in traffic to the shared cache.
#include "attend/cpu/gemm/blocked.h"

#include <algorithm>

#include "attend/cpu/gemm/scratch.h"

namespace attend::cpu::detail {

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The packed copy of B stays below this: a part of the shared cache.
constexpr std::int64_t kPackBytes = std::int64_t{12} << 20;
// K beyond this is done in pieces, with C waiting in f32 between them.
constexpr std::int64_t kMaxDepth = 8192;
// How far ahead a stream of packed panels is fetched, in bytes.
constexpr std::int64_t kAhead = 2048;
// Work worth a task of its own, in multiply-adds: about 10 µs.
constexpr std::int64_t kTaskWork = 1 << 20;

thread_local Scratch packed_a, packed_b, waiting_tiles;  // the caller's, shared with the workers of one product
thread_local Scratch task_a, task_b, task_tiles;         // each worker's own

// Where one panel lies, packed or not.
struct Panel {
  const std::byte* data = nullptr;
  std::int64_t row = 0, unit = 0;  // bytes to the next row and to the next unit of k
  std::int64_t ahead = 0;          // bytes to what is read later
};

// Several of A, `step` bytes apart.
struct Panels {
  Panel first;
  std::int64_t step = 0;
};

class Blocked {
 public:
  Blocked(const Kernel& kernel, const Job& job, ThreadPool* pool) : kernel_(kernel), job_(job), pool_(pool) {
    const std::int64_t panels = std::max<std::int64_t>(1, ceil_div(job.m, kernel.mr));
    width_ = ceil_div(ceil_div(job.m, panels), kernel.row_multiple) * kernel.row_multiple;
    const bool same = kernel.planes == 1 && job.a.dtype == kernel.element;
    // Unpacked operands save a pass where each element is used a few times only.
    a_in_place_ = kernel.in_place && same && (panels == 1 || (job.n <= 4 * kernel.nr && job.a.k_step == 1));
    b_in_place_ = kernel.in_place && same && job.b_panels == nullptr && job.b.row_step == 1 && job.n >= kernel.nr &&
                  (job.m <= 2 * kernel.mr || job.n * job.k <= 8192);
    one_pass_ = job.k <= kMaxDepth;
  }

  void run() {
    if (!one_pass_) {
      waiting_ = reinterpret_cast<float*>(waiting_tiles.get(
          static_cast<std::size_t>(ceil_div(job_.m, width_) * ceil_div(job_.n, kernel_.nr) * width_ * kernel_.nr * 4)));
    }
    const std::int64_t depth = one_pass_ ? std::max<std::int64_t>(1, job_.k) : kMaxDepth;
    share_a_ = !a_in_place_ && job_.m <= kernel_.mc;
    share_b_ = job_.b_panels == nullptr && !b_in_place_ && job_.m > kernel_.mc;
    for (k0_ = 0; k0_ == 0 || k0_ < job_.k; k0_ += depth) {
      k_ = std::min(depth, job_.k - k0_);
      if (share_a_) pack_a();
      const std::int64_t cols = share_b_ ? most_columns() : job_.n;
      for (n0_ = 0; n0_ < job_.n; n0_ += cols) {
        n_ = std::min(cols, job_.n - n0_);
        if (share_b_) pack_b();
        compute();
      }
    }
  }

 private:
  // Columns of B whose packed copy stays below kPackBytes, in whole nc.
  std::int64_t most_columns() const {
    const std::int64_t row_bytes = std::max<std::int64_t>(1, kernel_.padded(k_)) * kernel_.element_bytes();
    return std::max<std::int64_t>(1, kPackBytes / (row_bytes * kernel_.nc)) * kernel_.nc;
  }

  template <class Body>
  void each(std::int64_t count, const Body& body) {
    if (pool_ != nullptr && count > 1)
      pool_->for_each(count, body);
    else
      for (std::int64_t i = 0; i < count; ++i) body(i);
  }

  // One side of the product, as it is packed: panels of `width` rows, `bytes` apart.
  struct Side {
    Operand from;
    Pack pack;
    std::int64_t rows, width, bytes;
    std::byte* to;
  };

  // Panels [begin, end) over [k, k + depth). A source with its rows contiguous is walked in short runs of k, all
  // panels in each: a panel alone would take a part of a line from one page after the other.
  void pack_panels(const Side& side, std::int64_t begin, std::int64_t end, std::int64_t k, std::int64_t depth) const {
    const std::int64_t run = side.from.row_step == 1 && side.from.k_step != 1 ? 64 : std::max<std::int64_t>(1, depth);
    for (std::int64_t at = 0; at < depth; at += run)
      for (std::int64_t p = begin; p < end; ++p) {
        const std::int64_t row = p * side.width;
        side.pack(side.from.at(row, k + at), static_cast<int>(std::min(side.width, side.rows - row)),
                  static_cast<int>(side.width), std::min(run, depth - at),
                  side.to + (p - begin) * side.bytes + at * side.width * kernel_.element_bytes());
      }
  }

  // The same by all threads, in groups of at least eight panels or 32 K elements.
  void pack_shared(const Side& side, std::int64_t k, std::int64_t depth) {
    const std::int64_t panels = ceil_div(side.rows, side.width);
    const std::int64_t group =
        std::max<std::int64_t>(side.from.row_step == 1 ? 8 : 1, 32768 / std::max<std::int64_t>(1, side.width * depth));
    each(ceil_div(panels, group), [&](std::int64_t g) {
      Side part = side;
      part.to += g * group * side.bytes;
      pack_panels(part, g * group, std::min(panels, (g + 1) * group), k, depth);
    });
  }

  std::int64_t panel_bytes(std::int64_t width) const { return width * kernel_.padded(k_) * kernel_.element_bytes(); }

  void pack_a() {
    const std::int64_t bytes = panel_bytes(width_);
    std::byte* to = packed_a.get(static_cast<std::size_t>(ceil_div(job_.m, width_) * bytes));
    pack_shared({job_.a, kernel_.pack_a, job_.m, width_, bytes, to}, k0_, k_);
    a_panels_ = to;
  }

  void pack_b() {
    const std::int64_t nr = kernel_.nr, bytes = panel_bytes(nr);
    std::byte* to = packed_b.get(static_cast<std::size_t>(ceil_div(n_, nr) * bytes));
    pack_shared({job_.b.at(n0_, 0), kernel_.pack_b, n_, nr, bytes, to}, k0_, k_);
    b_panels_ = to;
  }

  // Blocks of C: smaller than mc x nc while there are too few of them to share out. What a task packs itself should
  // serve many tiles: so a task keeps its columns longest where it packs A, its rows where it packs B.
  void compute() {
    const int threads = pool_ != nullptr ? pool_->threads() : 1;
    const std::int64_t panels_m = ceil_div(job_.m, width_), panels_n = ceil_div(n_, kernel_.nr);
    std::int64_t group_m = std::clamp<std::int64_t>(kernel_.mc / width_, 1, panels_m);
    std::int64_t group_n = std::clamp<std::int64_t>(kernel_.nc / kernel_.nr, 1, panels_n);
    group_m = ceil_div(panels_m, ceil_div(panels_m, group_m));
    group_n = ceil_div(panels_n, ceil_div(panels_n, group_n));
    const bool rows_first = !share_a_;
    const auto tasks = [&] { return ceil_div(panels_m, group_m) * ceil_div(panels_n, group_n); };
    const auto work = [&] { return group_m * width_ * group_n * kernel_.nr * std::max<std::int64_t>(1, k_); };
    while (threads > 1 && tasks() < 4 * threads && work() > 2 * kTaskWork) {
      if (rows_first && group_m > 2)
        group_m = ceil_div(group_m, 2);
      else if (group_n > 1)
        group_n = ceil_div(group_n, 2);
      else
        break;
    }
    const std::int64_t across = ceil_div(panels_n, group_n);
    each(tasks(), [&](std::int64_t task) {
      const std::int64_t im = task / across * group_m, in = task % across * group_n;
      run_task(im, std::min(panels_m, im + group_m), in, std::min(panels_n, in + group_n));
    });
  }

  void run_task(std::int64_t m_begin, std::int64_t m_end, std::int64_t n_begin, std::int64_t n_end) {
    if (kernel_.begin != nullptr) kernel_.begin();
    const std::int64_t slot = width_ * kernel_.nr, high = m_end - m_begin;
    const std::int64_t slices = std::max<std::int64_t>(1, ceil_div(k_, kernel_.kc));
    const std::int64_t deep = kernel_.padded(ceil_div(k_, slices));
    const bool last_piece = k0_ + k_ >= job_.k;
    const bool wait = slices > 1 && one_pass_;
    const bool direct = slices == 1 && one_pass_ && plain();
    float* tiles = reinterpret_cast<float*>(
        task_tiles.get(static_cast<std::size_t>((wait ? high * (n_end - n_begin) : 1) * slot * 4)));
    for (std::int64_t s = 0; s < slices; ++s) {
      const std::int64_t from = s * deep, depth = std::min(deep, k_ - from);
      const bool last = last_piece && s == slices - 1;
      const Panels a = a_block(m_begin, m_end, from, depth);
      for (std::int64_t j = n_begin; j < n_end; ++j) {
        const Panel b = b_panel(j, from, depth);
        for (std::int64_t i = m_begin; i < m_end; ++i) {
          float* tile = !one_pass_ ? waiting_slot(i, j)
                        : wait     ? tiles + ((j - n_begin) * high + i - m_begin) * slot
                                   : tiles;
          const Panel row{a.first.data + (i - m_begin) * a.step, a.first.row, a.first.unit, 0};
          if (direct && whole(i, j)) {
            float* c = static_cast<float*>(job_.out.c) + i * width_ * job_.out.c_stride + n0_ + j * kernel_.nr;
            multiply(i, j, depth, row, b, c, job_.out.c_stride, job_.out.accumulate);
            continue;
          }
          multiply(i, j, depth, row, b, tile, kernel_.nr, s > 0 || k0_ > 0);
          if (last) write(i, j, tile);
        }
      }
    }
    if (kernel_.end != nullptr) kernel_.end();
  }

  // Nothing to be done to a tile but to add it to C or put it there: the micro-kernel does that itself.
  bool plain() const {
    const GemmOutput& out = job_.out;
    return kernel_.direct && out.c_dtype == DType::f32 && out.alpha == 1 && out.bias == nullptr && out.pre == nullptr &&
           out.activation == Activation::none && job_.dequantise.rows == nullptr;
  }

  bool whole(std::int64_t i, std::int64_t j) const { return (j + 1) * kernel_.nr <= n_ && (i + 1) * width_ <= job_.m; }

  float* waiting_slot(std::int64_t i, std::int64_t j) const {
    return waiting_ + ((n0_ / kernel_.nr + j) * ceil_div(job_.m, width_) + i) * width_ * kernel_.nr;
  }

  // The panels of A of a task over one slice: where they lie, or packed now.
  Panels a_block(std::int64_t begin, std::int64_t end, std::int64_t from, std::int64_t depth) const {
    const std::int64_t bytes = static_cast<std::int64_t>(bytes_of(kernel_.element));
    if (a_in_place_) {
      const Operand a = job_.a.at(begin * width_, k0_ + from);
      return {{a.data, a.row_step * bytes, a.k_step * bytes * kernel_.a_unit, 0}, width_ * a.row_step * bytes};
    }
    const std::int64_t row = kernel_.a_unit * bytes, unit = width_ * kernel_.a_unit * kernel_.element_bytes();
    if (share_a_) {
      const std::int64_t step = panel_bytes(width_);
      return {{a_panels_ + begin * step + from * width_ * kernel_.element_bytes(), row, unit, 0}, step};
    }
    const std::int64_t step = width_ * kernel_.padded(depth) * kernel_.element_bytes();
    std::byte* to = task_a.get(static_cast<std::size_t>((end - begin) * step));
    pack_panels({job_.a, kernel_.pack_a, job_.m, width_, step, to}, begin, end, k0_ + from, depth);
    return {{to, row, unit, 0}, step};
  }

  Panel b_panel(std::int64_t j, std::int64_t from, std::int64_t depth) {
    const std::int64_t nr = kernel_.nr, col = n0_ + j * nr, unit = nr * kernel_.b_unit * kernel_.element_bytes();
    if (job_.b_panels != nullptr)
      return {job_.b_panels + ((n0_ / nr + j) * kernel_.padded(job_.k) + k0_ + from) * nr * kernel_.element_bytes(), 0,
              unit, kAhead};
    if (share_b_) return {b_panels_ + j * panel_bytes(nr) + from * nr * kernel_.element_bytes(), 0, unit, kAhead};
    const std::int64_t cols = std::min(nr, job_.n - col);
    const Operand source = job_.b.at(col, k0_ + from);
    // In place, a row gives one panel's columns at a time: the next panel's are fetched meanwhile.
    if (b_in_place_ && cols == nr)
      return {source.data, 0, source.k_step * kernel_.element_bytes(), nr * kernel_.element_bytes()};
    std::byte* to = task_b.get(static_cast<std::size_t>(kernel_.padded(kernel_.kc) * nr * kernel_.element_bytes()));
    kernel_.pack_b(source, static_cast<int>(cols), static_cast<int>(nr), depth, to);
    return {to, 0, unit, 0};
  }

  void multiply(std::int64_t i, std::int64_t j, std::int64_t depth, const Panel& a, const Panel& b, float* tile,
                std::int64_t tile_stride, bool add) const {
    kernel_.multiply({.k = kernel_.padded(depth),
                      .a = a.data,
                      .a_row = a.row,
                      .a_k = a.unit,
                      .b = b.data,
                      .b_k = b.unit,
                      .b_ahead = b.ahead,
                      .rows = static_cast<int>(std::min(width_, job_.m - i * width_)),
                      .cols = static_cast<int>(std::min<std::int64_t>(kernel_.nr, n_ - j * kernel_.nr)),
                      .tile = tile,
                      .tile_stride = tile_stride,
                      .add = add});
  }

  void write(std::int64_t i, std::int64_t j, float* tile) {
    const std::int64_t row = i * width_, col = n0_ + j * kernel_.nr;
    const int rows = static_cast<int>(std::min(width_, job_.m - row));
    const int cols = static_cast<int>(std::min<std::int64_t>(kernel_.nr, job_.n - col));
    const GemmOutput& out = job_.out;
    const Dequantise& scales = job_.dequantise;
    const std::int64_t at = (row * out.c_stride + col) * static_cast<std::int64_t>(bytes_of(out.c_dtype));
    kernel_.write({.tile = tile,
                   .tile_stride = kernel_.nr,
                   .rows = rows,
                   .cols = cols,
                   .c = static_cast<std::byte*>(out.c) + at,
                   .pre = out.pre != nullptr ? static_cast<std::byte*>(out.pre) + at : nullptr,
                   .c_dtype = out.c_dtype,
                   .c_stride = out.c_stride,
                   .alpha = out.alpha,
                   .accumulate = out.accumulate,
                   .bias = out.bias != nullptr ? static_cast<const float*>(out.bias) + col : nullptr,
                   .activation = out.activation,
                   .row_scales = scales.rows != nullptr ? scales.rows + row : nullptr,
                   .col_scales = scales.cols != nullptr ? scales.cols + col : nullptr,
                   .offsets = scales.offsets != nullptr ? scales.offsets + col : nullptr});
  }

  const Kernel& kernel_;
  const Job& job_;
  ThreadPool* pool_;
  std::int64_t width_ = 0;  // rows of a panel of A
  bool a_in_place_ = false, b_in_place_ = false, share_a_ = false, share_b_ = false, one_pass_ = true;
  std::int64_t k0_ = 0, k_ = 0, n0_ = 0, n_ = 0;  // the piece being computed
  const std::byte* a_panels_ = nullptr;
  const std::byte* b_panels_ = nullptr;
  float* waiting_ = nullptr;
};

}  // namespace

void multiply_blocked(const Kernel& kernel, const Job& job, ThreadPool* pool) {
  if (job.m > 0 && job.n > 0) Blocked(kernel, job, pool).run();
}

std::int64_t packed_bytes(const Kernel& kernel, std::int64_t n, std::int64_t k) {
  return ceil_div(n, kernel.nr) * kernel.nr * kernel.padded(k) * kernel.element_bytes();
}

void multiply_dot(const Kernel& kernel, const Job& job, ThreadPool* pool) {
  if (job.m == 0 || job.n == 0) return;
  // A task's columns: enough to hide its start, few enough that every thread gets several.
  const std::int64_t row_work = std::max<std::int64_t>(1, job.k * std::max<std::int64_t>(4, job.m));
  const std::int64_t wide = std::clamp<std::int64_t>(kTaskWork / 4 / row_work, 12, 240) / 12 * 12;
  const std::int64_t bytes = static_cast<std::int64_t>(bytes_of(kernel.element));
  const auto task = [&](std::int64_t i) {
    const std::int64_t col = i * wide;
    const int cols = static_cast<int>(std::min(wide, job.n - col));
    const Operand b = job.b.at(col, 0);
    float* tile = reinterpret_cast<float*>(task_tiles.get(static_cast<std::size_t>(job.m * wide * 4)));
    kernel.dot({.k = job.k,
                .a = job.a.data,
                .b = b.data,
                .a_row = job.a.row_step * bytes,
                .b_row = b.row_step * bytes,
                .rows = static_cast<int>(job.m),
                .cols = cols,
                .tile = tile,
                .tile_stride = static_cast<int>(wide)});
    const GemmOutput& out = job.out;
    const std::int64_t at = col * static_cast<std::int64_t>(bytes_of(out.c_dtype));
    kernel.write({.tile = tile,
                  .tile_stride = static_cast<int>(wide),
                  .rows = static_cast<int>(job.m),
                  .cols = cols,
                  .c = static_cast<std::byte*>(out.c) + at,
                  .pre = out.pre != nullptr ? static_cast<std::byte*>(out.pre) + at : nullptr,
                  .c_dtype = out.c_dtype,
                  .c_stride = out.c_stride,
                  .alpha = out.alpha,
                  .accumulate = out.accumulate,
                  .bias = out.bias != nullptr ? static_cast<const float*>(out.bias) + col : nullptr,
                  .activation = out.activation,
                  .row_scales = nullptr,
                  .col_scales = nullptr,
                  .offsets = nullptr});
  };
  const std::int64_t tasks = ceil_div(job.n, wide);
  if (pool != nullptr && tasks > 1 && job.m * job.n * job.k > kTaskWork / 8)
    pool->for_each(tasks, task);
  else
    for (std::int64_t i = 0; i < tasks; ++i) task(i);
}

}  // namespace attend::cpu::detail
