// Models that look at images, as their papers have them: sizes that were published, gradients that finite differences
// find again, attention where attention_places() says, and settings that cannot be.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attend/base/error.h"
#include "attend/models/mvit.h"
#include "attend/models/resnet9.h"
#include "attend/models/swin.h"
#include "attend/models/vit.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/step_graph.h"
#include "attend/view/collector.h"
#include "tests/tensor/tensors.h"

namespace attend::test::image_models {
namespace {

using models::ImageModel;
using models::MViTConfig;
using models::SwinConfig;

std::vector<std::string> labels(int count) {
  std::vector<std::string> labels;
  for (int i = 0; i < count; ++i) labels.push_back(std::to_string(i));
  return labels;
}

std::int64_t size_of(ImageModel& model) {
  std::int64_t size = 0;
  for (const auto& entry : model.parameters()) size += entry.parameter->shape.size();
  return size;
}

// Millions of parameters with 1000 labels: Swin-T of torchvision, the others of timm's tables.
TEST(ImageModels, HaveThePublishedSizes) {
  models::SwinClassifier swin(SwinConfig{.labels = labels(1000)});
  EXPECT_EQ(size_of(swin), 28'288'354);
  const auto mvit = [](std::vector<std::int64_t> depths) {
    models::MViTClassifier model(MViTConfig{.depths = std::move(depths), .labels = labels(1000)});
    return static_cast<double>(size_of(model)) * 1e-6;
  };
  EXPECT_NEAR(mvit({1, 2, 5, 2}), 24.17, 0.01);
  EXPECT_NEAR(mvit({1, 2, 11, 2}), 34.87, 0.01);
  EXPECT_NEAR(mvit({2, 3, 16, 3}), 51.47, 0.01);
  models::MViTClassifier large(MViTConfig{.depths = {2, 6, 36, 4},
                                          .widths = {144, 288, 576, 1152},
                                          .heads = {2, 4, 8, 16},
                                          .expand_attention = false,
                                          .labels = labels(1000)});
  EXPECT_NEAR(static_cast<double>(size_of(large)) * 1e-6, 217.99, 0.01);
}

// Hassani et al. 2021, table 2: CCT-7/3x1 and CCT-7/3x2 for CIFAR-10 have 3.76 M and 3.85 M.
TEST(ImageModels, CompactTransformersHaveThePublishedSizes) {
  const auto cct = [](std::int64_t patch) {
    models::ViTClassifier model(models::ViTConfig{.family = models::ViTFamily::vit_conv,
                                                  .image_size = 32,
                                                  .patch_size = patch,
                                                  .width = 256,
                                                  .layers = 7,
                                                  .heads = 4,
                                                  .hidden = 512,
                                                  .stem = "pooled",
                                                  .pooling = "sequence",
                                                  .labels = labels(10)});
    return static_cast<double>(size_of(model)) * 1e-6;
  };
  EXPECT_NEAR(cct(2), 3.76, 0.01);
  EXPECT_NEAR(cct(4), 3.85, 0.01);
}

// As in the authors' code (SHI-Labs/Compact-Transformers, src/utils): convolutions with He et al.'s deviation of the
// fan in, positions with 0.2, projections with 0.02.
TEST(ImageModels, CompactTransformersBeginAsThePublishedOnes) {
  models::ViTClassifier model(models::ViTConfig{.family = models::ViTFamily::vit_conv,
                                                .image_size = 32,
                                                .patch_size = 4,
                                                .width = 256,
                                                .layers = 1,
                                                .heads = 4,
                                                .hidden = 512,
                                                .stem = "pooled",
                                                .pooling = "sequence",
                                                .labels = labels(10)});
  const nn::Parameters parameters(cpu(), model.parameters(), {});
  const auto deviation = [&](std::string_view end) {
    double squares = 0;
    std::size_t count = 0;
    for (const nn::Parameters::Entry& entry : parameters.entries())
      if (entry.name.ends_with(end))
        for (const float value : parameters.read(entry)) squares += static_cast<double>(value) * value, ++count;
    return std::sqrt(squares / static_cast<double>(count));
  };
  EXPECT_NEAR(deviation("stem.convolutions.0.weight"), std::sqrt(2 / 27.0), 0.02);
  EXPECT_NEAR(deviation("stem.convolutions.1.weight"), std::sqrt(2 / 576.0), 0.002);
  EXPECT_NEAR(deviation("position_embeddings"), 0.2, 0.01);
  EXPECT_NEAR(deviation("intermediate.dense.weight"), 0.02, 0.001);
}

// Equation 6 of CCT: the states of the patches, weighted by the softmax of a projection of each.
TEST(ImageModels, SequencePoolingIsAWeightedSum) {
  models::ViT body(models::ViTConfig{.family = models::ViTFamily::vit_conv,
                                     .image_size = 8,
                                     .patch_size = 4,
                                     .width = 8,
                                     .layers = 1,
                                     .heads = 1,
                                     .hidden = 8,
                                     .init_deviation = 0.5f,
                                     .stem = "pooled",
                                     .pooling = "sequence"});
  nn::Parameters parameters(cpu(), body, {.seed = 2});
  std::vector<float> weight;
  for (const auto& entry : parameters.entries())
    if (entry.name == "attention_pool.weight") weight = parameters.read(entry);
  ASSERT_EQ(weight.size(), 8u);
  std::vector<float> states;
  for (int i = 0; i < 2 * 4 * 8; ++i) states.push_back(std::sin(static_cast<float>(i * i)));
  Pass pass(cpu());
  const std::vector<float> found = download(body.features(pass.input(tensor_of(cpu(), {2, 4, 8}, states))));
  for (std::size_t b = 0; b < 2; ++b) {
    double sum = 0, scores[4], want[8] = {};
    for (std::size_t p = 0; p < 4; ++p) {
      scores[p] = 0;
      for (std::size_t c = 0; c < 8; ++c) scores[p] += static_cast<double>(weight[c]) * states[(4 * b + p) * 8 + c];
      sum += scores[p] = std::exp(scores[p]);
    }
    for (std::size_t p = 0; p < 4; ++p)
      for (std::size_t c = 0; c < 8; ++c) want[c] += scores[p] / sum * states[(4 * b + p) * 8 + c];
    for (std::size_t c = 0; c < 8; ++c) EXPECT_NEAR(found[8 * b + c], want[c], 1e-5);
  }
}

struct Small {
  std::string name;
  std::function<std::unique_ptr<ImageModel>()> make;
};

// Swin: a grid of 5 is padded to windows of 3 and to pairs, one of 3 is one window, and one of 2 makes the window
// smaller. The image itself is padded to whole patches.
const std::vector<Small> kSmall = {
    {"swin",
     [] {
       return std::make_unique<models::SwinClassifier>(SwinConfig{.image_size = 18,
                                                                  .patch_size = 4,
                                                                  .width = 16,
                                                                  .depths = {2, 2, 1},
                                                                  .heads = {2, 4, 4},
                                                                  .window = 3,
                                                                  .drop_path = 0,
                                                                  .init_deviation = 0.2f,
                                                                  .labels = labels(3)});
     }},
    {"mvit",
     [] {
       return std::make_unique<models::MViTClassifier>(MViTConfig{.image_size = 32,
                                                                  .depths = {1, 2},
                                                                  .widths = {16, 32},
                                                                  .heads = {1, 2},
                                                                  .query_strides = {1, 2},
                                                                  .key_stride = 4,
                                                                  .init_deviation = 0.2f,
                                                                  .labels = labels(3)});
     }},
    {"mvit_v1",
     [] {
       return std::make_unique<models::MViTClassifier>(MViTConfig{.image_size = 32,
                                                                  .depths = {1, 2},
                                                                  .widths = {16, 32},
                                                                  .heads = {1, 2},
                                                                  .query_strides = {1, 2},
                                                                  .key_stride = 4,
                                                                  .expand_attention = false,
                                                                  .residual_pooling = false,
                                                                  .class_token = true,
                                                                  .absolute_positions = true,
                                                                  .relative_positions = false,
                                                                  .pool_all_queries = false,
                                                                  .init_deviation = 0.2f,
                                                                  .labels = labels(3)});
     }},
    {"vit_hybrid",
     [] {
       return std::make_unique<models::ViTClassifier>(models::ViTConfig{.family = models::ViTFamily::vit_hybrid,
                                                                        .image_size = 16,
                                                                        .patch_size = 2,
                                                                        .width = 16,
                                                                        .layers = 2,
                                                                        .heads = 2,
                                                                        .hidden = 32,
                                                                        .init_deviation = 0.2f,
                                                                        .backbone = {.width = 8,
                                                                                     .hidden_sizes = {8, 16},
                                                                                     .depths = {1, 1},
                                                                                     .layer_type = "basic",
                                                                                     .stem = "small",
                                                                                     .image_size = 16},
                                                                        .labels = labels(3)});
     }},
    {"cct",
     [] {
       return std::make_unique<models::ViTClassifier>(models::ViTConfig{.family = models::ViTFamily::vit_conv,
                                                                        .image_size = 16,
                                                                        .patch_size = 4,
                                                                        .width = 16,
                                                                        .layers = 2,
                                                                        .heads = 2,
                                                                        .hidden = 32,
                                                                        .init_deviation = 0.2f,
                                                                        .stem = "pooled",
                                                                        .pooling = "sequence",
                                                                        .labels = labels(3)});
     }},
    {"vit_mean",
     [] {
       return std::make_unique<models::ViTClassifier>(models::ViTConfig{.image_size = 16,
                                                                        .patch_size = 4,
                                                                        .width = 16,
                                                                        .layers = 2,
                                                                        .heads = 2,
                                                                        .hidden = 32,
                                                                        .init_deviation = 0.2f,
                                                                        .pooling = "mean",
                                                                        .labels = labels(3)});
     }},
    {"resnet9",
     [] {
       return std::make_unique<models::ResNet9Classifier>(models::ResNet9Config{.image_size = 12,
                                                                                .width = 8,
                                                                                .hidden_sizes = {8, 16},
                                                                                .depths = {3, 1},
                                                                                .activation = "gelu",
                                                                                .labels = labels(3)});
     }},
    {"airbench",
     [] {
       return std::make_unique<models::ResNet9Classifier>(models::ResNet9Config{.image_size = 17,
                                                                                .stem = "whitening",
                                                                                .hidden_sizes = {8, 16},
                                                                                .depths = {2, 2},
                                                                                .activation = "gelu",
                                                                                .labels = labels(3)});
     }},
    {"mvit_that_widens_late",
     [] {
       return std::make_unique<models::MViTClassifier>(MViTConfig{.image_size = 32,
                                                                  .depths = {2, 1},
                                                                  .widths = {16, 32},
                                                                  .heads = {2, 2},
                                                                  .query_strides = {1, 2},
                                                                  .key_stride = 2,
                                                                  .expand_attention = false,
                                                                  .init_deviation = 0.2f,
                                                                  .labels = labels(3)});
     }},
};

// A small model on a device with images and what they show.
class Example {
 public:
  Example(Backend& backend, const Small& small)
      : model_(small.make()),
        parameters_(backend, model_->parameters(), {.seed = 3}),
        pass_(backend, {.recording = true}) {
    const Extent2 size = model_->size();
    std::vector<float> values;
    for (std::int64_t i = 0; i < 2 * size.h * size.w * model_->channels(); ++i)
      values.push_back(std::sin(static_cast<float>(i * i % 1013)));
    pixels_ = tensor_of(backend, {2, size.h, size.w, model_->channels()}, values);
    labels_ = make_tensor(backend, {2}, DType::i32);
    upload(labels_, std::vector<std::int32_t>{0, 2});
  }
  ImageModel& model() { return *model_; }
  nn::Parameters& parameters() { return parameters_; }
  Pass& pass() { return pass_; }
  const Tensor& pixels() const { return pixels_; }

