// ResNet: folded norms change nothing but speed, and neither does saving what was folded; the small stem; configs of
// all published depths; hostile configs.
#include "attend/models/resnet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/checkpoint/hugging_face.h"
#include "attend/checkpoint/safetensors.h"
#include "attend/models/timm_resnet.h"
#include "attend/ops/layout.h"
#include "attend/ops/reduce.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

const std::string kFolder = "tests/fixtures/data/resnet";

// The fixture's model with its weights, and its images.
struct Loaded {
  models::ResNetClassifier model;
  nn::Parameters parameters;
  Tensor pixels;

  explicit Loaded(bool trained = false, nn::WeightForm weights = nn::WeightForm::plain)
      : model(models::resnet_config(read_json(kFolder + "/config.json"), "config.json")),
        parameters(cpu(), model, {.trained = trained, .initialized = false, .weights = weights}) {
    checkpoint::load_hugging_face(checkpoint::TensorFiles::open(kFolder), parameters, {.prefix = "resnet"});
    const checkpoint::Safetensors expected = checkpoint::Safetensors::open(kFolder + "/expected.safetensors");
    const Tensor stored = make_tensor(cpu(), expected["pixel_values"].shape, DType::f32);
    expected.load("pixel_values", stored);
    pixels = ops::permute(stored, {0, 2, 3, 1});
  }
  std::vector<float> logits() {
    Pass pass(cpu());
    return download(model.logits(pass.input(pixels)));
  }
};

void expect_near(const std::vector<float>& got, const std::vector<float>& want, float tolerance = 1e-4f) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
}

// The weights of convolutions are packed as those of projections, before and after the norms are folded into them.
TEST(ResNet, PackedWeightsAreTheSameFunction) {
  const std::vector<float> want = checkpoint::Safetensors::open(kFolder + "/expected.safetensors").floats("logits");
  for (const auto& [form, tolerance] :
       {std::pair{nn::WeightForm::f32, 1e-4}, {nn::WeightForm::bf16, 0.02}, {nn::WeightForm::int8, 0.05}}) {
    Loaded one(false, form);
    const auto error = [&one, &want] {
      const std::vector<float> found = one.logits();
      check(found.size() == want.size(), "{} logits, not {}", found.size(), want.size());
      double apart = 0, size = 0;
      for (std::size_t i = 0; i < want.size(); ++i)
        apart += std::pow(found[i] - want[i], 2.0), size += std::pow(want[i], 2.0);
      return std::sqrt(apart / size);
    };
    EXPECT_LT(error(), tolerance) << static_cast<int>(form);
    one.model.fold();
    EXPECT_LT(error(), tolerance) << static_cast<int>(form);
  }
}

TEST(ResNet, FoldedNormsAreTheSameFunction) {
  Loaded one;
  const std::vector<float> want = checkpoint::Safetensors::open(kFolder + "/expected.safetensors").floats("logits");
  expect_near(one.logits(), want);
  one.model.fold();
  const std::vector<float> folded = one.logits();
  expect_near(folded, want);
  one.model.fold();
  EXPECT_EQ(one.logits(), folded);  // a second time changes nothing
  // What is left of the norms still says the same, to whoever reads the parameters.
  models::ResNetClassifier other(one.model.body().config());
  nn::Parameters parameters(cpu(), other, {.trained = false, .initialized = false});
  for (std::size_t i = 0; i < parameters.entries().size(); ++i)
    parameters.write(parameters.entries()[i], one.parameters.read(one.parameters.entries()[i]));
  Pass pass(cpu());
  expect_near(download(other.logits(pass.input(one.pixels))), want);
}

// A pass that records goes by the norms' own statistics, unless they are frozen.
TEST(ResNet, FrozenNormsKeepTheirStatisticsWhileTheModelLearns) {
  for (const bool frozen : {false, true}) {
    models::ResNetConfig config = models::resnet_config(read_json(kFolder + "/config.json"), "config.json");
    config.frozen_norms = frozen;
    models::ResNet model(config);
    nn::Parameters parameters(cpu(), model);
    const std::vector<float> before = download(parameters.buffers());
    Pass pass(cpu(), {.recording = true});
    pass.begin({});
    parameters.start_gradients();
    const Tensor pixels = make_tensor(cpu(), {2, 40, 33, 3}, DType::f32);
    cpu().random(pixels, {.kind = RandomFill::normal});
    const Tensor features = model.features(model.states(pass.input(pixels)));
    pass.backward(ops::sum(features.reshape({-1}), 0));
    parameters.finish_gradients();
    EXPECT_EQ(download(parameters.buffers()) == before, frozen);
    float largest = 0;
    for (float value : download(parameters.gradient())) largest = std::max(largest, std::abs(value));
    EXPECT_GT(largest, 0);
  }
}

