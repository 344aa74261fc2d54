// The largest few of each row: what a search looks at of the scores of a whole vocabulary.
#include <algorithm>
#include <limits>
#include <vector>

#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

inline float number(float x) { return x; }
inline float number(Bf16 x) { return static_cast<float>(x); }

struct Found {
  float value;
  std::int32_t id;
};
bool before(const Found& a, const Found& b) { return a.value != b.value ? a.value > b.value : a.id < b.id; }

// Whether any of these reaches the bar: a loop without branches, so that it runs 8 or 16 at a time. Of 8,000 tokens a
// handful does.
constexpr std::int64_t kBlock = 64;
template <class T>
bool any_reaches(const T* x, float bar) {
  int any = 0;
  for (std::int64_t i = 0; i < kBlock; ++i) any |= number(x[i]) > bar;
  return any != 0;
}

// Sorted insertion into the k best so far: later ones of equal value stay behind, because ids rise.
template <class T>
void best_of_row(const T* x, std::int64_t width, const std::uint8_t* barred, std::vector<Found>& found,
                 std::size_t count) {
  found.clear();
  for (std::int64_t i = 0; i < width; ++i) {
    const bool full = found.size() == count;
    if (full && i % kBlock == 0)
      while (i + kBlock <= width && !any_reaches(x + i, found.back().value)) i += kBlock;
    if (i == width) break;
    const float value = number(x[i]) >= kLowest ? number(x[i]) : kLowest;  // NaN is no number to choose
    if ((full && !(value > found.back().value)) || (barred && barred[i])) continue;
    if (full) found.pop_back();
    const Found next{value, static_cast<std::int32_t>(i)};
    found.insert(std::upper_bound(found.begin(), found.end(), next, before), next);
  }
}

}  // namespace

void CpuBackend::best(const Tensor& x, const Tensor& barred, const Tensor& values, const Tensor& ids,
                      const Tensor& log_sums) {
  const std::int64_t rows = x.rows(), width = x.width(), count = values.width();
  const std::uint8_t* out = barred.defined() ? barred.data<std::uint8_t>() : nullptr;
  float* losses = scratch(2 * rows);
  auto* targets = reinterpret_cast<std::int32_t*>(losses + rows);
  std::fill(targets, targets + rows, 0);
  cpu::CrossEntropyRows sums;
  sums.logits = x.raw();
  sums.targets = targets;
  sums.width = width;
  sums.ignore = -1;
  sums.lse = log_sums.data<float>();
  sums.losses = losses;
  cpu::for_rows(pool_, rows, 4 * width, [&](std::int64_t begin, std::int64_t end) {
    rows_.cross_entropy[cpu::kind_of(x)](sums, begin, end);
    std::vector<Found> found;
    for (std::int64_t row = begin; row < end; ++row) {
      const void* at = cpu::at(x.raw(), row * width, x.dtype());
      if (x.dtype() == DType::bf16)
        best_of_row(static_cast<const Bf16*>(at), width, out, found, static_cast<std::size_t>(count));
      else
        best_of_row(static_cast<const float*>(at), width, out, found, static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < found.size(); ++i) {
        values.data<float>()[row * count + static_cast<std::int64_t>(i)] = found[i].value;
        ids.data<std::int32_t>()[row * count + static_cast<std::int64_t>(i)] = found[i].id;
      }
    }
  });
}

}  // namespace attend
