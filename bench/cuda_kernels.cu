// Speed of the CUDA kernels: memory-bound ones in GB/s and as a share of a plain copy, matrix products in TFLOP/s, and
// products with few rows, output layers and whole decoding steps in microseconds.
//   build/bench/cuda_kernels [memory] [gemm] [endings] [rows] [choices] [steps] [phases]
//   build/bench/cuda_kernels ask     (for bench/cuda_gemm.py, which measures PyTorch's products in turn with these)
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "attend/cuda/cuda_backend.h"
#include "attend/cuda/cuda_check.h"
#include "bench/support/bench_main.h"
#include "bench/support/step_case.h"
#include "bench/support/step_phases.cuh"

using namespace attend;

namespace {

constexpr double kGiga = 1e9;

class Bench {
 public:
  explicit Bench(CudaBackend& backend) : backend_(backend) {
    cuda_check(cudaEventCreate(&begin_), "event");
    cuda_check(cudaEventCreate(&end_), "event");
  }
  ~Bench() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  // Seconds a call: the median of five rounds, each long enough to hide the launch gaps.
  double seconds(const std::function<void()>& body) {
    body();
    const double once = round(body, 1);
    // The clock falls under load: let it settle where a training step would keep it.
    round(body, std::clamp(static_cast<int>(0.05 / std::max(once, 1e-6)), 1, 1000));
    const int calls = std::clamp(static_cast<int>(0.01 / std::max(once, 1e-6)), 1, 200);
    std::vector<double> rounds;
    for (int i = 0; i < 5; ++i) rounds.push_back(round(body, calls) / calls);
    std::nth_element(rounds.begin(), rounds.begin() + 2, rounds.end());
    return rounds[2];
  }

  void bytes(const std::string& name, double bytes, const std::function<void()>& body) {
    const double time = seconds(body), rate = bytes / time;
    if (copy_ == 0) copy_ = rate;
    std::printf("%-58s %9.1f us %7.0f GB/s %4.0f %%\n", name.c_str(), time * 1e6, rate / kGiga, 100 * rate / copy_);
    std::fflush(stdout);
  }

  void flops(const std::string& name, double flops, const std::function<void()>& body) {
    const double time = seconds(body);
    std::printf("%-58s %9.1f us %7.0f TFLOP/s\n", name.c_str(), time * 1e6, flops / time / 1e12);
    std::fflush(stdout);
  }

  // Launches of a captured graph, so that what is timed is the device alone.
  double graph_seconds(const std::function<void()>& body) {
    body();
    const std::unique_ptr<Graph> graph = backend_.capture(body);
    return seconds([&] { graph->launch(); });
  }

  Tensor random(const Shape& shape, DType dtype = DType::bf16, float deviation = 1) {
    Tensor x = make_tensor(backend_, shape, dtype);
    backend_.random(x, {.kind = RandomFill::normal, .high_or_deviation = deviation, .seed = 1, .stream = ++stream_});
    return x;
  }

 private:
  double round(const std::function<void()>& body, int calls) {
    cuda_check(cudaEventRecord(begin_, backend_.stream()), "event");
    for (int i = 0; i < calls; ++i) body();
    cuda_check(cudaEventRecord(end_, backend_.stream()), "event");
    cuda_check(cudaEventSynchronize(end_), "event");
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, begin_, end_), "event");
    return milliseconds * 1e-3;
  }

  CudaBackend& backend_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  double copy_ = 0;
  std::uint32_t stream_ = 0;
};

constexpr std::int64_t kRows = 65536, kWidth = 768, kHidden = 3072, kVocabulary = 50304;