TEST(ResNet, TheGridIsAsLargeAsItSays) {
  for (const char* stem : {"imagenet", "small"})
    for (const bool first : {false, true}) {
      models::ResNetConfig config;
      config.layer_type = "basic", config.depths = {1, 2, 1}, config.hidden_sizes = {8, 8, 16}, config.width = 8;
      config.stem = stem, config.downsample_in_first_stage = first;
      models::ResNet model(config);
      nn::Parameters parameters(cpu(), model, {.trained = false});
      const Tensor pixels = make_tensor(cpu(), {1, 37, 32, 3}, DType::f32);
      cpu().fill(pixels, 0.5f);
      Pass pass(cpu());
      std::vector<Tensor> hidden;
      const Tensor grid = model.grid(pass.input(pixels), &hidden);
      const Extent2 size = model.grid_size({37, 32});
      EXPECT_EQ(grid.shape(), Shape({1, size.h, size.w, 16}));
      EXPECT_EQ(hidden.size(), 4u);
      if (config.small() && !first) {
        EXPECT_EQ(grid.shape(), Shape({1, 10, 8, 16}));
      }
    }
}

// Table 1 of the paper, and the parameters that torchvision counts.
TEST(ResNet, HasAsManyParametersAsThePublishedOnes) {
  struct Published {
    const char* type;
    std::vector<std::int64_t> depths;
    std::int64_t parameters;
  };
  const Published kAll[] = {{"basic", {2, 2, 2, 2}, 11689512},
                            {"basic", {3, 4, 6, 3}, 21797672},
                            {"bottleneck", {3, 4, 6, 3}, 25557032},
                            {"bottleneck", {3, 4, 23, 3}, 44549160},
                            {"bottleneck", {3, 8, 36, 3}, 60192808}};
  for (const Published& one : kAll) {
    models::ResNetConfig config;
    config.layer_type = one.type, config.depths = one.depths;
    if (config.layer_type == "basic") config.hidden_sizes = {64, 128, 256, 512};
    config.labels.assign(1000, "label");
    models::ResNetClassifier model(config);
    std::int64_t count = 0;
    for (const nn::Parameters::Entry& entry : model.parameters())
      if (entry.learned()) count += entry.parameter->shape.size();
    EXPECT_EQ(count, one.parameters);
  }
}

TEST(ResNet, ConfigsComeBackAndOnlyASmallStemIsWritten) {
  models::ResNetConfig config = models::resnet_config(read_json(kFolder + "/config.json"), "config.json");
  EXPECT_FALSE(models::resnet_json(config).contains("stem"));
  config.stem = "small", config.image_size = 32;
  const Json json = models::resnet_json(config);
  const models::ResNetConfig read = models::resnet_config(json, "again");
  EXPECT_TRUE(read.small());
  EXPECT_EQ(read.image_size, 32);
  EXPECT_EQ(read.depths, config.depths);
  EXPECT_EQ(read.hidden_sizes, config.hidden_sizes);
  EXPECT_EQ(models::resnet_json(read), json);
}