  Tensor loss(Pass& pass) { return ops::cross_entropy(model_->logits(pass.input(pixels_)), pass.input(labels_)).mean; }
  double loss() {
    pass_.begin({});
    return download(loss(pass_))[0];
  }
  void find_gradients() {
    pass_.begin({});
    parameters_.start_gradients();
    pass_.backward(loss(pass_));
    parameters_.finish_gradients();
  }

 private:
  std::unique_ptr<ImageModel> model_;
  nn::Parameters parameters_;
  Pass pass_;
  Tensor pixels_, labels_;
};

class SmallImageModels : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, SmallImageModels, every_device(), name_of_device);

// Along its own gradient a loss grows by the gradient's length.
TEST_P(SmallImageModels, GradientsAreThoseOfFiniteDifferences) {
  for (const Small& small : kSmall) {
    Example example(backend(), small);
    example.find_gradients();
    double largest = 0;
    std::vector<std::vector<float>> gradients;
    for (const auto& entry : example.parameters().entries()) {
      const bool learned = entry.parameter->role != nn::Role::buffer;  // running statistics have no gradient
      gradients.push_back(learned ? download(gradient_of(entry.parameter->value)) : std::vector<float>());
      for (float value : gradients.back()) largest = std::max(largest, std::abs(static_cast<double>(value)));
    }
    std::size_t compared = 0, learned = 0;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].empty()) continue;
      ++learned;
      const auto& entry = example.parameters().entries()[i];
      double length = 0;
      for (float value : gradients[i]) length += static_cast<double>(value) * value;
      length = std::sqrt(length);
      if (length < 1e-3 * largest) continue;  // too flat for differences of floats: biases of keys
      ++compared;
      const std::vector<float> before = example.parameters().read(entry);
      const auto moved = [&](double by) {
        std::vector<float> values = before;
        for (std::size_t at = 0; at < values.size(); ++at)
          values[at] += static_cast<float>(by * gradients[i][at] / length);
        example.parameters().write(entry, values);
        return example.loss();
      };
      const double step = 5e-4 / std::max(length, 0.1), difference = (moved(step) - moved(-step)) / (2 * step);
      example.parameters().write(entry, before);
      EXPECT_NEAR(difference, length, 0.03 * length + 1e-3 * largest) << small.name << ": " << entry.name;
    }
    EXPECT_GT(10 * compared, 9 * learned) << small.name;
  }
}

