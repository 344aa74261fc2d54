// recurrent: tanh, gru and lstm over whole sequences, both directions, lengths, a state to start from.
#include <fmt/core.h>

#include <cmath>

#include "attend/ops/recurrent.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

struct RecurrentSpec {
  RnnKind kind = RnnKind::tanh;
  std::int64_t batch = 1, length = 1, width = 1;
  bool bias = true, start = false, reverse = false;
  std::vector<std::int32_t> lengths = {};
};

// Where the optional inputs stand after gates and weight.
struct Places {
  int bias = -1, hidden = -1, cell = -1, lengths = -1;
  explicit Places(const RecurrentSpec& spec) {
    int next = 2;
    if (spec.bias) bias = next++;
    if (spec.start) hidden = next++;
    if (spec.start && spec.kind == RnnKind::lstm) cell = next++;
    if (!spec.lengths.empty()) lengths = next++;
  }
};

template <class T>
T taken(std::span<const T> in, int place) {
  return place < 0 ? T() : in[static_cast<std::size_t>(place)];
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One element of the state after a step, from its gates' two halves: i from the input, h from the state before.
void step(RnnKind kind, const double* i, const double* h, double& hidden, double& cell) {
  switch (kind) {
    case RnnKind::tanh:
      hidden = std::tanh(i[0] + h[0]);
      return;
    case RnnKind::gru: {
      const double reset = sigmoid(i[0] + h[0]), update = sigmoid(i[1] + h[1]);
      const double fresh = std::tanh(i[2] + reset * h[2]);
      hidden = (1 - update) * fresh + update * hidden;
      return;
    }
    case RnnKind::lstm:
      cell = sigmoid(i[1] + h[1]) * cell + sigmoid(i[0] + h[0]) * std::tanh(i[2] + h[2]);
      hidden = sigmoid(i[3] + h[3]) * std::tanh(cell);
  }
}

Arrays recurrent_reference(const RecurrentSpec& spec, std::span<const Array> in) {
  const Places place(spec);
  const Array &gates = in[0], &weight = in[1];
  const Array bias = taken(in, place.bias), lengths = taken(in, place.lengths);
  const std::int64_t batch = spec.batch, width = spec.width, parts = gates_of(spec.kind);
  Array hidden = spec.start ? in[static_cast<std::size_t>(place.hidden)] : Array({batch, width});
  Array cell = place.cell >= 0 ? in[static_cast<std::size_t>(place.cell)] : Array({batch, width});
  Array states({batch, spec.length, width});
  for (std::int64_t n = 0; n < spec.length; ++n) {
    const std::int64_t t = spec.reverse ? spec.length - 1 - n : n;
    const Array before = hidden;
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t c = 0; c < width; ++c) {
        if (spec.lengths.empty() || t < lengths(b)) {
          double from_input[4] = {}, from_hidden[4] = {};
          for (std::int64_t g = 0; g < parts; ++g) {
            from_input[g] = gates(b, t, g * width + c);
            from_hidden[g] = spec.bias ? bias(g * width + c) : 0;
            for (std::int64_t k = 0; k < width; ++k) from_hidden[g] += before(b, k) * weight(g * width + c, k);
          }
          step(spec.kind, from_input, from_hidden, hidden(b, c), cell(b, c));
        }
        states(b, t, c) = hidden(b, c);
      }
  }
  if (spec.kind == RnnKind::lstm) return {states, hidden, cell};
  return {states, hidden};
}

Case recurrent_case(const RecurrentSpec& spec) {
  constexpr const char* kNames[] = {"tanh", "gru", "lstm"};
  std::string name =
      fmt::format("recurrent_{}_{}_{}_{}", kNames[static_cast<int>(spec.kind)], spec.batch, spec.length, spec.width);
  if (spec.bias) name += "_bias";
  if (spec.start) name += "_start";
  if (spec.reverse) name += "_reverse";
  if (!spec.lengths.empty()) name += "_lengths";
  const std::int64_t parts = gates_of(spec.kind);
  const double range = 1 / std::sqrt(static_cast<double>(spec.width));
  std::vector<Input> inputs{reals({spec.batch, spec.length, parts * spec.width}, -2, 2),
                            weights({parts * spec.width, spec.width}, -range, range)};
  if (spec.bias) inputs.push_back(weights({parts * spec.width}));
  if (spec.start) inputs.push_back(reals({spec.batch, spec.width}));
  if (spec.start && spec.kind == RnnKind::lstm) inputs.push_back(reals({spec.batch, spec.width}));
  if (!spec.lengths.empty()) inputs.push_back(ints(spec.lengths));
  return {
      .name = name,
      .inputs = std::move(inputs),
      .run =
          [spec](std::span<const Tensor> in) {
            const Places place(spec);
            const auto [states, hidden, cell] = ops::recurrent(spec.kind, in[0], in[1], taken(in, place.bias),
                                                               {.hidden = taken(in, place.hidden),
                                                                .cell = taken(in, place.cell),
                                                                .lengths = taken(in, place.lengths),
                                                                .reverse = spec.reverse});
            return cell.defined() ? Tensors{states, hidden, cell} : Tensors{states, hidden};
          },
      .reference = [spec](std::span<const Array> in) { return recurrent_reference(spec, in); },
      .slack = 2,
  };
}

}  // namespace

static void add_recurrent_cases(std::vector<Case>& cases) {
  for (RnnKind kind : {RnnKind::tanh, RnnKind::gru, RnnKind::lstm}) {
    cases.push_back(recurrent_case({.kind = kind, .batch = 1, .length = 1, .width = 1}));
    cases.push_back(recurrent_case({.kind = kind, .batch = 3, .length = 5, .width = 17}));
    cases.push_back(recurrent_case({.kind = kind, .batch = 3, .length = 5, .width = 9, .bias = false}));
    cases.push_back(recurrent_case({.kind = kind, .batch = 2, .length = 4, .width = 8, .start = true}));
    cases.push_back(
        recurrent_case({.kind = kind, .batch = 2, .length = 4, .width = 8, .start = true, .reverse = true}));
    cases.push_back(recurrent_case({.kind = kind, .batch = 4, .length = 5, .width = 7, .lengths = {5, 2, 0, 1}}));
    cases.push_back(recurrent_case(
        {.kind = kind, .batch = 3, .length = 5, .width = 7, .start = true, .reverse = true, .lengths = {5, 2, 0}}));
    cases.push_back(recurrent_case({.kind = kind, .batch = 0, .length = 3, .width = 4}));
    cases.push_back(recurrent_case({.kind = kind, .batch = 2, .length = 0, .width = 4, .start = true}));
    cases.push_back(recurrent_case({.kind = kind, .batch = 5, .length = 3, .width = 40}));

    for (const auto& [size, batch, width] : {std::tuple{Case::Size::base, 32, 256}, {Case::Size::large, 80, 1000}}) {
      Case one = recurrent_case({.kind = kind, .batch = batch, .length = 30, .width = width});
      one.size = size;
      one.forward.flops = 2.0 * 30 * batch * width * width * gates_of(kind);
      one.backward.flops = 2 * one.forward.flops;
      cases.push_back(one);
    }
  }
}

const CaseList kRecurrentCases("recurrent", add_recurrent_cases);

}  // namespace attend::test
