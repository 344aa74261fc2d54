// custom_op: an op of your own, with its own backward. The op is softplus, log(1 + exp(x)); its slope is the sigmoid. The
// program compares the gradient with differences, and then fits a curve through the op.
#include <attend/nn.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <vector>

namespace nn = attend::nn;

namespace {

nn::Tensor softplus(const attend::Device& device, const nn::Tensor& x) {
  const std::vector<float> values = x.values();
  std::vector<float> y, slope;
  for (const float value : values) {
    y.push_back(std::max(value, 0.0f) + std::log1p(std::exp(-std::abs(value))));
    slope.push_back(1 / (1 + std::exp(-value)));
  }
  // What backward needs of the inputs, it captures.
  const nn::Tensor slopes(device, x.shape(), slope);
  return nn::custom_op({x}, nn::Tensor(device, x.shape(), y),
                       [slopes](const nn::Tensor& dy) { return std::vector<nn::Tensor>{dy * slopes}; });
}

float worst_gradient(const attend::Device& device) {
  nn::Tape tape(device);
  const nn::Tensor start = nn::Tensor::normal(device, {10}, 1, 2), x = tape.variable(start);
  nn::sum(softplus(device, x)).backward();
  const std::vector<float> gradient = x.gradient().values();
  std::vector<float> values = start.values();
  float worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float step = 1e-2f, kept = values[i];
    const auto at = [&](float value) {
      values[i] = value;
      return nn::sum(softplus(device, nn::Tensor(device, {10}, values))).item();
    };
    worst = std::max(worst, std::abs((at(kept + step) - at(kept - step)) / (2 * step) - gradient[i]));
    values[i] = kept;
  }
  return worst;
}

struct Network {
  nn::Linear hidden{1, 16}, out{16, 1};
  template <class V>
  void visit(V&& v) {
    v("hidden", hidden), v("out", out);
  }
};

}  // namespace

int main() try {
  const attend::Device device("cpu");
  const float worst = worst_gradient(device);
  std::printf("largest difference from a difference quotient: %.1e\n", static_cast<double>(worst));

  std::vector<float> xs, ys;
  for (int i = -20; i <= 20; ++i) xs.push_back(static_cast<float>(i) / 10), ys.push_back(std::abs(xs.back()));
  const nn::Tensor x(device, {41, 1}, xs), y(device, {41, 1}, ys);
  Network model;
  nn::Parameters parameters(device, model);
  nn::Optimizer optimizer(parameters, {.schedule = nn::cosine(0.05f, 10, 500)});
  const float loss = nn::fit(optimizer, {.steps = 500}, [&](nn::Tape& tape, std::int64_t) {
    return nn::mean_squared_error(model.out(softplus(device, model.hidden(tape.input(x)))), y);
  });
  std::printf("|x| through softplus: mean squared error %.5f\n", static_cast<double>(loss));
  return worst < 1e-2f && loss < 0.02f ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "custom_op: " << error.what() << '\n';
  return 1;
}
