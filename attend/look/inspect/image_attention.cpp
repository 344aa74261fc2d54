#include "attend/look/inspect/image_attention.h"

#include <utility>

#include "attend/base/error.h"

namespace attend::look {

namespace {

// How many windows lie side by side over so many places, the last perhaps filled up.
std::int64_t windows_over(std::int64_t places, std::int64_t window) { return (places + window - 1) / window; }

}  // namespace

ImageAttention::ImageAttention(models::AttentionPlace where, const view::AttentionWeights& seen)
    : place(std::move(where)), weights(seen.values) {
  const Shape& shape = seen.shape;
  check(shape.rank() == 4, "look: the weights of {} are {}, not [.., heads, queries, keys]", place.label, shape);
  windows = shape[0], rows = shape[2], columns = shape[3];
  const std::int64_t w = place.window;
  const std::int64_t many = w == 0 ? 1 : windows_over(place.queries.h, w) * windows_over(place.queries.w, w);
  const std::int64_t down = w == 0 ? place.tokens + place.queries.h * place.queries.w : w * w;
  const std::int64_t across = w == 0 ? place.tokens + place.keys.h * place.keys.w : w * w;
  check(windows == many && shape[1] == place.heads && rows == down && columns == across,
        "look: the weights of {} are {}, but its geometry says [{}, {}, {}, {}]", place.label, shape, many, place.heads,
        down, across);
}

// Windows are cut out of a grid that was moved up and left by the shift, and came in again on the other side.
std::int64_t ImageAttention::lies(const Extent2& grid, std::int64_t window, std::int64_t index) const {
  const std::int64_t w = place.window;
  if (w == 0) return index - place.tokens;
  const std::int64_t across = windows_over(grid.w, w), down = windows_over(grid.h, w);
  const std::int64_t y = (window / across * w + index / w + place.shift) % (down * w);
  const std::int64_t x = (window % across * w + index % w + place.shift) % (across * w);
  return y < grid.h && x < grid.w ? y * grid.w + x : -1;
}

std::vector<float> ImageAttention::heat(std::int64_t head) const {
  std::vector<float> heat(static_cast<std::size_t>(place.keys.h * place.keys.w), 0.0f);
  const std::int64_t first = head < 0 ? 0 : head, heads = head < 0 ? place.heads : 1;
  const std::int64_t asked = place.tokens > 0 ? 1 : rows;  // the class token is the first row
  const float share = 1 / static_cast<float>(heads * asked);
  for (std::int64_t window = 0; window < windows; ++window)
    for (std::int64_t h = first; h < first + heads; ++h)
      for (std::int64_t row = 0; row < asked; ++row)
        for (std::int64_t column = 0; column < columns; ++column)
          if (const std::int64_t at = key_place(window, column); at >= 0)
            heat[static_cast<std::size_t>(at)] += share * weight(window, h, row, column);
  return heat;
}

Rollout rollout_of(std::span<const ImageAttention> layers) {
  if (layers.empty()) return {.missing = "This model has no attention."};
  const std::int64_t places = layers.front().rows, tokens = layers.front().place.tokens;
  for (const ImageAttention& layer : layers) {
    if (layer.place.window > 0)
      return {.missing = "Rollout multiplies layers in which all see all; here they see windows."};
    if (layer.rows != places || layer.columns != places)
      return {.missing = "Rollout multiplies layers of one grid; here the grid changes from layer to layer."};
  }
  // One row of the product is all that is wanted, so a vector goes from the last layer down to the first.
  std::vector<double> row(static_cast<std::size_t>(places), tokens > 0 ? 0.0 : 1.0 / static_cast<double>(places));
  if (tokens > 0) row[0] = 1;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    std::vector<double> next(row.size());
    const double share = 0.5 / static_cast<double>(layer->place.heads);
    for (std::int64_t q = 0; q < places; ++q) {
      const double here = row[static_cast<std::size_t>(q)];
      next[static_cast<std::size_t>(q)] += 0.5 * here;
      for (std::int64_t h = 0; h < layer->place.heads; ++h)
        for (std::int64_t k = 0; k < places; ++k)
          next[static_cast<std::size_t>(k)] += here * share * static_cast<double>(layer->weight(0, h, q, k));
    }
    row = std::move(next);
  }
  return {.grid = layers.front().place.keys, .weights = {row.begin() + static_cast<std::ptrdiff_t>(tokens), row.end()}};
}

}  // namespace attend::look
