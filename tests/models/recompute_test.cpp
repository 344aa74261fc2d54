// Models trained with parts of them computed again in the backward pass: the same weights, bit by bit, with dropout,
// from less memory.
#include <gtest/gtest.h>

#include <functional>

#include "attend/backends.h"
#include "attend/models/bert_heads.h"
#include "attend/models/gpt2.h"
#include "attend/models/transformer.h"
#include "attend/models/vit.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/step_graph.h"
#include "attend/train/loop/optimizer.h"

namespace attend::models {
namespace {

constexpr std::int64_t kBatch = 3, kLength = 20, kVocabulary = 50;

Tensor ids(Backend& backend, std::int32_t factor) {
  std::vector<std::int32_t> values;
  for (std::int32_t i = 0; i < kBatch * kLength; ++i)
    values.push_back(i * factor % static_cast<std::int32_t>(kVocabulary));
  Tensor tensor = make_tensor(backend, {kBatch, kLength}, DType::i32);
  upload(tensor, values);
  return tensor;
}

struct Trained {
  std::vector<float> losses, weights;
  std::size_t bytes = 0;
};

using LossOf = std::function<Tensor(Pass& pass)>;

Trained train(Backend& backend, nn::Parameters& parameters, Recompute recompute, const LossOf& loss_of) {
  train::Optimizer optimizer(parameters, {});
  Pass pass(backend, {.recording = true, .recompute = recompute});
  StepGraph graph(pass);
  const Tensor seen = make_tensor(backend, {1}, DType::f32);
  Trained trained;
  for (int step = 1; step <= 6; ++step) {
    optimizer.set_rate(0.01f, step);
    graph.run(1, static_cast<std::uint64_t>(step), [&] {
      parameters.start_gradients();
      const Tensor loss = loss_of(pass);
      backend.scale(loss, 1, {seen});
      pass.backward(loss);
      parameters.finish_gradients();
      optimizer.update();
    });
    trained.losses.push_back(download(seen)[0]);
  }
  trained.weights = download(parameters.master());
  trained.bytes = pass.arena().slab_bytes();
  return trained;
}

class RecomputedModels : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string device = GetParam();
    if (device == "cuda" && gpus().empty()) GTEST_SKIP() << "there is no GPU";
    backend_ = open_backend(device);
    dtype_ = device == "cuda" ? DType::bf16 : DType::f32;
  }

  // train_once(recompute) starts from the same weights every time. shares: of the memory without, at most.
  void expect_equal(const std::function<Trained(Recompute)>& train_once, double feed_forward, double layer) {
    const Trained plain = train_once(Recompute::none);
    for (const auto& [kind, share] : {std::pair{Recompute::feed_forward, feed_forward}, {Recompute::layer, layer}}) {
      const Trained again = train_once(kind);
      EXPECT_EQ(plain.losses, again.losses);
      EXPECT_EQ(plain.weights, again.weights);
      EXPECT_LT(static_cast<double>(again.bytes), share * static_cast<double>(plain.bytes));
    }
    EXPECT_LT(plain.losses.back(), plain.losses.front());
  }

  std::unique_ptr<Backend> backend_;
  DType dtype_ = DType::f32;
};

TEST_P(RecomputedModels, GPT2) {
  const Tensor texts = ids(*backend_, 7), labels = ids(*backend_, 11);
  expect_equal(
      [&](Recompute recompute) {
        GPT2LanguageModel model({.vocabulary = kVocabulary,
                                 .max_length = kLength,
                                 .width = 32,
                                 .layers = 6,
                                 .heads = 4,
                                 .start = 0,
                                 .end = 0});
        nn::Parameters parameters(*backend_, model, {.dtype = dtype_});
        return train(*backend_, parameters, recompute,
                     [&](Pass& pass) { return model.loss({.ids = pass.input(texts)}, pass.input(labels)).mean; });
      },
      0.8, 0.6);
}

// Stochastic depth drops a branch in the norm behind it, which may lie behind the piece that is computed again.
TEST_P(RecomputedModels, ViT) {
  std::vector<float> values;
  for (int i = 0; i < kBatch * 16 * 16 * 3; ++i) values.push_back(static_cast<float>(i * 37 % 101) / 50 - 1);
  const Tensor pixels = make_tensor(*backend_, {kBatch, 16, 16, 3}, dtype_),
               labels = make_tensor(*backend_, {kBatch}, DType::i32);
  upload(pixels, values);
  upload(labels, std::vector<std::int32_t>{0, 1, 2});
  expect_equal(
      [&](Recompute recompute) {
        ViTClassifier model({.image_size = 16,
                             .patch_size = 4,
                             .width = 32,
                             .layers = 6,
                             .heads = 4,
                             .hidden = 128,
                             .drop_path = 0.5f,
                             .labels = {"a", "b", "c"}});
        nn::Parameters parameters(*backend_, model, {.dtype = dtype_});
        return train(*backend_, parameters, recompute, [&](Pass& pass) {
          return ops::cross_entropy(model.logits(pass.input(pixels)), pass.input(labels)).mean;
        });
      },
      0.8, 0.6);
}

TEST_P(RecomputedModels, Bert) {
  const Tensor texts = ids(*backend_, 7), labels = ids(*backend_, 11);
  expect_equal(
      [&](Recompute recompute) {
        MaskedLanguageModel model(BertConfig{
            .vocabulary = kVocabulary, .max_length = kLength, .width = 32, .layers = 6, .heads = 4, .hidden = 128});
        nn::Parameters parameters(*backend_, model, {.dtype = dtype_});
        return train(*backend_, parameters, recompute, [&](Pass& pass) {
          return model.loss({.texts = {.ids = pass.input(texts)}}, pass.input(labels)).mean;
        });
      },
      0.8, 0.6);
}

TEST_P(RecomputedModels, Transformer) {
  const Tensor source = ids(*backend_, 7), target = ids(*backend_, 11), labels = ids(*backend_, 13);
  for (const bool pre_norm : {false, true})
    expect_equal(
        [&](Recompute recompute) {
          models::Transformer model({.vocabulary = kVocabulary,
                                     .width = 32,
                                     .heads = 4,
                                     .hidden = 128,
                                     .encoder_layers = 4,
                                     .decoder_layers = 4,
                                     .attention_dropout = 0.1f,
                                     .pre_norm = pre_norm});
          nn::Parameters parameters(*backend_, model, {.dtype = dtype_});
          model.place(*backend_, dtype_);
          return train(*backend_, parameters, recompute, [&](Pass& pass) {
            const PairBatch batch{{.ids = pass.input(source)}, {.ids = pass.input(target)}, pass.input(labels)};
            return model.loss(batch, {.smoothing = 0.1f}).mean;
          });
        },
        0.85, 0.6);
}

INSTANTIATE_TEST_SUITE_P(Devices, RecomputedModels, testing::Values("cpu", "cuda"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace attend::models
