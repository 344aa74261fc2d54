// The first MViT (Fan et al. 2021) against plain loops in double, written from the paper and PySlowFast's description
// of the model for images: there is no file of outputs by another library to compare with.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "attend/models/mvit.h"
#include "tests/tensor/tensors.h"

namespace attend::test::mvit_v1 {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;
using Weights = std::map<std::string, Row>;

constexpr std::int64_t kImage = 16, kPatchStride = 4, kKernel = 3;

Row linear(const Row& x, const Weights& w, const std::string& name) {
  const Row &weight = w.at(name + ".weight"), &bias = w.at(name + ".bias");
  Row y = bias;
  for (std::size_t o = 0; o < y.size(); ++o)
    for (std::size_t i = 0; i < x.size(); ++i) y[o] += weight[o * x.size() + i] * x[i];
  return y;
}

// Over each part of `width` numbers.
Row norm(const Row& x, const Weights& w, const std::string& name, std::size_t width) {
  const Row &weight = w.at(name + ".weight"), &bias = w.at(name + ".bias");
  Row y(x.size());
  for (std::size_t at = 0; at < x.size(); at += width) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < width; ++i) mean += x[at + i] / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i)
      square += (x[at + i] - mean) * (x[at + i] - mean) / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i)
      y[at + i] = (x[at + i] - mean) / std::sqrt(square + 1e-6) * weight[i] + bias[i];
  }
  return y;
}
Row norm(const Row& x, const Weights& w, const std::string& name) { return norm(x, w, name, x.size()); }

Row sum(const Row& a, const Row& b) {
  Row y = a;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += b[i];
  return y;
}

// Calls use(from, dy, dx) for each place of the window around place (y, x) of the smaller grid.
template <class Use>
void window(std::int64_t side, std::int64_t stride, std::int64_t kernel, std::int64_t y, std::int64_t x, Use use) {
  for (std::int64_t dy = 0; dy < kernel; ++dy)
    for (std::int64_t dx = 0; dx < kernel; ++dx) {
      const std::int64_t at_y = y * stride + dy - kernel / 2, at_x = x * stride + dx - kernel / 2;
      if (at_y >= 0 && at_y < side && at_x >= 0 && at_x < side)
        use(static_cast<std::size_t>(1 + at_y * side + at_x), dy, dx);
    }
}

// A depthwise convolution with one weight for all heads, behind the class token, which stays; then a norm of each head.
Rows pooled(const Rows& x, const Weights& w, const std::string& attention, const std::string& part, std::int64_t side,
            std::int64_t stride, std::size_t head) {
  const Row& weight = w.at(attention + ".pool_" + part + ".weight");
  Rows y = {x[0]};
  for (std::int64_t row = 0; row < side / stride; ++row)
    for (std::int64_t column = 0; column < side / stride; ++column) {
      Row place(x[0].size());
      window(side, stride, kKernel, row, column, [&](std::size_t from, std::int64_t dy, std::int64_t dx) {
        for (std::size_t c = 0; c < place.size(); ++c)
          place[c] += x[from][c] * weight[(c % head) * kKernel * kKernel + static_cast<std::size_t>(dy * kKernel + dx)];
      });
      y.push_back(place);
    }
  for (Row& each : y) each = norm(each, w, attention + ".norm_" + part, head);
  return y;
}

Rows max_pooled(const Rows& x, std::int64_t side, std::int64_t stride) {
  Rows y = {x[0]};
  for (std::int64_t row = 0; row < side / stride; ++row)
    for (std::int64_t column = 0; column < side / stride; ++column) {
      Row place(x[0].size(), -1e30);
      window(side, stride, stride + 1, row, column, [&](std::size_t from, std::int64_t, std::int64_t) {
        for (std::size_t c = 0; c < place.size(); ++c) place[c] = std::max(place[c], x[from][c]);
      });
      y.push_back(place);
    }
  return y;
}

struct Layer {
  std::string name;
  std::int64_t side, query_stride, key_stride;
  std::size_t heads;
  bool wider;  // the feed-forward layer widens
};

Rows attend_to(const Rows& x, const Weights& w, const Layer& layer) {
  const std::string attention = layer.name + ".attn";
  const std::size_t width = x[0].size(), head = width / layer.heads;
  Rows q, k, v;
  for (const Row& row : x) {
    const Row all = linear(row, w, attention + ".qkv");
    const auto at = [&](std::size_t part) { return all.begin() + static_cast<std::ptrdiff_t>(part * width); };
    q.emplace_back(at(0), at(1)), k.emplace_back(at(1), at(2)), v.emplace_back(at(2), at(3));
  }
  if (layer.query_stride > 1) q = pooled(q, w, attention, "q", layer.side, layer.query_stride, head);
  k = pooled(k, w, attention, "k", layer.side, layer.key_stride, head);
  v = pooled(v, w, attention, "v", layer.side, layer.key_stride, head);
  Rows y;
  for (const Row& query : q) {
    Row mixed(width);
    for (std::size_t h = 0; h < layer.heads; ++h) {
      Row weights;
      double total = 0;
      for (const Row& key : k) {
        double score = 0;
        for (std::size_t i = h * head; i < (h + 1) * head; ++i) score += query[i] * key[i];
        weights.push_back(std::exp(score / std::sqrt(static_cast<double>(head))));
        total += weights.back();
      }
      for (std::size_t j = 0; j < v.size(); ++j)
        for (std::size_t i = h * head; i < (h + 1) * head; ++i) mixed[i] += weights[j] / total * v[j][i];
    }
    y.push_back(linear(mixed, w, attention + ".proj"));
  }
  return y;
}

