// The largest few of each row: what a search looks at of the scores of a whole vocabulary.
#include <algorithm>
#include <functional>
#include <limits>
#include <span>

#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/log_sums.h"
#include "attend/cpu/parallel.h"

namespace attend {

namespace {

struct Found {
  float value;
  std::int32_t id;
};
bool before(const Found& a, const Found& b) { return a.value != b.value ? a.value > b.value : a.id < b.id; }

// A row is looked through in pieces of kWide, and these block by block.
constexpr std::int64_t kWide = 4096, kBlock = 64, kMostBlocks = kWide / kBlock;

// Whether any of these reaches the bar: a loop without branches, so that it runs 8 or 16 at a time. Of 8,000 tokens a
// handful does.
template <class T>
bool any_reaches(const T* x, float bar) {
  int any = 0;
  for (std::int64_t i = 0; i < kBlock; ++i) any |= static_cast<float>(x[i]) > bar;
  return any != 0;
}

// The top k so far, by sorted insertion: later ones of equal value stay behind, because ids rise.
struct TopK {
  std::span<Found> found;
  std::size_t size = 0;

  bool full() const { return size == found.size(); }
  bool wants(float value) const { return !full() || (size > 0 && value > found[size - 1].value); }
  void add(const Found& next) {
    if (!full()) ++size;
    const auto end = found.begin() + static_cast<std::ptrdiff_t>(size) - 1;
    const auto place = std::upper_bound(found.begin(), end, next, before);
    std::move_backward(place, end, end + 1);
    *place = next;
  }
};

using BlockMaxima = void (*)(const void* x, std::int64_t blocks, std::int64_t block, float* maxima);

// The largest of a block of which something is suppressed.
template <class T>
float largest_of(const T* x, const std::uint8_t* suppressed) {
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < kBlock; ++i)
    if (!suppressed[i]) largest = std::max(largest, cpu::or_lowest(x[i]));
  return largest;
}

// A loop without branches, like any_reaches.
bool any_of_block(const std::uint8_t* suppressed) {
  unsigned any = 0;
  for (std::int64_t i = 0; i < kBlock; ++i) any |= suppressed[i];
  return any != 0;
}

// The top k by blocks, if there are many more of them than k: the k-th largest of their largest numbers is a bar that
// the top k reach. So few blocks are looked through. By a bar that rises as numbers come most would be at first.
template <class T>
bool find_by_blocks(const T* x, std::int64_t begin, std::int64_t end, const std::uint8_t* suppressed,
                    BlockMaxima maxima, TopK& top_k) {
  const std::int64_t blocks = (end - begin) / kBlock, k = static_cast<std::int64_t>(top_k.found.size());
  if (blocks > kMostBlocks || k == 0 || blocks < 2 * k) return false;
  float largest[kMostBlocks] = {}, sorted[kMostBlocks] = {};
  maxima(x + begin, blocks, kBlock, largest);
  for (std::int64_t b = 0; suppressed && b < blocks; ++b) {
    const std::int64_t at = begin + b * kBlock;
    if (any_of_block(suppressed + at)) largest[b] = largest_of(x + at, suppressed + at);
  }
  std::copy_n(largest, blocks, sorted);
  std::nth_element(sorted, sorted + k - 1, sorted + blocks, std::greater<>());
  const float bar = sorted[k - 1];
  const auto look = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      const float value = cpu::or_lowest(x[i]);
      if (value >= bar && top_k.wants(value) && !(suppressed && suppressed[i]))
        top_k.add({value, static_cast<std::int32_t>(i)});
    }
  };
  for (std::int64_t b = 0; b < blocks; ++b)
    if (largest[b] >= bar) look(begin + b * kBlock, begin + (b + 1) * kBlock);
  look(begin + blocks * kBlock, end);
  return true;
}

// Of the places [begin, end) of a row.
template <class T>
void find_top_k(const T* x, std::int64_t begin, std::int64_t end, const std::uint8_t* suppressed, BlockMaxima maxima,
                TopK& top_k) {
  if (find_by_blocks(x, begin, end, suppressed, maxima, top_k)) return;
  for (std::int64_t i = begin; i < end; ++i) {
    if (top_k.full() && i % kBlock == 0)
      while (i + kBlock <= end && !any_reaches(x + i, top_k.found.back().value)) i += kBlock;
    if (i == end) break;
    const float value = cpu::or_lowest(x[i]);
    if (top_k.wants(value) && !(suppressed && suppressed[i])) top_k.add({value, static_cast<std::int32_t>(i)});
  }
}

}  // namespace

// Rows in pieces, so that a single one of a large vocabulary has work for many threads; then what the pieces found.
void CpuBackend::top_k(const Tensor& x, const Tensor& suppressed, const Tensor& values, const Tensor& ids,
                       const Tensor& log_sums) {
  const std::int64_t rows = x.rows(), width = x.width(), count = values.width();
  const std::int64_t parts = std::max<std::int64_t>(1, (width + kWide - 1) / kWide);
  const std::uint8_t* out = suppressed.defined() ? suppressed.data<std::uint8_t>() : nullptr;
  const std::int64_t tasks = rows * parts;
  const std::int64_t floats = tasks * (2 + 2 * count);
  float* part_sums =
      recording_ ? reinterpret_cast<float*>(recording_->memory(static_cast<std::size_t>(4 * floats))) : scratch(floats);
  auto* sizes = reinterpret_cast<std::int32_t*>(part_sums + tasks);
  auto* found = reinterpret_cast<Found*>(part_sums + 2 * tasks);
  const auto found_by = [=](std::int64_t task) {
    return std::span(found + task * count, static_cast<std::size_t>(count));
  };
  const auto look = [=, x = x.raw(), dtype = x.dtype(), kernel = rows_.cross_entropy[cpu::kind_of(x)],
                     maxima = rows_.block_maxima[cpu::kind_of(x)]](std::int64_t task) {
    const std::int64_t row = task / parts, begin = task % parts * kWide, end = std::min(width, begin + kWide);
    part_sums[task] = cpu::log_sum(kernel, cpu::at(x, row * width + begin, dtype), end - begin);
    TopK mine{found_by(task)};
    const void* at = cpu::at(x, row * width, dtype);
    if (dtype == DType::bf16)
      find_top_k(static_cast<const Bf16*>(at), begin, end, out, maxima, mine);
    else
      find_top_k(static_cast<const float*>(at), begin, end, out, maxima, mine);
    sizes[task] = static_cast<std::int32_t>(mine.size);
  };
  const auto merge = [=, values = values.data<float>(), ids = ids.data<std::int32_t>(),
                      log_sums = log_sums.data<float>()](std::int64_t row) {
    const std::int64_t first = row * parts;
    TopK all{found_by(first), static_cast<std::size_t>(sizes[first])};
    for (std::int64_t task = first + 1; task < first + parts; ++task)
      for (const Found& next : found_by(task).first(static_cast<std::size_t>(sizes[task])))
        if (all.wants(next.value)) all.add(next);
    for (std::int64_t i = 0; i < count; ++i) {
      values[row * count + i] = all.found[static_cast<std::size_t>(i)].value;
      ids[row * count + i] = all.found[static_cast<std::size_t>(i)].id;
    }
    const std::span<const float> sums(part_sums + first, static_cast<std::size_t>(parts));
    log_sums[row] = cpu::merged_log_sums(sums);
  };
  const cpu::TwoSteps work{tasks, look, rows, merge};
  if (recording_ || 4 * tasks * std::min(width, kWide) > cpu::kPiece)
    run(work);
  else
    ThreadPool::run_here(work.stages());
}

}  // namespace attend
