// The public tensors, ops, layers and training loop (attend/nn.h), seen as a program sees them: only that header is
// included.
#include "attend/nn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace nn = attend::nn;
using attend::Shape;
using nn::Tensor;

attend::Device one_thread() { return attend::Device("cpu", {.threads = 1}); }

std::string scratch(const std::string& name) {
  const char* folder = std::getenv("TEST_TMPDIR");
  return (std::filesystem::path(folder ? folder : std::filesystem::temp_directory_path()) / name).string();
}

// The message of the Error that f throws.
std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const attend::Error& error) {
    return error.what();
  }
  return "no error";
}

void expect_error(const std::function<void()>& f, const std::vector<std::string>& parts) {
  const std::string message = error_of(f);
  for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << message << " | " << part;
}

// Compares the gradient of loss(x) with central differences in each number of x.
void check_gradient(const attend::Device& device, const Shape& shape, const std::function<Tensor(const Tensor&)>& f) {
  const Tensor start = Tensor::normal(device, shape, 7);
  nn::Tape tape(device);
  const Tensor x = tape.variable(start);
  const Tensor weights = Tensor::normal(device, f(start).shape(), 8);
  nn::sum(f(x) * weights).backward();
  ASSERT_TRUE(x.gradient().defined());
  const std::vector<float> gradient = x.gradient().values();
  std::vector<float> values = start.values();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float kept = values[i], step = 1e-2f;
    const auto at = [&](float value) {
      values[i] = value;
      return nn::sum(f(Tensor(device, shape, values)) * weights).item();
    };
    const float slope = (at(kept + step) - at(kept - step)) / (2 * step);
    values[i] = kept;
    EXPECT_NEAR(gradient[i], slope, 2e-2f * std::max(1.0f, std::abs(slope))) << "number " << i;
  }
}

struct Classifier {
  nn::Embedding embed{11, 16};
  std::vector<nn::TransformerEncoderLayer> layers{
      2, nn::TransformerEncoderLayer({.width = 16, .heads = 2, .hidden = 32, .dropout = 0})};
  nn::Linear out{16, 2};

  Tensor operator()(const Tensor& ids) const {
    Tensor x = embed(ids);
    for (const auto& layer : layers) x = layer(x);
    return out(nn::mean(x, 1));
  }
  template <class V>
  void visit(V&& v) {
    v("embed", embed), v("layers", layers), v("out", out);
  }
};

