// rnn_attention [STEPS]: an encoder and a decoder of GRUs, with additive attention between them (Bahdanau et al. 2015),
// learn to write six digits backwards. The attention weights of one row show which digit each output reads.
#include <attend/nn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

namespace nn = attend::nn;

namespace {

constexpr std::int64_t kLength = 6, kWidth = 48, kBegin = 10, kRows = 32;

struct Reverser {
  nn::Embedding tokens{11, kWidth};  // ten digits, and the begin of the output
  nn::GRU encoder{kWidth, kWidth}, decoder{kWidth, kWidth};
  nn::Linear query{kWidth, kWidth}, key{kWidth, kWidth}, out{2 * kWidth, 10};
  nn::Parameter score{attend::Shape{kWidth}, nn::Init::xavier(kWidth, 1)};

  struct Result {
    nn::Tensor logits, weights;  // [B, T, 10], [B, T, S]
  };
  // source [B, S], target [B, T]: what was written so far.
  Result operator()(const nn::Tensor& source, const nn::Tensor& target) const {
    const auto [states, last] = encoder(tokens(source));           // [B, S, C]
    const nn::Tensor asks = decoder(tokens(target), last).states;  // [B, T, C]
    const nn::Tensor weights = nn::softmax(nn::additive_scores(query(asks), key(states), score));
    return {out(nn::concat({asks, nn::matmul(weights, states)}, -1)), weights};
  }
  template <class V>
  void visit(V&& v) {
    v("tokens", tokens), v("encoder", encoder), v("decoder", decoder);
    v("query", query), v("key", key), v("out", out), v("score", score);
  }
};

struct Batch {
  Batch(const attend::Device& device, std::mt19937& random) {
    std::vector<std::int32_t> forward, before, backward;
    for (std::int64_t row = 0; row < kRows; ++row) {
      std::vector<std::int32_t> digits;
      for (std::int64_t t = 0; t < kLength; ++t) digits.push_back(static_cast<std::int32_t>(random() % 10));
      forward.insert(forward.end(), digits.begin(), digits.end());
      std::reverse(digits.begin(), digits.end());
      backward.insert(backward.end(), digits.begin(), digits.end());
      before.push_back(kBegin);
      before.insert(before.end(), digits.begin(), digits.end() - 1);
    }
    const attend::Shape shape{kRows, kLength};
    source = {device, shape, forward}, shifted = {device, shape, before}, target = {device, shape, backward};
  }
  nn::Tensor source, shifted, target;
};

}  // namespace

int main(int count, char** words) try {
  const std::int64_t steps = count > 1 ? std::atoll(words[1]) : 500;
  const attend::Device device("cpu", {.batch_invariant = false});
  Reverser model;
  nn::Parameters parameters(device, model);
  nn::Optimizer optimizer(parameters, {.schedule = nn::cosine(5e-3f, 20, steps), .clip_norm = 1});
  std::mt19937 random(1);
  const auto report = [](const nn::Progress& now) {
    std::printf("step %4ld  loss %.3f\n", static_cast<long>(now.step), static_cast<double>(now.loss));
    return true;
  };
  nn::fit(optimizer, {.steps = steps, .every = 100, .on_progress = report}, [&](nn::Tape& tape, std::int64_t) {
    const Batch batch(device, random);
    return nn::cross_entropy(model(tape.input(batch.source), tape.input(batch.shifted)).logits, batch.target);
  });

  const Batch test(device, random);
  const auto [logits, weights] = model(test.source, test.shifted);
  const std::vector<std::int32_t> said = nn::argmax(logits).ints(), right = test.target.ints();
  int same = 0;
  for (std::size_t i = 0; i < said.size(); ++i) same += said[i] == right[i];
  const std::vector<std::int32_t> source = test.source.ints();
  const std::vector<float> rows = weights.values();
  for (std::size_t t = 0; t < kLength; ++t) {
    std::printf("writes %d, reads", said[t]);
    for (std::size_t s = 0; s < kLength; ++s)
      std::printf("  %d %.2f", source[s], static_cast<double>(rows[t * kLength + s]));
    std::printf("\n");
  }
  std::printf("accuracy %.1f %%\n", 100.0 * same / static_cast<double>(said.size()));
  return 0;
} catch (const std::exception& error) {
  std::cerr << "rnn_attention: " << error.what() << '\n';
  return 1;
}
