// Checks the CUDA attention kernels against double precision over a list of odd cases, and times them.
//   build/bench/cuda_attention [check [part of a name] | time | first | ask]
// Inputs are random, outputs are poisoned with NaN first; the error is |out - reference| / |reference|. The backward
// pass runs twice and must give the same bits. ask is for cuda_attention.py: it reads "B H T D causal window globals"
// (-1: no window; globals: as many more keys in front, and their originals hidden), then words that say what to time,
// and answers in milliseconds.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "attend/cuda/attention/attention.cuh"
#include "bench/support/attention_cases.cuh"
#include "bench/support/attention_problem.cuh"
#include "bench/support/attention_reference.cuh"

namespace {

using namespace attend::bench;

// Relative error; infinities must agree. NaN when anything is NaN.
double error_of(const std::vector<double>& out, const std::vector<double>& reference) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (std::isinf(reference[i]) && out[i] == reference[i]) continue;
    difference += (out[i] - reference[i]) * (out[i] - reference[i]);
    norm += reference[i] * reference[i];
  }
  return std::sqrt(difference) / (norm > 0 ? std::sqrt(norm) : 1.0);
}

struct Check {
  const char* name;
  double error;
};

bool run_case(const Case& c) {
  const Built x = build(c);
  const AttentionParams& p = x.problem.p;
  const std::int64_t columns = static_cast<std::int64_t>(c.heads) * c.width;
  const std::int64_t bias_count = static_cast<std::int64_t>(c.groups) * c.heads * c.queries * c.keys;
  const std::int64_t weight_count = static_cast<std::int64_t>(c.batch) * c.heads * c.queries * c.keys;
  const auto before = [&](const attend::cuda::AttentionGradient& to, std::int64_t rows, std::int64_t width) {
    return c.accumulate ? host(to.data, c.bf16, rows, to.stride, width) : std::vector<double>(rows * width, 0.0);
  };
  double* dq = device(before(x.g.dq, x.query_rows, columns));
  double* dk = device(before(x.g.dk, x.key_rows, columns));
  double* dv = device(before(x.g.dv, x.key_rows, columns));
  double* y = device(std::vector<double>(x.query_rows * columns, 0.0));
  double* lse = device(std::vector<double>(x.query_rows * c.heads, -INFINITY));
  double* delta = device<double>(x.query_rows * c.heads);
  double* weights = device<double>(weight_count);
  double* dbias = nullptr;
  if (bias_count > 0)
    dbias = device(c.accumulate ? host(x.g.dbias.data, c.bias_bf16, bias_count, 1, 1)
                                : std::vector<double>(bias_count, 0.0));
  const dim3 grid((std::max(c.queries, c.keys) + 63) / 64 + 1, c.batch, c.heads);
  reference_forward<<<grid, 64>>>(x.problem, x.g.dy, y, lse, delta);
  reference_backward<<<grid, 64>>>(x.problem, x.g.dy, lse, delta, dq, dk, dv);
  if (bias_count > 0)
    reference_bias<<<static_cast<unsigned>((bias_count + 127) / 128), 128>>>(x.problem, x.g.dy, lse, delta, dbias);
  if (weight_count > 0)
    reference_weights<<<static_cast<unsigned>((weight_count + 127) / 128), 128>>>(x.problem, lse, weights);
  ok(cudaDeviceSynchronize(), "reference");

  attend::cuda::launch_attention_forward(p, nullptr);
  ok(cudaGetLastError(), "forward launch");
  ok(cudaDeviceSynchronize(), "forward");
  float* found = device<float>(weight_count);
  attend::cuda::launch_attention_weights(p, found, nullptr);
  attend::cuda::launch_attention_backward(p, x.g, nullptr);
  ok(cudaGetLastError(), "backward launch");
  ok(cudaDeviceSynchronize(), "backward");
  const auto dq_found = host(x.g.dq.data, c.bf16, x.query_rows, x.g.dq.stride, columns);
  const auto dk_found = host(x.g.dk.data, c.bf16, x.key_rows, x.g.dk.stride, columns);
  const auto dv_found = host(x.g.dv.data, c.bf16, x.key_rows, x.g.dv.stride, columns);
  bool again = true;
  if (!c.accumulate) {
    attend::cuda::launch_attention_backward(p, x.g, nullptr);
    ok(cudaDeviceSynchronize(), "backward again");
    again = host(x.g.dq.data, c.bf16, x.query_rows, x.g.dq.stride, columns) == dq_found &&
            host(x.g.dk.data, c.bf16, x.key_rows, x.g.dk.stride, columns) == dk_found &&
            host(x.g.dv.data, c.bf16, x.key_rows, x.g.dv.stride, columns) == dv_found;
  }

  std::vector<double> lse_out = host(p.lse, false, x.query_rows, c.heads, c.heads);
  if (c.packed) std::fill(lse_out.end() - 5 * c.heads, lse_out.end(), -INFINITY);  // behind the sequences
  std::vector<Check> checks = {
      {"y", error_of(host(p.y, c.bf16, x.query_rows, columns, columns), host(y, x.query_rows * columns))},
      {"lse", error_of(lse_out, host(lse, x.query_rows * c.heads))},
      {"w", error_of(host(found, false, weight_count, 1, 1), host(weights, weight_count))},
      {"dq", error_of(dq_found, host(dq, x.query_rows * columns))},
      {"dk", error_of(dk_found, host(dk, x.key_rows * columns))},
      {"dv", error_of(dv_found, host(dv, x.key_rows * columns))},
      {"again", again ? 0.0 : 1.0}};
  if (bias_count > 0)
    checks.push_back({"db", error_of(host(x.g.dbias.data, c.bias_bf16, bias_count, 1, 1), host(dbias, bias_count))});
  bool good = true;
  std::string line;
  for (const Check& check : checks) {
    const bool plain = std::string(check.name) == "lse" || std::string(check.name) == "w";
    const bool rounded = check.name == std::string("db") ? c.bias_bf16 || c.bf16 : c.bf16 && !plain;
    const bool fine = check.error <= (rounded ? 1e-2 : plain && c.bf16 ? 1e-4 : 2e-5);
    good = good && fine;
    char text[64];
    std::snprintf(text, sizeof text, " %s%s %.1e", fine ? "" : "**", check.name, check.error);
    line += text;
  }
  std::printf("%s %-34s%s\n", good ? "ok  " : "FAIL", c.name.c_str(), line.c_str());
  return good;
}