void copies(CudaBackend& backend, Bench& bench) {
  const Tensor x = bench.random({kRows, kHidden}), y = make_tensor(backend, x.shape(), DType::bf16);
  const Tensor wide = make_tensor(backend, x.shape(), DType::f32);
  const double n = static_cast<double>(x.size());
  bench.bytes("copy (the device's own) 65536 x 3072 bf16", 4 * n, [&] { backend.scale(x, 1, {y, false}); });
  bench.bytes("scale", 4 * n, [&] { backend.scale(x, 2, {y, false}); });
  bench.bytes("scale, accumulate", 6 * n, [&] { backend.scale(x, 2, {y, true}); });
  bench.bytes("cast bf16 to f32", 6 * n, [&] { backend.scale(x, 1, {wide, false}); });
  bench.bytes("fill", 2 * n, [&] { backend.fill(y, 0); });
  bench.bytes("add", 6 * n, [&] { backend.add(x, y, y); });
  Walk from{x, 0, {1024 * kHidden, kHidden, 64, 1}}, to{y, 0, {1024 * kHidden, 64, 1024 * 64, 1}};
  bench.bytes("strided_copy [64, 1024, 48, 64] to [64, 48, 1024, 64]", 4 * n, [&] {
    backend.strided_copy(from, to, {64, 1024, 48, 64}, false);
  });
}

void activations(CudaBackend& backend, Bench& bench) {
  const Tensor x = bench.random({kRows, kHidden}), y = make_tensor(backend, x.shape(), DType::bf16);
  const Tensor dy = bench.random({kRows, kHidden}), bias = make_tensor(backend, {kHidden}, DType::f32);
  const double n = static_cast<double>(x.size());
  for (Activation kind : {Activation::relu, Activation::gelu, Activation::gelu_tanh}) {
    const std::string name = name_of(kind);
    bench.bytes("activation " + name, 4 * n, [&] { backend.activation(x, kind, y); });
    bench.bytes("activation_backward " + name + ", bias", 6 * n, [&] {
      backend.activation_backward(dy, x, kind, {y, false}, {bias, false});
    });
  }
  bench.bytes("bias gradient alone", 2 * n, [&] {
    backend.activation_backward(dy, {}, Activation::none, {}, {bias, false});
  });
  const Tensor seed = make_tensor(backend, {2}, DType::i32);
  backend.fill(seed, 5);
  const Dropout dropout = {.rate = 0.1f, .seed = static_cast<const std::uint32_t*>(seed.raw()), .stream = 1};
  bench.bytes("dropout", 4 * n, [&] { backend.dropout(x, dropout, {y, false}); });
}

void norms(CudaBackend& backend, Bench& bench, std::int64_t width) {
  const std::int64_t rows = kRows * kWidth / width;
  const Shape shape = {rows, width};
  const Tensor x = bench.random(shape), branch = bench.random(shape), dy = bench.random(shape);
  const Tensor sum = make_tensor(backend, shape, DType::bf16), y = make_tensor(backend, shape, DType::bf16);
  const Tensor mean = make_tensor(backend, {rows}, DType::f32), rstd = make_tensor(backend, {rows}, DType::f32);
  const Tensor dweight = make_tensor(backend, {width}, DType::f32), dbias = make_tensor(backend, {width}, DType::f32);
  const Tensor branch_sums = make_tensor(backend, {width}, DType::f32);
  const Tensor seed = make_tensor(backend, {2}, DType::i32);
  backend.fill(seed, 5);
  const Dropout dropout = {.rate = 0.1f, .seed = static_cast<const std::uint32_t*>(seed.raw()), .stream = 1};
  AddNorm args = {.x = x, .branch = branch, .weight = bench.random({width}), .bias = bench.random({width})};
  const double n = static_cast<double>(x.size());
  const std::string size = std::to_string(rows) + " x " + std::to_string(width);
  bench.bytes("add_norm " + size, 8 * n, [&] { backend.add_norm(args, sum, y, mean, rstd); });
  args.dropout = dropout;
  bench.bytes("add_norm, dropout " + size, 8 * n, [&] { backend.add_norm(args, sum, y, mean, rstd); });
  args.dropout = {};
  const auto backward = [&](const Grad& dbranch, const Grad& sums = {}) {
    backend.add_norm_backward(args, dy, x, mean, rstd, {y, false}, dbranch, {dweight, false}, {dbias, false}, sums);
  };
  bench.bytes("add_norm_backward, one result " + size, 8 * n, [&] { backward({}); });
  bench.bytes("add_norm_backward, one result and sums " + size, 8 * n, [&] { backward({}, {branch_sums, false}); });
  bench.bytes("add_norm_backward, two results " + size, 10 * n, [&] { backward({sum, false}); });
  args.dropout = dropout;
  bench.bytes("add_norm_backward, dropout " + size, 10 * n, [&] { backward({sum, false}); });
}

