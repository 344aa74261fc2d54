// sample_tokens on each device against double precision: all cuts together, ties, tokens that may not be drawn, and
// vocabularies that fit no block.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "attend/base/random.h"
#include "attend/tensor/sampling_params.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

// What may be drawn, by id, and how much each weighs.
struct Kept {
  std::vector<std::int32_t> ids;
  std::vector<double> weights;
  bool clear = true;  // no cut lies so near that rounding could move it
};

Kept kept_of(const std::vector<float>& logits, const std::vector<std::uint8_t>& suppressed,
             const SamplingParams& draw) {
  std::vector<std::int32_t> order;
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (!suppressed[i] && logits[i] > kLowest) order.push_back(static_cast<std::int32_t>(i));
  const auto logit = [&](std::int32_t id) { return static_cast<double>(logits[static_cast<std::size_t>(id)]); };
  std::ranges::sort(order, [&](auto a, auto b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  if (draw.top_k > 0 && static_cast<std::size_t>(draw.top_k) < order.size())
    order.resize(static_cast<std::size_t>(draw.top_k));
  const double most = logit(order[0]), temperature = draw.temperature;
  const auto weight = [&](std::int32_t id) { return std::exp((logit(id) - most) / temperature); };
  double whole = 0, sum = 0;
  for (const std::int32_t id : order) whole += weight(id);
  Kept kept;
  std::size_t count = 0;
  while (count < order.size() && (count == 0 || draw.top_p >= 1 || sum < draw.top_p * whole)) {
    sum += weight(order[count++]);
    if (draw.top_p < 1 && std::abs(sum - draw.top_p * whole) < 1e-5 * whole) kept.clear = false;
  }
  order.resize(count);
  std::ranges::sort(order);
  for (const std::int32_t id : order) {
    if (draw.min_p > 0 && std::abs(weight(id) / draw.min_p - 1) < 1e-5) kept.clear = false;
    if (weight(id) >= draw.min_p) kept.ids.push_back(id), kept.weights.push_back(weight(id));
  }
  return kept;
}

class DrawTokens : public OnDevice {
 protected:
  static std::vector<float> logits_of(std::int64_t rows, std::int64_t width, float spread, float step) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < rows * width; ++i) {
      const auto at = static_cast<std::uint64_t>(i);
      const float x = (to_unit(random_word(5, 1, at)) + to_unit(random_word(5, 2, at)) - 1) * spread;
      values.push_back(step > 0 ? std::round(x / step) * step : x);
    }
    return values;
  }

  // Every row under each of the rules, at so many numbers.
  void expect_drawn(std::int64_t width, DType dtype, float step, std::uint32_t numbers) {
    std::vector<SamplingParams> rules = {{},
                                         {.temperature = 0.6f},
                                         {.top_k = 1},
                                         {.top_k = 5},
                                         {.top_k = 300, .top_p = 0.7f},
                                         {.top_p = 0.9f},
                                         {.temperature = 1.5f, .top_p = 0.3f},
                                         {.min_p = 0.1f},
                                         {.temperature = 2, .top_k = 40, .top_p = 0.95f, .min_p = 0.01f},
                                         {.top_p = 1e-6f}};
    if (width > 10000) rules = {rules[0], rules[4], rules[5]};  // the reference takes its time
    const auto rows = static_cast<std::int64_t>(rules.size());
    const auto size = static_cast<std::size_t>(width);
    std::vector<float> values = logits_of(rows, width, 9, step);
    for (std::size_t r = 0; r < rules.size(); r += 2) values[r * size + size / 2] = 20;  // one far above the others
    values[3] = std::numeric_limits<float>::quiet_NaN(), values[5] = kLowest, values[size + 1] = kLowest;
    const Tensor x = tensor_of(backend(), {rows, width}, values, dtype);
    values = download(x);
    std::vector<std::uint8_t> suppressed(size, 0);
    for (std::size_t i = 0; i < size; i += 11) suppressed[i] = 1;
    suppressed[static_cast<std::size_t>(
                   std::ranges::max_element(values.begin() + 2 * width, values.begin() + 3 * width) - values.begin()) -
               2 * size] = 1;
    const Tensor hidden = make_tensor(backend(), {width}, DType::u8);
    backend().to_device(hidden.raw(), suppressed.data(), suppressed.size());
    for (std::uint32_t position = 0; position < numbers; ++position) {
      std::vector<SamplingParams> draws = rules;
      for (std::size_t r = 0; r < draws.size(); ++r)
        draws[r].seed_low = 0x90000001u, draws[r].seed_high = 7, draws[r].number = static_cast<std::uint32_t>(r),
        draws[r].sample = 3, draws[r].position = position;
      expect_row_by_row(x, hidden, values, suppressed, draws);
    }
  }

  void expect_row_by_row(const Tensor& x, const Tensor& hidden, const std::vector<float>& values,
                         const std::vector<std::uint8_t>& suppressed, const std::vector<SamplingParams>& draws) {
    const std::int64_t rows = x.rows();
    std::vector<std::int32_t> words, positions;
    for (const SamplingParams& draw : draws) {
      std::ranges::copy(words_of(draw), std::back_inserter(words));
      positions.push_back(static_cast<std::int32_t>(draw.position));
    }
    const auto ints = [&](const Shape& shape, const std::vector<std::int32_t>& list) {
      Tensor tensor = make_tensor(backend(), shape, DType::i32);
      upload(tensor, list);
      return tensor;
    };
    const Tensor tokens = make_tensor(backend(), {rows}, DType::i32);
    const Tensor logits = make_tensor(backend(), {rows}, DType::f32), sums = make_tensor(backend(), {rows}, DType::f32);
    backend().sample_tokens(
        {x, hidden, ints({rows, kDrawWords}, words), ints({rows}, positions), tokens, logits, sums});
    const std::vector<std::int32_t> found = download_ints(tokens);
    const std::vector<float> chosen = download(logits), log_sums = download(sums);
    for (std::size_t r = 0; r < draws.size(); ++r) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(r * suppressed.size());
      const std::vector<float> row(begin, begin + static_cast<std::ptrdiff_t>(suppressed.size()));
      expect_one(row, suppressed, draws[r], found[r]);
      EXPECT_EQ(chosen[r], row[static_cast<std::size_t>(found[r])]);
      if (r == 0) continue;  // it has no sum
      double sum = 0;
      for (const float logit : row) sum += std::exp(static_cast<double>(logit));
      EXPECT_NEAR(log_sums[r], std::log(sum), 1e-4);
    }
  }

  static void expect_one(const std::vector<float>& logits, const std::vector<std::uint8_t>& suppressed,
                         const SamplingParams& draw, std::int32_t found) {
    const Kept kept = kept_of(logits, suppressed, draw);
    if (!kept.clear) return;
    const auto place = std::ranges::find(kept.ids, found);
    ASSERT_NE(place, kept.ids.end()) << found << " of rule " << draw.number << " is not among " << kept.ids.size();
    const auto index = static_cast<std::size_t>(place - kept.ids.begin());
    const double total = std::accumulate(kept.weights.begin(), kept.weights.end(), 0.0);
    const double before = std::accumulate(kept.weights.begin(), kept.weights.begin() + (place - kept.ids.begin()), 0.0);
    EXPECT_GE(number_of(draw), before / total - 2e-6) << "rule " << draw.number;
    EXPECT_LE(number_of(draw), (before + kept.weights[index]) / total + 2e-6) << "rule " << draw.number;
  }
};

TEST_P(DrawTokens, FromSmallVocabularies) {
  for (const std::int64_t width : {12, 37, 1000, 1025}) expect_drawn(width, DType::f32, 0, 20);
}

TEST_P(DrawTokens, EqualOnesGoToTheSmallerIds) {
  expect_drawn(700, DType::f32, 0.5f, 20);
  expect_drawn(3000, DType::bf16, 0, 8);
  expect_drawn(3000, DType::bf16, 2, 8);
}

TEST_P(DrawTokens, FromLargeVocabularies) {
  expect_drawn(50257, DType::bf16, 0, 1);
  expect_drawn(50257, DType::f32, 0, 1);
  expect_drawn(70001, DType::f32, 0, 1);  // more than a block can keep
}

INSTANTIATE_TEST_SUITE_P(Devices, DrawTokens, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
