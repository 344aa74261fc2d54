// GPT-2 token by token through the step runner: planned, captured and, when greedy, ahead of the host. Whatever it does
// inside, every answer must be the one a forward pass over the whole text gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "attend/base/random.h"
#include "attend/models/gpt2.h"
#include "attend/nn/causal_decoder.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using Ids = std::vector<std::int32_t>;

models::GPT2Config small_config() {
  models::GPT2Config config;
  // 90 positions: caches that grow by doubling have more than the model.
  config.vocabulary = 37, config.max_length = 90, config.width = 32, config.layers = 2, config.heads = 4;
  config.init_deviation = 0.3f;
  return config;
}

Tensor ids_on(Backend& backend, const std::vector<Ids>& texts) {
  Ids flat;
  for (const Ids& text : texts) flat.insert(flat.end(), text.begin(), text.end());
  const Tensor tensor = make_tensor(
      backend, {static_cast<std::int64_t>(texts.size()), static_cast<std::int64_t>(texts[0].size())}, DType::i32);
  upload(tensor, flat);
  return tensor;
}

// A model whose caches are as fine as what it computes in, whatever its weights were rounded to.
class FineCaches : public nn::CausalModel {
 public:
  explicit FineCaches(const nn::CausalModel& model) : model_(model) {}
  Sizes sizes() const override {
    Sizes sizes = model_.sizes();
    sizes.rounded = false;
    return sizes;
  }
  Tensor states(const nn::Sequences& texts, const nn::ForwardOptions& reading) const override {
    return model_.states(texts, reading);
  }
  Tensor logits(const Tensor& states) const override { return model_.logits(states); }

 private:
  const nn::CausalModel& model_;
};

class StepRunning : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (IsSkipped()) return;
    parameters_.emplace(backend(), model_, nn::ParametersOptions{.seed = 3, .trained = false});
  }

  // The logits of what follows each text, [texts, V].
  std::vector<float> following(const std::vector<Ids>& texts) {
    Pass pass(backend());
    const auto length = static_cast<std::int64_t>(texts[0].size()), rows = static_cast<std::int64_t>(texts.size());
    const Tensor ids = ids_on(backend(), texts);
    const std::vector<float> all = download(truth_->logits(nn::Sequences{ids}.in(pass)));  // [rows, T, V]
    const auto vocabulary = static_cast<std::size_t>(truth_->body().config().vocabulary);
    std::vector<float> last;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto* from = all.data() + static_cast<std::size_t>((row + 1) * length - 1) * vocabulary;
      last.insert(last.end(), from, from + vocabulary);
    }
    return last;
  }

  void expect_answers(const nn::StepModel::Scores& scores, std::int64_t top_k, const std::vector<Ids>& texts) {
    const std::vector<float> expected = following(texts);
    const std::size_t vocabulary = expected.size() / texts.size();
    const auto each = static_cast<std::size_t>(top_k ? top_k : static_cast<std::int64_t>(vocabulary));
    ASSERT_EQ(scores.logits.size(), texts.size() * each);
    ASSERT_EQ(scores.ids.size(), top_k ? texts.size() * each : 0);
    for (std::size_t row = 0; row < texts.size(); ++row) {
      const float* logits = expected.data() + row * vocabulary;
      double sum = 0;
      for (std::size_t v = 0; v < vocabulary; ++v) sum += std::exp(static_cast<double>(logits[v]));
      ASSERT_NEAR(scores.log_sums[row], std::log(sum), near_) << texts[row].size() << " tokens";
      std::vector<float> sorted;
      for (std::size_t v = 0; v < vocabulary; ++v)
        if (!suppressed_.contains(static_cast<std::int32_t>(v))) sorted.push_back(logits[v]);
      std::sort(sorted.rbegin(), sorted.rend());
      for (std::size_t i = 0; i < each; ++i) {
        const auto id = top_k ? static_cast<std::size_t>(scores.ids[row * each + i]) : i;
        ASSERT_LT(id, vocabulary);
        ASSERT_NEAR(scores.logits[row * each + i], logits[id], near_) << texts[row].size() << " tokens, token " << id;
        if (top_k) {
          ASSERT_NEAR(logits[id], sorted[i], near_) << "not the likeliest number " << i;
          ASSERT_FALSE(suppressed_.contains(static_cast<std::int32_t>(id))) << id;
        }
      }
    }
  }

  // The weights of model_, as these parameters keep them.
  void write_all(nn::Parameters& kept) const {
    const auto from = parameters_->entries(), to = kept.entries();
    ASSERT_EQ(from.size(), to.size());
    for (std::size_t i = 0; i < to.size(); ++i) kept.write(to[i], parameters_->read(from[i]));
  }

  // What a model's decoder says at every step, in three ways of asking.
  void expect_answers_of(const nn::CausalModel& model);

  models::GPT2LanguageModel model_{small_config()};
  const models::GPT2LanguageModel* truth_ = &model_;  // whose forward pass it is held against
  double near_ = 1e-4;
  std::optional<nn::Parameters> parameters_;
  std::set<std::int32_t> suppressed_;
};

