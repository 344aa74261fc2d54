// Every model with its weights packed, as f32, bf16 and int8, beside the same model with plain tensors; numbers that
// are read back; sizes; and what packed weights refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "attend/base/error.h"
#include "attend/cpu/features.h"
#include "attend/cpu/gemm/kernel.h"
#include "attend/models/bert_heads.h"
#include "attend/models/gpt2.h"
#include "attend/models/rnn_seq2seq.h"
#include "attend/models/transformer.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using nn::WeightForm;

nn::Sequences texts(std::int64_t rows, std::int64_t length, std::int32_t step) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < rows * length; ++i) ids.push_back(static_cast<std::int32_t>(i * step + 3) % 50);
  Tensor tensor = make_tensor(cpu(), {rows, length}, DType::i32);
  upload(tensor, ids);
  return {.ids = tensor};
}

// What the model answers with plain tensors, and with the same numbers packed: the distance of all answers, relative to
// their size. Weights are made larger than models start with, so that layers matter.
template <class Model>
void compare(const std::function<Model()>& make, const std::function<Tensor(const Model&, Pass&)>& answer) {
  Model plain = make();
  nn::Parameters plain_parameters(cpu(), plain, {.seed = 3, .trained = false});
  for (const auto& entry : plain_parameters.entries()) {
    std::vector<float> values = plain_parameters.read(entry);
    if (entry.parameter->shape.rank() > 1)
      for (float& value : values) value *= 2;
    plain_parameters.write(entry, values);
  }
  if constexpr (requires { plain.place(cpu(), DType::f32); }) plain.place(cpu(), DType::f32);
  Pass pass(cpu());
  const std::vector<float> expected = download(answer(plain, pass));
  // Without products of bf16 (AVX2 alone, generic) such weights are rounded, and kept as f32.
  const bool narrow = attend::cpu::detail::choose_kernels(attend::cpu::features()).bf16 != nullptr;
  for (const auto& [form, tolerance, size] : {std::tuple{WeightForm::f32, 1e-5, 1.6},
                                              {WeightForm::bf16, 0.03, narrow ? 1.0 : 1.6},
                                              {WeightForm::int8, 0.06, 0.7}}) {
    SCOPED_TRACE(static_cast<int>(form));
    Model packed = make();
    nn::Parameters parameters(cpu(), packed, {.trained = false, .initialized = false, .weights = form});
    for (std::size_t i = 0; i < parameters.entries().size(); ++i)
      parameters.write(parameters.entries()[i], plain_parameters.read(plain_parameters.entries()[i]));
    if constexpr (requires { packed.place(cpu(), DType::f32); }) packed.place(cpu(), DType::f32);
    const std::vector<float> found = download(answer(packed, pass));
    ASSERT_EQ(found.size(), expected.size());
    double error = 0, size_of_all = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      error += std::pow(static_cast<double>(found[i]) - static_cast<double>(expected[i]), 2);
      size_of_all += std::pow(static_cast<double>(expected[i]), 2);
    }
    EXPECT_LT(std::sqrt(error / size_of_all), tolerance);
    EXPECT_LT(static_cast<double>(parameters.bytes()), size * static_cast<double>(plain_parameters.bytes()));
    for (std::size_t i = 0; i < parameters.entries().size() && form == WeightForm::f32; ++i)
      EXPECT_EQ(parameters.read(parameters.entries()[i]), plain_parameters.read(plain_parameters.entries()[i]));
  }
}

TEST(PackedWeights, GPT2) {
  compare<models::GPT2LanguageModel>(
      [] {
        return models::GPT2LanguageModel(
            {.vocabulary = 77, .max_length = 24, .width = 40, .layers = 2, .heads = 5, .start = 0, .end = 0});
      },
      [](const models::GPT2LanguageModel& model, Pass& pass) { return model.logits(texts(3, 7, 5).in(pass)); });
}

TEST(PackedWeights, Bert) {
  compare<models::MaskedLanguageModel>(
      [] {
        models::BertConfig config;
        config.vocabulary = 61, config.width = 48, config.layers = 2, config.heads = 3, config.hidden = 100;
        config.max_length = 20;
        return models::MaskedLanguageModel(config);
      },
      [](const models::MaskedLanguageModel& model, Pass& pass) {
        return model.logits(model.body().states({.texts = texts(2, 9, 7).in(pass)}));
      });
}

TEST(PackedWeights, Transformer) {
  for (const bool shared : {true, false})
    compare<models::Transformer>(
        [&] {
          models::TransformerConfig config;
          config.vocabulary = 70, config.width = 32, config.heads = 4, config.hidden = 50, config.max_length = 16;
          config.encoder_layers = config.decoder_layers = 2, config.shared_embeddings = shared;
          return models::Transformer(config);
        },
        [](const models::Transformer& model, Pass& pass) {
          return model.logits(model.decode(texts(3, 6, 5).in(pass), texts(3, 5, 11).in(pass)));
        });
}

TEST(PackedWeights, Rnn) {
  // A tanh cell has few rows, and panels are padded: it needs wider states to show what packing saves.
  for (const auto& [cell, hidden] : {std::pair{"tanh", 120}, {"gru", 40}, {"lstm", 40}})
    compare<models::RnnSeq2Seq>(
        [&, cell = cell, hidden = hidden] {
          return models::RnnSeq2Seq({.vocabulary = 66, .width = 24, .hidden = hidden, .layers = 2, .cell = cell});
        },
        [](const models::RnnSeq2Seq& model, Pass& pass) {
          return model.logits(model.decode(texts(3, 6, 5).in(pass), texts(3, 5, 11).in(pass)));
        });
}

TEST(PackedWeights, AreNeitherTrainedNorNewNorCutUp) {
  nn::Linear layer(8, 6);
  EXPECT_THROW(nn::Parameters(cpu(), layer, {.initialized = false, .weights = WeightForm::f32}), Error);
  EXPECT_THROW(nn::Parameters(cpu(), layer, {.trained = false, .weights = WeightForm::f32}), Error);
  nn::Parameters parameters(cpu(), layer, {.trained = false, .initialized = false, .weights = WeightForm::int8});
  parameters.write(parameters.entries()[0], std::vector<float>(48, 1));
  const Tensor weight = parameters.entries()[0].parameter->value;
  EXPECT_THROW(weight.raw(), Error);
  EXPECT_THROW(download(weight), Error);
  const Tensor x = tensor_of(cpu(), {2, 8}, counted(16));
  EXPECT_THROW(ops::linear(x, weight.slice_first(0, 3)), Error);
}

}  // namespace
}  // namespace attend::test