// Huang et al. 2016, equation 2: relu(b / (1 - p) · f(x) + x), b being 0 or 1 for each image. Only while the model
// learns.
TEST(ResNet, StochasticDepthLeavesBlocksOut) {
  models::ResNetConfig config{.width = 8, .hidden_sizes = {8}, .depths = {1}, .layer_type = "basic"};
  config.stem = "small", config.image_size = 6, config.labels = {"a", "b"};
  models::ResNet whole(config);
  EXPECT_FALSE(whole.json().contains("drop_path_rate"));
  config.drop_path = 0.5f;
  models::ResNet dropped(models::resnet_config(models::resnet_json(config), "again"));
  EXPECT_EQ(dropped.config().drop_path, 0.5f);
  const nn::Parameters parameters(cpu(), whole), same(cpu(), dropped);  // of one seed
  constexpr std::int64_t kImages = 64;
  const Tensor pixels = make_tensor(cpu(), {kImages, 6, 6, 3}, DType::f32);
  cpu().random(pixels, {.kind = RandomFill::normal});
  const auto grids = [&pixels](const models::ResNet& net, bool learning) {  // before the block and behind it
    Pass pass(cpu(), {.recording = learning});
    pass.begin({.seed = 3});
    std::vector<Tensor> hidden;
    net.grid(pass.input(pixels), &hidden);
    return std::pair{download(hidden[0]), download(hidden[1])};
  };
  EXPECT_EQ(grids(dropped, false), grids(whole, false));
  const auto [x, y] = grids(whole, true);
  const auto got = grids(dropped, true).second;
  const std::size_t each = y.size() / kImages;
  int left_out = 0;
  for (std::size_t image = 0; image < kImages; ++image) {
    const auto part = [&](const std::vector<float>& all) { return std::span(all).subspan(image * each, each); };
    const bool out = std::ranges::equal(part(got), part(x));
    left_out += out ? 1 : 0;
    for (std::size_t i = image * each; i < (image + 1) * each && !out; ++i)
      if (y[i] > 0) {  // there f(x) is y - x
        EXPECT_NEAR(got[i], std::max(0.0f, 2 * (y[i] - x[i]) + x[i]), 1e-4f) << i;
      }
  }
  EXPECT_NEAR(left_out, 32, 14);
}

// Of a net with self-attention behind its second stage: the block is there, it is what gamma makes of it, its place is
// told, and gradients reach all of it.
TEST(ResNet, TakesSelfAttentionBehindAStage) {
  models::ResNetConfig config;
  config.layer_type = "basic", config.depths = {1, 1, 1}, config.hidden_sizes = {8, 16, 16}, config.width = 8;
  config.stem = "small", config.image_size = 16, config.labels = {"a", "b"};
  config.self_attention_stage = 2;
  const Json json = models::resnet_json(config);
  EXPECT_EQ(json["self_attention_stage"], 2);
  models::ResNetClassifier model(models::resnet_config(json, "again"));
  nn::Parameters parameters(cpu(), model);
  const Tensor pixels = make_tensor(cpu(), {2, 16, 16, 3}, DType::f32);
  cpu().random(pixels, {.kind = RandomFill::normal});
  const auto logits = [&](models::ResNetClassifier& of) {
    Pass pass(cpu());
    return download(of.logits(pass.input(pixels)));
  };
  const std::vector<models::AttentionPlace> places = model.attention_places();
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].queries.h, 8);
  EXPECT_EQ(places[0].keys.w, 4);

  // While gamma is 0 it is the net without.
  config.self_attention_stage = 0;
  models::ResNetClassifier plain(config);
  nn::Parameters others(cpu(), plain);
  for (const nn::Parameters::Entry& entry : others.entries())
    for (const nn::Parameters::Entry& same : parameters.entries())
      if (same.name == entry.name) others.write(entry, parameters.read(same));
  EXPECT_EQ(logits(model), logits(plain));
  std::size_t own = 0;
  for (const nn::Parameters::Entry& entry : parameters.entries())
    if (entry.name.starts_with("resnet.encoder.self_attention.")) {
      ++own;
      if (entry.name.ends_with("gamma")) parameters.write(entry, std::vector<float>{0.5f});
    }
  EXPECT_EQ(own, 5u);
  EXPECT_NE(logits(model), logits(plain));
  const std::vector<float> before = logits(model);
  model.fold();
  expect_near(logits(model), before);

  Pass pass(cpu(), {.recording = true});
  pass.begin({});
  parameters.start_gradients();
  pass.backward(ops::sum(ops::sum(model.logits(pass.input(pixels)), 1), 0));
  parameters.finish_gradients();
  const std::vector<float> gradient = download(parameters.gradient());
  for (const nn::Parameters::Entry& entry : parameters.entries()) {
    if (entry.name.find("self_attention") == std::string::npos) continue;
    const float* at = gradient.data() + entry.offset;
    EXPECT_TRUE(std::any_of(at, at + entry.parameter->shape.size(), [](float g) { return g != 0; })) << entry.name;
  }
}

