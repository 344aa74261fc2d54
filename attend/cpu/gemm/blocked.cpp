// Loops around the micro-kernel. C is cut into tasks (plan.h), and a task walks slices of kc: for each panel of B, all
// panels of A, while the next panel of B is fetched. Between slices tiles wait in C, or in f32 of their own where an
// epilogue is to come. One block of rows (m <= mc): A is packed first, by all threads, and each task packs the panels
// of B as it comes to them. Several: B is packed first, in pieces of bounded size, and each task packs its block of A
// slice by slice, or A is packed ahead too where many tasks share it. The side that is packed in the task goes from its
// source to the nearest cache and is used there.
#include "attend/cpu/gemm/blocked.h"

#include <algorithm>
#include <array>

#include "attend/base/error.h"
#include "attend/cpu/gemm/plan.h"
#include "attend/cpu/recording.h"
#include "attend/cpu/scratch.h"

namespace attend::cpu::detail {

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The packed copy of B stays below this: a part of the shared cache.
constexpr std::int64_t kPackBytes = std::int64_t{12} << 20;
// K beyond this is done in pieces, with C waiting in f32 between them.
constexpr std::int64_t kMaxDepth = 4096;
// B in place for few rows is read so many k at a time, all columns in each: as many streams as the memory system
// follows, and pages as the nearest TLB holds (a walk down all k took a page for every row: 0.7 of this speed).
constexpr std::int64_t kStreamed = 32;

thread_local Scratch packed_a, packed_b, waiting_tiles;  // the caller's, shared with the workers of one product
thread_local Scratch task_a, task_b, task_tiles;         // each worker's own

// Where one panel lies, packed or not.
struct Panel {
  const std::byte* data = nullptr;
  std::int64_t row = 0, unit = 0;  // bytes to the next row and to the next unit of k
  std::int64_t ahead = 0;          // bytes to what is read later
};

// A panel of B to come, brought to L2 while others are multiplied: see TileProduct::fetch. The first `tiles` tiles
// of the walk fetch a part each, `part` bytes apart.
struct Fetch {
  const std::byte* data = nullptr;
  std::int64_t step = 0, also = 0, part = 0, tiles = 0;
  bool twice = false;  // TileProduct::fetch_twice
};

// Several of A, `step` bytes apart.
struct Panels {
  Panel first;
  std::int64_t step = 0;
};

class Blocked {
 public:
  Blocked(const Kernel& kernel, const Job& job, ThreadPool* pool, Recording* recording = nullptr)
      : kernel_(kernel), job_(job), pool_(pool), recording_(recording) {
    const std::int64_t panels = std::max<std::int64_t>(1, ceil_div(job.m, kernel.mr));
    const std::int64_t tall = ceil_div(job.m, panels);
    const bool same = kernel.planes == 1 && job.a.dtype == kernel.element, laid_out = job.windows.x == nullptr;
    // Unpacked operands save a pass where each element is used a few times only.
    a_in_place_ =
        tall <= kernel.in_place && same && laid_out && job.a.k_step == 1 && (panels == 1 || job.n <= 4 * kernel.nr);
    width_ = a_in_place_ ? tall : ceil_div(tall, kernel.row_multiple) * kernel.row_multiple;
    // Whole tiles of rows are read where they lie too, and one row alone.
    const bool whole = job.m % kernel.row_multiple == 0 || job.quantised.rows != nullptr ||
                       (job.m == 1 && job.b_panels != nullptr && kernel.streams(1) > 0);
    if (kernel.a_tiles && same && laid_out && whole && job.a.k_step == 1 && job.k % kernel.k_step == 0)
      a_in_place_ = true;
    b_in_place_ = kernel.in_place > 0 && same && job.b_panels == nullptr && job.b.row_step == 1 && job.n >= kernel.nr &&
                  (job.m <= 2 * kernel.mr || job.n * job.k <= 8192);
    one_pass_ = job.k <= kMaxDepth;
    kc_ = b_in_place_ && job.m <= 8 && !job.rows_alike ? kStreamed : kernel.kc;
    direct_ = plain() && (kernel.add_in_c || (one_pass_ && job.k <= kc_));
    // What is there already is added first by a kernel that writes to C, and last to a tile that waits elsewhere, as
    // the tiles of few rows and of edges do.
    if (job.rows_alike && job.out.accumulate) direct_ = false;
    share_b_ = job.b_panels == nullptr && !b_in_place_ && job.m > kernel.mc;
    streams_ = job.b_panels != nullptr && one_pass_ ? kernel.streams(job.m) : 0;
  }