TEST_P(SmallImageModels, AttentionIsWhereTheySay) {
  for (const Small& small : kSmall) {
    Example example(backend(), small);
    view::Collector collector;
    Pass pass(backend(), {.probe = &collector});
    example.model().states(pass.input(example.pixels()));
    const std::vector<models::AttentionPlace> places = example.model().attention_places();
    EXPECT_EQ(places.size(), collector.all().size()) << small.name;
    for (const models::AttentionPlace& place : places) {
      ASSERT_TRUE(collector.all().contains(place.label)) << small.name << ": " << place.label;
      const auto down = [&](std::int64_t side) { return (side + place.window - 1) / place.window; };
      const Shape shape = place.window > 0 ? Shape{2 * down(place.queries.h) * down(place.queries.w), place.heads,
                                                   place.window * place.window, place.window * place.window}
                                           : Shape{2, place.heads, place.tokens + place.queries.h * place.queries.w,
                                                   place.tokens + place.keys.h * place.keys.w};
      EXPECT_EQ(collector.at(place.label).shape, shape) << small.name << ": " << place.label;
    }
  }
}

// What is computed again in the backward pass is the same, bit by bit.
TEST_P(SmallImageModels, LayersCanBeRecomputed) {
  for (const Small& small : kSmall) {
    Example example(backend(), small);
    std::vector<std::vector<float>> gradients;
    for (Recompute recompute : {Recompute::none, Recompute::feed_forward, Recompute::layer}) {
      Pass pass(backend(), {.recording = true, .recompute = recompute});
      pass.begin({});
      example.parameters().start_gradients();
      pass.backward(example.loss(pass));
      example.parameters().finish_gradients();
      gradients.push_back(download(example.parameters().gradient()));
    }
    EXPECT_TRUE(gradients[0] == gradients[1]) << small.name;
    EXPECT_TRUE(gradients[0] == gradients[2]) << small.name;
  }
}