TEST(ResNet, RefusesConfigsThatAreNone) {
  const Json good = read_json(kFolder + "/config.json");
  const std::pair<const char*, Json> kBad[] = {
      {"depths", Json::array({1, 2})}, {"depths", Json::array({1, 0, 1, 1})},
      {"depths", "1, 2, 1, 1"},        {"hidden_sizes", Json::array({8, 16, 24, 1 << 30})},
      {"layer_type", "wide"},          {"stem", "large"},
      {"self_attention_stage", 5},     {"embedding_size", 0},
      {"hidden_act", "mish"},          {"model_type", "vit"}};
  for (const auto& [key, value] : kBad) {
    Json json = good;
    json[key] = value;
    EXPECT_THROW(models::resnet_config(json, "bad.json"), Error) << key << " " << value.dump();
  }
}

// A dilated stage computes every place that the one with a stride would, and those between (à trous): at every second
// place both are the same.
TEST(ResNet, DilationKeepsThePlacesThatAStrideLeavesOut) {
  for (const char* type : {"basic", "bottleneck"}) {
    models::ResNetConfig config;
    config.width = 8, config.layer_type = type, config.depths = {1, 1, 2, 3}, config.hidden_sizes = {8, 16, 24, 32};
    const auto grid_of = [&](std::int64_t stride, Extent2 size) {
      config.output_stride = stride;
      models::ResNet model(config);
      nn::Parameters parameters(cpu(), model, {.seed = 3, .trained = false});
      std::vector<float> values;
      for (std::int64_t i = 0; i < size.h * size.w * 3; ++i) values.push_back(std::sin(0.7f * static_cast<float>(i)));
      Pass pass(cpu());
      const Tensor grid = model.grid(pass.input(tensor_of(cpu(), {1, size.h, size.w, 3}, values)));
      EXPECT_EQ(grid.dim(1), model.grid_size(size).h);
      EXPECT_EQ(grid.dim(2), model.grid_size(size).w);
      return std::pair(grid.shape(), download(grid));
    };
    const Extent2 size{128, 64};
    const auto [wide, plain] = grid_of(32, size);
    for (const std::int64_t stride : {16, 8}) {
      const auto [shape, dilated] = grid_of(stride, size);
      const std::int64_t step = 32 / stride;
      ASSERT_EQ(shape, Shape({1, wide[1] * step, wide[2] * step, 32}));
      for (std::int64_t y = 0; y < wide[1]; ++y)
        for (std::int64_t x = 0; x < wide[2]; ++x)
          for (std::int64_t c = 0; c < 32; ++c)
            EXPECT_NEAR(dilated[static_cast<std::size_t>(((y * shape[2] + x) * step) * 32 + c)],
                        plain[static_cast<std::size_t>((y * wide[2] + x) * 32 + c)], 1e-5)
                << type << ' ' << stride << ' ' << y << ' ' << x << ' ' << c;
    }
  }
}

TEST(ResNet, ParametersHaveNamesInTimm) {
  using models::timm_resnet_name;
  EXPECT_EQ(timm_resnet_name("embedder.embedder.convolution.weight"), "conv1.weight");
  EXPECT_EQ(timm_resnet_name("embedder.embedder.normalization.running_mean"), "bn1.running_mean");
  EXPECT_EQ(timm_resnet_name("encoder.stages.0.layers.1.layer.2.convolution.weight"), "layer1.1.conv3.weight");
  EXPECT_EQ(timm_resnet_name("encoder.stages.3.layers.22.layer.0.normalization.bias"), "layer4.22.bn1.bias");
  EXPECT_EQ(timm_resnet_name("encoder.stages.1.layers.0.shortcut.normalization.bias"), "layer2.0.downsample.1.bias");
  for (const char* name : {"encoder.self_attention.gamma", "encoder.stages.x.layers.0.layer.0.convolution.weight", ""})
    EXPECT_THROW(timm_resnet_name(name), Error) << name;
  EXPECT_FALSE(models::timm_resnet("resnet50d").has_value());
  EXPECT_EQ(models::timm_resnet("resnet152.tv_in1k")->depths, (std::vector<std::int64_t>{3, 8, 36, 3}));
}

}  // namespace
}  // namespace attend::test
