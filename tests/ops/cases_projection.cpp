// A projection and the op behind it, which may leave the projection's bias gradient on its way (Grads::sums): with
// other readers of what the projection made, across reshapes, and computed again in the backward pass.
#include <array>
#include <cmath>
#include <utility>

#include "attend/ops/arithmetic.h"
#include "attend/ops/attention.h"
#include "attend/ops/layout.h"
#include "attend/ops/linear.h"
#include "attend/ops/norm.h"
#include "attend/tensor/tape.h"
#include "tests/ops/attention_reference.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

enum class Reader : std::uint8_t { none, earlier, later };            // another one, recorded before or after
enum class Again : std::uint8_t { nothing, projection, everything };  // is computed again

struct ProjectionSpec {
  std::string name;
  Shape x;               // [.., I]
  std::int64_t out = 1;  // O
  Shape stream;          // what the projection is added to: its elements under any shape
  float dropout = 0;
  Reader reader = Reader::none;
  Again again = Again::nothing;
  Activation activation = Activation::none;
};

template <class Body>
auto computed(Pass* pass, bool again, const Body& body) {
  return again && pass ? recomputed(*pass, body) : body();
}

// stream + dropout(x Wᵀ + b), its norm, and what the other reader makes.
Tensors run_projection(const ProjectionSpec& spec, std::span<const Tensor> in) {
  const Tensor x = in[0], weight = in[1], bias = in[2], stream = in[3], norm_weight = in[4], norm_bias = in[5];
  const auto project = [=, activation = spec.activation, shape = spec.stream] {
    return std::array<Tensor, 1>{ops::linear(x, weight, bias, {.activation = activation}).reshape(shape)};
  };
  const auto all = [=, again = spec.again, dropout = spec.dropout, reader = spec.reader] {
    const Tensor branch = computed(x.pass(), again == Again::projection, project)[0];
    Tensor second;
    if (reader == Reader::earlier) second = ops::scale(branch, 3);
    const auto [sum, norm] = ops::add_norm(stream, branch, norm_weight, norm_bias, {.dropout = dropout});
    if (reader == Reader::later) second = ops::scale(branch, 3);
    return std::array<Tensor, 3>{sum, norm, second};
  };
  const auto [sum, norm, second] = computed(x.pass(), spec.again == Again::everything, all);
  return second.defined() ? Tensors{sum, norm, second} : Tensors{sum, norm};
}

Arrays projection_reference(const ProjectionSpec& spec, std::span<const Array> in) {
  const Array &x = in[0], &weight = in[1], &bias = in[2];
  Array branch(spec.stream), sum = in[3], norm(spec.stream);
  for (std::int64_t r = 0; r < x.rows(); ++r)
    for (std::int64_t o = 0; o < spec.out; ++o) {
      double& y = branch[r * spec.out + o] = bias(o);
      for (std::int64_t i = 0; i < x.width(); ++i) y += x.at(r, i) * weight(o, i);
      y = activate(y, spec.activation);
    }
  for (std::int64_t i = 0; i < sum.size(); ++i)
    sum[i] += branch[i] * (spec.dropout > 0 ? dropout_factor(spec.dropout, 0, i) : 1);
  const auto width = static_cast<double>(sum.width());
  for (std::int64_t r = 0; r < sum.rows(); ++r) {
    double mean = 0, variance = 0;
    for (std::int64_t c = 0; c < sum.width(); ++c) mean += sum.at(r, c) / width;
    for (std::int64_t c = 0; c < sum.width(); ++c) variance += std::pow(sum.at(r, c) - mean, 2) / width;
    for (std::int64_t c = 0; c < sum.width(); ++c)
      norm.at(r, c) = (sum.at(r, c) - mean) / std::sqrt(variance + 1e-5) * in[4](c) + in[5](c);
  }
  if (spec.reader == Reader::none) return {sum, norm};
  for (std::int64_t i = 0; i < branch.size(); ++i) branch[i] *= 3;
  return {sum, norm, branch};
}

Case projection_case(const ProjectionSpec& spec) {
  const std::int64_t in = spec.x[-1], width = spec.stream[-1];
  return {
      .name = "projection_" + spec.name,
      .inputs = {reals(spec.x), weights({spec.out, in}), weights({spec.out}), reals(spec.stream, -2, 2),
                 weights({width}, 0.5, 1.5), weights({width})},
      .run = [spec](std::span<const Tensor> inputs) { return run_projection(spec, inputs); },
      .reference = [spec](std::span<const Array> inputs) { return projection_reference(spec, inputs); },
      .streams = spec.dropout > 0 ? 1 : 0,
      .slack = 3,
  };
}

