// Winograd's transform of weights, in double and rounded once: G g Gᵀ, one row of G for each point of rows/winograd.h.
#include <array>
#include <cstdlib>

#include "attend/base/error.h"
#include "attend/cpu/features.h"
#include "attend/cpu/gemm/kernel.h"
#include "attend/cpu/scratch.h"
#include "attend/cpu/winograd.h"

namespace attend::cpu {

namespace {

using Row = std::array<double, 3>;

// The value at a point of the polynomial with these three coefficients, over the product of its distances from the
// other points.
constexpr Row at_point(double point, double distances) {
  return {1 / distances, point / distances, point * point / distances};
}

constexpr std::array<Row, 4> kTwo = {at_point(0, 1), at_point(1, 2), at_point(-1, 2), Row{0, 0, 1}};

constexpr double kA = 5.0 / 8, kB = 3.0 / 2, kA2 = kA * kA, kB2 = kB * kB;
constexpr std::array<Row, 6> kFour = {at_point(0, kA2* kB2),
                                      at_point(kA, 2 * kA2 * (kA2 - kB2)),
                                      at_point(-kA, 2 * kA2 * (kA2 - kB2)),
                                      at_point(kB, 2 * kB2 * (kB2 - kA2)),
                                      at_point(-kB, 2 * kB2 * (kB2 - kA2)),
                                      Row{0, 0, 1}};

// One output: g [3, 3, inputs] to [places] of `inputs` numbers, `step` apart.
template <std::size_t kPlaces>
void transform_weight(const std::array<Row, kPlaces>& points, const float* g, std::int64_t inputs, float* to,
                      std::int64_t step) {
  constexpr std::int64_t kChannels = 16;  // at a time: vectors for the compiler
  for (std::int64_t first = 0; first < inputs; first += kChannels) {
    const std::int64_t count = inputs - first < kChannels ? inputs - first : kChannels;
    for (std::size_t i = 0; i < kPlaces; ++i) {
      double columns[3][kChannels] = {};
      for (std::size_t j = 0; j < 3; ++j)
        for (std::size_t k = 0; k < 3; ++k) {
          const float* from = g + static_cast<std::int64_t>(3 * k + j) * inputs + first;
          for (std::int64_t c = 0; c < count; ++c) columns[j][c] += points[i][k] * from[c];
        }
      for (std::size_t j = 0; j < kPlaces; ++j) {
        float* out = to + static_cast<std::int64_t>(i * kPlaces + j) * step + first;
        const Row& point = points[j];
        for (std::int64_t c = 0; c < count; ++c)
          out[c] = static_cast<float>(point[0] * columns[0][c] + point[1] * columns[1][c] + point[2] * columns[2][c]);
      }
    }
  }
}

const detail::Kernel& best_kernel() {
  static const detail::Kernel& best = *detail::choose_kernels(features()).f32;
  return best;
}

}  // namespace

WinogradWeights::WinogradWeights(const PackedWeights& weights, WinogradTile tile, ThreadPool& pool,
                                 const detail::Kernel* kernel)
    : kernel_(kernel != nullptr ? *kernel : best_kernel()),
      tile_(tile),
      inputs_(weights.k() / 9),
      outputs_(weights.n()) {
  check(weights.k() % 9 == 0, "winograd: rows of {} weights are not 3 x 3", weights.k());
  const std::int64_t nr = kernel_.nr, places = places_of(tile), panels = (outputs_ + nr - 1) / nr;
  const std::int64_t slice = inputs_ * nr;
  bytes_ = static_cast<std::size_t>(panels * places * slice) * sizeof(float);
  data_ = std::shared_ptr<float[]>(reinterpret_cast<float*>(detail::allocate(bytes_)), [](float* p) { std::free(p); });
  const auto pack_panel = [&](std::int64_t panel) {
    thread_local detail::Scratch scratch;
    const std::int64_t cols = outputs_ - panel * nr < nr ? outputs_ - panel * nr : nr;
    float* row = reinterpret_cast<float*>(scratch.get(static_cast<std::size_t>(weights.k() + places * slice) * 4));
    float* transformed = row + weights.k();  // [places, nr, inputs]
    for (std::int64_t c = 0; c < cols; ++c) {
      weights.read_row(panel * nr + c, row);
      float* to = transformed + c * inputs_;
      tile == WinogradTile::two ? transform_weight(kTwo, row, inputs_, to, slice)
                                : transform_weight(kFour, row, inputs_, to, slice);
    }
    for (std::int64_t p = 0; p < places; ++p)
      kernel_.pack_b({reinterpret_cast<const std::byte*>(transformed + p * slice), DType::f32, inputs_, 1},
                     static_cast<int>(cols), static_cast<int>(nr), inputs_,
                     reinterpret_cast<std::byte*>(data_.get() + (panel * places + p) * slice));
  };
  pool.for_each(panels, pack_panel);
}

}  // namespace attend::cpu
