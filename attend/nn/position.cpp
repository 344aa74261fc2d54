// Sinusoidal positions (Vaswani et al. 2017, section 3.5), computed in double and rounded once: [length, C].
#include "attend/nn/position.h"

#include <cmath>
#include <vector>

#include "attend/base/error.h"

namespace attend::nn {

std::vector<float> sinusoids(std::int64_t length, std::int64_t width, SinusoidOrder order) {
  check(width % 2 == 0, "positions: sines and cosines need an even width, not {}", width);
  std::vector<float> values(static_cast<std::size_t>(length * width));
  for (std::int64_t t = 0; t < length; ++t)
    for (std::int64_t i = 0; i < width; i += 2) {
      const bool halves = order == SinusoidOrder::halves;
      const std::int64_t sine = t * width + (halves ? i / 2 : i), cosine = sine + (halves ? width / 2 : 1);
      const double angle =
          static_cast<double>(t) / std::pow(10000.0, static_cast<double>(i) / static_cast<double>(width));
      values[static_cast<std::size_t>(sine)] = static_cast<float>(std::sin(angle));
      values[static_cast<std::size_t>(cosine)] = static_cast<float>(std::cos(angle));
    }
  return values;
}

Tensor sinusoidal_positions(Backend& backend, std::int64_t length, std::int64_t width, DType dtype,
                            SinusoidOrder order) {
  Tensor positions = make_tensor(backend, {length, width}, dtype);
  upload(positions, sinusoids(length, width, order));
  return positions;
}

}  // namespace attend::nn
