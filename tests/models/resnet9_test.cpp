// ResNet-9 and airbench's networks: published sizes, the forward pass against plain loops in double precision, and
// configs that cannot be. Gradients are tested with the other image models.
#include "attend/models/resnet9.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "attend/base/error.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using models::ResNet9Config;

std::vector<std::string> ten_labels() { return {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}; }

std::int64_t learned(const ResNet9Config& config) {
  models::ResNet9Classifier model(config);
  std::int64_t size = 0;
  for (const auto& entry : model.parameters())
    if (entry.learned()) size += entry.parameter->shape.size();
  return size;
}

TEST(ResNet9, HasThePublishedSizes) {
  // Page's network, whose projection has no bias.
  EXPECT_EQ(learned({.labels = ten_labels()}), 6'573'120 + 10);
  // airbench94 has "1.97 M"; norms, the stem's bias and the projection's are 1,322 of ours.
  EXPECT_NEAR(static_cast<double>(learned({.stem = "whitening",
                                           .hidden_sizes = {64, 256, 256},
                                           .depths = {2, 2, 2},
                                           .activation = "gelu",
                                           .labels = ten_labels()})),
              1.97e6, 0.01e6);
}

// Plain loops over images [H, W, C].
struct Grid {
  std::int64_t side = 0, channels = 0;
  std::vector<double> values = {};
  double& at(std::int64_t y, std::int64_t x, std::int64_t c) {
    return values[static_cast<std::size_t>((y * side + x) * channels + c)];
  }
};

class Reference {
 public:
  Reference(const ResNet9Config& config, nn::Parameters& parameters) : config_(config) {
    for (const auto& entry : parameters.entries())
      weights_[entry.name] = {entry.parameter->shape, parameters.read(entry)};
  }

  std::vector<double> scores(Grid x) {
    if (config_.whitening())
      x = convolved(x, "resnet9.whitening", 0);
    else
      x = normed(convolved(x, "resnet9.stem.convolution", 1), "resnet9.stem.normalization");
    activate(x);
    for (std::size_t i = 0; i < config_.depths.size(); ++i) {
      const std::string stage = "resnet9.stages." + std::to_string(i);
      x = normed(pooled(convolved(x, stage + ".convolution", 1)), stage + ".normalization");
      activate(x);
      const Grid first = x;
      for (std::int64_t n = 0; n + 1 < config_.depths[i]; ++n) {
        const std::string layer = stage + ".layers." + std::to_string(n);
        x = normed(convolved(x, layer + ".convolution", 1), layer + ".normalization");
        if (config_.depths[i] > 2 && n + 2 == config_.depths[i])
          for (std::size_t v = 0; v < x.values.size(); ++v) x.values[v] += first.values[v];
        activate(x);
      }
    }
    std::vector<double> result;
    for (std::size_t label = 0; label < config_.labels.size(); ++label) {
      double sum = weights_["classifier.bias"].values[label];
      for (std::int64_t c = 0; c < x.channels; ++c) {
        double largest = -1e30;
        for (std::int64_t y = 0; y < x.side; ++y)
          for (std::int64_t z = 0; z < x.side; ++z) largest = std::max(largest, x.at(y, z, c));
        sum += static_cast<double>(config_.logit_scale) * largest *
               weights_["classifier.weight"]
                   .values[label * static_cast<std::size_t>(x.channels) + static_cast<std::size_t>(c)];
      }
      result.push_back(sum);
    }
    return result;
  }

