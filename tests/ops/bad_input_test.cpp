// Calls that cannot work: each must throw Error, and say which op it was.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "attend/base/error.h"
#include "attend/ops/activation.h"
#include "attend/ops/additive_attention.h"
#include "attend/ops/arithmetic.h"
#include "attend/ops/attention.h"
#include "attend/ops/boxes.h"
#include "attend/ops/embedding.h"
#include "attend/ops/layout.h"
#include "attend/ops/linear.h"
#include "attend/ops/linear_cross_entropy.h"
#include "attend/ops/norm.h"
#include "attend/ops/recurrent.h"
#include "attend/ops/reduce.h"
#include "attend/ops/softmax.h"
#include "attend/tensor/pass.h"
#include "tests/ops/devices.h"

namespace attend::test {
namespace {

struct BadCall {
  std::string name;  // op__why
  std::function<void()> call;
};

void PrintTo(const BadCall& bad, std::ostream* out) { *out << bad.name; }

Tensor floats(const Shape& shape) { return make_tensor(cpu(), shape, DType::f32); }
Tensor halves(const Shape& shape) { return make_tensor(cpu(), shape, DType::bf16); }
Tensor integers(const Shape& shape) { return make_tensor(cpu(), shape, DType::i32); }
// On another device: to the ops, any other backend is one.
Tensor elsewhere(const Shape& shape) { return make_tensor(exact_cpu(), shape, DType::f32); }
Tensor integers_elsewhere(const Shape& shape) { return make_tensor(exact_cpu(), shape, DType::i32); }
// Rows with gaps.
Tensor gaps(std::int64_t rows, std::int64_t width) { return floats({rows, 2 * width}).columns(0, width); }

void add_products(std::vector<BadCall>& calls) {
  using namespace ops;
  calls.push_back({"linear__width", [] { linear(floats({3, 5}), floats({4, 6})); }});
  calls.push_back({"linear__width_input_major", [] {
                     linear(floats({3, 5}), floats({4, 5}), {}, {.input_major = true});
                   }});
  calls.push_back({"linear__bias", [] { linear(floats({3, 5}), floats({4, 5}), floats({5})); }});
  calls.push_back({"linear__dtype", [] { linear(floats({3, 5}), halves({4, 5})); }});
  calls.push_back({"linear__integers", [] { linear(integers({3, 5}), integers({4, 5})); }});
  calls.push_back({"linear__device", [] { linear(floats({3, 5}), elsewhere({4, 5})); }});
  calls.push_back({"linear__bias_device", [] { linear(floats({3, 5}), floats({4, 5}), elsewhere({4})); }});
  calls.push_back({"linear__no_weight", [] { linear(floats({3, 5}), Tensor()); }});
  calls.push_back({"linear__no_input", [] { linear(Tensor(), floats({3, 5})); }});
  calls.push_back({"linear__weight_rank", [] { linear(floats({3, 5}), floats({2, 4, 5})); }});
  calls.push_back({"matmul__inner", [] { matmul(floats({3, 5}), floats({4, 6})); }});
  calls.push_back({"matmul__inner_transposed", [] { matmul(floats({3, 5}), floats({5, 4}), {.transpose_b = true}); }});
  calls.push_back({"matmul__ranks", [] { matmul(floats({3, 5}), floats({2, 5, 4})); }});
  calls.push_back({"matmul__batch", [] { matmul(floats({3, 4, 5}), floats({2, 5, 4})); }});
  calls.push_back({"matmul__rank_one", [] { matmul(floats({5}), floats({5})); }});
  calls.push_back({"matmul__dtype", [] { matmul(floats({3, 5}), halves({5, 4})); }});
  calls.push_back({"matmul__device", [] { matmul(floats({3, 5}), elsewhere({5, 4})); }});
}

void add_lookups(std::vector<BadCall>& calls) {
  using namespace ops;
  calls.push_back({"embedding__float_ids", [] { embedding(floats({3}), floats({5, 4})); }});
  calls.push_back({"embedding__table_rank", [] { embedding(integers({3}), floats({5})); }});
  calls.push_back({"embedding__integer_table", [] { embedding(integers({3}), integers({5, 4})); }});
  calls.push_back({"embedding__positions_width", [] {
                     embedding(integers({3}), floats({5, 4}), {.positions = floats({9, 3})});
                   }});
  calls.push_back({"embedding__too_few_positions", [] {
                     embedding(integers({2, 10}), floats({5, 4}), {.positions = floats({9, 4})});
                   }});
  calls.push_back({"embedding__positions_dtype", [] {
                     embedding(integers({3}), floats({5, 4}), {.positions = halves({9, 4})});
                   }});
  calls.push_back(
      {"embedding__position_ids_shape", [] {
         embedding(integers({3}), floats({5, 4}), {.positions = floats({9, 4}), .position_ids = integers({2})});
       }});
  calls.push_back({"embedding__device", [] { embedding(integers_elsewhere({3}), floats({5, 4})); }});
  calls.push_back({"embedding__no_table", [] { embedding(integers({3}), Tensor()); }});
  calls.push_back({"gather__rank", [] { gather(floats({5}), integers({3})); }});
  calls.push_back({"gather__ids_rank", [] { gather(floats({5, 4}), integers({3, 1})); }});
  calls.push_back({"gather__float_ids", [] { gather(floats({5, 4}), floats({3})); }});
  calls.push_back({"gather__device", [] { gather(floats({5, 4}), integers_elsewhere({3})); }});
}

void add_norms(std::vector<BadCall>& calls) {
  using namespace ops;
  calls.push_back({"layer_norm__weight", [] { layer_norm(floats({3, 5}), floats({4}), floats({5})); }});
  calls.push_back({"layer_norm__bias", [] { layer_norm(floats({3, 5}), floats({5}), floats({4})); }});
  calls.push_back({"layer_norm__no_weight", [] { layer_norm(floats({3, 5}), Tensor(), Tensor()); }});
  calls.push_back({"layer_norm__gaps", [] { layer_norm(gaps(3, 5), floats({5}), floats({5})); }});
  calls.push_back({"layer_norm__dtype", [] { layer_norm(floats({3, 5}), halves({5}), floats({5})); }});
  calls.push_back({"add_norm__shapes", [] { add_norm(floats({3, 5}), floats({2, 5}), floats({5}), floats({5})); }});
  calls.push_back({"add_norm__dtype", [] { add_norm(floats({3, 5}), halves({3, 5}), floats({5}), floats({5})); }});
  calls.push_back({"add_norm__device", [] { add_norm(floats({3, 5}), elsewhere({3, 5}), floats({5}), floats({5})); }});
  calls.push_back({"add_norm__no_branch", [] { add_norm(floats({3, 5}), Tensor(), floats({5}), floats({5})); }});
  calls.push_back(
      {"add_norm__dropped_twice", [] {
         add_norm(floats({3, 5}), floats({3, 5}), floats({5}), floats({5}), {.dropout = 0.1f, .drop_path = 0.1f});
       }});
  calls.push_back({"add_norm__gaps", [] { add_norm(floats({3, 5}), gaps(3, 5), floats({5}), floats({5})); }});
}

Tensor attend_with(const AttentionMask& mask, const Shape& q = {2, 3, 16}, const Shape& k = {2, 5, 16},
                   std::int64_t heads = 2) {
  return ops::attention(floats(q), floats(k), floats(k), {.heads = heads, .mask = mask});
}

void add_attentions(std::vector<BadCall>& calls) {
  calls.push_back({"attention__heads", [] { attend_with({}, {2, 3, 16}, {2, 5, 16}, 3); }});
  calls.push_back({"attention__no_heads", [] { attend_with({}, {2, 3, 16}, {2, 5, 16}, 0); }});
  calls.push_back({"attention__head_width", [] { attend_with({}, {2, 3, 24}, {2, 5, 24}, 2); }});
  calls.push_back({"attention__head_too_wide", [] { attend_with({}, {2, 3, 136}, {2, 5, 136}, 1); }});
  calls.push_back({"attention__widths", [] { attend_with({}, {2, 3, 16}, {2, 5, 32}); }});
  calls.push_back({"attention__batch", [] { attend_with({}, {2, 3, 16}, {1, 5, 16}); }});
  calls.push_back({"attention__ranks", [] { attend_with({}, {3, 16}, {5, 16}); }});
  calls.push_back({"attention__value_shape", [] {
                     ops::attention(floats({2, 3, 16}), floats({2, 5, 16}), floats({2, 4, 16}), {.heads = 2});
                   }});
  calls.push_back({"attention__dtype", [] {
                     ops::attention(floats({2, 3, 16}), halves({2, 5, 16}), halves({2, 5, 16}), {.heads = 2});
                   }});
  calls.push_back({"attention__device", [] {
                     ops::attention(floats({2, 3, 16}), elsewhere({2, 5, 16}), elsewhere({2, 5, 16}), {.heads = 2});
                   }});
  calls.push_back({"attention__no_keys", [] { ops::attention(floats({2, 3, 16}), Tensor(), Tensor(), {.heads = 2}); }});
  calls.push_back({"attention__lengths", [] { attend_with({.key_lengths = integers({3})}); }});
  calls.push_back({"attention__float_lengths", [] { attend_with({.key_lengths = floats({2})}); }});
  calls.push_back({"attention__lengths_device", [] { attend_with({.key_lengths = integers_elsewhere({2})}); }});
  calls.push_back({"attention__bias_shape", [] { attend_with({.bias = floats({1, 2, 3, 4})}); }});
  calls.push_back({"attention__bias_groups", [] { attend_with({.bias = floats({3, 2, 3, 5})}); }});
  calls.push_back({"attention__bias_dtype", [] { attend_with({.bias = halves({1, 2, 3, 5})}); }});
  calls.push_back({"attention__bias_device", [] { attend_with({.bias = elsewhere({1, 2, 3, 5})}); }});
  calls.push_back(
      {"attention__packed_rank", [] {
         attend_with({.query_offsets = integers({3}), .key_offsets = integers({3}), .max_queries = 3, .max_keys = 5});
       }});
  calls.push_back({"attention__packed_no_key_offsets", [] {
                     attend_with({.query_offsets = integers({3}), .max_queries = 3, .max_keys = 5}, {6, 16}, {10, 16});
                   }});
  calls.push_back(
      {"attention__packed_offsets", [] {
         attend_with({.query_offsets = integers({3}), .key_offsets = integers({4}), .max_queries = 3, .max_keys = 5},
                     {6, 16}, {10, 16});
       }});
  calls.push_back({"attention__packed_no_maximum", [] {
                     attend_with({.query_offsets = integers({3}), .key_offsets = integers({3})}, {6, 16}, {10, 16});
                   }});
  calls.push_back({"attention__packed_bias", [] {
                     attend_with({.query_offsets = integers({3}),
                                  .key_offsets = integers({3}),
                                  .max_queries = 3,
                                  .max_keys = 5,
                                  .bias = floats({1, 2, 3, 5})},
                                 {6, 16}, {10, 16});
                   }});
  calls.push_back({"additive_scores__batch", [] {
                     ops::additive_scores(floats({2, 3, 4}), floats({1, 5, 4}), floats({4}));
                   }});
  calls.push_back({"additive_scores__width", [] {
                     ops::additive_scores(floats({2, 3, 4}), floats({2, 5, 3}), floats({4}));
                   }});
  calls.push_back({"additive_scores__v", [] {
                     ops::additive_scores(floats({2, 3, 4}), floats({2, 5, 4}), floats({3}));
                   }});
  calls.push_back({"additive_scores__no_v", [] {
                     ops::additive_scores(floats({2, 3, 4}), floats({2, 5, 4}), Tensor());
                   }});
}

void add_losses(std::vector<BadCall>& calls) {
  using namespace ops;
  calls.push_back({"softmax__integers", [] { softmax(integers({3, 5})); }});
  calls.push_back({"softmax__lengths", [] { softmax(floats({3, 5}), integers({2})); }});
  calls.push_back({"softmax__float_lengths", [] { softmax(floats({3, 5}), floats({3})); }});
  calls.push_back({"softmax__gaps", [] { softmax(gaps(3, 5)); }});
  calls.push_back({"cross_entropy__targets", [] { cross_entropy(floats({3, 5}), integers({4})); }});
  calls.push_back({"cross_entropy__float_targets", [] { cross_entropy(floats({3, 5}), floats({3})); }});
  calls.push_back({"cross_entropy__no_targets", [] { cross_entropy(floats({3, 5}), Tensor()); }});
  calls.push_back({"cross_entropy__device", [] { cross_entropy(floats({3, 5}), integers_elsewhere({3})); }});
  calls.push_back({"cross_entropy__class_weights", [] {
                     cross_entropy(floats({3, 5}), integers({3}), {.class_weights = floats({4})});
                   }});
  calls.push_back({"cross_entropy__class_weights_device", [] {
                     cross_entropy(floats({3, 5}), integers({3}), {.class_weights = elsewhere({5})});
                   }});
  calls.push_back({"cross_entropy__class_weights_smoothing", [] {
                     cross_entropy(floats({3, 5}), integers({3}), {.smoothing = 0.1f, .class_weights = floats({5})});
                   }});
  calls.push_back(
      {"linear_cross_entropy__class_weights", [] {
         linear_cross_entropy(floats({3, 4}), floats({5, 4}), Tensor(), integers({3}), {.class_weights = floats({5})});
       }});
  calls.push_back({"box_distances__shapes", [] { box_distances(floats({3, 4}), floats({2, 4})); }});
  calls.push_back({"box_distances__width", [] { box_distances(floats({3, 5}), floats({3, 5})); }});
  calls.push_back({"box_distances__dtype", [] { box_distances(halves({3, 4}), halves({3, 4})); }});
  calls.push_back({"box_distances__undefined", [] { box_distances(floats({3, 4}), Tensor()); }});
  calls.push_back({"box_losses__weights", [] { box_losses(floats({3, 4}), floats({3, 4}), floats({3})); }});
  calls.push_back({"cross_entropy__smoothing", [] { cross_entropy(floats({3, 5}), integers({3}), {.smoothing = 1}); }});
}

void add_elementwise(std::vector<BadCall>& calls) {
  using namespace ops;
  calls.push_back({"activation__integers", [] { relu(integers({3})); }});
  calls.push_back({"activation__undefined", [] { gelu(Tensor()); }});
  calls.push_back({"activation__gaps", [] { silu(gaps(3, 5)); }});
  calls.push_back({"dropout__integers", [] { dropout(integers({3}), 0.5f); }});
  calls.push_back({"dropout__rate", [] {
                     Pass pass(cpu(), {.recording = true});
                     dropout(pass.tensor({3}, DType::f32), 1.5f);
                   }});
  calls.push_back({"add__shapes", [] { add(floats({3, 5}), floats({3, 4})); }});
  calls.push_back({"add__prefix", [] { add(floats({3, 5}), floats({3})); }});
  calls.push_back({"add__longer", [] { add(floats({5}), floats({3, 5})); }});
  calls.push_back({"add__dtype", [] { add(floats({3, 5}), halves({3, 5})); }});
  calls.push_back({"add__device", [] { add(floats({3, 5}), elsewhere({3, 5})); }});
  calls.push_back({"add__undefined", [] { add(floats({3, 5}), Tensor()); }});
  calls.push_back({"multiply__shapes", [] { multiply(floats({3, 5}), floats({4, 5})); }});
  calls.push_back({"multiply__undefined", [] { multiply(floats({3, 5}), Tensor()); }});
  calls.push_back({"scale__integers", [] { scale(integers({3}), 2); }});
  calls.push_back({"cast__from_integers", [] { cast(integers({3}), DType::f32); }});
  calls.push_back({"cast__to_integers", [] { cast(floats({3}), DType::i32); }});
  for (const char* op : {"sum", "mean", "max"}) {
    const auto call = [name = std::string(op)](const Tensor& x, int axis) {
      if (name == "sum") return sum(x, axis);
      return name == "mean" ? mean(x, axis) : ops::max(x, axis).value;
    };
    calls.push_back({std::string(op) + "__axis", [call] { call(floats({3, 5}), 2); }});
    calls.push_back({std::string(op) + "__negative_axis", [call] { call(floats({3, 5}), -3); }});
    calls.push_back({std::string(op) + "__integers", [call] { call(integers({3, 5}), 0); }});
    calls.push_back({std::string(op) + "__gaps", [call] { call(gaps(3, 5), 0); }});
  }
  calls.push_back({"mean__of_nothing", [] { mean(floats({3, 0}), 1); }});
  calls.push_back({"max__of_nothing", [] { ops::max(floats({3, 0}), 1); }});
}

void add_layouts(std::vector<BadCall>& calls) {
  using namespace ops;
  calls.push_back({"split__width", [] { split<3>(floats({3, 5})); }});
  calls.push_back({"split__undefined", [] { split<2>(Tensor()); }});
  calls.push_back({"slice__range", [] { slice(floats({3, 5}), 1, 3, 3); }});
  calls.push_back({"slice__negative", [] { slice(floats({3, 5}), 1, -1, 2); }});
  calls.push_back({"slice__axis", [] { slice(floats({3, 5}), 2, 0, 1); }});
  calls.push_back({"slice__undefined", [] { slice(Tensor(), 0, 0, 1); }});
  calls.push_back({"concat__nothing", [] { concat({}, 0); }});
  calls.push_back({"concat__shapes", [] { concat({floats({3, 5}), floats({3, 4})}, 0); }});
  calls.push_back({"concat__ranks", [] { concat({floats({3, 5}), floats({3})}, 0); }});
  calls.push_back({"concat__axis", [] { concat({floats({3, 5}), floats({3, 5})}, 2); }});
  calls.push_back({"concat__dtype", [] { concat({floats({3, 5}), halves({3, 5})}, 0); }});
  calls.push_back({"concat__device", [] { concat({floats({3, 5}), elsewhere({3, 5})}, 0); }});
  calls.push_back({"permute__count", [] { permute(floats({3, 5}), {0, 1, 2}); }});
  calls.push_back({"permute__twice", [] { permute(floats({3, 5}), {1, 1}); }});
  calls.push_back({"permute__axis", [] { permute(floats({3, 5}), {0, 2}); }});
  calls.push_back({"split_heads__rank", [] { split_heads(floats({3, 8}), 2); }});
  calls.push_back({"split_heads__heads", [] { split_heads(floats({2, 3, 8}), 3); }});
  calls.push_back({"merge_heads__rank", [] { merge_heads(floats({2, 3, 8})); }});
}

void add_recurrent(std::vector<BadCall>& calls) {
  using ops::recurrent;
  calls.push_back({"recurrent__gates_rank", [] { recurrent(RnnKind::tanh, floats({3, 4}), floats({4, 4}), {}); }});
  calls.push_back({"recurrent__gates_width", [] { recurrent(RnnKind::lstm, floats({2, 3, 6}), floats({6, 2}), {}); }});
  calls.push_back({"recurrent__weight", [] { recurrent(RnnKind::gru, floats({2, 3, 6}), floats({6, 3}), {}); }});
  calls.push_back({"recurrent__bias", [] { recurrent(RnnKind::gru, floats({2, 3, 6}), floats({6, 2}), floats({2})); }});
  calls.push_back({"recurrent__hidden", [] {
                     recurrent(RnnKind::gru, floats({2, 3, 6}), floats({6, 2}), {}, {.hidden = floats({3, 2})});
                   }});
  calls.push_back({"recurrent__lengths", [] {
                     recurrent(RnnKind::gru, floats({2, 3, 6}), floats({6, 2}), {}, {.lengths = integers({3})});
                   }});
  calls.push_back({"recurrent__float_lengths", [] {
                     recurrent(RnnKind::gru, floats({2, 3, 6}), floats({6, 2}), {}, {.lengths = floats({2})});
                   }});
  calls.push_back({"recurrent__dtype", [] { recurrent(RnnKind::gru, floats({2, 3, 6}), halves({6, 2}), {}); }});
  calls.push_back({"recurrent__device", [] { recurrent(RnnKind::gru, floats({2, 3, 6}), elsewhere({6, 2}), {}); }});
}

std::vector<BadCall> bad_calls() {
  std::vector<BadCall> calls;
  add_products(calls);
  add_lookups(calls);
  add_norms(calls);
  add_attentions(calls);
  add_losses(calls);
  add_elementwise(calls);
  add_layouts(calls);
  add_recurrent(calls);
  return calls;
}

class BadInput : public testing::TestWithParam<BadCall> {};

TEST_P(BadInput, IsRefusedByName) {
  const BadCall& bad = GetParam();
  const std::string op = bad.name.substr(0, bad.name.find("__")) + ":";
  try {
    bad.call();
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, op.size()), op) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, BadInput, testing::ValuesIn(bad_calls()),
                         [](const testing::TestParamInfo<BadCall>& info) { return info.param.name; });

}  // namespace

}  // namespace attend::test