void losses(CudaBackend& backend, Bench& bench, std::int64_t width) {
  const Tensor logits = bench.random({kRows, width}), gradient = make_tensor(backend, {kRows, width}, DType::bf16);
  const Tensor losses = make_tensor(backend, {kRows}, DType::f32), lse = make_tensor(backend, {kRows}, DType::f32);
  const Tensor total = make_tensor(backend, {2}, DType::f32), dloss = make_tensor(backend, {1}, DType::f32);
  const Tensor targets = make_tensor(backend, {kRows}, DType::i32);
  std::vector<std::int32_t> wanted(kRows);
  for (std::int64_t i = 0; i < kRows; ++i)
    wanted[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i * 7919 % width);
  upload(targets, wanted);
  backend.fill(dloss, 1);
  const double n = static_cast<double>(logits.size());
  const std::string size = " 65536 x " + std::to_string(width);
  bench.bytes("cross_entropy" + size, 2 * n,
              [&] { backend.cross_entropy(logits, targets, {}, 0.1f, -100, losses, lse, total); });
  bench.bytes("cross_entropy_backward" + size, 4 * n, [&] {
    backend.cross_entropy_backward(dloss, logits, targets, {}, 0.1f, -100, lse, total, {gradient, false});
  });
  bench.bytes("cross_entropy_gradient" + size, 4 * n,
              [&] { backend.cross_entropy_gradient(logits, targets, 0.1f, -100, total, losses, lse); });
}

void embeddings(CudaBackend& backend, Bench& bench) {
  const Tensor table = bench.random({kVocabulary, kWidth}), y = bench.random({64, 1024, kWidth});
  const Tensor gradient = make_tensor(backend, table.shape(), DType::f32);
  const Tensor ids = make_tensor(backend, {64, 1024}, DType::i32);
  // Frequencies like those of words: the commonest id makes up some 9 %.
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<std::int32_t> words(kRows);
  for (auto& word : words)
    word = static_cast<std::int32_t>(
        std::min<double>(std::pow(static_cast<double>(kVocabulary), uniform(generator)), kVocabulary) - 1);
  upload(ids, words);
  const double n = static_cast<double>(y.size());
  bench.bytes("embedding 65536 of 50304 x 768", 4 * n, [&] { backend.embedding(ids, table, 1, {}, {}, y); });
  bench.bytes("embedding_backward into f32, accumulate", 2 * n, [&] {
    backend.embedding_backward(y, ids, 1, {gradient, true});
  });
  const Tensor sums = make_tensor(backend, {1, 1024 * kWidth}, DType::bf16);
  bench.bytes("reduce sum [1, 64, 1024·768]", 2 * n, [&] {
    backend.reduce(Reduction::sum, y.reshape({1, 64, 1024 * kWidth}), {sums, false}, {});
  });
  const Tensor rows = make_tensor(backend, {kRows, 1}, DType::bf16);
  bench.bytes("reduce sum [65536, 768, 1]", 2 * n, [&] {
    backend.reduce(Reduction::sum, y.reshape({kRows, kWidth, 1}), {rows, false}, {});
  });
}

void optimizers(CudaBackend& backend, Bench& bench) {
  const std::int64_t n = 124'475'904;
  const Shape shape = {n};
  Optimizer args;
  args.value = make_tensor(backend, shape, DType::bf16), args.master = bench.random(shape, DType::f32);
  args.gradient = bench.random(shape, DType::f32);
  args.rate = make_tensor(backend, {4}, DType::f32), args.norm = make_tensor(backend, {2}, DType::f32);
  backend.fill(args.rate, 0.001f);
  const Tensor m = make_tensor(backend, shape, DType::f32), v = make_tensor(backend, shape, DType::f32);
  backend.fill(m, 0);
  backend.fill(v, 0);
  const double size = static_cast<double>(n);
  bench.bytes("gradient_norm 124 M", 4 * size, [&] { backend.gradient_norm(args.gradient, 1, args.norm); });
  bench.bytes("adamw 124 M, bf16 values", 30 * size, [&] { backend.adamw(args, 0.9f, 0.95f, 1e-8f, m, v); });
}

