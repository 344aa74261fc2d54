// Position encodings of DETR (Carion et al. 2020, appendix A.4): sines of the row and of the column (Parmar et al.
// 2018), [B, S, C]. Places of the image come first in each row of S, those of its padding last.
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "attend/base/error.h"
#include "attend/models/detr.h"

namespace attend::models {

namespace {

// f32 arithmetic, because the published models were trained with it.
constexpr float kTemperature = 10000, kEps = 1e-6f, kTurn = 2 * std::numbers::pi_v<float>;

// How many places along one axis show the image. A place does if the pixel that nearest resizing picks for it does.
std::int64_t seen(std::int64_t places, std::int64_t padded, std::int64_t size) {
  std::int64_t count = 0;
  while (count < places && count * padded / places < size) ++count;
  return count;
}

// Rows [count, width]: sin and cos, alternating, of 2π (i + 1) / count at ever longer wavelengths.
std::vector<float> sines(std::int64_t count, std::size_t width) {
  std::vector<float> rows;
  for (std::int64_t place = 1; place <= count; ++place) {
    const float turn = static_cast<float>(place) / (static_cast<float>(count) + kEps) * kTurn;
    for (std::size_t i = 0; i < width; ++i) {
      const float wave = static_cast<float>(i / 2 * 2) / static_cast<float>(width);
      const float angle = turn / std::pow(kTemperature, wave);
      rows.push_back(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return rows;
}

void check_sizes(const Extent2& padded, std::span<const Extent2> sizes) {
  check(!sizes.empty(), "detr: no images");
  for (const Extent2& size : sizes)
    check(size.h >= 1 && size.w >= 1 && size.h <= padded.h && size.w <= padded.w,
          "detr: an image of {} x {} in a batch padded to {} x {}", size.h, size.w, padded.h, padded.w);
}

}  // namespace

Extent2 Detr::own_grid(const Extent2& padded, const Extent2& size) const {
  const Extent2 grid = grid_size(padded);
  return {seen(grid.h, padded.h, size.h), seen(grid.w, padded.w, size.w)};
}

PositionLayout Detr::places(Backend& backend, DType dtype, const Extent2& padded,
                            std::span<const Extent2> sizes) const {
  check_sizes(padded, sizes);
  const Extent2 grid = grid_size(padded);
  const auto batch = static_cast<std::int64_t>(sizes.size());
  PositionLayout places{make_tensor(backend, {batch, grid.h * grid.w, config_.width}, dtype), {}, {}};
  const bool padding = batch > 1 || sizes[0].h < padded.h || sizes[0].w < padded.w;
  if (padding) {
    places.order = make_tensor(backend, {batch * grid.h * grid.w}, DType::i32);
    places.lengths = make_tensor(backend, {batch}, DType::i32);
  }
  put_places(places, padded, sizes);
  return places;
}

void Detr::put_places(const PositionLayout& to, const Extent2& padded, std::span<const Extent2> sizes) const {
  check_sizes(padded, sizes);
  const Extent2 grid = grid_size(padded);
  const std::int64_t batch = static_cast<std::int64_t>(sizes.size()), places = grid.h * grid.w, width = config_.width;
  check(to.positions.shape() == Shape({batch, places, width}),
        "detr: {} images padded to {} x {} have {} places each, but there is room for {}", batch, padded.h, padded.w,
        places, to.positions.shape());
  std::vector<float> positions(static_cast<std::size_t>(batch * places * width));
  std::vector<std::int32_t> order, lengths;
  const auto half = static_cast<std::size_t>(width / 2);
  std::map<std::int64_t, std::vector<float>> waves;  // keyed by the number of places; a batch has few sizes
  const auto waves_of = [&](std::int64_t count) -> const std::vector<float>& {
    const auto [found, missing] = waves.try_emplace(count);
    if (missing) found->second = sines(count, half);
    return found->second;
  };
  for (std::int64_t b = 0; b < batch; ++b) {
    const Extent2 own = own_grid(padded, sizes[static_cast<std::size_t>(b)]);
    const std::vector<float>&down = waves_of(own.h), &across = waves_of(own.w);
    const auto inside = [&](std::int64_t p) { return p / grid.w < own.h && p % grid.w < own.w; };
    // First the places of the image, then those of the padding, which repeat the last row or column.
    for (const bool wanted : {true, false})
      for (std::int64_t p = 0; p < places; ++p) {
        if (inside(p) != wanted) continue;
        float* row = positions.data() + order.size() * 2 * half;
        std::copy_n(down.data() + static_cast<std::size_t>(std::min(p / grid.w, own.h - 1)) * half, half, row);
        std::copy_n(across.data() + static_cast<std::size_t>(std::min(p % grid.w, own.w - 1)) * half, half, row + half);
        order.push_back(static_cast<std::int32_t>(b * places + p));
      }
    lengths.push_back(static_cast<std::int32_t>(own.h * own.w));
  }
  upload(to.positions, positions);
  if (!to.order.defined()) {
    check(lengths[0] == places && batch == 1, "detr: places without an order are for one image without padding");
    return;
  }
  upload(to.order, order);
  upload(to.lengths, lengths);
}

std::vector<float> Detr::by_grid(std::span<const float> weights, const PositionLayout& places) {
  if (!places.order.defined()) return {weights.begin(), weights.end()};
  const std::vector<std::int32_t> order = download_ints(places.order);
  const auto batch = static_cast<std::size_t>(places.positions.dim(0)), seen = order.size() / batch;
  check(weights.size() % order.size() == 0, "detr: {} weights over {} places", weights.size(), order.size());
  const std::size_t rows = weights.size() / order.size();  // rows of weights per image
  std::vector<float> sorted(weights.size());
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t s = 0; s < seen; ++s) {
        const std::size_t begin = (b * rows + row) * seen;
        sorted[begin + static_cast<std::size_t>(order[b * seen + s]) - b * seen] = weights[begin + s];
      }
  return sorted;
}

}  // namespace attend::models