  // Piece by piece; each is work of its own, whose stages follow from where it begins.
  void run() {
    if (!one_pass_) {
      waiting_ = reinterpret_cast<float*>(
          memory(waiting_tiles, ceil_div(job_.m, width_) * ceil_div(job_.n, kernel_.nr) * width_ * kernel_.nr * 4));
    }
    const std::int64_t depth = one_pass_ ? std::max<std::int64_t>(1, job_.k) : kMaxDepth;
    const std::int64_t cols = share_b_ ? most_columns(depth) : job_.n;
    plan_ = make_plan(kernel_, {.k = depth,
                                .width = width_,
                                .panels_m = ceil_div(job_.m, width_),
                                .panels_n = ceil_div(std::min(cols, job_.n), kernel_.nr),
                                .most_wide = direct_ || job_.k <= kc_ ? ceil_div(job_.n, kernel_.nr)
                                                                      : ceil_div(kernel_.nc, kernel_.nr),
                                .a_packed = a_in_place_,
                                .b_packed = share_b_ || b_in_place_ || job_.b_panels != nullptr,
                                .streamed = b_in_place_,
                                .threads = threads()});
    for (k0_ = 0; k0_ == 0 || k0_ < job_.k; k0_ += depth) {
      k_ = std::min(depth, job_.k - k0_);
      for (n0_ = 0; n0_ < job_.n; n0_ += cols) {
        n_ = std::min(cols, job_.n - n0_);
        if (recording_ != nullptr)
          recording_->add(*this);
        else if (pool_ != nullptr)
          pool_->run(stages());
        else
          ThreadPool::run_here(stages());
      }
    }
  }