// From the third on a device replays what it captured.
TEST_P(SmallImageModels, StepsCanBeReplayed) {
  for (const Small& small : kSmall) {
    Example example(backend(), small);
    StepGraph graph(example.pass());
    const Tensor seen = make_tensor(backend(), {1}, DType::f32);
    std::vector<float> losses;
    for (int step = 0; step < 5; ++step) {
      graph.run(1, 1, [&] {
        example.parameters().start_gradients();
        const Tensor loss = example.loss(example.pass());
        backend().scale(loss, 1, {seen});
        example.pass().backward(loss);
        example.parameters().finish_gradients();
      });
      losses.push_back(download(seen)[0]);
    }
    for (float loss : losses) EXPECT_EQ(loss, losses[0]) << small.name;
  }
}

TEST(ImageModels, SwinShiftsWindowsThatAreSmallerThanTheGrid) {
  const auto model = kSmall[0].make();
  std::vector<std::vector<std::int64_t>> found;
  for (const auto& place : model->attention_places()) found.push_back({place.queries.h, place.window, place.shift});
  EXPECT_EQ(found, (std::vector<std::vector<std::int64_t>>{{5, 3, 0}, {5, 3, 1}, {3, 3, 0}, {3, 3, 0}, {2, 2, 0}}));
}

TEST(ImageModels, MViTPoolsKeysLessWhereQueriesAreFewer) {
  const models::MViT tiny(MViTConfig{.depths = {1, 2, 5, 2}, .labels = labels(2)});
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (const auto& place : tiny.attention_places()) found.emplace_back(place.queries.h, place.keys.h);
  EXPECT_EQ(found,
            (std::vector<std::pair<std::int64_t, std::int64_t>>{
                {56, 14}, {28, 28}, {28, 14}, {14, 28}, {14, 14}, {14, 14}, {14, 14}, {14, 14}, {7, 14}, {7, 7}}));
}