struct Product {
  std::string name;
  std::function<void()> run;
};

// y = x·Wᵀ and its two backward products. dy is random: the device runs into its limit of power, and the same product
// is 10 % faster with a dy that comes from x and W.
std::vector<Product> products(CudaBackend& backend, Bench& bench, std::int64_t m, std::int64_t n, std::int64_t k) {
  const Tensor x = bench.random({m, k}), w = bench.random({n, k}, DType::bf16, 0.02f), dy = bench.random({m, n});
  const Tensor y = make_tensor(backend, {m, n}, DType::bf16), dx = make_tensor(backend, {m, k}, DType::bf16);
  const Tensor bias = bench.random({n});
  const Tensor dw = make_tensor(backend, {n, k}, DType::bf16), dw32 = make_tensor(backend, {n, k}, DType::f32);
  const MatMul forward = {.a = x, .b = w, .transpose_b = true};
  const MatMul with_bias = {.a = x, .b = w, .transpose_b = true, .bias = bias};
  const MatMul weights = {.a = dy, .b = x, .transpose_a = true};
  return {{"y = x Wt",
           [=, &backend] {
             backend.matmul(forward, {y, false});
           }},
          {"y = x Wt + bias",
           [=, &backend] {
             backend.matmul(with_bias, {y, false});
           }},
          {"dx = dy W",
           [=, &backend] {
             backend.matmul({.a = dy, .b = w}, {dx, false});
           }},
          {"dW = dyt x, bf16",
           [=, &backend] {
             backend.matmul(weights, {dw, false});
           }},
          {"dW = dyt x, f32", [=, &backend] {
             backend.matmul(weights, {dw32, false});
           }}};
}

// "m n k" makes the products of a shape, and says how many there are; "i" says the seconds that product i takes.
void answer(CudaBackend& backend, Bench& bench) {
  std::vector<Product> all;
  for (std::string line; std::getline(std::cin, line);) {
    std::int64_t m = 0, n = 0, k = 0;
    const int numbers = std::sscanf(line.c_str(), "%ld %ld %ld", &m, &n, &k);
    if (numbers == 3) {
      all.clear();
      all = products(backend, bench, m, n, k);
      std::printf("%zu\n", all.size());
    } else {
      check(numbers == 1 && m >= 0 && m < std::ssize(all), "ask: '{}' is neither 'm n k' nor a product", line);
      std::printf("%.9f\n", bench.seconds(all[static_cast<std::size_t>(m)].run));
    }
    std::fflush(stdout);
  }
}

// Largest difference, of the largest number.
double difference(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = download(a), y = download(b);
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, static_cast<double>(std::abs(x[i])));
    apart = std::max(apart, static_cast<double>(std::abs(x[i] - y[i])));
  }
  return apart / largest;
}