  // The rows of an int8 product, then both sides as far as they are packed ahead, then the product.
  std::array<ThreadPool::Stage, 3> stages() {
    const std::int64_t rows = k0_ == 0 && n0_ == 0 && job_.quantised.rows != nullptr ? job_.m : 0;
    const std::int64_t few = std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, job_.k));
    const std::int64_t groups = start_packing();
    // A task that packs its own A takes all the panels of B that the plan gives it.
    unit_ = plan_.share_a || a_in_place_ ? 1 : plan_.wide;
    across_ = ceil_div(ceil_div(n_, kernel_.nr), unit_);
    const std::int64_t tasks = ceil_div(ceil_div(job_.m, width_), plan_.high) * across_;
    // Few rows, where memory decides: as much at once as there is, in as many streams as the kernel follows.
    const std::int64_t longest = streams_ > 0 ? tasks : plan_.wide / unit_, shortest = std::max(1, streams_);
    return {ThreadPool::runs<&Blocked::quantise_rows>(rows, few, *this),
            ThreadPool::runs<&Blocked::pack_groups>(groups, 1, *this),
            ThreadPool::runs<&Blocked::run_tasks>(tasks, longest, *this, shortest)};
  }

 private:
  int threads() const { return pool_ != nullptr ? pool_->threads() : 1; }

  // Columns of B whose packed copy stays below kPackBytes, in even pieces of whole panels.
  std::int64_t most_columns(std::int64_t depth) const {
    const std::int64_t panel = kernel_.padded(depth) * kernel_.element_bytes() * kernel_.nr;
    const std::int64_t panels = ceil_div(job_.n, kernel_.nr), most = std::max<std::int64_t>(8, kPackBytes / panel);
    return ceil_div(panels, ceil_div(panels, most)) * kernel_.nr;
  }

  // One side of the product, as it is packed: panels of `width` rows, `bytes` apart.
  struct Side {
    Operand from;
    Pack pack;
    std::int64_t rows, width, bytes;
    std::byte* to;
    const Windows* windows = nullptr;    // the rows, instead of from
    std::int64_t group = 1, groups = 0;  // panels packed at once, and how often
  };

  const Windows* windows() const { return job_.windows.x != nullptr ? &job_.windows : nullptr; }

  // Panels [begin, end) over [k, k + depth). A source with its rows contiguous is walked in short runs of k, all
  // panels in each: a panel alone would take a part of a line from one page after the other.
  void pack_panels(const Side& side, std::int64_t begin, std::int64_t end, std::int64_t k, std::int64_t depth) const {
    if (side.windows != nullptr) {
      for (std::int64_t p = begin; p < end; ++p)
        side.windows->pack(kernel_, p * side.width, static_cast<int>(std::min(side.width, side.rows - p * side.width)),
                           static_cast<int>(side.width), k, depth, side.to + (p - begin) * side.bytes);
      return;
    }
    const std::int64_t run = side.from.row_step == 1 && side.from.k_step != 1
                                 ? std::max<std::int64_t>(16, kernel_.k_step)
                                 : std::max<std::int64_t>(1, depth);
    const bool apart = run < depth;
    const std::int64_t width = std::min(end * side.width, side.rows) - begin * side.width;
    for (std::int64_t at = 0; at < depth; at += run) {
      // The next run, from its many pages.
      for (std::int64_t i = at + run; apart && i < std::min(depth, at + 2 * run); ++i) {
        const std::byte* line = side.from.at(begin * side.width, k + i).data;
        for (std::int64_t l = 0; l < width * static_cast<std::int64_t>(bytes_of(side.from.dtype)); l += 64)
          __builtin_prefetch(line + l);
      }
      for (std::int64_t p = begin; p < end; ++p) {
        const std::int64_t row = p * side.width;
        side.pack(side.from.at(row, k + at), static_cast<int>(std::min(side.width, side.rows - row)),
                  static_cast<int>(side.width), std::min(run, depth - at),
                  side.to + (p - begin) * side.bytes + at * side.width * kernel_.element_bytes());
      }
    }
  }

  std::int64_t panel_bytes(std::int64_t width) const { return width * kernel_.padded(k_) * kernel_.element_bytes(); }

  // The caller's, or a part of what is recorded.
  std::byte* memory(Scratch& callers, std::int64_t bytes) const {
    const auto size = static_cast<std::size_t>(bytes);
    return recording_ != nullptr ? recording_->memory(size) : callers.get(size);
  }

  void quantise_rows(std::int64_t begin, std::int64_t end) const {
    const Quantised& to = job_.quantised;
    for (std::int64_t i = begin; i < end; ++i)
      to.scales[i] = kernel_.quantise({to.from.at(i, 0).data, to.from.dtype}, to.k, job_.k, kernel_.a_offset,
                                      to.rows + i * job_.k);
  }

  // What is packed ahead, in groups of 32 K elements, and of 16 panels where these come side by side from the same
  // lines. Returns how many groups.
  std::int64_t start_packing() {
    sides_[0] = {job_.a, kernel_.pack_a, job_.m, width_, panel_bytes(width_), nullptr, windows()};
    sides_[1] = {job_.b.at(n0_, 0), kernel_.pack_b, n_, kernel_.nr, panel_bytes(kernel_.nr), nullptr};
    for (const int i : {0, 1}) {
      Side& side = sides_[i];
      if (i == 0 ? !plan_.share_a || n0_ > 0 : !share_b_) continue;
      const std::int64_t panels = ceil_div(side.rows, side.width);
      side.to = memory(i == 0 ? packed_a : packed_b, panels * side.bytes);
      (i == 0 ? a_panels_ : b_panels_) = side.to;
      side.group =
          std::max<std::int64_t>(side.from.row_step == 1 ? 16 : 1, 32768 / std::max<std::int64_t>(1, side.width * k_));
      side.groups = ceil_div(panels, side.group);
    }
    return sides_[0].groups + sides_[1].groups;
  }

  void pack_groups(std::int64_t group, std::int64_t end) const {
    for (; group < end; ++group) {
      const bool a = group < sides_[0].groups;
      Side part = sides_[a ? 0 : 1];
      const std::int64_t begin = (group - (a ? 0 : sides_[0].groups)) * part.group;
      part.to += begin * part.bytes;
      pack_panels(part, begin, std::min(ceil_div(part.rows, part.width), begin + part.group), k0_, k_);
    }
  }

  // Tasks are numbered along B, one block of rows after the other.
  void run_tasks(std::int64_t begin, std::int64_t end) {
    const std::int64_t panels_m = ceil_div(job_.m, width_), panels_n = ceil_div(n_, kernel_.nr);
    for (std::int64_t next; begin < end; begin = next) {
      const std::int64_t im = begin / across_ * plan_.high, in = begin % across_;
      next = std::min(end, begin - in + across_);
      run_task(im, std::min(panels_m, im + plan_.high), in * unit_, std::min(panels_n, (in + next - begin) * unit_));
    }
  }

  void run_task(std::int64_t m_begin, std::int64_t m_end, std::int64_t n_begin, std::int64_t n_end) {
    if (kernel_.begin != nullptr) kernel_.begin(std::min(width_, job_.m));
    if (streams_ > 0)
      stream_panels(n_begin, n_end);
    else
      multiply_panels(m_begin, m_end, n_begin, n_end);
    if (kernel_.end != nullptr) kernel_.end();
  }

  // One panel of A by several panels of B at a time, a part of the range apart. Sums are taken in the order in which
  // multiply_panels takes them, slice by slice, so that a row's result does not depend on how many rows there are.
  void stream_panels(std::int64_t n_begin, std::int64_t n_end) {
    const std::int64_t slices = std::max<std::int64_t>(1, ceil_div(k_, kc_)), slot = width_ * kernel_.nr;
    const std::int64_t deep = kernel_.padded(ceil_div(k_, slices));
    float* tiles = reinterpret_cast<float*>(task_tiles.get(static_cast<std::size_t>(streams_ * slot * 4)));
    const auto some = [&](std::int64_t first, int count, std::int64_t apart) {
      for (std::int64_t s = 0; s < slices; ++s) {
        const std::int64_t from = s * deep, depth = std::min(deep, k_ - from);
        const Panel a = a_block(0, 1, from, depth).first, b = b_panel(first, from, depth);
        TileProduct product = tile_product(0, first, depth, a, b, Fetch{});
        product.panels = count, product.b_panel = apart * panel_bytes(kernel_.nr), product.tile_panel = slot;
        product.tile = tiles, product.tile_stride = kernel_.nr, product.add = s > 0;
        kernel_.multiply(product);
      }
      for (int i = 0; i < count; ++i) kernel_.write(output(0, first + i * apart, tiles + i * slot));
    };
    const std::int64_t each = (n_end - n_begin) / streams_;
    for (std::int64_t j = 0; j < each; ++j) some(n_begin + j, streams_, each);
    std::int64_t j = n_begin + each * streams_;
    for (; j + 1 < n_end && streams_ > 1; j += 2) some(j, 2, 1);
    if (j < n_end) some(j, 1, 0);
  }

  void multiply_panels(std::int64_t m_begin, std::int64_t m_end, std::int64_t n_begin, std::int64_t n_end) {
    const std::int64_t slot = width_ * kernel_.nr, high = m_end - m_begin;
    const std::int64_t slices = std::max<std::int64_t>(1, ceil_div(k_, kc_));
    const std::int64_t deep = kernel_.padded(ceil_div(k_, slices));
    const bool last_piece = k0_ + k_ >= job_.k;
    const bool wait = slices > 1 && one_pass_;
    // Waiting tiles: all, or those at the right and lower edges where the others wait in C.
    const std::int64_t slots = !wait ? 1 : direct_ ? high + n_end - n_begin : high * (n_end - n_begin);
    float* tiles = reinterpret_cast<float*>(task_tiles.get(static_cast<std::size_t>(slots * slot * 4)));
    const auto slot_of = [&](std::int64_t i, std::int64_t j) {
      if (!direct_) return (j - n_begin) * high + i - m_begin;
      return (j + 1) * kernel_.nr > n_ ? i - m_begin : high + j - n_begin;
    };
    for (std::int64_t s = 0; s < slices; ++s) {
      const std::int64_t from = s * deep, depth = std::min(deep, k_ - from);
      const bool last = last_piece && s == slices - 1, first = k0_ == 0 && s == 0;
      const Panels a = a_block(m_begin, m_end, from, depth);
      const auto one = [&](std::int64_t i, std::int64_t j, const Panel& b, Fetch fetch) {
        float* tile = !one_pass_ ? waiting_slot(i, j) : wait ? tiles + slot_of(i, j) * slot : tiles;
        const Panel row{a.first.data + (i - m_begin) * a.step, a.first.row, a.first.unit, 0};
        if (i - m_begin < fetch.tiles) fetch.data += (i - m_begin) * fetch.part;
        if (direct_ && whole(i, j)) {
          float* c = static_cast<float*>(job_.out.c) + i * width_ * job_.out.c_stride + n0_ + j * kernel_.nr;
          multiply(i, j, depth, row, b, fetch, c, job_.out.c_stride, job_.out.accumulate || !first);
          return;
        }
        if (last && kernel_.fetch_output) fetch_output(output(i, j, tile));
        multiply(i, j, depth, row, b, fetch, tile, kernel_.nr, !first);
        if (last) kernel_.write(output(i, j, tile));
      };
      const bool ahead = kernel_.fetch_lines > 0 && high > 3;
      for (std::int64_t j = n_begin; j < n_end; ++j) {
        const Panel b = b_panel(j, from, depth);
        const Fetch fetch = ahead && j + 1 < n_end ? b_fetch(j + 1, from, depth, high) : Fetch{};
        for (std::int64_t i = m_begin; i < m_end; ++i) one(i, j, b, fetch);
      }
    }
  }

  // Nothing to be done to a tile but to add it to C or put it there: the micro-kernel does that itself.
  bool plain() const {
    const GemmOutput& out = job_.out;
    return kernel_.direct && out.c_dtype == DType::f32 && out.alpha == 1 && out.bias == nullptr && out.pre == nullptr &&
           out.residual == nullptr && out.activation == Activation::none && job_.dequantise.rows == nullptr;
  }

  bool whole(std::int64_t i, std::int64_t j) const {
    return (j + 1) * kernel_.nr <= n_ && (kernel_.exact_rows || (i + 1) * width_ <= job_.m);
  }

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
    if (plan_.share_a) {
      const std::int64_t step = panel_bytes(width_);
      return {{a_panels_ + begin * step + from * width_ * kernel_.element_bytes(), row, unit, 0}, step};
    }
    const std::int64_t step = width_ * kernel_.padded(depth) * kernel_.element_bytes();
    std::byte* to = task_a.get(static_cast<std::size_t>((end - begin) * step));
    pack_panels({job_.a, kernel_.pack_a, job_.m, width_, step, to, windows()}, begin, end, k0_ + from, depth);
    return {{to, row, unit, 0}, step};
  }

  Panel b_panel(std::int64_t j, std::int64_t from, std::int64_t depth) {
    const std::int64_t nr = kernel_.nr, col = n0_ + j * nr, unit = nr * kernel_.b_unit * kernel_.element_bytes();
    if (job_.b_panels != nullptr)
      return {job_.b_panels + ((n0_ / nr + j) * kernel_.padded(job_.k) + k0_ + from) * nr * kernel_.element_bytes(), 0,
              unit, kernel_.ahead};
    if (share_b_)
      return {b_panels_ + j * panel_bytes(nr) + from * nr * kernel_.element_bytes(), 0, unit, kernel_.ahead};
    const std::int64_t cols = std::min(nr, job_.n - col);
    const Operand source = job_.b.at(col, k0_ + from);
    // In place, a row gives one panel's columns at a time: those of the panel after the next are fetched.
    if (b_in_place_ && cols == nr)
      return {source.data, 0, source.k_step * kernel_.element_bytes(), 2 * nr * kernel_.element_bytes()};
    std::byte* to = task_b.get(static_cast<std::size_t>(kernel_.padded(kernel_.kc) * nr * kernel_.element_bytes()));
    kernel_.pack_b(source, static_cast<int>(cols), static_cast<int>(nr), depth, to);
    return {to, 0, unit, 0};
  }

  // Where panel j of B lies before it is read or packed, while `tiles` tiles are multiplied.
  Fetch b_fetch(std::int64_t j, std::int64_t from, std::int64_t depth, std::int64_t tiles) const {
    const std::int64_t nr = kernel_.nr, lines = kernel_.fetch_lines;
    const std::int64_t steps = std::max<std::int64_t>(1, depth / kernel_.b_unit / kernel_.fetch_units);
    const std::int64_t unit = nr * kernel_.element_bytes();
    if (job_.b_panels != nullptr || share_b_) {
      const std::byte* data = job_.b_panels != nullptr
                                  ? job_.b_panels + ((n0_ / nr + j) * kernel_.padded(job_.k) + k0_ + from) * unit
                                  : b_panels_ + (j * kernel_.padded(k_) + from) * unit;
      const std::int64_t part = 64 * lines * steps, needed = ceil_div(unit * depth, part);
      if (kernel_.fetch_twice && needed >= 2 * tiles)
        return {data, 128 * lines, 64, 2 * part, ceil_div(needed, 2), true};
      return {data, 64 * lines, 64, part, needed};
    }
    const Operand source = job_.b.at(n0_ + j * nr, k0_ + from);
    const std::int64_t bytes = static_cast<std::int64_t>(bytes_of(source.dtype));
    const std::int64_t row = source.row_step * bytes, k = source.k_step * bytes;
    if (source.row_step != 1) {
      const std::int64_t rows = std::min(nr, job_.n - n0_ - j * nr);
      return {source.data, ceil_div(depth * bytes, steps), row, lines * row, rows / lines};
    }
    // Of each k, one or two lines.
    const std::int64_t each = std::max<std::int64_t>(1, nr * bytes / 64),
                       rows = std::max<std::int64_t>(1, lines / each);
    return {source.data, rows * k, each > 1 ? 64 : k, rows * k * steps, depth / (rows * steps)};
  }

  // All but where the tile goes.
  TileProduct tile_product(std::int64_t i, std::int64_t j, std::int64_t depth, const Panel& a, const Panel& b,
                           const Fetch& fetch) const {
    TileProduct product;
    product.k = kernel_.padded(depth);
    product.a = a.data, product.a_row = a.row, product.a_k = a.unit;
    product.b = b.data, product.b_k = b.unit, product.b_ahead = b.ahead;
    product.b_streams = b.ahead == kernel_.ahead && job_.b_panels == nullptr && !job_.rows_alike;
    product.fetch = fetch.data, product.fetch_step = fetch.step, product.fetch_also = fetch.also;
    product.fetch_twice = fetch.twice;
    product.rows = static_cast<int>(std::min(width_, job_.m - i * width_));
    product.cols = static_cast<int>(std::min<std::int64_t>(kernel_.nr, n_ - j * kernel_.nr));
    return product;
  }

  void multiply(std::int64_t i, std::int64_t j, std::int64_t depth, const Panel& a, const Panel& b, const Fetch& fetch,
                float* tile, std::int64_t tile_stride, bool add) const {
    TileProduct product = tile_product(i, j, depth, a, b, fetch);
    product.tile = tile, product.tile_stride = tile_stride, product.add = add;
    kernel_.multiply(product);
  }

  TileOutput output(std::int64_t i, std::int64_t j, const float* tile) const {
    const std::int64_t row = i * width_, col = n0_ + j * kernel_.nr;
    const int rows = static_cast<int>(std::min(width_, job_.m - row));
    const int cols = static_cast<int>(std::min<std::int64_t>(kernel_.nr, job_.n - col));
    return tile_output(kernel_, job_.out, job_.dequantise, row, rows, col, cols, tile);
  }

  const Kernel& kernel_;
  const Job job_;
  ThreadPool* pool_;
  Recording* recording_;
  std::int64_t width_ = 0;  // rows of a panel of A
  bool a_in_place_ = false, b_in_place_ = false, share_b_ = false, one_pass_ = true;
  std::int64_t kc_ = 0;
  bool direct_ = false;  // whole tiles go straight to C
  int streams_ = 0;      // of few rows by panels packed ahead: see stream_panels
  Plan plan_;
  Side sides_[2] = {};
  std::int64_t unit_ = 1, across_ = 1;            // panels of B in the smallest task, and such tasks side by side
  std::int64_t k0_ = 0, k_ = 0, n0_ = 0, n_ = 0;  // the piece being computed
  const std::byte* a_panels_ = nullptr;
  const std::byte* b_panels_ = nullptr;
  float* waiting_ = nullptr;
};

}  // namespace

void multiply_blocked(const Kernel& kernel, const Job& job, ThreadPool* pool) {
  if (job.m > 0 && job.n > 0) Blocked(kernel, job, pool).run();
}

void keep_blocked(const Kernel& kernel, const Job& job, ThreadPool& pool, Recording& recording) {
  check(job.b_panels != nullptr, "gemm: only products with packed weights can be kept");
  if (job.m > 0 && job.n > 0) Blocked(kernel, job, &pool, &recording).run();
}

std::int64_t packed_bytes(const Kernel& kernel, std::int64_t n, std::int64_t k) {
  return ceil_div(n, kernel.nr) * kernel.nr * kernel.padded(k) * kernel.element_bytes();
}

}  // namespace attend::cpu::detail