TEST(ImageModels, ConfigsComeBackAsTheyWere) {
  for (const Small& small : kSmall) {
    const auto model = small.make();
    const Json json = model->config();
    if (json["model_type"] == "resnet9") continue;  // resnet9_test.cpp
    const Json again = json["model_type"] == "swin"   ? models::swin_json(models::swin_config(json, "config.json"))
                       : json["model_type"] == "mvit" ? models::mvit_json(models::mvit_config(json, "config.json"))
                                                      : models::vit_json(models::vit_config(json, "config.json"));
    EXPECT_EQ(again.dump(), json.dump()) << small.name;
  }
}

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

struct Refused {
  std::string type, key;
  Json value;
  std::string message;
};

TEST(ImageModels, SettingsThatCannotBeAreNamed) {
  const std::vector<Refused> cases = {
      {"swin", "depths", Json::array({2, 2}), "config.json: 2 depths, but 4 num_heads"},
      {"swin", "depths", "2", "'depths' must be a list of whole numbers, not \"2\""},
      {"swin", "depths", Json::array({2, 2, -1, 2}), "depths must be 1 to"},
      {"swin", "num_heads", Json::array({3, 6, 12, 7}), "width 768 over 7 heads"},
      {"swin", "window_size", 0, "window_size must be 1 to 64, not 0"},
      {"swin", "window_size", 1 << 20, "window_size must be 1 to 64"},
      {"swin", "embed_dim", 60000, "the width of the last stage must be 8 to"},
      {"swin", "mlp_ratio", -1, "mlp_ratio must be above 0"},
      {"swin", "use_absolute_embeddings", true, "'use_absolute_embeddings' is true; only false is known"},
      {"mvit", "image_size", 228, "57 x 57, which strides of 4 do not divide"},
      {"mvit", "image_size", 226, "image_size 226 is not a multiple of patch_stride 4"},
      {"mvit", "patch_padding", 1, "patch_padding 1 with a patch_kernel of 7"},
      {"mvit", "kernel_qkv", 2, "kernel_qkv must be an odd number from 3"},
      {"mvit", "stride_q", Json::array({1, 3, 2, 2}), "stride_q must be 1 or an even number"},
      {"mvit", "stride_q", Json::array({1, 2}), "4 depths, but 2 of stride_q"},
      {"mvit", "stride_q", Json::array({Json::array({1, 2})}), "only whole numbers, and squares, are known"},
      {"mvit", "use_cls_token", true, "'use_cls_token' is true; it is known only with a 'rel_pos_type' of none"},
      {"mvit", "use_abs_pos", 1, "'use_abs_pos' must be true or false, not 1"},
      {"mvit", "rel_pos_type", "time", "'rel_pos_type' is \"time\"; only spatial and none are known"},
      {"mvit", "pool_q", "never", "'pool_q' is \"never\"; only all and strided are known"},
      {"vit_hybrid", "backbone_config", 5, "backbone_config: expected a JSON object, not 5"},
      {"vit_hybrid", "backbone_config", {{"depths", Json::array({1})}}, "backbone_config: there are 1 depths and 4"},
      {"vit_hybrid", "backbone_config", {{"self_attention_stage", 1}}, "'self_attention_stage' is 1"},
      {"vit_hybrid", "backbone_config", {{"model_type", "bit"}}, "'model_type' must be resnet, not \"bit\""},
      {"vit_hybrid", "patch_size", 3, "the ResNet's grid is 14 x 14, which a patch_size of 3 does not divide"},
      {"mvit", "mode", "avg", "'mode' is \"avg\"; only \"conv\" is known"},
      {"mvit", "num_classes", 0, "num_classes must be 1 to"},
      {"mvit", "embed_dim", 0, "embed_dim must be 1 to"},
  };
  for (const Refused& refused : cases) {
    const Json config = {{"model_type", refused.type}, {refused.key, refused.value}};
    const std::string message = message_of([&] {
      if (refused.type == "swin") models::swin_config(config, "config.json");
      if (refused.type == "mvit") models::mvit_config(config, "config.json");
      if (refused.type == "vit_hybrid") models::vit_config(config, "config.json");
    });
    EXPECT_NE(message.find(refused.message), std::string::npos) << refused.key << ": " << message;
  }
  const models::Swin swin(SwinConfig{.labels = labels(2)});
  const std::string message = message_of([&] { swin.states(make_tensor(cpu(), {1, 192, 192, 3}, DType::f32)); });
  EXPECT_NE(message.find("the model reads [B, 224, 224, 3]"), std::string::npos) << message;
}

}  // namespace
}  // namespace attend::test::image_models