TEST(LayersTensor, HoldsNumbers) {
  const attend::Device device = one_thread();
  const Tensor x(device, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(x.reshape({3, -1}).shape(), (Shape{3, 2}));
  EXPECT_EQ(nn::transpose(x).values(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(nn::matmul(x, nn::transpose(x)).values(), (std::vector<float>{14, 32, 32, 77}));
  EXPECT_EQ((x + Tensor(device, {3}, {1, 1, 1})).values()[5], 7);
  EXPECT_EQ((Tensor(device, {3}, {1, 1, 1}) - x).values()[5], -5);
  EXPECT_EQ(nn::argmax(x).ints(), (std::vector<std::int32_t>{2, 2}));
  EXPECT_EQ(nn::split(x, 3)[1].reshape({2}).values(), (std::vector<float>{2, 5}));
  EXPECT_FLOAT_EQ(nn::mean(x).item(), 3.5f);
  EXPECT_NEAR(nn::softmax(x, 0).values()[0], 1 / (1 + std::exp(3.0)), 1e-6);
  EXPECT_EQ(static_cast<const float*>(x.host_data())[4], 5);
  EXPECT_EQ(Tensor::ids(device, {2}, {3, 4}).ints()[1], 4);
}

TEST(LayersTensor, GradientsMatchDifferences) {
  const attend::Device device = one_thread();
  const Tensor other = Tensor::normal(device, {3, 16}, 3), vector = Tensor::normal(device, {16}, 4);
  check_gradient(device, {3, 16}, [&](const Tensor& x) { return nn::softmax(x * other) - nn::tanh(x); });
  check_gradient(device, {3, 16}, [&](const Tensor& x) { return nn::layer_norm(x, vector, vector); });
  check_gradient(device, {16}, [&](const Tensor& x) { return nn::gelu(other * x); });
  check_gradient(device, {1, 4, 16}, [&](const Tensor& x) { return nn::attention(x, x, x, {2, true}); });
  check_gradient(device, {2, 4, 6}, [&](const Tensor& x) { return nn::matmul(x, nn::transpose(x)); });
  check_gradient(device, {2, 3, 4}, [&](const Tensor& x) {
    const std::vector<Tensor> parts = nn::split(x, 2);
    return nn::concat({nn::permute(parts[1], {1, 0, 2}), nn::permute(nn::silu(parts[0]), {1, 0, 2})}, 2);
  });
  check_gradient(device, {1, 4, 4, 2}, [&](const Tensor& x) { return nn::avg_pool2d(nn::sigmoid(x), 2, 2); });
}

TEST(LayersTensor, ACustomOpHasItsOwnBackward) {
  const attend::Device device = one_thread();
  const auto cube = [&](const Tensor& x) {
    const std::vector<float> values = x.values();
    std::vector<float> y;
    for (const float value : values) y.push_back(value * value * value);
    return nn::custom_op({x}, Tensor(device, x.shape(), y), [values, device](const Tensor& dy) {
      std::vector<float> dx = dy.values();
      for (std::size_t i = 0; i < dx.size(); ++i) dx[i] *= 3 * values[i] * values[i];
      return std::vector<Tensor>{Tensor(device, dy.shape(), dx)};
    });
  };
  check_gradient(device, {2, 3}, [&](const Tensor& x) { return cube(x) * x; });
  nn::Tape tape(device);
  const Tensor x = tape.variable(Tensor::full(device, {2}, 1));
  const Tensor bad =
      nn::custom_op({x}, Tensor::full(device, {3}, 1), [&](const Tensor& dy) { return std::vector<Tensor>{dy}; });
  expect_error([&] { nn::sum(bad).backward(); }, {"custom_op", "[2]", "[3]"});
}

TEST(LayersModules, GradientsMatchDifferences) {
  const attend::Device device = one_thread();
  const Tensor memory = Tensor::normal(device, {1, 5, 16}, 9);
  nn::TransformerDecoderLayer decoder({.width = 16, .heads = 2, .hidden = 24, .dropout = 0, .pre_norm = true});
  const nn::Parameters first(device, decoder);
  check_gradient(device, {1, 3, 16}, [&](const Tensor& x) { return decoder(x, memory); });
  check_gradient(device, {1, 3, 16}, [&](const Tensor& x) { return decoder(nn::beside(x, memory), x); });
  nn::LSTM lstm(5, 4, 2);
  const nn::Parameters second(device, lstm);
  check_gradient(device, {2, 3, 5}, [&](const Tensor& x) {
    return lstm(x, {}, Tensor::ids(device, {2}, {3, 1})).states;
  });
  nn::Conv2d convolution(2, 3, {.kernel = 3, .window = {.stride = 2, .padding = 1}});
  const nn::Parameters third(device, convolution);
  check_gradient(device, {1, 5, 4, 2}, [&](const Tensor& x) { return convolution(x); });
}

// The projections of cross-attention are rows of one parameter.
TEST(LayersModules, CrossAttentionLearnsAllOfItsProjection) {
  const attend::Device device = one_thread();
  nn::MultiHeadAttention attention(16, 2);
  const nn::Parameters parameters(device, attention);
  const Tensor x = Tensor::normal(device, {1, 3, 16}, 1), memory = Tensor::normal(device, {1, 4, 16}, 2);
  nn::Tape tape(device);
  nn::sum(attention(tape.input(x), memory)).backward();
  const Tensor crossed = parameters.gradient("in_proj_weight");
  ASSERT_EQ(crossed.shape(), (Shape{48, 16}));
  double sums[3] = {};
  const std::vector<float> values = crossed.values();
  for (std::size_t i = 0; i < values.size(); ++i) sums[i / 256] += std::abs(static_cast<double>(values[i]));
  for (const double sum : sums) EXPECT_GT(sum, 1e-3);
  EXPECT_EQ(attention(x, x).values(), attention(x).values());
  EXPECT_EQ(attention.weights(x, memory).shape(), (Shape{1, 2, 3, 4}));
}

TEST(LayersModules, EqualLayersOfAVectorLearnSeparately) {
  const attend::Device device = one_thread();
  Classifier model;
  const nn::Parameters parameters(device, model);
  EXPECT_NE(parameters["layers.0.linear1.weight"].values(), parameters["layers.1.linear1.weight"].values());
  EXPECT_EQ(parameters.names().front(), "embed.weight");
  EXPECT_EQ(parameters.names()[1], "layers.0.self_attn.in_proj_weight");
  const Classifier same = model;  // once there is memory, a copy is the same model
  EXPECT_EQ(same.out.weight.value().values(), parameters["out.weight"].values());
}

// Learns whether the token 3 is in a sequence.
TEST(LayersTraining, ATransformerLearnsAndItsFileLoads) {
  const attend::Device device = one_thread();
  Classifier model;
  nn::Parameters parameters(device, model);
  nn::Optimizer optimizer(parameters, {.schedule = nn::cosine(3e-3f, 5, 60), .clip_norm = 1});
  std::vector<std::int32_t> ids, labels;
  for (int i = 0; i < 64; ++i) {
    bool found = false;
    for (int t = 0; t < 6; ++t) ids.push_back((i * 7 + t * t * 5 + i * t) % 11), found |= ids.back() == 3;
    labels.push_back(found);
  }
  const Tensor x(device, {64, 6}, ids), y(device, {64}, labels);
  float first = 0;
  const float last = nn::fit(optimizer,
                             {.steps = 60,
                              .on_progress =
                                  [&](const nn::Progress& now) {
                                    if (now.step == 1) first = now.loss;
                                    return true;
                                  }},
                             [&](nn::Tape& tape, std::int64_t) { return nn::cross_entropy(model(tape.input(x)), y); });
  EXPECT_LT(last, first / 3);
  const std::string file = scratch("layers_classifier.safetensors");
  parameters.save(file);
  Classifier other;
  nn::Parameters loaded(device, other, 99);
  EXPECT_NE(other(x).values(), model(x).values());
  loaded.load(file);
  EXPECT_EQ(other(x).values(), model(x).values());
  nn::Linear linear(2, 3);
  nn::Parameters small(device, linear);
  expect_error([&] { small.load(file); }, {file, "weight"});
  std::filesystem::remove(file);
}

// A bf16 model computes what the f32 model does, rounded, and learns in f32: steps that are too small for bf16 count.
TEST(LayersTraining, ABf16ModelLearnsInF32) {
  const attend::Device device = one_thread();
  Classifier model, rounded;
  nn::Parameters parameters(device, model), masters(device, rounded, 1, attend::DType::bf16);
  const Tensor ids = Tensor::ids(device, {2, 3}, {1, 2, 3, 4, 5, 6}), labels = Tensor::ids(device, {2}, {0, 1});
  EXPECT_EQ(rounded(ids).dtype(), attend::DType::bf16);
  EXPECT_EQ(rounded.out.weight.values(), model.out.weight.values());
  EXPECT_NEAR(rounded(ids).values()[0], model(ids).values()[0], 0.03f);
  const std::vector<float> fine(32, 1 + 1e-4f);
  rounded.out.weight.set(fine);
  EXPECT_EQ(rounded.out.weight.values(), fine);
  EXPECT_EQ(masters["out.weight"].values()[0], 1);
  nn::Optimizer optimizer(masters, {.rate = 1e-4f});
  nn::Tape tape(device);
  for (int i = 0; i < 2; ++i) {
    nn::cross_entropy(rounded(tape.input(ids)), labels).backward();
    optimizer.step();
  }
  EXPECT_NEAR(std::abs(rounded.out.weight.values()[0] - fine[0]), 2e-4f, 2e-5f);
  const std::vector<float> learned = rounded.out.weight.values();
  const nn::Parameters again(device, rounded);  // f32 from here on
  EXPECT_EQ(again["out.weight"].values(), learned);
  expect_error([&] { nn::Parameters(device, model, 1, attend::DType::i32); }, {"i32"});
}

TEST(LayersTraining, GradientsAddUpUntilTheStep) {
  const attend::Device device = one_thread();
  nn::Linear model(1, 1);
  nn::Parameters parameters(device, model);
  parameters.set("weight", std::vector<float>{2});
  nn::Optimizer optimizer(parameters, {.kind = nn::OptimizerOptions::sgd, .rate = 0.5f});
  expect_error([&] { optimizer.step(); }, {"backward()"});
  nn::Tape tape(device);
  const Tensor x(device, {1, 1}, {3.0f});
  for (int i = 0; i < 2; ++i) nn::sum(model(tape.input(x))).backward();
  EXPECT_EQ(model.weight.gradient().item(), 6);
  optimizer.step();
  EXPECT_EQ(parameters["weight"].item(), -1);
  EXPECT_FALSE(parameters.gradient("weight").defined());
  int calls = 0;
  nn::fit(optimizer, {.steps = 9, .on_progress = [&](const nn::Progress&) { return ++calls < 2; }},
          [&](nn::Tape& own, std::int64_t) { return nn::sum(model(own.input(x))); });
  EXPECT_EQ(calls, 2);
  expect_error(
      [&] {
        nn::fit(optimizer, {.steps = 1}, [&](nn::Tape& own, std::int64_t) {
          return nn::sum(model(own.input(x)) * std::numeric_limits<float>::infinity());
        });
      },
      {"the loss of step 1"});
}

TEST(LayersMisuse, ShapesAndFormatsAreNamed) {
  const attend::Device device = one_thread();
  const Tensor x = Tensor::zeros(device, {2, 3}), w = Tensor::zeros(device, {4, 5}),
               ids = Tensor::ids(device, {2}, {1, 9});
  expect_error([&] { nn::linear(x, w); }, {"[2, 3]", "[4, 5]"});
  expect_error([&] { nn::matmul(x, w); }, {"[2, 3]", "[4, 5]"});
  expect_error([&] { x + w; }, {"[2, 3]", "[4, 5]"});
  expect_error([&] { nn::layer_norm(x, w, w); }, {"[2, 3]", "[4, 5]"});
  expect_error([&] { nn::concat({x, w}, 0); }, {"[2, 3]", "[4, 5]"});
  expect_error([&] { x.reshape({4, -1}); }, {"[2, 3]", "[4, -1]"});
  expect_error([&] { x.reshape({7}); }, {"[2, 3]", "[7]"});
  expect_error([&] { nn::mean_squared_error(x, w); }, {"[2, 3]", "[4, 5]"});
  expect_error([&] { nn::embedding(ids, w); }, {"embedding", "[2]", "9", "[0, 4)"});
  expect_error([&] { nn::cross_entropy(x, ids); }, {"cross_entropy", "9", "[0, 3)"});
  expect_error([&] { nn::cross_entropy(x, Tensor::ids(device, {2}, {0, -5})); }, {"-5"});
  expect_error([&] { nn::cross_entropy(x, x); }, {"i32"});
  expect_error([&] { nn::relu(ids); }, {"i32"});
  expect_error([&] { nn::slice(ids, 0, 0, 1); }, {"i32"});
  expect_error([&] { nn::attention(x, x, x); }, {"[2, 3]", "[B, T, C]"});
  expect_error([&] { nn::conv2d(x, w); }, {"[2, 3]", "[4, 5]"});
  expect_error([&] { nn::sum(x, 2); }, {"2", "[2, 3]"});
  expect_error([&] { nn::softmax(x, 5); }, {"5", "[2, 3]"});
  expect_error([&] { nn::permute(x, {0, 0}); }, {"[2, 3]"});
  expect_error([&] { nn::split(x, 2); }, {"[2, 3]", "2"});
  expect_error([&] { Tensor(device, {2, 2}, {1.0f}); }, {"[2, 2]", "1 values"});
  expect_error([&] { Tensor::zeros(device, {-1, 2}); }, {"-1"});
  expect_error([&] { x.item(); }, {"[2, 3]"});
  expect_error([&] { x.ints(); }, {"f32"});
  expect_error([&] { nn::relu(Tensor()); }, {"undefined"});
  expect_error([&] { Tensor().shape(); }, {"undefined"});
  expect_error([&] { nn::dropout(x, 1); }, {"[0, 1)"});
  const attend::Device other = one_thread();
  expect_error([&] { x + Tensor::zeros(other, {2, 3}); }, {"lies on"});
  expect_error([&] { nn::cast(ids, attend::DType::f32); }, {"i32", "f32"});
  expect_error([&] { x + nn::cast(x, attend::DType::bf16); }, {"f32", "bf16"});
  expect_error([&] { nn::linear(nn::cast(w, attend::DType::bf16), w); }, {"bf16", "f32"});
  expect_error([&] { attend::Device("tpu"); }, {"tpu"});
}

// Extents whose product overflows, and windows and heads that divide by zero.
TEST(LayersMisuse, SizesAreBounded) {
  const attend::Device device = one_thread();
  const std::int64_t huge = std::int64_t{1} << 32, most = std::numeric_limits<std::int64_t>::max();
  const Tensor none = Tensor::zeros(device, {0, 4}), image = Tensor::zeros(device, {1, 4, 4, 2});
  expect_error([&] { Tensor::zeros(device, {huge, huge}); }, {"[4294967296, 4294967296]", "too large"});
  expect_error([&] { none.reshape({huge, huge}); }, {"too large"});
  expect_error([&] { nn::sinusoids(device, 2, most - 1); }, {"too large"});
  expect_error([&] { nn::Conv2d(2, 4, {.window = {.groups = 0}}); }, {"0 groups"});
  expect_error([&] { nn::Conv2d(3, 4, {.window = {.groups = 2}}); }, {"3 inputs", "2 groups"});
  expect_error([&] { nn::conv2d(image, image, {}, {.padding = most}); }, {"padding"});
  expect_error([&] { nn::conv2d(image, image, {}, {.stride = 0}); }, {"stride 0"});
  expect_error([&] { nn::max_pool2d(image, 2, 0); }, {"stride 0"});
  expect_error([&] { nn::avg_pool2d(image, 8, 1); }, {"[1, 4, 4, 2]"});
  expect_error([&] { nn::slice(image, 1, 3, most); }, {"[1, 4, 4, 2]"});
  expect_error([&] { nn::LSTM(2, 4, 0); }, {"0 layers"});
  expect_error([&] { nn::TransformerEncoderLayer({.width = 8, .heads = 0}); }, {"8", "0 heads"});
  expect_error([&] { nn::TransformerEncoderLayer({.width = 8, .heads = 1, .hidden = -1}); }, {"-1"});
  const Tensor x = Tensor::zeros(device, {1, 2, 8});
  expect_error([&] { nn::attention(x, x, x, {.heads = 0}); }, {"0"});
  expect_error([&] { nn::attention(x, x, x, {.heads = 2}); }, {"8"});
  expect_error([&] { nn::attention(x, image.reshape({1, 4, 8}), x); }, {"[1, 4, 8]", "[1, 2, 8]"});
  nn::Linear large(huge, huge);
  expect_error([&] { nn::Parameters(device, large); }, {"too large"});
  EXPECT_EQ(nn::sum(none, 0).values(), (std::vector<float>(4, 0)));
}

TEST(LayersMisuse, LayersNameTheirWeights) {
  const attend::Device device = one_thread();
  nn::Linear linear(5, 4);
  const Tensor x = Tensor::zeros(device, {2, 3});
  expect_error([&] { linear(Tensor::zeros(device, {2, 5})); }, {"no numbers yet", "[4, 5]"});
  const nn::Parameters parameters(device, linear);
  expect_error([&] { linear(x); }, {"[4, 5]", "[2, 3]"});
  expect_error([&] { nn::MultiHeadAttention(10, 3); }, {"10", "3"});
  nn::GRU gru(4, 8);
  const nn::Parameters of_gru(device, gru);
  expect_error([&] { gru(x); }, {"[B, T, 4]", "[2, 3]"});
  expect_error([&] { gru(Tensor::zeros(device, {1, 2, 4}), {}, Tensor::ids(device, {1}, {5})); }, {"5", "[0, 3)"});
  expect_error([&] { parameters["bais"]; }, {"bais"});
  // Parameters of parameters: the newer holds them.
  nn::Parameters newer(device, linear);
  nn::Optimizer stale(parameters);
  nn::Tape tape(device);
  nn::sum(linear(tape.input(Tensor::zeros(device, {2, 5})))).backward();
  expect_error([&] { stale.step(); }, {"another nn::Parameters", "[4, 5]"});
  nn::Optimizer(newer).step();
}

TEST(LayersMisuse, BackwardRunsOnceAndOnlyFromATape) {
  const attend::Device device = one_thread();
  const Tensor plain = Tensor::full(device, {2}, 3);
  expect_error([&] { nn::sum(plain).backward(); }, {"Tape"});
  std::optional<nn::Tape> tape(std::in_place, device);
  const Tensor x = tape->variable(plain), y = x * x, loss = nn::sum(y);
  expect_error([&] { y.backward(); }, {"[2]", "one number"});
  loss.backward();
  EXPECT_EQ(x.gradient().values(), (std::vector<float>{6, 6}));
  expect_error([&] { loss.backward(); }, {"has ended"});
  EXPECT_EQ(nn::argmax(y).size(), 1);                      // results can still be read,
  expect_error([&] { nn::sum(y).backward(); }, {"Tape"});  // but not differentiated
  const Tensor again = tape->variable(plain);
  expect_error([&] { loss.backward(); }, {"has ended"});
  EXPECT_EQ(y.values(), (std::vector<float>{9, 9}));
  const Tensor cut = nn::sum(again * y);
  cut.backward();
  EXPECT_EQ(again.gradient().values(), (std::vector<float>{9, 9}));
  nn::Tape second(device);
  const Tensor one = tape->input(plain), two = second.input(plain);
  expect_error([&] { one + two; }, {"two tapes"});
  expect_error([&] { nn::sum(one).backward(); }, {"no parameter"});
  const Tensor kept = nn::sum(tape->variable(plain));
  tape.reset();
  expect_error([&] { kept.backward(); }, {"gone"});
  EXPECT_EQ(kept.item(), 6);
  expect_error([&] { plain.gradient(); }, {"[2]"});
}

// A slice of a table of positions is computed from a parameter alone.
TEST(LayersMisuse, ParametersThatWouldNotLearnAreNamed) {
  const attend::Device device = one_thread();
  nn::Embedding positions(5, 4);
  const nn::Parameters parameters(device, positions);
  const Tensor x = Tensor::zeros(device, {2, 3, 4});
  const auto model = [&](const Tensor& in, bool beside) {
    const Tensor table = positions.weight;
    return in + nn::slice(beside ? nn::beside(in, table) : table, 0, 0, 3);
  };
  EXPECT_EQ(model(x, false).values(), model(x, true).values());
  nn::Tape tape(device);
  expect_error([&] { model(tape.input(x), false); }, {"[3, 4]", "would not learn"});
  expect_error(
      [&] {
        nn::concat({nn::relu(positions.weight), tape.input(Tensor::zeros(device, {1, 4}))}, 0);
      },
      {"[5, 4]", "would not learn"});
  nn::sum(model(tape.input(x), true)).backward();
  EXPECT_EQ(parameters.gradient("weight").values()[0], 2);
  EXPECT_EQ(parameters.gradient("weight").values()[19], 0);
}

// A thread that computes while another one does gets an Error; one after the other is fine, and so are two devices.
TEST(LayersMisuse, TwoThreadsOnOneDeviceAreAnError) {
  const attend::Device device = one_thread();
  const Tensor x = Tensor::full(device, {2}, 1);
  std::string inside = "not run", other_device = "not run", after = "not run";
  nn::Tape tape(device);
  const Tensor y = nn::custom_op({tape.variable(x)}, x, [&](const Tensor& dy) {
    std::thread([&] {
      inside = error_of([&] { nn::relu(x); });
      const attend::Device own = one_thread();
      other_device = error_of([&] { nn::relu(Tensor::full(own, {2}, 1)).values(); });
    }).join();
    return std::vector<Tensor>{dy};
  });
  nn::sum(y).backward();
  std::thread([&] { after = error_of([&] { nn::relu(x).values(); }); }).join();
  EXPECT_NE(inside.find("another thread"), std::string::npos) << inside;
  EXPECT_EQ(other_device, "no error");
  EXPECT_EQ(after, "no error");
}

// Tensors and parameters may outlive their tape, model and device, in any order.
TEST(LayersMisuse, LifetimesDoNotMatter) {
  Tensor loss, logits;
  std::optional<nn::Parameters> parameters;
  std::optional<nn::Optimizer> optimizer;
  {
    const attend::Device device = one_thread();
    Classifier model;
    parameters.emplace(device, model);
    const Classifier moved = std::move(model);
    optimizer.emplace(*parameters);
    nn::Tape tape(device);
    logits = moved(tape.input(Tensor::ids(device, {1, 3}, {1, 2, 3})));
    loss = nn::cross_entropy(logits, Tensor::ids(device, {1}, {1}));
    loss.backward();
  }
  optimizer->step();
  parameters.reset();
  EXPECT_TRUE(std::isfinite(loss.item()));
  EXPECT_EQ(nn::softmax(logits).size(), 2);
  EXPECT_EQ(optimizer->steps(), 1);
}

}  // namespace
