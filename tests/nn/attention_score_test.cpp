// Attention with every score: against loops in double, its gradients against finite differences of those loops; rotary
// positions and the relative bias against their definitions.
#include "attend/nn/attention_score.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attend/base/error.h"
#include "attend/base/random.h"
#include "attend/nn/parameters.h"
#include "attend/nn/relative_positions.h"
#include "attend/ops/arithmetic.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

using nn::Score;
using Vector = std::vector<double>;

constexpr std::int64_t B = 2, T = 5, H = 2, D = 8, C = H * D;
const std::vector<std::int32_t> kLengths = {5, 3};

Vector drawn(std::size_t count, std::uint32_t stream) {
  Vector values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(2 * static_cast<double>(to_unit(random_word(7, stream, i))) - 1);
  return values;
}

std::vector<float> floats(const Vector& values) { return {values.begin(), values.end()}; }

struct Inputs {
  Vector q, k, v, parameter;
};

// One query against one key in head h.
double score_of(Score kind, const double* q, const double* k, const Vector& parameter, std::size_t h) {
  constexpr auto d = static_cast<std::size_t>(D);
  double dot = 0, qq = 0, kk = 0, general = 0, additive = 0;
  for (std::size_t i = 0; i < d; ++i) {
    dot += q[i] * k[i], qq += q[i] * q[i], kk += k[i] * k[i];
    if (kind == Score::additive) additive += parameter[h * d + i] * std::tanh(q[i] + k[i]);
    for (std::size_t j = 0; kind == Score::general && j < d; ++j)
      general += q[i] * parameter[(h * d + i) * d + j] * k[j];
  }
  switch (kind) {
    case Score::scaled_dot:
      return dot / std::sqrt(static_cast<double>(D));
    case Score::dot:
      return dot;
    case Score::general:
      return general;
    case Score::additive:
      return additive;
    case Score::cosine:
      return 10 * parameter[h] * dot / std::sqrt(qq * kk);
  }
  return 0;
}

Vector reference(Score kind, const Inputs& in, bool causal) {
  Vector y(in.q.size(), 0);
  constexpr auto length = static_cast<std::size_t>(T), width = static_cast<std::size_t>(C),
                 d = static_cast<std::size_t>(D);
  for (std::size_t b = 0; b < static_cast<std::size_t>(B); ++b)
    for (std::size_t h = 0; h < static_cast<std::size_t>(H); ++h)
      for (std::size_t t = 0; t < length; ++t) {
        const std::size_t keys = causal ? t + 1 : static_cast<std::size_t>(kLengths[b]);
        Vector weights;
        double total = 0;
        for (std::size_t s = 0; s < keys; ++s)
          total += weights.emplace_back(std::exp(score_of(kind, &in.q[(b * length + t) * width + h * d],
                                                          &in.k[(b * length + s) * width + h * d], in.parameter, h)));
        for (std::size_t s = 0; s < keys; ++s)
          for (std::size_t i = 0; i < d; ++i)
            y[(b * length + t) * width + h * d + i] += weights[s] / total * in.v[(b * length + s) * width + h * d + i];
      }
  return y;
}

class Scores : public OnDevice {
 protected:
  static std::int64_t parameter_size(Score kind) {
    return kind == Score::general ? H * D * D : kind == Score::additive ? C : kind == Score::cosine ? H : 0;
  }
};

TEST_P(Scores, AreThoseOfThePapersAndSoAreTheirGradients) {
  for (const Score kind : {Score::scaled_dot, Score::dot, Score::general, Score::additive, Score::cosine})
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(std::string(nn::name_of(kind)) + (causal ? ", causal" : ""));
      nn::AttentionScore score(kind, C, H);
      nn::Parameters parameters(backend(), score, {.seed = 3});
      const auto size = static_cast<std::size_t>(B * T * C);
      Inputs in{drawn(size, 1), drawn(size, 2), drawn(size, 3), {}};
      if (parameter_size(kind) > 0) {
        in.parameter = drawn(static_cast<std::size_t>(parameter_size(kind)), 4);
        if (kind == Score::cosine) in.parameter = {0.7, 1.2};
        parameters.write(parameters.entries()[0], floats(in.parameter));
      }
      const Vector direction = drawn(size, 5);

      Pass pass(backend(), {.recording = true});
      const auto input = [&](const Vector& values) {
        return pass.variable(tensor_of(backend(), {B, T, C}, floats(values)));
      };
      const Tensor q = input(in.q), k = input(in.k), v = input(in.v);
      AttentionMask mask{.causal = causal};
      if (!causal) {
        const Tensor lengths = make_tensor(backend(), {B}, DType::i32);
        upload(lengths, kLengths);
        mask.key_lengths = pass.input(lengths);
      }
      parameters.start_gradients();
      const Tensor y = score.attend(score.query(q), score.key(k), v, {.heads = H, .mask = mask});
      pass.backward(y, tensor_of(backend(), {B, T, C}, floats(direction)));
      parameters.finish_gradients();

      const Vector expected = reference(kind, in, causal);
      const std::vector<float> computed = download(y);
      for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(computed[i], expected[i], 2e-5) << i;

      const auto check_gradient = [&](Vector Inputs::*member, const std::vector<float>& gradient, const char* what) {
        for (std::size_t i = 0; i < gradient.size(); i += 3) {
          constexpr double kStep = 1e-5;
          Inputs up = in, down = in;
          (up.*member)[i] += kStep, (down.*member)[i] -= kStep;
          const Vector above = reference(kind, up, causal), below = reference(kind, down, causal);
          double slope = 0;
          for (std::size_t j = 0; j < above.size(); ++j) slope += direction[j] * (above[j] - below[j]) / (2 * kStep);
          ASSERT_NEAR(gradient[i], slope, 2e-4) << what << " " << i;
        }
      };
      check_gradient(&Inputs::q, download(gradient_of(q)), "q");
      check_gradient(&Inputs::k, download(gradient_of(k)), "k");
      check_gradient(&Inputs::v, download(gradient_of(v)), "v");
      if (!in.parameter.empty())
        check_gradient(&Inputs::parameter, download(gradient_of(parameters.entries()[0].parameter->value)),
                       "parameter");
    }
}

