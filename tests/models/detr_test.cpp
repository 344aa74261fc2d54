// DETR: its configs, where the places of padded images lie, and that it learns from scratch.
#include "attend/models/detr.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/models/detr_loss.h"
#include "attend/train/loop/optimizer.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using models::Detr;
using models::DetrConfig;

const std::string kConfig = "tests/fixtures/data/detr/config.json";

DetrConfig small_config() {
  DetrConfig config;
  config.backbone.layer_type = "basic", config.backbone.stem = "small", config.backbone.width = 16;
  config.backbone.depths = {1, 1, 1}, config.backbone.hidden_sizes = {16, 16, 32};
  config.queries = 4, config.width = 32, config.dropout = 0;
  config.encoder_layers = 1, config.encoder_heads = 4, config.encoder_hidden = 64;
  config.decoder_layers = 2, config.decoder_heads = 4, config.decoder_hidden = 64;
  config.labels = {"dark", "bright"};
  config.frozen_norms = false;
  return config;
}

TEST(Detr, ConfigsComeBack) {
  const DetrConfig config = models::detr_config(read_json(kConfig), "config.json");
  const Json json = models::detr_json(config);
  const DetrConfig read = models::detr_config(json, "again");
  EXPECT_EQ(models::detr_json(read), json);
  EXPECT_EQ(read.queries, 7);
  EXPECT_EQ(read.classes(), 5);
  EXPECT_EQ(read.backbone.layer_type, "bottleneck");
  EXPECT_TRUE(read.auxiliary_loss);
}

TEST(Detr, RefusesConfigsThatAreNone) {
  const Json good = read_json(kConfig);
  const std::pair<const char*, Json> kBad[] = {{"d_model", 30},
                                               {"d_model", 1 << 30},
                                               {"num_queries", 0},
                                               {"dilation", true},
                                               {"position_embedding_type", "learned"},
                                               {"backbone_config", 3},
                                               {"backbone_config", Json{{"model_type", "swin"}}},
                                               {"eos_coefficient", -1},
                                               {"encoder_attention_heads", 5},
                                               {"model_type", "resnet"}};
  for (const auto& [key, value] : kBad) {
    Json json = good;
    json[key] = value;
    EXPECT_THROW(models::detr_config(json, "bad.json"), Error) << key << " " << value.dump();
  }
}

// As the hub's files have it, as transformers 5 writes it, and what only looks like it.
TEST(Detr, BackbonesOfTimm) {
  Json json = read_json(kConfig);
  for (const char* key : {"backbone_config", "use_timm_backbone", "backbone", "dilation"}) json.erase(key);
  const auto read = [&](const Json& more) {
    Json changed = json;
    changed.update(more);
    return models::detr_config(changed, "c.json");
  };
  EXPECT_EQ(read(Json::object()).timm_backbone, "resnet50");
  const DetrConfig basic = read({{"backbone", "resnet18"}, {"use_timm_backbone", true}, {"num_channels", 4}});
  EXPECT_EQ(basic.backbone.layer_type, "basic");
  EXPECT_EQ(basic.backbone.hidden_sizes.back(), 512);
  EXPECT_EQ(basic.backbone.channels, 4);
  EXPECT_EQ(basic.backbone.output_stride, 32);
  // As transformers 4.40 and later write it.
  const Json kwargs = {{"in_chans", 3}, {"out_indices", {1, 2, 3, 4}}, {"output_stride", 16}};
  EXPECT_EQ(read({{"dilation", true}, {"backbone_kwargs", kwargs}, {"position_embedding_type", nullptr}})
                .backbone.output_stride,
            16);
  EXPECT_EQ(read({{"backbone_kwargs", {{"in_chans", 1}}}}).backbone.channels, 1);
  const DetrConfig dilated = read({{"backbone", "resnet101"}, {"dilation", true}});
  EXPECT_EQ(dilated.backbone.depths, (std::vector<std::int64_t>{3, 4, 23, 3}));
  EXPECT_EQ(dilated.backbone.output_stride, 16);
  const Json wrapped = {{"model_type", "timm_backbone"},
                        {"backbone", "resnet50"},
                        {"out_indices", {1, 2, 3, 4}},
                        {"features_only", true},
                        {"output_stride", 16}};
  EXPECT_EQ(read({{"backbone_config", wrapped}}).backbone.output_stride, 16);
  for (const DetrConfig& config : {basic, dilated, read({{"backbone_config", wrapped}})}) {
    const Json written = models::detr_json(config);
    EXPECT_EQ(written["use_timm_backbone"], Json(true));
    EXPECT_EQ(written["use_pretrained_backbone"], Json(false));  // transformers 4 would download others
    const DetrConfig again = models::detr_config(written, "again");
    EXPECT_EQ(models::detr_json(again), written);
    EXPECT_EQ(again.timm_backbone, config.timm_backbone);
    EXPECT_EQ(again.backbone.output_stride, config.backbone.output_stride);
  }
  const Json kBad[] = {
      {{"backbone", "resnet50d"}},
      {{"backbone", "swin_tiny"}},
      {{"backbone", 50}},
      {{"use_timm_backbone", "yes"}},
      {{"use_timm_backbone", false}},
      {{"dilation", "true"}},
      {{"num_channels", "3"}},
      {{"num_channels", -1}},
      {{"backbone_config", "resnet50"}},
      {{"backbone_kwargs", 3}},
      {{"backbone_kwargs", {{"output_stride", 8}}}},
      {{"backbone_kwargs", {{"output_stride", 16.5}}}},
      {{"backbone_config", {{"model_type", "timm_backbone"}}}},
      {{"backbone_config", {{"model_type", "timm_backbone"}, {"backbone", "resnet50"}, {"output_stride", 8}}}},
      {{"backbone_config", {{"model_type", "timm_backbone"}, {"backbone", "resnet50"}, {"out_indices", {1, 2}}}}},
      {{"backbone_config", {{"model_type", "resnet"}, {"out_features", {"stage3"}}}}}};
  for (const Json& bad : kBad) EXPECT_THROW(read(bad), Error) << bad.dump();
}