// Causal attention over the thirds of what one projection made, with another reader of the keys or without.
struct AttentionSpec {
  std::string name;
  std::int64_t batch = 1, length = 1, in = 1, heads = 1, head = 8;
  bool keys_read = false;
};

Tensors run_attention(const AttentionSpec& spec, std::span<const Tensor> in) {
  const Tensor made = ops::linear(in[0], in[1], in[2]);
  const auto [q, k, v] = ops::split<3>(made);
  Tensors outputs{ops::attention(q, k, v, {.heads = spec.heads, .mask = {.causal = true}})};
  if (spec.keys_read) outputs.push_back(ops::scale(k, 3));
  return outputs;
}

Arrays attention_reference(const AttentionSpec& spec, std::span<const Array> in) {
  const std::int64_t width = spec.heads * spec.head;
  Array parts[3];
  for (std::int64_t part = 0; part < 3; ++part) {
    Array& made = parts[part] = Array({spec.batch, spec.length, width});
    const std::int64_t first = part * width;
    for (std::int64_t r = 0; r < made.rows(); ++r)
      for (std::int64_t o = 0; o < width; ++o) {
        made.at(r, o) = in[2](first + o);
        for (std::int64_t i = 0; i < spec.in; ++i) made.at(r, o) += in[0].at(r, i) * in[1](first + o, i);
      }
  }
  AttentionReference reference{.heads = spec.heads, .causal = true};
  for (std::int64_t b = 0; b < spec.batch; ++b)
    reference.sequences.push_back({b * spec.length, spec.length, b * spec.length, spec.length, spec.length});
  Arrays outputs{reference(parts[0], parts[1], parts[2])};
  if (spec.keys_read) {
    for (double& value : parts[1].values) value *= 3;
    outputs.push_back(parts[1]);
  }
  return outputs;
}

Case attention_case(const AttentionSpec& spec) {
  const std::int64_t out = 3 * spec.heads * spec.head;
  return {
      .name = "projection_attention_" + spec.name,
      .inputs = {reals({spec.batch, spec.length, spec.in}), weights({out, spec.in}), weights({out})},
      .run = [spec](std::span<const Tensor> inputs) { return run_attention(spec, inputs); },
      .reference = [spec](std::span<const Array> inputs) { return attention_reference(spec, inputs); },
      .slack = 3,
  };
}

}  // namespace

static void add_projection_cases(std::vector<Case>& cases) {
  for (const auto& [word, dropout] : {std::pair{"", 0.0f}, {"_dropout", 0.25f}}) {
    const auto add = [&cases, word = word, dropout = dropout](ProjectionSpec spec) {
      spec.name += word, spec.dropout = dropout;
      cases.push_back(projection_case(spec));
    };
    const Shape x = {7, 6}, stream = {7, 24};
    add({.name = "add_norm", .x = x, .out = 24, .stream = stream});
    add({.name = "add_norm_odd", .x = {2, 3, 5}, .out = 17, .stream = {6, 17}});
    add({.name = "read_earlier", .x = x, .out = 24, .stream = stream, .reader = Reader::earlier});
    add({.name = "read_later", .x = x, .out = 24, .stream = stream, .reader = Reader::later});
    add({.name = "again", .x = x, .out = 24, .stream = stream, .again = Again::projection});
    add({.name = "all_again", .x = x, .out = 24, .stream = stream, .again = Again::everything});
    add({.name = "read_earlier_again",
         .x = x,
         .out = 24,
         .stream = stream,
         .reader = Reader::earlier,
         .again = Again::projection});
  }
  cases.push_back(projection_case({.name = "of_other_rows", .x = {4, 6}, .out = 24, .stream = {8, 12}}));
  cases.push_back(
      projection_case({.name = "gelu", .x = {4, 6}, .out = 24, .stream = {4, 24}, .activation = Activation::gelu}));
  cases.push_back(projection_case({.name = "many_rows", .x = {300, 3}, .out = 8, .stream = {300, 8}}));
  // More than 64 positions: what the tensor cores of a GPU take by tiles.
  cases.push_back(attention_case({.name = "thirds", .batch = 2, .length = 70, .in = 4, .heads = 2, .head = 8}));
  cases.push_back(attention_case({.name = "wide", .batch = 1, .length = 100, .in = 3, .heads = 1, .head = 40}));
  cases.push_back(
      attention_case({.name = "keys_read", .batch = 1, .length = 70, .in = 4, .head = 8, .keys_read = true}));
  cases.push_back(projection_case({.name = "no_rows", .x = {0, 3}, .out = 8, .stream = {0, 8}}));
}

const CaseList kProjectionCases("projection", add_projection_cases);

}  // namespace attend::test
