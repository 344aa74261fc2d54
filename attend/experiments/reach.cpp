#include "attend/experiments/reach.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "attend/base/error.h"
#include "attend/experiments/normals.h"
#include "attend/tensor/pass.h"

namespace attend::experiments {

namespace {

struct Reader {
  const char* name;
  LayerKind kind;
  bool causal = false;
};
constexpr Reader kReaders[] = {{"MLP", LayerKind::mlp},
                               {"convolution", LayerKind::convolution},
                               {"tanh RNN", LayerKind::tanh},
                               {"LSTM", LayerKind::lstm},
                               {"self-attention", LayerKind::attention},
                               {"causal self-attention", LayerKind::attention, true}};

// All of the Jacobian in one backward pass: the batch repeats the sequence T·C times, and sequence (t, c) asks for the
// gradient of component c of output t.
ReachMap reach_of(const Reader& reader, const ReachOptions& options, Backend& backend) {
  const std::int64_t length = options.length, width = options.width, outputs = length * width;
  std::vector<std::unique_ptr<SequenceLayer>> layers;
  std::vector<nn::Parameters::Entry> entries;
  for (std::int64_t i = 0; i < options.layers; ++i) {
    layers.push_back(
        make_layer(reader.kind, {.width = width, .length = length, .kernel = options.kernel, .causal = reader.causal}));
    for (nn::Parameters::Entry& entry : layers.back()->parameters()) entries.push_back(entry);
  }
  nn::Parameters parameters(backend, entries, {.seed = options.seed});
  const Tensor x = make_tensor(backend, {outputs, length, width}, DType::f32),
               dy = make_tensor(backend, x.shape(), DType::f32);
  const std::vector<float> once = normal_numbers(options.seed, 1, outputs);
  std::vector<float> inputs, wanted(static_cast<std::size_t>(outputs * outputs));
  for (std::int64_t i = 0; i < outputs; ++i) {
    inputs.insert(inputs.end(), once.begin(), once.end());
    wanted[static_cast<std::size_t>(i * outputs + i)] = 1;
  }
  upload(x, inputs), upload(dy, wanted);
  Pass pass(backend, {.recording = true});
  parameters.start_gradients();
  const Tensor input = pass.variable(x);
  Tensor y = input;
  for (const auto& layer : layers) y = (*layer)(y);
  pass.backward(y, pass.input(dy));
  const std::vector<float> dx = download(gradient_of(input));  // [T·C, T, C]
  ReachMap map{reader.name, std::vector<double>(static_cast<std::size_t>(length * length)), length};
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i), output = place / outputs / width, from = place % outputs / width;
    map.sizes[static_cast<std::size_t>(output * length + from)] += std::pow(static_cast<double>(dx[i]), 2);
  }
  for (double& size : map.sizes) size = std::sqrt(size);
  return map;
}

double largest_of(const ReachMap& map) { return std::max(*std::ranges::max_element(map.sizes), 1e-30); }

}  // namespace

double ReachMap::reached() const {
  const auto count = std::ranges::count_if(sizes, [](double size) { return size > 0; });
  return static_cast<double>(count) / static_cast<double>(sizes.size());
}

std::vector<ReachMap> run_reach(const ReachOptions& options, Backend& backend) {
  check(options.length >= 2 && options.length <= 32, "reach: 2 to 32 positions, not {}", options.length);
  check(options.width <= 32, "reach: at most 32 dimensions, not {}", options.width);
  check(options.layers >= 1 && options.layers <= 16, "reach: 1 to 16 layers, not {}", options.layers);
  std::vector<ReachMap> maps;
  for (const Reader& reader : kReaders) maps.push_back(reach_of(reader, options, backend));
  return maps;
}

std::string reach_text(const ReachMap& map) {
  const double largest = largest_of(map);
  std::string text;
  for (std::int64_t t = 0; t < map.length; ++t) {
    text += "  ";
    for (std::int64_t s = 0; s < map.length; ++s) {
      const double size = map.at(t, s);
      text +=
          size > 0 ? static_cast<char>('0' + std::clamp(static_cast<int>(std::ceil(9 * size / largest)), 1, 9)) : '.';
      text += s + 1 < map.length ? " " : "\n";
    }
  }
  return text;
}

view::Figure reach_figure(const std::vector<ReachMap>& maps) {
  constexpr double kCell = 14, kTop = 60, kLeft = 46, kGap = 44;
  constexpr std::size_t kAcross = 3;
  const double side = kCell * static_cast<double>(maps.at(0).length), cell = std::max(side, 150.0) + kGap;
  const auto rows = static_cast<double>((maps.size() + kAcross - 1) / kAcross);
  view::Figure figure{.width = kLeft + cell * static_cast<double>(std::min(kAcross, maps.size())),
                      .height = kTop + rows * (side + kGap)};
  figure.texts.push_back(
      {.x = kLeft, .y = 22, .text = "Which input (column) reaches which output (row)", .size = 15, .bold = true});
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const ReachMap& map = maps[i];
    const double left = kLeft + cell * static_cast<double>(i % kAcross);
    const double top = kTop + (side + kGap) * static_cast<double>(i / kAcross);
    figure.texts.push_back({.x = left, .y = top - 6, .text = map.name, .size = 13});
    for (std::int64_t t = 0; t < map.length; ++t)
      for (std::int64_t s = 0; s < map.length; ++s)
        figure.rects.push_back({.x = left + kCell * static_cast<double>(s),
                                .y = top + kCell * static_cast<double>(t),
                                .width = kCell,
                                .height = kCell,
                                .weight = map.at(t, s) / largest_of(map)});
    figure.rects.push_back(
        {.x = left, .y = top, .width = side, .height = side, .color = {120, 120, 120}, .outline = true});
  }
  return figure;
}

}  // namespace attend::experiments
