// The column sums that attention's backward pass leaves on CUDA (AttentionSums) are those of the gradients it writes:
// with several tiles of keys and chunks of queries, of which the cases are too small.
#include <gtest/gtest.h>

#include <cmath>

#include "attend/tensor/backend.h"
#include "tests/ops/devices.h"

namespace attend::test {
namespace {

struct SumsCase {
  std::int64_t batch, queries, keys, heads, head;
  bool causal = false, packed = false;
};

Tensor random_bf16(Backend& backend, const Shape& shape, std::uint32_t stream) {
  const Tensor x = make_tensor(backend, shape, DType::bf16);
  backend.random(x, {.kind = RandomFill::normal, .seed = 9, .stream = stream});
  return x;
}

// Each gradient was rounded to bf16 on its own, the sums were not: rows · 2^-9 of the root mean square, at random.
void expect_sums(const Tensor& gradient, const Tensor& sums) {
  const std::vector<float> all = download(gradient), got = download(sums);
  const std::size_t width = got.size();
  for (std::size_t c = 0; c < width; ++c) {
    double sum = 0, squares = 0;
    for (std::size_t i = c; i < all.size(); i += width) sum += all[i], squares += all[i] * all[i];
    ASSERT_NEAR(got[c], sum, 0.008 * std::sqrt(squares)) << "column " << c;
  }
}

class AttentionSumsOnCuda : public testing::TestWithParam<SumsCase> {};

TEST_P(AttentionSumsOnCuda, AreThoseOfTheGradients) {
  if (!cuda()) GTEST_SKIP() << no_cuda();
  Backend& backend = *cuda();
  const auto [batch, queries, keys, heads, head, causal, packed] = GetParam();
  const std::int64_t width = heads * head;
  const auto shape = [&, batch = batch, packed = packed](std::int64_t length) {
    return packed ? Shape{batch * length, width} : Shape{batch, length, width};
  };
  Attention args{.q = random_bf16(backend, shape(queries), 1),
                 .k = random_bf16(backend, shape(keys), 2),
                 .v = random_bf16(backend, shape(keys), 3),
                 .heads = heads,
                 .scale = 0.2f,
                 .mask = {.causal = causal}};
  const Tensor offsets = make_tensor(backend, {batch + 1}, DType::i32);
  if (packed) {  // the first sequence is empty, the others are as long as may be
    std::vector<std::int32_t> from{0};
    for (std::int64_t b = 0; b < batch; ++b) from.push_back(static_cast<std::int32_t>(b * queries));
    upload(offsets, from);
    args.mask.query_offsets = args.mask.key_offsets = offsets;
    args.mask.max_queries = queries, args.mask.max_keys = keys;
  }
  const Tensor y = like(args.q), lse = make_tensor(backend, {args.q.rows(), heads}, DType::f32);
  const Tensor dy = random_bf16(backend, args.q.shape(), 4);
  const Tensor dq = like(args.q), dk = like(args.k), dv = like(args.v);
  const Tensor sums = make_tensor(backend, {3 * width}, DType::f32);
  const auto part = [&](std::int64_t i) { return sums.slice_first(i * width, width); };
  backend.attention(args, y, lse);
  ASSERT_TRUE(backend.attention_backward(args, y, lse, dy, {dq}, {dk}, {dv}, {}, {{part(0)}, {part(1)}, {part(2)}}));
  expect_sums(dq, part(0));
  expect_sums(dk, part(1));
  expect_sums(dv, part(2));
}

INSTANTIATE_TEST_SUITE_P(Sizes, AttentionSumsOnCuda,
                         testing::Values(SumsCase{33, 600, 600, 8, 64, true}, SumsCase{33, 520, 300, 8, 64},
                                         SumsCase{44, 130, 700, 6, 48}, SumsCase{66, 300, 300, 4, 32, true},
                                         SumsCase{33, 200, 200, 8, 8}, SumsCase{2, 100, 100, 2, 64, true},
                                         SumsCase{34, 200, 200, 8, 64, true, true}));

}  // namespace
}  // namespace attend::test
