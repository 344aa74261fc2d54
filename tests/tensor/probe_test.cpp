// The attention probe: the weights it sees, times v, are what the flash kernel returned.
#include <gtest/gtest.h>

#include <cmath>

#include "attend/ops/attention.h"
#include "tests/tensor/tensors.h"

namespace attend::test {
namespace {

struct Seen final : Probe {
  std::vector<std::string> labels;
  std::vector<Shape> shapes;
  std::vector<std::vector<float>> weights;
  void attention(std::string_view label, const Tensor& tensor) override {
    labels.emplace_back(label);
    shapes.push_back(tensor.shape());
    weights.push_back(download(tensor));
  }
};

std::vector<float> wide_noise(std::int64_t count, unsigned seed) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values.push_back(static_cast<float>(seed >> 8) / static_cast<float>(1 << 22) - 2);
  }
  return values;
}

struct Sequence {
  std::int64_t query_row, queries, key_row, keys;
};

// weights [B, H, T, S] times v, for the rows of each sequence, against y.
void expect_product(const Seen& seen, const std::vector<Sequence>& sequences, std::int64_t heads, std::int64_t head,
                    const Tensor& v, const Tensor& y, double tolerance) {
  ASSERT_EQ(seen.weights.size(), 1u);
  const std::vector<float>&weights = seen.weights[0], values = download(v), result = download(y);
  const std::int64_t rows = seen.shapes[0][2], columns = seen.shapes[0][3], width = heads * head;
  for (std::size_t b = 0; b < sequences.size(); ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t t = 0; t < sequences[b].queries; ++t) {
        const float* row = weights.data() + ((static_cast<std::int64_t>(b) * heads + h) * rows + t) * columns;
        double total = 0;
        for (std::int64_t s = 0; s < columns; ++s) {
          EXPECT_TRUE(s < sequences[b].keys || row[s] == 0) << "a key that is not there";
          total += row[s];
        }
        EXPECT_TRUE(std::abs(total - 1) < 1e-3 || total == 0) << total;
        for (std::int64_t d = 0; d < head; ++d) {
          double sum = 0;
          for (std::int64_t s = 0; s < sequences[b].keys; ++s)
            sum += row[s] * values[static_cast<std::size_t>((sequences[b].key_row + s) * width + h * head + d)];
          const auto at = static_cast<std::size_t>((sequences[b].query_row + t) * width + h * head + d);
          ASSERT_NEAR(sum, result[at], tolerance) << "sequence " << b << ", head " << h << ", query " << t;
        }
      }
}

class ProbeOn : public OnDevice {};

TEST_P(ProbeOn, SeesWhatDenseAttentionUsed) {
  const std::int64_t batch = 2, queries = 9, keys = 19, heads = 3, head = 16;
  for (DType dtype : {DType::f32, DType::bf16}) {
    Seen seen;
    Pass pass(backend(), {.probe = &seen});
    const Shape q{batch, queries, heads * head}, k{batch, keys, heads * head};
    const Tensor v = tensor_of(backend(), k, wide_noise(k.size(), 3), dtype);
    Tensor lengths = make_tensor(backend(), {batch}, DType::i32);
    upload(lengths, std::vector<std::int32_t>{19, 12});
    const Tensor y =
        ops::attention(pass.input(tensor_of(backend(), q, wide_noise(q.size(), 1), dtype)),
                       pass.input(tensor_of(backend(), k, wide_noise(k.size(), 2), dtype)), pass.input(v),
                       {.heads = heads, .mask = {.causal = true, .key_lengths = lengths}, .label = "here"});
    EXPECT_EQ(seen.labels, std::vector<std::string>{"here"});
    ASSERT_EQ(seen.shapes.at(0), (Shape{batch, heads, queries, keys}));
    expect_product(seen, {{0, queries, 0, 19}, {queries, queries, keys, 12}}, heads, head, v, y,
                   dtype == DType::f32 ? 1e-5 : 2e-2);
  }
}

TEST_P(ProbeOn, SeesWhatPackedAttentionUsed) {
  const std::int64_t heads = 2, head = 8;
  Seen seen;
  Pass pass(backend(), {.probe = &seen});
  const auto ints = [&](const std::vector<std::int32_t>& values) {
    Tensor tensor = make_tensor(backend(), {static_cast<std::int64_t>(values.size())}, DType::i32);
    upload(tensor, values);
    return tensor;
  };
  const auto floats = [&](std::int64_t rows, unsigned seed) {
    return tensor_of(backend(), {rows, heads * head}, wide_noise(rows * heads * head, seed));
  };
  const Tensor v = floats(9, 3);
  const Tensor y = ops::attention(
      pass.input(floats(6, 1)), pass.input(floats(9, 2)), pass.input(v),
      {.heads = heads,
       .mask = {
           .query_offsets = ints({0, 4, 4, 6}), .key_offsets = ints({0, 5, 7, 9}), .max_queries = 4, .max_keys = 5}});
  ASSERT_EQ(seen.shapes.at(0), (Shape{3, heads, 4, 5}));
  expect_product(seen, {{0, 4, 0, 5}, {4, 0, 5, 2}, {4, 2, 7, 2}}, heads, head, v, y, 1e-5);
}

// Looking changes nothing.
TEST_P(ProbeOn, DoesNotChangeTheResult) {
  const Shape shape{1, 7, 32};
  std::vector<std::vector<float>> results;
  Seen seen;
  for (Probe* probe : {static_cast<Probe*>(nullptr), static_cast<Probe*>(&seen)}) {
    Pass pass(backend(), {.recording = true, .probe = probe});
    const Tensor x = pass.variable(tensor_of(backend(), shape, wide_noise(shape.size(), 1)));
    const Tensor y = ops::attention(x, x, x, {.heads = 2});
    results.push_back(download(y));
    pass.backward(y, tensor_of(backend(), shape, wide_noise(shape.size(), 2)));
    results.push_back(download(gradient_of(x)));
  }
  EXPECT_EQ(results[0], results[2]);
  EXPECT_EQ(results[1], results[3]);
  EXPECT_EQ(seen.weights.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(On, ProbeOn, every_device(), name_of_device);

}  // namespace
}  // namespace attend::test
