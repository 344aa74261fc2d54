// CPU attention, forward and backward, against the textbook formula in double: every kind of mask, head widths that
// do not fill a vector, lengths that do not fill a block, f32 and bf16.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attend/base/random.h"
#include "attend/cpu/cpu_backend.h"

namespace attend {
namespace {

struct Case {
  std::int64_t B = 2, H = 2, T = 5, S = 7, D = 16;
  bool causal = false, lengths = false, packed = false;
  std::int64_t groups = 0;  // of the bias; 0: none
  float rate = 0;
  DType dtype = DType::f32;
  int threads = 2;
  cpu::Precision precision = cpu::Precision::exact;
};

struct Doubles {
  std::vector<double> y, lse, dq, dk, dv, dbias, weights;
};

struct Inputs {
  Case c;
  std::vector<std::int32_t> lengths, query_offsets, key_offsets;
  Tensor q, k, v, dy, bias;

  Inputs(CpuBackend& cpu, const Case& config) : c(config) {
    const std::int64_t C = c.H * c.D;
    for (std::int64_t b = 0; b < c.B; ++b) {
      lengths.push_back(static_cast<std::int32_t>(b == 1 ? 0 : std::max<std::int64_t>(1, c.S - 3 * b)));
      query_offsets.push_back(static_cast<std::int32_t>(b * c.T - b * b / 2));
      key_offsets.push_back(static_cast<std::int32_t>(b * c.S));
    }
    query_offsets.push_back(static_cast<std::int32_t>(c.B * c.T - c.B * c.B / 2));
    key_offsets.push_back(static_cast<std::int32_t>(c.B * c.S));
    const Shape narrow = c.packed ? Shape{c.B * c.T, C} : Shape{c.B, c.T, C};
    const Shape wide = c.packed ? Shape{c.B * c.S, 2 * C + 8} : Shape{c.B, c.S, 2 * C + 8};
    Tensor kv = random(cpu, wide, 2);  // keys and values are windows of one tensor
    q = random(cpu, narrow, 1), dy = random(cpu, narrow, 3);
    k = kv.columns(0, C), v = kv.columns(C + 8, C);
    if (c.groups) bias = random(cpu, {c.groups, c.H, c.T, c.S}, 4);
  }
  Tensor random(CpuBackend& cpu, const Shape& shape, std::uint32_t stream) const {
    Tensor x = make_tensor(cpu, shape, c.dtype);
    cpu.random(x, {.kind = RandomFill::normal, .seed = 5, .stream = stream});
    return x;
  }
  std::int64_t first_query(std::int64_t b) const { return c.packed ? query_offsets[b] : b * c.T; }
  std::int64_t queries(std::int64_t b) const { return c.packed ? query_offsets[b + 1] - query_offsets[b] : c.T; }
  std::int64_t keys(std::int64_t b) const { return c.lengths ? lengths[b] : c.S; }
  bool sees(std::int64_t b, std::int64_t t, std::int64_t s) const {
    const std::int64_t all = c.packed ? keys(b) : c.S;
    return s < keys(b) && (!c.causal || s <= t + all - queries(b));
  }
};

double value(const Tensor& x, std::int64_t row, std::int64_t column) {
  const std::int64_t i = row * x.row_stride() + column;
  return x.dtype() == DType::bf16 ? static_cast<float>(static_cast<Bf16*>(x.raw())[i])
                                  : static_cast<float*>(x.raw())[i];
}

// All of it at once: sanitizers watch every look at a Tensor.
std::vector<double> values_of(const Tensor& x) {
  std::vector<double> values;
  if (!x.defined()) return values;
  for (std::int64_t row = 0; row < x.rows(); ++row)
    for (std::int64_t column = 0; column < x.width(); ++column) values.push_back(value(x, row, column));
  return values;
}

Doubles reference(const Inputs& in, float scale, const std::uint32_t* seed) {
  const auto [B, H, T, S, D, causal, lengths, packed, groups, rate, dtype, threads, precision] = in.c;
  const std::int64_t C = H * D;
  const std::vector<double> qs = values_of(in.q), ks = values_of(in.k), vs = values_of(in.v), dys = values_of(in.dy),
                            biases = values_of(in.bias);
  Doubles out;
  out.y.resize(B * T * C), out.dq.resize(B * T * C), out.lse.assign(B * T * H, -INFINITY);
  out.dk.resize(B * S * C), out.dv.resize(B * S * C), out.weights.resize(B * H * T * S);
  out.dbias.resize(std::max<std::int64_t>(1, groups) * H * T * S);
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t t = 0; t < in.queries(b); ++t) {
        const std::int64_t row = in.first_query(b) + t, at = row * C + h * D;
        const double *q = &qs[at], *dy = &dys[at];
        double *y = &out.y[at], *dq = &out.dq[at];
        std::vector<double> score(S, -INFINITY), mask(S, 1.0);
        double max = -INFINITY, sum = 0, delta = 0;
        for (std::int64_t s = 0; s < S; ++s) {
          const std::uint64_t i = ((b * H + h) * T + t) * ((S + 7) / 8 * 8) + s;
          const std::uint64_t whole = seed[0] + (static_cast<std::uint64_t>(seed[1]) << 32);
          if (rate > 0) mask[s] = dropout_draw(whole, 6, i) < dropout_threshold(rate) ? 0 : dropout_scale(rate);
          if (!in.sees(b, t, s)) continue;
          double dot = 0;
          const double* k = &ks[(b * S + s) * C + h * D];
          for (std::int64_t d = 0; d < D; ++d) dot += q[d] * k[d];
          score[s] = dot * scale;
          if (groups) score[s] += biases[(((b % groups) * H + h) * T + t) * S + s];
          max = std::max(max, score[s]);
        }
        if (max == -INFINITY) continue;
        for (double x : score) sum += std::exp(x - max);
        out.lse[row * H + h] = max + std::log(sum);
        std::vector<double> p(S), dp(S);
        for (std::int64_t s = 0; s < S; ++s) {
          p[s] = std::exp(score[s] - max) / sum;
          out.weights[((b * H + h) * T + t) * S + s] = p[s];
          const double *v = &vs[(b * S + s) * C + h * D], weight = p[s] * mask[s];
          double *dv = &out.dv[(b * S + s) * C + h * D], sum_dp = 0;
          for (std::int64_t d = 0; d < D; ++d) {
            y[d] += weight * v[d];
            sum_dp += dy[d] * v[d] * mask[s];
            dv[d] += weight * dy[d];
          }
          dp[s] = sum_dp;
          delta += p[s] * dp[s];
        }
        for (std::int64_t s = 0; s < S; ++s) {
          const double ds = p[s] * (dp[s] - delta);
          if (groups) out.dbias[(((b % groups) * H + h) * T + t) * S + s] += ds;
          const double* k = &ks[(b * S + s) * C + h * D];
          double* dk = &out.dk[(b * S + s) * C + h * D];
          for (std::int64_t d = 0; d < D; ++d) {
            dq[d] += ds * scale * k[d];
            dk[d] += ds * scale * q[d];
          }
        }
      }
  return out;
}

void expect_near(const Tensor& got, const std::vector<double>& want, double offset, double tolerance,
                 const char* what) {
  const std::int64_t width = got.width();
  int wrong = 0;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(want.size()) && wrong < 3; ++i) {
    const double v = value(got, i / width, i % width), w = want[i] + (std::isinf(want[i]) ? 0 : offset);
    const bool same = std::isinf(w) ? v == w : std::fabs(v - w) <= tolerance * (1 + std::fabs(w));
    if (!same) ++wrong, ADD_FAILURE() << what << "[" << i << "] is " << v << ", not " << w;
  }
}