 private:
  struct Weight {
    Shape shape;
    std::vector<float> values;
  };
  Grid convolved(Grid& x, const std::string& name, std::int64_t padding) {
    const Weight& weight = weights_[name + ".weight"];  // [O, k, k, C]
    const std::int64_t out = weight.shape[0], k = weight.shape[1];
    Grid y{x.side + 2 * padding - k + 1, out};
    y.values.resize(static_cast<std::size_t>(y.side * y.side * out));
    for (std::int64_t i = 0; i < y.side; ++i)
      for (std::int64_t j = 0; j < y.side; ++j)
        for (std::int64_t o = 0; o < out; ++o) {
          double sum =
              weights_.contains(name + ".bias") ? weights_[name + ".bias"].values[static_cast<std::size_t>(o)] : 0;
          for (std::int64_t a = 0; a < k; ++a)
            for (std::int64_t b = 0; b < k; ++b)
              for (std::int64_t c = 0; c < x.channels; ++c) {
                const std::int64_t row = i + a - padding, column = j + b - padding;
                if (row < 0 || column < 0 || row >= x.side || column >= x.side) continue;
                sum += x.at(row, column, c) *
                       weight.values[static_cast<std::size_t>(((o * k + a) * k + b) * x.channels + c)];
              }
          y.at(i, j, o) = sum;
        }
    return y;
  }
  static Grid pooled(Grid x) {
    Grid y{x.side / 2, x.channels};
    y.values.resize(static_cast<std::size_t>(y.side * y.side * y.channels));
    for (std::int64_t i = 0; i < y.side; ++i)
      for (std::int64_t j = 0; j < y.side; ++j)
        for (std::int64_t c = 0; c < x.channels; ++c)
          y.at(i, j, c) = std::max({x.at(2 * i, 2 * j, c), x.at(2 * i, 2 * j + 1, c), x.at(2 * i + 1, 2 * j, c),
                                    x.at(2 * i + 1, 2 * j + 1, c)});
    return y;
  }
  Grid normed(Grid x, const std::string& name) {
    const auto of = [&](const char* what, std::size_t c) {
      return static_cast<double>(weights_[name + what].values[c]);
    };
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      const std::size_t c = i % static_cast<std::size_t>(x.channels);
      x.values[i] =
          (x.values[i] - of(".running_mean", c)) / std::sqrt(of(".running_var", c) + 1e-5) * of(".weight", c) +
          of(".bias", c);
    }
    return x;
  }
  void activate(Grid& x) const {
    for (double& value : x.values)
      value =
          config_.activation == "relu" ? std::max(value, 0.0) : 0.5 * value * (1 + std::erf(value / std::sqrt(2.0)));
  }

  ResNet9Config config_;
  std::map<std::string, Weight> weights_;
};

TEST(ResNet9, IsWhatItsDefinitionSays) {
  for (const ResNet9Config& config :
       {ResNet9Config{.image_size = 9, .width = 4, .hidden_sizes = {6, 8}, .depths = {3, 1}, .labels = {"a", "b", "c"}},
        ResNet9Config{.image_size = 10,
        .stem = "whitening",
        .hidden_sizes = {6, 8},
        .depths = {2, 4},
        .activation = "gelu",
        .labels = {"a", "b", "c"}}}) {
    models::ResNet9Classifier model(config);
    nn::Parameters parameters(cpu(), model, {.seed = 7});
    unsigned number = 0;
    for (const auto& entry : parameters.entries()) {  // norms that do something
      if (entry.parameter->shape.rank() > 1) continue;
      std::vector<float> values(static_cast<std::size_t>(entry.parameter->shape.size()));
      for (float& value : values)
        value = (entry.name.ends_with("running_var") ? 1.0f : 0.0f) +
                0.3f * std::abs(std::sin(static_cast<float>(++number)));
      parameters.write(entry, values);
    }
    const std::int64_t side = config.image_size;
    std::vector<float> values;
    for (std::int64_t i = 0; i < 2 * side * side * 3; ++i) values.push_back(std::sin(static_cast<float>(i * i % 1013)));
    Pass pass(cpu());
    const std::vector<float> found = download(model.logits(pass.input(tensor_of(cpu(), {2, side, side, 3}, values))));
    Reference reference(config, parameters);
    for (std::size_t b = 0; b < 2; ++b) {
      const auto half = static_cast<std::ptrdiff_t>(values.size() / 2);
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(b) * half;
      const std::vector<double> want = reference.scores({side, 3, std::vector<double>(begin, begin + half)});
      for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(found[b * want.size() + i], want[i], 1e-4);
    }
    // Folded norms are the same function.
    model.fold();
    const std::vector<float> folded = download(model.logits(pass.input(tensor_of(cpu(), {2, side, side, 3}, values))));
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(folded[i], found[i], 1e-4);
    EXPECT_EQ(models::resnet9_json(models::resnet9_config(model.config(), "config.json")).dump(),
              model.config().dump());
  }
}

TEST(ResNet9, SettingsThatCannotBeAreNamed) {
  const auto message = [](const char* key, const Json& value) -> std::string {
    Json json = {{"model_type", "resnet9"}};
    json[key] = value;
    try {
      models::resnet9_config(json, "config.json");
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message("stem", "whitening"), "no error");
  EXPECT_NE(message("stem", "x").find("stem must be convolution or whitening, not 'x'"), std::string::npos);
  EXPECT_NE(message("depths", Json::array({1, 2})).find("2 depths and 3 hidden_sizes"), std::string::npos);
  EXPECT_NE(message("depths", Json::array({0, 1, 1})).find("each of depths must be"), std::string::npos);
  EXPECT_NE(message("hidden_sizes", "wide").find("'hidden_sizes' must be a list"), std::string::npos);
  EXPECT_NE(message("image_size", 7).find("too small to be halved 3 times"), std::string::npos);
  EXPECT_NE(message("norm_momentum", 0).find("norm_momentum must be above 0"), std::string::npos);
}

}  // namespace
}  // namespace attend::test
