#include "attend/checkpoint/file_order.h"

#include "attend/base/error.h"
#include "attend/ops/layout.h"

namespace attend::checkpoint {

Shape channels_first(const Shape& weight) {
  check(weight.rank() == 4, "convolution: its weight is {}, not [O, kh, kw, C]", weight);
  return {weight[0], weight[3], weight[1], weight[2]};
}

Tensor channels_first(const Tensor& weight) { return ops::permute(weight, {0, 3, 1, 2}); }

std::vector<float> channels_last(std::span<const float> values, const Shape& in_file) {
  const std::int64_t out = in_file[0], channels = in_file[1], window = in_file[2] * in_file[3];
  std::vector<float> result;
  result.reserve(values.size());
  for (std::int64_t o = 0; o < out; ++o)
    for (std::int64_t tap = 0; tap < window; ++tap)
      for (std::int64_t c = 0; c < channels; ++c)
        result.push_back(values[static_cast<std::size_t>((o * channels + c) * window + tap)]);
  return result;
}

}  // namespace attend::checkpoint