void StepRunning::expect_answers_of(const nn::CausalModel& model) {
  for (const std::int64_t top_k : {1, 3, 0}) {
    std::vector<Ids> texts = {{1, 2, 3}, {4, 5, 6}};
    Pass pass(backend());
    nn::CausalDecoder decoder(model, pass, ids_on(backend(), texts), 1);
    Ids newest = {0, 0};
    suppressed_.clear();
    for (int step = 0; step < 80; ++step) {
      // What comes next may be suppressed on the way; ids that are none do not count.
      if (step == 30 || step == 60) {
        suppressed_ = step == 30 ? std::set<std::int32_t>{newest[0], 3, 36} : std::set<std::int32_t>{};
        Ids ids(suppressed_.begin(), suppressed_.end());
        ids.insert(ids.end(), {-1, 37, 3000});
        ASSERT_EQ(decoder.suppress(ids), 37 - static_cast<std::int64_t>(suppressed_.size()));
      }
      const nn::StepModel::Scores scores = decoder.step(newest, top_k);
      expect_answers(scores, top_k, texts);
      if (HasFatalFailure()) return;
      // Mostly the likeliest token, which the device may have begun already; now and then another.
      for (std::size_t row = 0; row < texts.size(); ++row) {
        const bool other = top_k == 0 || random_word(7, 1, static_cast<std::uint64_t>(step)) % 5 == 0;
        newest[row] = other ? static_cast<std::int32_t>((step * 5 + 11 * row) % 37)
                            : scores.ids[row * static_cast<std::size_t>(top_k)];
        texts[row].push_back(newest[row]);
      }
      if (step % 13 == 12 && texts.size() == 2) {
        decoder.reorder(Ids{1, 0});
        std::swap(texts[0], texts[1]), std::swap(newest[0], newest[1]);
      }
      if (step == 74) {
        decoder.reorder(Ids{1});
        texts.erase(texts.begin()), newest.erase(newest.begin());
      }
    }
  }
}

TEST_P(StepRunning, AnswersAsTheWholeTextDoes) { expect_answers_of(model_.body()); }

// Packed, as a model that is only run keeps them: then the CPU too runs a captured step. What rounds its activations is
// held against its own forward pass, and a number may round the other way there. Its caches are as fine as what it
// computes in, here; RoundedCachesSayNearlyTheSame has the others.
TEST_P(StepRunning, WithPackedWeightsToo) {
  for (const nn::WeightForm form : {nn::WeightForm::f32, nn::WeightForm::bf16, nn::WeightForm::int8}) {
    models::GPT2LanguageModel packed{small_config()};
    nn::Parameters kept(backend(), packed, {.trained = false, .initialized = false, .weights = form});
    write_all(kept);
    if (form != nn::WeightForm::f32) truth_ = &packed, near_ = 0.05;
    expect_answers_of(FineCaches(packed.body()));
    if (HasFatalFailure()) return;
  }
}