// The products around an activation: with it at their end, and with it in a kernel of its own.
void endings(CudaBackend& backend, Bench& bench, Activation kind, std::int64_t m, std::int64_t n, std::int64_t k,
             bool transposed) {
  const Tensor x = bench.random({m, k}), w = bench.random(transposed ? Shape{n, k} : Shape{k, n}, DType::bf16, 0.03f);
  const Tensor bias = bench.random({n}), pre = bench.random({m, n}), y = make_tensor(backend, {m, n}, DType::bf16);
  const Tensor apart = make_tensor(backend, {m, n}, DType::bf16), sums = make_tensor(backend, {n}, DType::f32);
  const Tensor sums_apart = make_tensor(backend, {n}, DType::f32);
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const std::string size = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
                           (transposed ? " [n, k] " : " [k, n] ") + std::string(name_of(kind));
  const auto together = [&] {
    backend.matmul({.a = x, .b = w, .transpose_b = transposed, .bias = bias, .activation = kind, .pre = pre}, {y});
  };
  const auto in_turn = [&] {
    backend.matmul({.a = x, .b = w, .transpose_b = transposed, .bias = bias}, {apart});
    backend.activation(apart, kind, apart);
  };
  together(), in_turn();
  std::printf("%s: differs by %.1e\n", size.c_str(), difference(apart, y));
  const auto back = [&] {
    return backend.matmul_slope({.a = x, .b = w, .transpose_b = transposed, .activation = kind, .pre = pre}, y, {sums});
  };
  const auto back_in_turn = [&] {
    backend.matmul({.a = x, .b = w, .transpose_b = transposed}, {apart});
    backend.activation_backward(apart, pre, kind, {apart}, {sums_apart});
  };
  const bool fused = back();
  back_in_turn();
  if (fused)
    std::printf("%s, back: differs by %.1e, its sums by %.1e\n", size.c_str(), difference(apart, y),
                difference(sums_apart, sums));
  if (m < 8192) return;
  bench.flops(size + ", bare", flops,
              [&] { backend.matmul({.a = x, .b = w, .transpose_b = transposed, .bias = bias}, {y}); });
  bench.flops(size + ", pre kept", flops, together);
  bench.flops(size + ", two kernels", flops, in_turn);
  if (fused) bench.flops(size + ", back", flops, back);
  bench.flops(size + ", back, two kernels", flops, back_in_turn);
}

// Products with m rows, over enough copies of the weights to stay out of the cache.
void few_rows(CudaBackend& backend, Bench& bench, std::int64_t m, std::int64_t n, std::int64_t k, bool transposed) {
  const std::int64_t copies = std::max<std::int64_t>(200'000'000 / (n * k * 2), 1);
  const Tensor x = bench.random({m, k}), y = make_tensor(backend, {m, n}, DType::bf16), bias = bench.random({n});
  const std::int64_t rows = transposed ? n : k;
  const Tensor w = bench.random({copies * rows, transposed ? k : n});
  const double time = bench.graph_seconds([&] {
    for (std::int64_t i = 0; i < copies; ++i)
      backend.matmul({.a = x, .b = w.slice_first(i * rows, rows), .transpose_b = transposed, .bias = bias}, {y, false});
  }) / static_cast<double>(copies);
  std::printf("%2ld rows x %5ld x %4ld, weights %s %9.2f us %7.0f GB/s\n", static_cast<long>(m), static_cast<long>(n),
              static_cast<long>(k), transposed ? "[n, k]" : "[k, n]", time * 1e6,
              static_cast<double>(n * k * 2) / time / kGiga);
  std::fflush(stdout);
}

// GPT-2's output layer and the choice of the token: at once, and as two kernels.
void choices(CudaBackend& backend, Bench& bench, std::int64_t rows) {
  constexpr std::int64_t kVocabulary = 50257, kSize = 768;
  const Tensor states = bench.random({rows, kSize}), table = bench.random({kVocabulary, kSize});
  const Tensor logits = make_tensor(backend, {rows, kVocabulary}, DType::bf16);
  const Tensor values = make_tensor(backend, {rows, 1}, DType::f32), sums = make_tensor(backend, {rows}, DType::f32);
  const Tensor ids = make_tensor(backend, {rows, 1}, DType::i32);
  const double apart = bench.graph_seconds([&] {
    backend.matmul({.a = states, .b = table, .transpose_b = true}, {logits});
    backend.top_k(logits, {}, values, ids, sums);
  });
  if (!backend.likeliest({states, table, {}, values, ids, sums})) return;
  const double together = bench.graph_seconds([&] { backend.likeliest({states, table, {}, values, ids, sums}); });
  std::printf("output layer and choice, %3ld rows: %7.2f us at once (%4.0f GB/s), %7.2f us apart\n",
              static_cast<long>(rows), together * 1e6, kVocabulary * kSize * 2 / together / kGiga, apart * 1e6);
  std::fflush(stdout);
}