double median_ms(const std::function<void()>& body, int repeats) {
  cudaEvent_t start, stop;
  cudaEventCreate(&start), cudaEventCreate(&stop);
  for (int i = 0; i < 3; ++i) body();
  std::vector<float> times;
  for (int i = 0; i < repeats; ++i) {
    cudaEventRecord(start);
    body();
    cudaEventRecord(stop);
    ok(cudaEventSynchronize(stop), "timing");
    float ms = 0;
    cudaEventElapsedTime(&ms, start, stop);
    times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void time_case(const Case& c) {
  const Built x = build(c);
  const AttentionParams& p = x.problem.p;
  double pairs = 0;
  for (int t = 0; t < c.queries; ++t) pairs += c.causal ? std::clamp(t + c.keys - c.queries + 1, 0, c.keys) : c.keys;
  const double flops = 4.0 * c.batch * c.heads * c.width * pairs;
  const double forward = median_ms([&] { attend::cuda::launch_attention_forward(p, nullptr); }, 20);
  const double backward = median_ms([&] { attend::cuda::launch_attention_backward(p, x.g, nullptr); }, 20);
  ok(cudaDeviceSynchronize(), "timing");
  std::printf("%-44s forward %8.4f ms %6.1f TFLOP/s   backward %8.4f ms %6.1f TFLOP/s   both %8.4f\n", c.name.c_str(),
              forward, flops / forward * 1e-9, backward, 2.5 * flops / backward * 1e-9, forward + backward);
  std::fflush(stdout);
}

void time_all(bool first_only) {
  time_case({.name = "GPT-2: B64 H12 T1024 D64 causal",
             .batch = 64,
             .heads = 12,
             .queries = 1024,
             .keys = 1024,
             .causal = true});
  if (first_only) return;
  time_case(
      {.name = "B16 H12 T4096 D64 causal", .batch = 16, .heads = 12, .queries = 4096, .keys = 4096, .causal = true});
  time_case({.name = "B32 H12 T1024 D64", .batch = 32, .heads = 12, .queries = 1024, .keys = 1024});
  time_case({.name = "B64 H12 T128 D64 (BERT)", .batch = 64, .heads = 12, .queries = 128, .keys = 128});
  time_case({.name = "B256 H12 T197 D64 (ViT)", .batch = 256, .heads = 12, .queries = 197, .keys = 197});
  for (int length : {16, 27, 32, 50, 64})  // 25,600 tokens of translation
    for (bool packed : {false, true})
      time_case({.name = "B" + std::to_string(25600 / length) + " H8 T" + std::to_string(length) + " D64 dropout" +
                         (packed ? " packed" : ""),
                 .batch = 25600 / length,
                 .heads = 8,
                 .queries = length,
                 .keys = length,
                 .packed = packed,
                 .dropout = 0.1f});
  time_case({.name = "B32 H8 T1024 D128 causal",
             .batch = 32,
             .heads = 8,
             .queries = 1024,
             .keys = 1024,
             .width = 128,
             .causal = true});
  time_case({.name = "B32 H12 T1024 D32 causal",
             .batch = 32,
             .heads = 12,
             .queries = 1024,
             .keys = 1024,
             .width = 32,
             .causal = true});
  time_case({.name = "B8 H8 T1024 D256 causal",
             .batch = 8,
             .heads = 8,
             .queries = 1024,
             .keys = 1024,
             .width = 256,
             .causal = true});
  time_case(
      {.name = "B1 H12 T1024 D64 causal", .batch = 1, .heads = 12, .queries = 1024, .keys = 1024, .causal = true});
  time_case({.name = "B1 H12 T1 S1024 (decode)", .batch = 1, .heads = 12, .queries = 1, .keys = 1024});
  for (int keys : {128, 8192})
    time_case({.name = "B1 H12 T1 S" + std::to_string(keys) + " (decode)",
               .batch = 1,
               .heads = 12,
               .queries = 1,
               .keys = keys});
  time_case({.name = "B64 H12 T1 S1024 (decode)", .batch = 64, .heads = 12, .queries = 1, .keys = 1024});
  time_case({.name = "f32 B8 H12 T1024 D64 causal",
             .bf16 = false,
             .batch = 8,
             .heads = 12,
             .queries = 1024,
             .keys = 1024,
             .causal = true});
}

// Sequences of one shape, as cuda_attention.py asks for them.
Case asked_case(std::istringstream& words) {
  Case c = {.name = "asked"};
  int before = -1, globals = 0;
  words >> c.batch >> c.heads >> c.queries >> c.width >> c.causal >> before >> globals;
  c.keys = c.queries + globals;
  c.window = {.before = before, .after = c.causal ? -1 : before, .globals = globals};
  if (globals > 0) c.hides = c.keys / globals;
  return c;
}

double asked_ms(const Built& x, const std::string& what) {
  const AttentionParams& p = x.problem.p;
  const auto forward = [&] { attend::cuda::launch_attention_forward(p, nullptr); };
  const auto backward = [&] { attend::cuda::launch_attention_backward(p, x.g, nullptr); };
  if (what == "forward") return median_ms(forward, 5);
  if (what == "backward") return median_ms(backward, 5);
  if (what == "both") return median_ms([&] { forward(), backward(); }, 5);
  if (what == "stream") return median_ms([&] { attend::cuda::launch_attention_forward_stream(p, nullptr); }, 5);
  if (what == "groups") return median_ms([&] { attend::cuda::launch_attention_forward_groups(p, nullptr); }, 5);
  if (what == "tiled") return median_ms([&] { attend::cuda::launch_attention_backward_tiled(p, x.g, nullptr); }, 5);
  if (what == "keys") return median_ms([&] { attend::cuda::launch_attention_backward_keys(p, x.g, nullptr); }, 5);
  return -1;
}

void answer() {
  Built x{};
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    double found = 0;
    if (std::isdigit(static_cast<unsigned char>(line[0])))
      x = build(asked_case(words));
    else
      found = asked_ms(x, line);
    ok(cudaDeviceSynchronize(), "timing");
    std::printf("%.5f\n", found);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  int failed = 0;
  if (mode == "ask") return answer(), 0;
  const std::string part = count > 2 ? arguments[2] : "";
  if (mode != "time" && mode != "first")
    for (const Case& c : cases())
      if (c.name.find(part) != std::string::npos) failed += !run_case(c);
  if (mode != "check") time_all(mode == "first");
  std::printf("%d failed\n", failed);
  return failed > 0;
}
