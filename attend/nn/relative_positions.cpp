// Rotary positions (Su et al. 2021) and the relative bias of T5 (Raffel et al. 2020).
#include "attend/nn/relative_positions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "attend/base/error.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"
#include "attend/tensor/backend.h"

namespace attend::nn {

namespace {

enum class Wave { cosine, sine };

std::vector<float> waves(std::int64_t length, std::int64_t width, std::int64_t heads, Wave wave) {
  const std::int64_t size = width / heads, half = size / 2;
  std::vector<float> table;
  for (std::int64_t t = 0; t < length; ++t)
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t place = i % size, pair = place % half;
      const double angle =
          static_cast<double>(t) / std::pow(10000.0, static_cast<double>(2 * pair) / static_cast<double>(size));
      const double sign = place < half ? -1 : 1;
      table.push_back(static_cast<float>(wave == Wave::cosine ? std::cos(angle) : sign * std::sin(angle)));
    }
  return table;
}

}  // namespace

Tensor Rotation::operator()(const Tensor& x, std::int64_t heads) const {
  const std::int64_t half = x.width() / heads / 2;
  const Tensor whole = ops::contiguous(x), halves = whole.reshape({-1, 2, half});
  const Tensor swapped = ops::concat({ops::slice(halves, 1, 1, 1), ops::slice(halves, 1, 0, 1)}, 1);
  // (a, b) -> (a cos - b sin, b cos + a sin)
  return ops::add(ops::multiply(whole, cosine), ops::multiply(swapped.reshape(x.shape()), sine));
}

Rotary::Rotary(std::int64_t max_length, std::int64_t width, std::int64_t heads)
    : cosine_({max_length, width}, [=] { return waves(max_length, width, heads, Wave::cosine); }),
      sine_({max_length, width}, [=] { return waves(max_length, width, heads, Wave::sine); }) {}

Rotation Rotary::operator()(const Sequences& texts, const Tensor& beside) const {
  const Tensor cosine = cosine_.beside(beside), sine = sine_.beside(beside);
  if (!texts.positions.defined()) {
    const std::int64_t length = texts.ids.dim(-1);
    check(length <= cosine.dim(0), "rotary: {} tokens, but only {} positions", length, cosine.dim(0));
    return {cosine.slice_first(0, length), sine.slice_first(0, length)};
  }
  const Tensor places = texts.positions.reshape({texts.positions.size()});
  return {ops::gather(cosine, places).reshape(beside.shape()), ops::gather(sine, places).reshape(beside.shape())};
}

std::int64_t relative_bucket(std::int64_t distance, bool causal) {
  std::int64_t buckets = RelativeBias::kBuckets, first = 0;
  if (!causal) {
    buckets /= 2;
    if (distance > 0) first = buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<std::int64_t>(0, -distance);
  }
  const std::int64_t exact = buckets / 2;
  if (distance < exact) return first + distance;
  const double farther = std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                         std::log(static_cast<double>(RelativeBias::kFarthest) / static_cast<double>(exact));
  return first +
         std::min(buckets - 1, exact + static_cast<std::int64_t>(farther * static_cast<double>(buckets - exact)));
}

RelativeBias::RelativeBias(std::int64_t max_length, std::int64_t heads, bool causal)
    : heads_(heads),
      reach_(
          static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(64, max_length))))),
      table_{{kBuckets, heads}, {}},
      of_distance_({2 * reach_ + 1}, [reach = reach_, causal] {
        std::vector<std::int32_t> buckets;
        for (std::int64_t d = -reach; d <= reach; ++d)
          buckets.push_back(static_cast<std::int32_t>(relative_bucket(d, causal)));
        return buckets;
      }) {}

// The bias of every pair of places, [H, T, T]: entry (t, s) depends on s - t only. So the 2·T numbers of all distances
// are repeated T times, and read with a stride of 2·T - 1 each row starts one distance lower.
Tensor RelativeBias::by_places(std::int64_t length, const Tensor& beside) const {
  check(length <= reach_, "relative positions: {} tokens, but only {} positions", length, reach_);
  const Tensor buckets = of_distance_.beside(beside).slice_first(reach_ - (length - 1), 2 * length);
  const Tensor numbers = ops::permute(ops::gather(table_, buckets), {1, 0});  // [H, 2·T]
  const Tensor zeros = like(numbers, {length, heads_, 2 * length});
  zeros.backend().fill(zeros, 0);
  const Tensor repeated = ops::permute(ops::add(zeros, numbers), {1, 0, 2});  // [H, T, 2·T]
  const Tensor shifted =
      ops::slice(repeated.reshape({heads_, 2 * length * length}), 1, length - 1, length * (2 * length - 1));
  return ops::slice(shifted.reshape({heads_, length, 2 * length - 1}), 2, 0, length);
}

Tensor RelativeBias::of_texts(std::int64_t length, const Tensor& beside) const {
  return by_places(length, beside).reshape({1, heads_, length, length});
}

Tensor RelativeBias::of_newest(const Tensor& positions, std::int64_t capacity, const Tensor& beside) const {
  const Tensor by_query = ops::permute(by_places(capacity, beside), {1, 0, 2});  // [queries, H, keys]
  return ops::gather(by_query, positions.reshape({positions.size()})).reshape({positions.size(), heads_, 1, capacity});
}

}  // namespace attend::nn