TEST(ScoreNames, AnUnknownOneIsNamed) {
  EXPECT_EQ(nn::score_named("general", "config.json"), Score::general);
  try {
    nn::score_named("dott", "config.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("config.json: unknown attention_score 'dott'"), std::string::npos);
  }
}

// Turned queries and keys have a product that depends on their distance alone, and keep their lengths.
TEST_P(Scores, RotaryProductsDependOnDistances) {
  constexpr std::int64_t kLength = 12;
  const nn::Rotary rotary(kLength, C, H);
  const Vector q = drawn(static_cast<std::size_t>(C), 1), k = drawn(static_cast<std::size_t>(C), 2);
  std::vector<float> queries, keys;
  for (std::int64_t t = 0; t < kLength; ++t)
    queries.insert(queries.end(), q.begin(), q.end()), keys.insert(keys.end(), k.begin(), k.end());
  Pass pass(backend());
  const Tensor x = pass.input(tensor_of(backend(), {1, kLength, C}, queries));
  const Tensor y = pass.input(tensor_of(backend(), {1, kLength, C}, keys));
  const Tensor ids = pass.tensor({1, kLength}, DType::i32);
  const nn::Rotation rotation = rotary({.ids = ids}, x);
  const std::vector<float> turned = download(rotation(x, H)), others = download(rotation(y, H));
  const auto product = [&](std::int64_t t, std::int64_t s, std::int64_t h) {
    double sum = 0;
    for (std::int64_t i = h * D; i < (h + 1) * D; ++i)
      sum += static_cast<double>(turned[static_cast<std::size_t>(t * C + i)]) *
             static_cast<double>(others[static_cast<std::size_t>(s * C + i)]);
    return sum;
  };
  for (std::int64_t h = 0; h < H; ++h) {
    double plain = 0;
    for (std::int64_t i = h * D; i < (h + 1) * D; ++i)
      plain += q[static_cast<std::size_t>(i)] * k[static_cast<std::size_t>(i)];
    EXPECT_NEAR(product(4, 4, h), plain, 1e-5);
    EXPECT_GT(std::abs(product(4, 1, h) - plain), 1e-3);
    for (std::int64_t t = 3; t < kLength; ++t) EXPECT_NEAR(product(t, t - 3, h), product(3, 0, h), 1e-5);
  }
}

// The buckets of T5: Hugging Face's T5Attention._relative_position_bucket(key - query, 32 buckets, distance 128).
TEST(RelativeBuckets, AreThoseOfT5) {
  EXPECT_EQ(nn::relative_bucket(0, false), 0);
  EXPECT_EQ(nn::relative_bucket(-1, false), 1);
  EXPECT_EQ(nn::relative_bucket(1, false), 17);
  EXPECT_EQ(nn::relative_bucket(-7, false), 7);
  EXPECT_EQ(nn::relative_bucket(8, false), 24);
  EXPECT_EQ(nn::relative_bucket(-500, false), 15);
  EXPECT_EQ(nn::relative_bucket(500, false), 31);
  EXPECT_EQ(nn::relative_bucket(3, true), 0);
  EXPECT_EQ(nn::relative_bucket(-15, true), 15);
  EXPECT_EQ(nn::relative_bucket(-16, true), 16);
  EXPECT_EQ(nn::relative_bucket(-127, true), 31);
  EXPECT_EQ(nn::relative_bucket(-1000, true), 31);
}

TEST_P(Scores, RelativeBiasIsTheTableByDistance) {
  for (const bool causal : {false, true}) {
    nn::RelativeBias bias(40, H, causal);
    nn::Parameters parameters(backend(), bias, {});
    const Vector table = drawn(static_cast<std::size_t>(nn::RelativeBias::kBuckets * H), 6);
    parameters.write(parameters.entries()[0], floats(table));
    Pass pass(backend());
    constexpr std::int64_t kLength = 20, kCapacity = 32;
    const Tensor beside = pass.tensor({1, kLength, C}, DType::f32);
    const std::vector<float> all = download(bias.of_texts(kLength, beside));
    const Tensor newest = make_tensor(backend(), {2, 1}, DType::i32);
    upload(newest, std::vector<std::int32_t>{3, 31});
    const std::vector<float> rows = download(bias.of_newest(pass.input(newest), kCapacity, beside));
    const auto expected = [&](std::int64_t t, std::int64_t s, std::int64_t h) {
      return table[static_cast<std::size_t>(nn::relative_bucket(s - t, causal) * H + h)];
    };
    for (std::int64_t h = 0; h < H; ++h) {
      for (std::int64_t t = 0; t < kLength; ++t)
        for (std::int64_t s = 0; s < kLength; ++s)
          ASSERT_NEAR(all[static_cast<std::size_t>((h * kLength + t) * kLength + s)], expected(t, s, h), 1e-6);
      for (std::int64_t s = 0; s < kCapacity; ++s) {
        ASSERT_NEAR(rows[static_cast<std::size_t>(h * kCapacity + s)], expected(3, s, h), 1e-6);
        ASSERT_NEAR(rows[static_cast<std::size_t>((H + h) * kCapacity + s)], expected(31, s, h), 1e-6);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Scores, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
