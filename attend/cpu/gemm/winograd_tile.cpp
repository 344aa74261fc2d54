// Which way a convolution takes, by a small model of its cycles for one image: multiply-adds at the kernel's speed, or
// the time that its weights take from memory, whichever is longer. A tile of four needs fewer multiply-adds, and its
// weights are four times as many numbers, each used once for each tile: with few tiles memory decides.
#include <algorithm>

#include "attend/cpu/features.h"
#include "attend/cpu/gemm/kernel.h"
#include "attend/cpu/winograd.h"

namespace attend::cpu {

namespace {

constexpr std::int64_t kChannels = 16;  // fewer do not fill the micro-kernel's tiles
constexpr double kTransform = 8;        // multiply-adds in the time in which a number is transformed, or packed
constexpr double kRead = 6;             // bytes of weights in a cycle

}  // namespace

std::optional<WinogradTile> winograd_tile(const Windows& windows, std::int64_t outputs, double speed) {
  const Convolution& w = windows.window;
  const bool possible = windows.kernel_h == 3 && windows.kernel_w == 3 && w.stride.h == 1 && w.stride.w == 1 &&
                        w.dilation.h == 1 && w.dilation.w == 1 && w.groups == 1 && windows.dtype == DType::f32;
  if (!possible || windows.inputs < kChannels || outputs < kChannels) return std::nullopt;
  static const double in_f32 = detail::choose_kernels(features()).f32->speed;
  const auto in = static_cast<double>(windows.inputs), out = static_cast<double>(outputs);
  const auto cycles = [&](std::int64_t rows, std::int64_t places, double transformed, double per_cycle) {
    const double products = in * out + kTransform * transformed, weights = 4 * in * out;
    return static_cast<double>(places) * std::max(static_cast<double>(rows) * products / per_cycle, weights / kRead);
  };
  const auto tiled = [&](WinogradTile tile) {
    const auto side = static_cast<std::int64_t>(tile);
    const std::int64_t down = (windows.results_h + side - 1) / side, across = (windows.results_w + side - 1) / side;
    return cycles(down * across, places_of(tile), in + out, in_f32);
  };
  const double product = cycles(windows.results_h * windows.results_w, 9, in, speed);
  const double two = tiled(WinogradTile::two), four = tiled(WinogradTile::four);
  if (product <= std::min(two, four)) return std::nullopt;
  return two < four ? WinogradTile::two : WinogradTile::four;
}

}  // namespace attend::cpu