// Caches of bf16, where weights are bf16 or int8 (on the host), beside fine ones on the same tokens, rows moving. Each
// number of a cache is rounded by up to 2^-9 of itself, keys and values, in two layers: ten times that, of the logits'
// root mean square, is the bound. That the kernel reads exactly what a cache holds is AttentionCache's to say.
TEST_P(StepRunning, RoundedCachesSayNearlyTheSame) {
  for (const nn::WeightForm form : {nn::WeightForm::f32, nn::WeightForm::bf16, nn::WeightForm::int8}) {
    models::GPT2LanguageModel packed{small_config()};
    nn::Parameters kept(backend(), packed, {.trained = false, .initialized = false, .weights = form});
    write_all(kept);
    const FineCaches fine(packed.body());
    Pass pass(backend()), fine_pass(backend());
    const Tensor prompts = ids_on(backend(), {{1, 2, 3}, {4, 5, 6}});
    nn::CausalDecoder decoder(packed.body(), pass, prompts, 1), beside(fine, fine_pass, prompts, 1);
    double error = 0, size = 0;
    for (std::int32_t step = 0; step < 80; ++step) {
      const Ids newest = {step * 5 % 37, (step * 7 + 11) % 37};
      const nn::StepModel::Scores scores = decoder.step(newest, 0);
      const std::vector<float> said(scores.logits.begin(), scores.logits.end());
      const nn::StepModel::Scores expected = beside.step(newest, 0);
      ASSERT_EQ(said.size(), expected.logits.size());
      for (std::size_t i = 0; i < said.size(); ++i) {
        const double wanted = expected.logits[i];
        error += (said[i] - wanted) * (said[i] - wanted), size += wanted * wanted;
      }
      if (step % 13 == 12) decoder.reorder(Ids{1, 0}), beside.reorder(Ids{1, 0});
    }
    const bool rounded = form != nn::WeightForm::f32 && backend().on_host();
    EXPECT_EQ(packed.body().sizes().rounded, rounded);
    EXPECT_EQ(error > 0, rounded) << "weights of form " << static_cast<int>(form);
    EXPECT_LT(std::sqrt(error / size), 10.0 / 512) << "weights of form " << static_cast<int>(form);
  }
}

// The order of equal numbers, infinities and NaN, with and without suppressed places, at widths around those of warps
// and blocks.
TEST_P(StepRunning, TheTopKOfRowsAreSorted) {
  for (const std::int64_t width : {1, 7, 31, 64, 65, 1000, 1025, 5003})
    for (const auto& [dtype, some] :
         {std::pair(DType::f32, false), {DType::f32, true}, {DType::bf16, false}, {DType::bf16, true}}) {
      constexpr std::int64_t kRows = 5;
      std::vector<float> x;
      for (std::int64_t i = 0; i < kRows * width; ++i) {
        const std::uint32_t word = random_word(width, 2, static_cast<std::uint64_t>(i));
        x.push_back(static_cast<float>(word % 64) / 8 - 4);  // many are equal
        if (word % 41 == 0) x.back() = -INFINITY;
      }
      if (width > 7) x[3] = NAN;
      std::vector<std::uint8_t> out(static_cast<std::size_t>(width));
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = i > 0 && random_word(width, 3, i) % 3 == 0;
      Tensor suppressed;
      std::int64_t left = width;
      if (some) {
        suppressed = make_tensor(backend(), {width}, DType::u8);
        backend().to_device(suppressed.raw(), out.data(), out.size());
        left = std::ranges::count(out, 0);
      }
      const std::int64_t count = std::min<std::int64_t>(left, 9);
      const Tensor values = make_tensor(backend(), {kRows, count}, DType::f32);
      const Tensor ids = make_tensor(backend(), {kRows, count}, DType::i32);
      const Tensor sums = make_tensor(backend(), {kRows}, DType::f32);
      backend().top_k(tensor_of(backend(), {kRows, width}, x, dtype), suppressed, values, ids, sums);
      const std::vector<float> found = download(values), log_sums = download(sums);
      const std::vector<std::int32_t> places = download_ints(ids);
      for (std::int64_t row = 0; row < kRows; ++row) {
        const float* at = x.data() + row * width;
        std::vector<std::int32_t> order(static_cast<std::size_t>(width));
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
        if (some) std::erase_if(order, [&](std::int32_t id) { return out[static_cast<std::size_t>(id)] != 0; });
        const auto value = [&](std::int32_t i) { return std::isnan(at[i]) ? -INFINITY : at[i]; };
        std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return value(a) > value(b); });
        double sum = 0;
        for (std::int64_t i = 0; i < width; ++i) sum += std::exp(static_cast<double>(at[i]));
        for (std::int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(places[static_cast<std::size_t>(row * count + i)], order[static_cast<std::size_t>(i)])
              << "width " << width << ", row " << row << ", number " << i;
          ASSERT_EQ(found[static_cast<std::size_t>(row * count + i)], value(order[static_cast<std::size_t>(i)]));
        }
        if (row == 0 && width > 7) {
          EXPECT_TRUE(std::isnan(log_sums[0]));
        } else if (sum > 0) {
          EXPECT_NEAR(log_sums[static_cast<std::size_t>(row)], std::log(sum), 1e-4) << width;
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Devices, StepRunning, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