// 20 x 12 of 32 x 32 pixels is 5 x 3 of 8 x 8 places, which come first, row by row.
TEST(Detr, ThePlacesOfTheImageComeFirst) {
  const Detr model(small_config());
  const std::vector<Extent2> sizes = {{32, 32}, {20, 12}};
  const models::PositionLayout places = model.places(cpu(), DType::f32, {32, 32}, sizes);
  EXPECT_EQ(places.positions.shape(), Shape({2, 64, 32}));
  EXPECT_EQ(download_ints(places.lengths), (std::vector<std::int32_t>{64, 15}));
  const std::vector<std::int32_t> order = download_ints(places.order);
  for (std::int32_t i = 0; i < 64; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  for (std::int32_t i = 0; i < 15; ++i) EXPECT_EQ(order[static_cast<std::size_t>(64 + i)], 64 + i / 3 * 8 + i % 3);
  // The last of them is at the end of both axes: a whole turn.
  const std::vector<float> positions = download(places.positions);
  for (const std::size_t half : {0u, 16u}) {
    EXPECT_NEAR(positions[(64 + 14) * 32 + half], std::sin(2 * M_PI), 1e-5);
    EXPECT_NEAR(positions[(64 + 14) * 32 + half + 1], std::cos(2 * M_PI), 1e-5);
  }
  // Weights in that order, by the grid again.
  std::vector<float> weights;
  for (const std::int32_t place : order) weights.push_back(static_cast<float>(place % 64));
  const std::vector<float> sorted = Detr::by_grid(weights, places);
  for (std::size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], static_cast<float>(i % 64));

  const std::vector<Extent2> one = {{32, 32}}, large = {{33, 32}}, empty;
  EXPECT_FALSE(model.places(cpu(), DType::f32, {32, 32}, one).order.defined());
  EXPECT_THROW(model.places(cpu(), DType::f32, {32, 32}, large), Error);
  EXPECT_THROW(model.places(cpu(), DType::f32, {32, 32}, empty), Error);
  EXPECT_THROW(model.put_places(places, {32, 32}, one), Error);
}

// Two images with a square each, from scratch, in the steps that a Trainer makes of a task that needs the host.
TEST(Detr, LearnsWhereTwoSquaresAre) {
  const DetrConfig config = small_config();
  Detr model(config);
  nn::Parameters parameters(cpu(), model.parameters(), {.seed = 3});
  std::vector<float> values(2 * 32 * 32 * 3, 0.0f);
  const auto paint = [&](std::size_t image, std::size_t top, std::size_t left, float value) {
    for (std::size_t h = top; h < top + 12; ++h)
      for (std::size_t w = left; w < left + 12; ++w)
        for (std::size_t c = 0; c < 3; ++c) values[((image * 32 + h) * 32 + w) * 3 + c] = value;
  };
  paint(0, 2, 4, -1), paint(1, 16, 18, 1);
  const Tensor pixels = tensor_of(cpu(), {2, 32, 32, 3}, values);
  const std::vector<models::DetrObjects> objects = {{{0}, {10 / 32.0f, 8 / 32.0f, 12 / 32.0f, 12 / 32.0f}},
                                                    {{1}, {24 / 32.0f, 22 / 32.0f, 12 / 32.0f, 12 / 32.0f}}};
  const std::vector<Extent2> sizes = {{32, 32}, {32, 32}};
  const models::PositionLayout places = model.places(cpu(), DType::f32, {32, 32}, sizes);
  models::DetrCriterion criterion(cpu(), config, config.decoder_layers, 2);
  train::Optimizer optimizer(parameters, {.clip_norm = 0.5f});
  Pass pass(cpu(), {.recording = true});
  std::vector<float> losses;
  for (std::int64_t step = 1; step <= 150; ++step) {
    pass.begin({.plan = 1, .seed = static_cast<std::uint64_t>(step)});
    parameters.start_gradients();
    const models::DetrOutput output = model.detect_by_layers(pass.input(pixels), places);
    criterion.keep(output);
    criterion.match(objects);
    const Tensor loss = criterion.loss(output).total;
    losses.push_back(download(loss)[0]);
    pass.backward(loss);
    parameters.finish_gradients();
    optimizer.set_rate(2e-3f, step);
    optimizer.update();
  }
  EXPECT_LT(losses.back(), 0.3f * losses.front()) << losses.front() << " to " << losses.back();
  EXPECT_EQ(criterion.cardinality_error(), 0);
}

}  // namespace
}  // namespace attend::test
