// attention_by_hand: softmax(Q Kᵀ / √D) V for four words, from matrix products, and the same from nn::attention.
#include <attend/nn.h>

#include <cmath>
#include <cstdio>
#include <iostream>

namespace nn = attend::nn;

int main() try {
  const attend::Device device("cpu");
  const char* words[] = {"the", "cat", "sat", "down"};
  const int T = 4, D = 8;
  const nn::Tensor x = nn::Tensor::normal(device, {T, D}, 1);  // one row for each word

  // Three projections of the same rows: what a word asks for, what it offers, and what it says.
  const nn::Tensor q = nn::matmul(x, nn::Tensor::normal(device, {D, D}, 2, 0.5f));  // [T, D]
  const nn::Tensor k = nn::matmul(x, nn::Tensor::normal(device, {D, D}, 3, 0.5f));
  const nn::Tensor v = nn::matmul(x, nn::Tensor::normal(device, {D, D}, 4, 0.5f));

  const nn::Tensor scores = nn::matmul(q, nn::transpose(k)) * (1 / std::sqrt(float{D}));  // [T, T]
  const nn::Tensor weights = nn::softmax(scores);                                       // each row sums to 1
  const nn::Tensor y = nn::matmul(weights, v);                                          // [T, D]

  std::printf("%8s", "");
  for (const char* word : words) std::printf("%8s", word);
  const std::vector<float> rows = weights.values();
  for (int t = 0; t < T; ++t) {
    std::printf("\n%8s", words[t]);
    for (int s = 0; s < T; ++s) std::printf("%8.3f", static_cast<double>(rows[static_cast<std::size_t>(t * T + s)]));
  }

  // The library's op takes a batch, and never stores the weights.
  const auto batch = [&](const nn::Tensor& rows) { return rows.reshape({1, T, D}); };
  const nn::Tensor same = nn::attention(batch(q), batch(k), batch(v));
  const float difference = nn::max(nn::sum((same - batch(y)) * (same - batch(y)), -1), -1).item();
  std::printf("\nlargest squared difference from nn::attention: %.1e\n", static_cast<double>(difference));
  return difference < 1e-10f ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "attention_by_hand: " << error.what() << '\n';
  return 1;
}
