// encoder_classifier [STEPS]: a Transformer encoder learns whether a row of brackets, ( and [, is balanced, and is
// tested on rows that it has not seen.
#include <attend/nn.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

namespace nn = attend::nn;

namespace {

constexpr std::int64_t kLength = 8, kWidth = 32;

struct Classifier {
  nn::Embedding tokens{4, kWidth};
  nn::Embedding positions{kLength, kWidth};
  std::vector<nn::TransformerEncoderLayer> layers{
      2, nn::TransformerEncoderLayer({.width = kWidth, .heads = 4, .hidden = 64, .dropout = 0, .pre_norm = true})};
  nn::LayerNorm norm{kWidth};
  nn::Linear out{kWidth, 2};

  nn::Tensor operator()(const nn::Tensor& ids) const {      // [B, T]
    nn::Tensor x = tokens(ids) + positions.weight.value();  // [B, T, C]
    for (const auto& layer : layers) x = layer(x);
    return out(nn::mean(norm(x), 1));  // [B, 2]
  }
  template <class V>
  void visit(V&& v) {
    v("tokens", tokens), v("positions", positions), v("layers", layers), v("norm", norm), v("out", out);
  }
};

bool balanced(const std::vector<std::int32_t>& row) {
  std::vector<std::int32_t> open;  // 0 is (, 1 is [, 2 is ), 3 is ]
  for (const std::int32_t token : row) {
    if (token < 2) {
      open.push_back(token);
    } else {
      if (open.empty() || open.back() != token - 2) return false;
      open.pop_back();
    }
  }
  return open.empty();
}

// Half of the rows are balanced.
struct Batch {
  std::vector<std::int32_t> ids, labels;

  Batch(std::size_t rows, std::mt19937& random) {
    while (labels.size() < rows) {
      std::vector<std::int32_t> row;
      for (std::int64_t t = 0; t < kLength; ++t) row.push_back(static_cast<std::int32_t>(random() % 4));
      if (balanced(row) != (labels.size() % 2 == 0)) continue;
      ids.insert(ids.end(), row.begin(), row.end());
      labels.push_back(labels.size() % 2 == 0);
    }
  }
};

}  // namespace

int main(int count, char** words) try {
  const std::int64_t steps = count > 1 ? std::atoll(words[1]) : 300, rows = 32;
  const attend::Device device("cpu");
  Classifier model;
  nn::Parameters parameters(device, model);
  nn::Optimizer optimizer(parameters, {.schedule = nn::cosine(3e-3f, 20, steps), .clip_norm = 1});
  std::mt19937 random(1);
  const auto report = [](const nn::Progress& now) {
    std::printf("step %4ld  loss %.3f\n", static_cast<long>(now.step), static_cast<double>(now.loss));
    return true;
  };
  nn::fit(optimizer, {.steps = steps, .every = 50, .on_progress = report}, [&](nn::Tape& tape, std::int64_t) {
    const Batch batch(rows, random);
    const nn::Tensor ids(device, {rows, kLength}, batch.ids), labels(device, {rows}, batch.labels);
    return nn::cross_entropy(model(tape.input(ids)), labels);
  });

  const Batch test(400, random);
  const std::vector<std::int32_t> said = nn::argmax(model(nn::Tensor(device, {400, kLength}, test.ids))).ints();
  int right = 0;
  for (std::size_t i = 0; i < said.size(); ++i) right += said[i] == test.labels[i];
  std::printf("accuracy %.1f %%\n", right / 4.0);
  return 0;
} catch (const std::exception& error) {
  std::cerr << "encoder_classifier: " << error.what() << '\n';
  return 1;
}