// All layers of a decoder for the newest position of each row, as one kernel. Time against layers tells what a layer
// costs.
void steps(CudaBackend& backend, Bench& bench, const StepModel& model, std::int64_t rows, std::int64_t length,
           std::size_t layers) {
  const StepCase all = step_case(backend, model, rows, length, layers);
  const auto step = backend.causal_step(step_weights(backend, model, layers), rows);
  if (!step) return std::puts("no kernel of a whole step on this device"), void();
  const double time = bench.graph_seconds([&] { step->run(all.in, all.states); });
  std::printf("%2zu layers of width %ld, %3ld rows of %4ld: %8.2f us %6.0f GB/s\n", layers,
              static_cast<long>(model.width), static_cast<long>(rows), static_cast<long>(length), time * 1e6,
              all.bytes() / time / kGiga);
  std::fflush(stdout);
}

void measure(const std::vector<std::string>& parts) {
  const auto named = [&](const char* part) { return std::find(parts.begin(), parts.end(), part) != parts.end(); };
  const auto wanted = [&](const char* part) { return parts.empty() || named(part); };
  CudaBackend backend(0);
  Bench bench(backend);
  if (named("ask")) return answer(backend, bench);
  if (wanted("memory")) {
    copies(backend, bench);
    activations(backend, bench);
    for (std::int64_t width : {512, 768, 1024}) norms(backend, bench, width);
    for (std::int64_t width : {50304, 50257}) losses(backend, bench, width);
    embeddings(backend, bench);
    optimizers(backend, bench);
  }
  if (wanted("gemm")) {
    const std::int64_t shapes[][3] = {{65536, 768, 768},  {65536, 2304, 768},  {65536, 3072, 768},
                                      {65536, 768, 3072}, {65536, 50304, 768}, {32768, 512, 512},
                                      {32768, 2048, 512}, {32768, 512, 2048},  {8192, 8192, 8192}};
    for (const auto& [m, n, k] : shapes)
      for (const Product& product : products(backend, bench, m, n, k))
        bench.flops(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " " + product.name,
                    2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k), product.run);
  }
  if (wanted("endings")) {
    for (bool transposed : {false, true}) {
      for (Activation kind : {Activation::gelu_tanh, Activation::gelu, Activation::relu})
        endings(backend, bench, kind, 1000, 392, 136, transposed);
      endings(backend, bench, Activation::gelu_tanh, kRows, kHidden, kWidth, transposed);
      endings(backend, bench, Activation::gelu, 8192, kHidden, kWidth, transposed);
      endings(backend, bench, Activation::relu, 32768, 2048, 512, transposed);
    }
  }
  if (wanted("rows")) {
    const std::int64_t shapes[][2] = {{768, 768}, {2304, 768}, {3072, 768}, {768, 3072}, {50304, 768}};
    for (bool transposed : {true, false})
      for (const auto& [n, k] : shapes)
        for (std::int64_t m : {1, 2, 4, 5, 8, 16, 64}) few_rows(backend, bench, m, n, k, transposed);
  }
  if (wanted("choices"))
    for (std::int64_t rows : {1, 8, 32, 64, 128}) choices(backend, bench, rows);
  if (wanted("steps"))
    for (std::int64_t length : {16, 80, 512})
      for (std::int64_t rows : {2, 3, 8, 16, 32, 64})
        for (const auto& [model, layers] : {std::pair{kGpt2Steps, 1}, {kGpt2Steps, 12}, {kTransformerSteps, 6}})
          steps(backend, bench, model, rows, length, static_cast<std::size_t>(layers));
  if (wanted("phases")) step_phases(backend);
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> parts;
  CLI::App app(
      "Speed of the CUDA kernels. Parts: memory, gemm, endings, rows, choices, steps, phases; all of them unless some "
      "are named.\n"
      "ask answers bench/cuda_gemm.py.");
  app.add_option("parts", parts, "what to measure")
      ->check(CLI::IsMember({"memory", "gemm", "endings", "rows", "choices", "steps", "phases", "ask"}));
  return bench_main(app, count, arguments, [&] { measure(parts); });
}
