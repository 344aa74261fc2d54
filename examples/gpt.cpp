// gpt [TEXT [STEPS]]: a GPT that reads characters, learns a text (examples/sonnets.txt), and continues its first line.
#include <attend/nn.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace nn = attend::nn;

namespace {

constexpr std::int64_t kContext = 64, kWidth = 64, kHeads = 4, kLayers = 2, kBatch = 16;

struct Gpt {
  explicit Gpt(std::int64_t vocabulary) : tokens(vocabulary, kWidth) {}

  nn::Embedding tokens, positions{kContext, kWidth};
  nn::Dropout dropout{0.1f};
  std::vector<nn::TransformerEncoderLayer> layers{
      kLayers, nn::TransformerEncoderLayer({.width = kWidth,
                                            .heads = kHeads,
                                            .dropout = 0.1f,
                                            .activation = attend::Activation::gelu,
                                            .pre_norm = true})};
  nn::LayerNorm norm{kWidth};

  // ids [B, T] -> scores of the next character [B, T, V]; the table of the input is the output layer, too.
  nn::Tensor operator()(const nn::Tensor& ids) const {
    nn::Tensor x = dropout(tokens(ids) + nn::slice(nn::beside(ids, positions.weight), 0, 0, ids.dim(1)));
    for (const auto& layer : layers) x = layer(x, {.causal = true});
    return tokens.logits(norm(x));
  }
  template <class V>
  void visit(V&& v) {
    v("tokens", tokens), v("positions", positions), v("layers", layers), v("norm", norm);
  }
};

// Characters as numbers, in the order in which they first appear.
struct Text {
  explicit Text(const std::string& path) {
    std::ifstream file(path);
    const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    attend::check(static_cast<std::int64_t>(all.size()) > kContext + 1, "{}: {} characters are too few", path,
                  all.size());
    for (const char letter : all) {
      if (alphabet.find(letter) == std::string::npos) alphabet += letter;
      ids.push_back(static_cast<std::int32_t>(alphabet.find(letter)));
    }
  }
  std::string alphabet;
  std::vector<std::int32_t> ids;
};

// Pieces of the text, and the same one character later.
struct Batch {
  Batch(const Text& text, std::mt19937& random) {
    for (std::int64_t row = 0; row < kBatch; ++row) {
      const auto begin = text.ids.begin() + static_cast<std::ptrdiff_t>(random() % (text.ids.size() - kContext - 1));
      read.insert(read.end(), begin, begin + kContext);
      next.insert(next.end(), begin + 1, begin + kContext + 1);
    }
  }
  std::vector<std::int32_t> read, next;
};

// A character by its probability.
std::int32_t sample(const nn::Tensor& logits, std::mt19937& random) {
  const std::vector<float> weights = nn::softmax(logits * 1.5f).values();
  return std::discrete_distribution<std::int32_t>(weights.end() - logits.dim(-1), weights.end())(random);
}

std::string written(const Gpt& model, const Text& text, const attend::Device& device, std::mt19937& random) {
  std::vector<std::int32_t> ids(text.ids.begin(), text.ids.begin() + 16);
  while (ids.size() < 200) {
    const std::size_t length = std::min<std::size_t>(ids.size(), kContext);
    const std::vector<std::int32_t> newest(ids.end() - static_cast<std::ptrdiff_t>(length), ids.end());
    ids.push_back(sample(model(nn::Tensor(device, {1, static_cast<std::int64_t>(length)}, newest)), random));
  }
  std::string result;
  for (const std::int32_t id : ids) result += text.alphabet[static_cast<std::size_t>(id)];
  return result;
}

}  // namespace

int main(int count, char** words) try {
  const Text text(count > 1 ? words[1] : "sonnets.txt");
  const std::int64_t steps = count > 2 ? std::atoll(words[2]) : 600;
  const attend::Device device("cpu", {.batch_invariant = false});
  Gpt model(static_cast<std::int64_t>(text.alphabet.size()));
  nn::Parameters parameters(device, model);
  std::printf("%ld parameters, %zu characters\n", static_cast<long>(parameters.count()), text.ids.size());
  nn::Optimizer optimizer(parameters, {.schedule = nn::cosine(3e-3f, 20, steps), .weight_decay = 0.1f, .clip_norm = 1});
  std::mt19937 random(1);

  nn::Tape tape(device);
  for (std::int64_t step = 1; step <= steps; ++step) {
    const Batch batch(text, random);
    const nn::Tensor read(device, {kBatch, kContext}, batch.read), next(device, {kBatch, kContext}, batch.next);
    const nn::Tensor loss = nn::cross_entropy(model(tape.input(read)), next);
    loss.backward();
    optimizer.step();
    if (step % 50 == 0 || step == 1)
      std::printf("step %4ld  loss %.3f\n", static_cast<long>(step), static_cast<double>(loss.item()));
  }
  parameters.save("gpt.safetensors");
  std::printf("%s\n", written(model, text, device, random).c_str());
  return 0;
} catch (const std::exception& error) {
  std::cerr << "gpt: " << error.what() << '\n';
  return 1;
}