std::vector<float> run(const Case& c) {
  CpuBackend cpu({.threads = c.threads, .precision = c.precision});
  const Inputs in(cpu, c);
  const std::uint32_t seed[2] = {7, 8};
  const auto ints = [&](const std::vector<std::int32_t>& values) {
    Tensor x = make_tensor(cpu, {static_cast<std::int64_t>(values.size())}, DType::i32);
    upload(x, values);
    return x;
  };
  Attention args{.q = in.q, .k = in.k, .v = in.v, .heads = c.H, .scale = 0.3f};
  args.mask.causal = c.causal;
  if (c.lengths) args.mask.key_lengths = ints(in.lengths);
  if (c.packed) {
    args.mask.query_offsets = ints(in.query_offsets), args.mask.key_offsets = ints(in.key_offsets);
    args.mask.max_queries = c.T, args.mask.max_keys = c.S;
  }
  if (c.groups) args.mask.bias = in.bias;
  if (c.rate > 0) args.dropout = {.rate = c.rate, .seed = seed, .stream = 6};
  Tensor y = like(in.q), lse = like(in.q, {in.q.rows(), c.H}, DType::f32);
  cpu.attention(args, y, lse);
  Tensor weights = like(in.q, {c.B, c.H, c.T, c.S}, DType::f32);
  cpu.attention_weights(args, lse, weights);
  // dq is written; dk and dv are windows of one tensor and are added to, the bias too.
  Tensor dq = like(in.q), dkv = like(in.k, in.k.shape().with_last(2 * in.k.width())), dbias;
  const Tensor dk = dkv.columns(0, in.k.width()), dv = dkv.columns(in.k.width(), in.k.width());
  cpu.fill(dkv, 1.0f);
  if (c.groups) dbias = like(in.bias), cpu.fill(dbias, 2.0f);
  cpu.attention_backward(args, y, lse, in.dy, {dq}, {dk, true}, {dv, true}, {dbias, true}, {});

  const Doubles want = reference(in, args.scale, seed);
  // bf16: δ comes from the rounded y, so a row of ds is off by about sqrt(D) · 2^-9.
  // f32 in two bf16 pieces: 4e-6 of |q| |k| in each score.
  const bool split = c.precision == cpu::Precision::split;
  const double loose = c.dtype == DType::bf16 ? 1e-1 : split ? 2e-4 : 2e-5;
  const double close = split ? 2e-4 : 2e-5;
  expect_near(y, want.y, 0, loose, "y");
  expect_near(lse, want.lse, 0, close, "lse");
  expect_near(weights, want.weights, 0, close, "weights");
  expect_near(dq, want.dq, 0, loose, "dq");
  expect_near(dk, want.dk, 1, loose, "dk");
  expect_near(dv, want.dv, 1, loose, "dv");
  if (c.groups) expect_near(dbias, want.dbias, 2, loose, "dbias");
  // Written instead of added.
  cpu.attention_backward(args, y, lse, in.dy, {}, {dk}, {dv}, {}, {});
  expect_near(dk, want.dk, 0, loose, "dk written");
  expect_near(dv, want.dv, 0, loose, "dv written");
  std::vector<float> all = download(y);
  for (const Tensor& part : {dq, dkv}) {
    const std::vector<float> values = download(part);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(Attention, EveryMask) {
  for (auto [dtype, precision] : {std::pair{DType::f32, cpu::Precision::exact},
                                  {DType::f32, cpu::Precision::split},
                                  {DType::bf16, cpu::Precision::split}})
    for (std::int64_t D : {8, 64, 72})
      for (auto [T, S] : {std::pair<std::int64_t, std::int64_t>{1, 70}, {4, 33}, {33, 33}, {70, 131}, {50, 20}}) {
        SCOPED_TRACE(testing::Message() << name_of(dtype) << " D " << D << " T " << T << " S " << S);
        Case plain{.T = T, .S = S, .D = D, .dtype = dtype, .precision = precision};
        Case hidden = plain;
        hidden.rate = 0.2f, hidden.causal = true;
        run(hidden);
        run(plain);
        Case causal = plain;
        causal.causal = true, causal.lengths = true;
        run(causal);
        Case biased = plain;
        biased.B = 4, biased.groups = 2, biased.rate = 0.25f, biased.causal = true;
        run(biased);
        Case packed = plain;
        packed.B = 3, packed.packed = true, packed.rate = 0.1f;
        if (T > 3) run(packed);
        packed.lengths = packed.causal = true;
        if (T > 3) run(packed);
      }
}

TEST(Attention, WideHeadsAndLongSequences) {
  for (cpu::Precision precision : {cpu::Precision::exact, cpu::Precision::split}) {
    run({.B = 1, .H = 1, .T = 70, .S = 70, .D = 256, .causal = true, .precision = precision});
    run({.B = 1, .H = 2, .T = 300, .S = 300, .D = 128, .causal = true, .precision = precision});
  }
  run({.B = 1, .H = 1, .T = 2, .S = 500, .D = 64, .rate = 0.5f});
}

TEST(Attention, SameForAnyNumberOfThreads) {
  Case c{.B = 3, .H = 4, .T = 150, .S = 150, .D = 64, .causal = true, .rate = 0.1f};
  for (cpu::Precision precision : {cpu::Precision::exact, cpu::Precision::split}) {
    c.precision = precision, c.threads = 1;
    const std::vector<float> one = run(c);
    c.threads = 3;
    EXPECT_EQ(one, run(c));
  }
}

}  // namespace
}  // namespace attend