Rows through(const Rows& x, const Weights& w, const Layer& layer) {
  Rows read;
  for (const Row& row : x) read.push_back(norm(row, w, layer.name + ".norm1"));
  const Rows added = attend_to(read, w, layer);
  const Rows shortcut = layer.query_stride > 1 ? max_pooled(x, layer.side, layer.query_stride) : x;
  Rows y;
  for (std::size_t i = 0; i < added.size(); ++i) {
    const Row stream = sum(shortcut[i], added[i]), between = norm(stream, w, layer.name + ".norm2");
    Row inner = linear(between, w, layer.name + ".mlp.fc1");
    for (double& value : inner) value = 0.5 * value * (1 + std::erf(value / std::sqrt(2.0)));
    const Row outer = linear(inner, w, layer.name + ".mlp.fc2");
    y.push_back(sum(layer.wider ? linear(between, w, layer.name + ".shortcut_proj_mlp") : stream, outer));
  }
  return y;
}

// Patches of 7 x 7 with a stride of 4, the class token in front, positions.
Rows embedded(const std::vector<float>& pixels, const Weights& w, std::size_t width) {
  const Row &weight = w.at("patch_embed.proj.weight"), &positions = w.at("pos_embed");
  const std::int64_t side = kImage / kPatchStride;
  Rows rows = {w.at("cls_token")};
  for (std::int64_t y = 0; y < side; ++y)
    for (std::int64_t x = 0; x < side; ++x) {
      Row place = w.at("patch_embed.proj.bias");
      window(kImage, kPatchStride, 7, y, x, [&](std::size_t from, std::int64_t dy, std::int64_t dx) {
        for (std::size_t o = 0; o < width; ++o)
          for (std::size_t c = 0; c < 3; ++c)
            place[o] += static_cast<double>(pixels[(from - 1) * 3 + c]) *
                        weight[((o * 7 + static_cast<std::size_t>(dy)) * 7 + static_cast<std::size_t>(dx)) * 3 + c];
      });
      rows.push_back(place);
    }
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t c = 0; c < width; ++c) rows[i][c] += positions[i * width + c];
  return rows;
}

TEST(MViTOfTheFirstVersion, ComputesWhatPlainLoopsCompute) {
  Json json = models::mvit_v1_json();
  json.update({{"model_type", "mvit"},
               {"image_size", kImage},
               {"depths", Json::array({2, 1})},
               {"embed_dim", Json::array({8, 16})},
               {"num_heads", Json::array({1, 2})},
               {"stride_q", Json::array({1, 2})},
               {"stride_kv_adaptive", 2},
               {"initializer_range", 0.3},
               {"num_classes", 3}});
  models::MViTClassifier model(models::mvit_config(json, "config.json"));
  nn::Parameters parameters(cpu(), model.parameters(), {.seed = 5});
  Weights weights;
  for (const auto& entry : parameters.entries()) {
    std::vector<float> values = parameters.read(entry);
    for (std::size_t i = 0; i < values.size(); ++i)  // biases and norms, too, shall count
      values[i] += 0.1f * std::sin(static_cast<float>(i + entry.name.size()));
    parameters.write(entry, values);
    weights[entry.name].assign(values.begin(), values.end());
  }
  std::vector<float> pixels;
  for (std::int64_t i = 0; i < kImage * kImage * 3; ++i) pixels.push_back(std::sin(static_cast<float>(i * i % 211)));

  Rows rows = embedded(pixels, weights, 8);
  rows = through(rows, weights, {"stages.0.blocks.0", 4, 1, 2, 1, false});
  rows = through(rows, weights, {"stages.0.blocks.1", 4, 1, 2, 1, true});
  rows = through(rows, weights, {"stages.1.blocks.0", 4, 2, 1, 2, false});
  const Row expected = linear(norm(rows[0], weights, "norm"), weights, "head.fc");

  Pass pass(cpu());
  const std::vector<float> found = download(model.logits(pass.input(tensor_of(cpu(), {1, kImage, kImage, 3}, pixels))));
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2e-4 * (1 + std::abs(expected[i])));
}

// "MViT-B-16" for ImageNet has 37.0 million parameters in table 7 of the paper.
TEST(MViTOfTheFirstVersion, HasThePublishedSize) {
  Json json = models::mvit_v1_json();
  json.update({{"model_type", "mvit"}, {"num_classes", 1000}});
  models::MViTClassifier model(models::mvit_config(json, "config.json"));
  std::int64_t size = 0;
  for (const auto& entry : model.parameters()) size += entry.parameter->shape.size();
  EXPECT_NEAR(static_cast<double>(size) * 1e-6, 37.0, 0.1);
}

}  // namespace
}  // namespace attend::test::mvit_v1
