// One layer of Swin against plain loops in double precision, place by place and without windows: two places see each
// other when the same window holds both and they were neighbours before the shift. Grids that are no multiple of the
// window are what transformers makes of them: zeros behind the norm, which are keys like any other.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "attend/models/swin.h"
#include "attend/nn/parameters.h"
#include "tests/tensor/tensors.h"

namespace attend::test::swin_layer {
namespace {

using Row = std::vector<double>;
using Weights = std::map<std::string, std::vector<float>>;

Row normed(const Row& x, const Weights& weights, const std::string& name) {
  double mean = 0, variance = 0;
  for (double value : x) mean += value / static_cast<double>(x.size());
  for (double value : x) variance += (value - mean) * (value - mean) / static_cast<double>(x.size());
  Row y;
  for (std::size_t i = 0; i < x.size(); ++i)
    y.push_back((x[i] - mean) / std::sqrt(variance + 1e-5) * weights.at(name + ".weight")[i] +
                weights.at(name + ".bias")[i]);
  return y;
}

Row projected(const Row& x, const Weights& weights, const std::string& name) {
  const std::vector<float>&weight = weights.at(name + "weight"), &bias = weights.at(name + "bias");
  Row y(bias.begin(), bias.end());
  for (std::size_t o = 0; o < y.size(); ++o)
    for (std::size_t i = 0; i < x.size(); ++i) y[o] += weight[o * x.size() + i] * x[i];
  return y;
}

struct Layer {
  std::int64_t side, window, shift, heads;

  std::int64_t padded() const { return (side + window - 1) / window * window; }
  // Where a row, or a column, stands after the shift.
  std::int64_t moved(std::int64_t at) const { return (at - shift + padded()) % padded(); }
  // Rows a and b of the padded grid: in one window, and not one of them come round from the other end.
  bool together(std::int64_t a, std::int64_t b) const { return moved(a) / window == moved(b) / window; }
  bool neighbours(std::int64_t a, std::int64_t b) const { return (a < shift) == (b < shift); }
};

// What the layer makes of x [side · side][C].
std::vector<Row> expected(const Layer& layer, const std::vector<Row>& x, const Weights& weights) {
  const std::int64_t n = layer.padded();
  const std::size_t width = x[0].size(), head = width / static_cast<std::size_t>(layer.heads);
  std::vector<Row> qkv;
  for (std::int64_t at = 0; at < n * n; ++at) {
    const bool inside = at / n < layer.side && at % n < layer.side;
    const Row read =
        inside ? normed(x[static_cast<std::size_t>(at / n * layer.side + at % n)], weights, "layernorm_before")
               : Row(width);
    qkv.push_back(projected(read, weights, "attention.self.query|key|value."));
  }
  std::vector<Row> result;
  for (std::int64_t t = 0; t < n * n; ++t) {
    if (t / n >= layer.side || t % n >= layer.side) continue;
    Row mixed(width);
    for (std::size_t h = 0; h < static_cast<std::size_t>(layer.heads); ++h) {
      double total = 0;
      Row sum(head);
      for (std::int64_t s = 0; s < n * n; ++s) {
        if (!layer.together(t / n, s / n) || !layer.together(t % n, s % n)) continue;
        const std::int64_t w = layer.window, down = layer.moved(t / n) - layer.moved(s / n) + w - 1,
                           across = layer.moved(t % n) - layer.moved(s % n) + w - 1;
        double score = weights.at("attention.self.relative_position_bias_table")
                           [static_cast<std::size_t>((down * (2 * w - 1) + across) * layer.heads) + h];
        if (!layer.neighbours(t / n, s / n) || !layer.neighbours(t % n, s % n)) score -= 100;
        const Row &from = qkv[static_cast<std::size_t>(t)], &to = qkv[static_cast<std::size_t>(s)];
        for (std::size_t i = 0; i < head; ++i)
          score += from[h * head + i] * to[width + h * head + i] / std::sqrt(static_cast<double>(head));
        total += std::exp(score);
        for (std::size_t i = 0; i < head; ++i) sum[i] += std::exp(score) * to[2 * width + h * head + i];
      }
      for (std::size_t i = 0; i < head; ++i) mixed[h * head + i] = sum[i] / total;
    }
    Row y = x[static_cast<std::size_t>(t / n * layer.side + t % n)];
    const Row attended = projected(mixed, weights, "attention.output.dense.");
    for (std::size_t i = 0; i < width; ++i) y[i] += attended[i];
    Row hidden = projected(normed(y, weights, "layernorm_after"), weights, "intermediate.dense.");
    for (double& value : hidden) value *= 0.5 * (1 + std::erf(value / std::sqrt(2.0)));
    const Row fed = projected(hidden, weights, "output.dense.");
    for (std::size_t i = 0; i < width; ++i) y[i] += fed[i];
    result.push_back(y);
  }
  return result;
}

class SwinLayers : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, SwinLayers, every_device(), name_of_device);

TEST_P(SwinLayers, AreWhatPlainLoopsCompute) {
  for (const auto& [side, window] : {std::pair<std::int64_t, std::int64_t>{6, 3}, {5, 3}, {7, 4}, {3, 4}})
    for (const std::int64_t index : {0, 1}) {
      const models::SwinConfig config{.image_size = side,
                                      .patch_size = 1,
                                      .width = 16,
                                      .depths = {2},
                                      .heads = {2},
                                      .window = window,
                                      .drop_path = 0,
                                      .init_deviation = 0.3f};
      models::SwinLayer layer(config, 0, index, models::SwinWindows(config, 0));
      nn::Parameters parameters(backend(), layer, {.seed = 5});
      Weights weights;
      for (const auto& entry : parameters.entries()) {
        std::vector<float>& values = weights[entry.name] = parameters.read(entry);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.1f * std::sin(static_cast<float>(i));
        parameters.write(entry, values);
      }
      std::vector<Row> rows;
      std::vector<float> values;
      for (std::int64_t t = 0; t < side * side; ++t) {
        rows.emplace_back();
        for (std::int64_t i = 0; i < 16; ++i) {
          values.push_back(std::sin(static_cast<float>(7 * t + 3 * i * i)));
          rows.back().push_back(values.back());
        }
      }
      Pass pass(backend());
      nn::Residual stream(pass.input(tensor_of(backend(), {1, side * side, 16}, values)), {});
      layer(stream);
      const std::vector<float> found = download(stream.value());
      const Layer shape{side, config.window_of(0), config.shift_of(0, index), 2};
      const std::vector<Row> wanted = expected(shape, rows, weights);
      ASSERT_EQ(found.size(), wanted.size() * 16);
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], wanted[i / 16][i % 16], 1e-4)
            << "side " << side << ", window " << window << ", layer " << index << ", at " << i;
    }
}

}  // namespace
}  // namespace attend::test::swin_layer
