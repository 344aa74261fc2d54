// Convolutions of 3 x 3 with stride 1 by minimal filtering (Winograd 1980; Lavin & Gray 2016): n x n results at a time
// take (n + 2)² multiplications for each pair of channels instead of 9 n². Tiles of (n + 2)² places of x are
// transformed, multiplied by weights that were transformed once, one matrix product for each place of the tile, and the
// products are transformed back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "attend/base/thread_pool.h"
#include "attend/cpu/gemm.h"

namespace attend::cpu {

// Results along one side of a tile.
enum class WinogradTile : std::uint8_t { two = 2, four = 4 };

// Places of x that a tile reads, and multiplications that it takes.
constexpr std::int64_t places_of(WinogradTile tile) {
  return (static_cast<std::int64_t>(tile) + 2) * (static_cast<std::int64_t>(tile) + 2);
}

// The tile that computes this convolution fastest, or none: it is not one of 3 x 3 with stride 1, or faster as a
// product. Depends on the sizes of an image and not on their number. speed: multiply-adds of that product in a cycle.
std::optional<WinogradTile> winograd_tile(const Windows& windows, std::int64_t outputs, double speed);

// Transformed weights [O, 3, 3, C] as the kernel's panels of `nr` outputs: [panel][place][C][nr].
class WinogradWeights {
 public:
  // kernel: whose panels these are, or null: the best f32 kernel of this machine.
  WinogradWeights(const PackedWeights& weights, WinogradTile tile, ThreadPool& pool,
                  const detail::Kernel* kernel = nullptr);

  const detail::Kernel& kernel() const { return kernel_; }
  WinogradTile tile() const { return tile_; }
  std::int64_t inputs() const { return inputs_; }
  std::int64_t outputs() const { return outputs_; }
  const float* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  const detail::Kernel& kernel_;
  WinogradTile tile_;
  std::int64_t inputs_, outputs_;
  std::shared_ptr<float[]> data_;
  std::size_t bytes_ = 0;
};

// y [B, OH, OW, O]: what `out` says, with `windows` over x in f32.
struct WinogradProduct {
  std::int64_t batch = 0;
  Windows windows = {};
  const WinogradWeights* weights = nullptr;
  GemmOutput out = {};
};

void winograd(const WinogradProduct& product, ThreadPool& pool);

}  // namespace attend::cpu
