// The CPU matrix product beside OpenBLAS, BLIS, Eigen and oneDNN, shape by shape, in one interleaved run.
//   cpu_gemm [--threads 2] [--rounds 9] [--only text] [--best] [--no-packed] [--decode]
// Figures are GFLOP/s (2 m n k / time), the median of the rounds, or the best with --best. Libraries are loaded when
// they are found; none is needed to build. exact, split, bf16: gemm() with f32 / f32 / bf16 operands, packing in every
// call, as the libraries do (bf16 also writes bf16). packed: weights packed once, f32 (split), bf16, int8.
// --decode: products of 1 to 8 rows beside reading the same bytes with the same threads, in GB/s and % of the reading;
// weights come from a ring larger than any cache.
#include <dlfcn.h>
#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "attend/cpu/features.h"
#include "attend/cpu/gemm.h"
#include "bench/support/read_all.h"

#if defined(ATTEND_BENCH_EIGEN)
void eigen_gemm(bool ta, bool tb, int m, int n, int k, const float* a, int lda, const float* b, int ldb, float* c);
void eigen_threads(int threads);
#endif

namespace {

using attend::Bf16;
using attend::DType;
using attend::read_all;
using attend::ThreadPool;
using namespace attend::cpu;

struct Shape {
  const char* what;
  bool ta, tb;
  int m, n, k, batch;
};

const std::vector<Shape> kShapes = {
    {"decode", false, true, 1, 512, 512, 1},       {"decode", false, true, 1, 768, 768, 1},
    {"decode", false, true, 1, 3072, 768, 1},      {"decode", false, true, 1, 768, 3072, 1},
    {"decode", false, true, 1, 50257, 768, 1},     {"decode", false, true, 4, 3072, 768, 1},
    {"small", false, true, 8, 512, 512, 1},        {"small", false, true, 8, 768, 768, 1},
    {"small", false, true, 8, 3072, 768, 1},       {"small", false, true, 8, 768, 3072, 1},
    {"small", false, true, 8, 50257, 768, 1},      {"small", false, true, 16, 3072, 768, 1},
    {"small", false, true, 32, 3072, 768, 1},      {"medium", false, true, 64, 512, 512, 1},
    {"medium", false, true, 64, 768, 768, 1},      {"medium", false, true, 64, 3072, 768, 1},
    {"medium", false, true, 64, 768, 3072, 1},     {"medium", false, true, 64, 50257, 768, 1},
    {"large", false, true, 512, 512, 512, 1},      {"large", false, true, 512, 768, 768, 1},
    {"large", false, true, 512, 3072, 768, 1},     {"large", false, true, 512, 768, 3072, 1},
    {"large", false, true, 512, 50257, 768, 1},    {"large", false, true, 4096, 512, 512, 1},
    {"large", false, true, 4096, 768, 768, 1},     {"large", false, true, 4096, 3072, 768, 1},
    {"large", false, true, 4096, 768, 3072, 1},    {"base fwd", false, true, 1024, 2048, 512, 1},
    {"base fwd", false, true, 1024, 512, 2048, 1}, {"base dX", false, false, 1024, 512, 2048, 1},
    {"base dX", false, false, 1024, 2048, 512, 1}, {"base dW", true, false, 2048, 512, 1024, 1},
    {"base dW", true, false, 512, 2048, 1024, 1},  {"base dW", true, false, 512, 512, 1024, 1},
    {"head dX", false, false, 512, 768, 50257, 1}, {"head dW", true, false, 50257, 768, 512, 1},
    {"q k^T", false, true, 64, 64, 64, 96},        {"p v", false, false, 64, 64, 64, 96},
    {"q k^T", false, true, 128, 128, 64, 96},      {"p v", false, false, 128, 64, 128, 96},
    {"small dX", false, false, 8, 768, 3072, 1},   {"small dX", false, false, 1, 768, 3072, 1}};

using Sgemm = std::function<void(const Shape&, const float*, const float*, float*)>;

struct Library {
  std::string name;
  std::function<void(int)> set_threads;
  Sgemm run;
};

template <class F>
F symbol(void* library, const char* name) {
  return reinterpret_cast<F>(dlsym(library, name));
}

void* open_first(const std::vector<const char*>& names) {
  for (const char* name : names)
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

int lda(const Shape& s) { return s.ta ? s.m : s.k; }
int ldb(const Shape& s) { return s.tb ? s.k : s.n; }

std::vector<Library> find_libraries() {
  using Cblas = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
  using SetInt = void (*)(int);
  std::vector<Library> found;
  const auto add_cblas = [&](const char* name, const std::vector<const char*>& files, const char* setter, bool wide) {
    void* library = open_first(files);
    const auto sgemm = library ? symbol<Cblas>(library, "cblas_sgemm") : nullptr;
    if (!sgemm) return;
    const auto set = symbol<SetInt>(library, setter);
    const auto set_wide = symbol<void (*)(long)>(library, setter);
    found.push_back({name, [=](int t) { wide ? set_wide(t) : set(t); },
                     [=](const Shape& s, const float* a, const float* b, float* c) {
                       constexpr int kRowMajor = 101, kNo = 111, kYes = 112;
                       for (int i = 0; i < s.batch; ++i)
                         sgemm(kRowMajor, s.ta ? kYes : kNo, s.tb ? kYes : kNo, s.m, s.n, s.k, 1.0f,
                               a + static_cast<long>(i) * s.m * s.k, lda(s), b + static_cast<long>(i) * s.k * s.n,
                               ldb(s), 0.0f, c + static_cast<long>(i) * s.m * s.n, s.n);
                     }});
  };
  add_cblas("OpenBLAS", {"libopenblas.so.0", "libopenblas.so"}, "openblas_set_num_threads", false);
  add_cblas("BLIS", {"libblis.so.4", "libblis.so"}, "bli_thread_set_num_threads", true);
  if (void* library = open_first({"libdnnl.so.2", "libdnnl.so"})) {
    using Dnnl =
        int (*)(char, char, long, long, long, float, const float*, long, const float*, long, float, float*, long);
    const auto sgemm = symbol<Dnnl>(library, "dnnl_sgemm");
    void* omp = open_first({"libgomp.so.1"});
    const auto set = omp ? symbol<SetInt>(omp, "omp_set_num_threads") : nullptr;
    if (sgemm)
      found.push_back({"oneDNN", [=](int t) { set ? set(t) : void(); },
                       [=](const Shape& s, const float* a, const float* b, float* c) {
                         for (int i = 0; i < s.batch; ++i)
                           sgemm(s.ta ? 'T' : 'N', s.tb ? 'T' : 'N', s.m, s.n, s.k, 1.0f,
                                 a + static_cast<long>(i) * s.m * s.k, lda(s), b + static_cast<long>(i) * s.k * s.n,
                                 ldb(s), 0.0f, c + static_cast<long>(i) * s.m * s.n, s.n);
                       }});
  }
#if defined(ATTEND_BENCH_EIGEN)
  found.push_back({"Eigen", eigen_threads, [](const Shape& s, const float* a, const float* b, float* c) {
                     for (int i = 0; i < s.batch; ++i)
                       eigen_gemm(s.ta, s.tb, s.m, s.n, s.k, a + static_cast<long>(i) * s.m * s.k, lda(s),
                                  b + static_cast<long>(i) * s.k * s.n, ldb(s), c + static_cast<long>(i) * s.m * s.n);
                   }});
#endif
  return found;
}

struct Contender {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds;
};

// With one thread the time of that thread, which a busy machine disturbs less; else the time on the wall.
clockid_t timer = CLOCK_MONOTONIC;

double now() {
  timespec t;
  clock_gettime(timer, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Seconds a call over at least `budget` seconds.
double time_calls(const std::function<void()>& run, double budget) {
  run();
  long calls = 0;
  const double start = now();
  double spent = 0;
  do {
    run();
    ++calls;
    spent = now() - start;
  } while (spent < budget);
  return spent / static_cast<double>(calls);
}

struct Data {
  std::vector<float> a, b, c;
  std::vector<Bf16> a16, b16;
};

Data make_data(const Shape& s) {
  Data d;
  const auto fill = [&](std::vector<float>& to, long count) {
    to.resize(static_cast<std::size_t>(count));
    std::uint32_t state = 12345;
    for (float& x : to)
      x = static_cast<float>(static_cast<int>((state = state * 1664525u + 1013904223u) >> 16) - 32768) / 65536.0f;
  };
  fill(d.a, static_cast<long>(s.m) * s.k * s.batch);
  fill(d.b, static_cast<long>(s.k) * s.n * s.batch);
  d.c.resize(static_cast<std::size_t>(s.m) * static_cast<std::size_t>(s.n) * static_cast<std::size_t>(s.batch));
  for (float x : d.a) d.a16.push_back(Bf16(x));
  for (float x : d.b) d.b16.push_back(Bf16(x));
  return d;
}

Gemm product(const Shape& s, Data& d, DType dtype, Precision precision) {
  const void* a = dtype == DType::f32 ? static_cast<const void*>(d.a.data()) : d.a16.data();
  const void* b = dtype == DType::f32 ? static_cast<const void*>(d.b.data()) : d.b16.data();
  Gemm g;
  g.m = s.m, g.n = s.n, g.k = s.k;
  g.a = {a, dtype, lda(s), s.ta};
  g.b = {b, dtype, ldb(s), s.tb};
  g.c = d.c.data(), g.c_dtype = dtype, g.c_stride = s.n;
  g.batch = s.batch;
  g.a_batch = static_cast<long>(s.m) * s.k, g.b_batch = static_cast<long>(s.k) * s.n;
  g.c_batch = static_cast<long>(s.m) * s.n;
  g.precision = precision;
  return g;
}

struct Options {
  int threads = 2, rounds = 9;
  bool best = false, packed = true, decode = false;
  std::string only;
};

void bench_shape(const Shape& s, const Options& options, std::vector<Library>& libraries, ThreadPool& pool) {
  Data d = make_data(s);
  std::vector<Contender> all;
  for (const auto& [name, dtype, precision] :
       {std::tuple{"exact", DType::f32, Precision::exact}, std::tuple{"split", DType::f32, Precision::split},
        std::tuple{"bf16", DType::bf16, Precision::split}}) {
    const Gemm g = product(s, d, dtype, precision);
    all.push_back({name, [g, &pool] { gemm(g, pool); }, {}});
  }
  std::vector<PackedWeights> weights(3);
  const bool packed = options.packed && s.tb && !s.ta && s.batch == 1;
  for (int i = 0; packed && i < 3; ++i) {
    constexpr DType kAs[] = {DType::f32, DType::bf16, DType::i8};
    weights[static_cast<std::size_t>(i)] =
        PackedWeights::pack({d.b.data(), DType::f32, s.k, false}, s.n, s.k, kAs[i], Precision::split);
    PackedGemm g;
    g.m = s.m, g.a = d.a.data(), g.a_stride = s.k, g.weights = &weights[static_cast<std::size_t>(i)];
    g.out.c = d.c.data(), g.out.c_stride = s.n;
    all.push_back({i == 0 ? "p.f32" : i == 1 ? "p.bf16" : "p.int8", [g, &pool] { gemm_packed(g, pool); }, {}});
  }
  const std::size_t ours = all.size();
  for (Library& library : libraries)
    all.push_back({library.name, [&] { library.run(s, d.a.data(), d.b.data(), d.c.data()); }, {}});
  const double flops = 2.0 * s.m * s.n * s.k * s.batch;
  const double budget = std::clamp(flops * 1e-11, 1e-3, 1e-2);
  for (int round = 0; round < options.rounds; ++round)
    for (Contender& c : all) {
      c.seconds.push_back(time_calls(c.run, budget));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  const auto middle = [&](std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[options.best ? 0 : v.size() / 2];
  };
  const auto rate = [&](const Contender& c) { return flops / middle(c.seconds) / 1e9; };
  // Of the times in the same round, which share the machine's mood; the lowest over the libraries.
  const auto against_best = [&](const Contender& c) {
    double lowest = 1e9;
    for (std::size_t i = ours; i < all.size(); ++i) {
      std::vector<double> ratios;
      for (std::size_t r = 0; r < c.seconds.size(); ++r) ratios.push_back(all[i].seconds[r] / c.seconds[r]);
      lowest = std::min(lowest, options.best ? rate(c) / rate(all[i]) : middle(ratios));
    }
    return lowest;
  };
  fmt::print("{:9} {:5} x {:5} x {:5}", s.what, s.m, s.n, s.k);
  fmt::print("{:6}", s.batch > 1 ? fmt::format(" x {:3}", s.batch) : "");
  for (std::size_t i = 0; i < 6; ++i) i < ours ? fmt::print(" {:7.1f}", rate(all[i])) : fmt::print("       -");
  fmt::print(" |");
  for (std::size_t i = ours; i < all.size(); ++i) fmt::print(" {:7.1f}", rate(all[i]));
  if (ours < all.size()) fmt::print(" | {:5.2f} {:5.2f}", against_best(all[0]), against_best(all[1]));
  fmt::print("\n");
  std::fflush(stdout);
}

// Weights of n x k elements, as many as fill the ring.
struct Ring {
  static constexpr std::int64_t kBytes = std::int64_t{400} << 20;
  std::byte* memory;
  std::int64_t each, count, at = 0;

  Ring(std::byte* memory, std::int64_t each)
      : memory(memory), each((each + 63) / 64 * 64), count(kBytes / this->each) {}
  const std::byte* next() { return memory + (at = (at + 1) % count) * each; }
};

void bench_decode(int m, int n, int k, const Options& options, std::byte* memory, ThreadPool& pool) {
  const std::int64_t elements = static_cast<std::int64_t>(n) * k;
  Ring f32(memory, 4 * elements), bf16(memory, 2 * elements);
  std::vector<float> a(static_cast<std::size_t>(m) * static_cast<std::size_t>(std::max(n, k)), 0.5f);
  std::vector<Bf16> a16(a.begin(), a.end());
  std::vector<float> c(a.size() + static_cast<std::size_t>(m) * static_cast<std::size_t>(std::max(n, k)));
  const auto dense = [&](Ring& ring, DType dtype, bool transposed) {
    Gemm g;
    g.m = m, g.n = n, g.k = k, g.c = c.data(), g.c_stride = n, g.precision = Precision::exact;
    g.a = {dtype == DType::f32 ? static_cast<const void*>(a.data()) : a16.data(), dtype, k, false};
    g.b = {ring.next(), dtype, transposed ? k : n, transposed};
    gemm(g, pool);
  };
  std::vector<PackedWeights> packed[3];
  std::size_t turn = 0;
  const auto pack = [&](int i, DType as) {
    for (std::int64_t bytes = 0; bytes < Ring::kBytes; bytes += static_cast<std::int64_t>(packed[i].back().bytes()))
      packed[i].push_back(PackedWeights::pack({f32.next(), DType::f32, k, false}, n, k, as, Precision::exact, pool));
  };
  pack(0, DType::f32), pack(1, DType::bf16), pack(2, DType::i8);
  const auto from_packed = [&](int i) {
    PackedGemm g;
    g.m = m, g.a = a.data(), g.a_stride = k, g.weights = &packed[i][++turn % packed[i].size()];
    g.out.c = c.data(), g.out.c_stride = n;
    gemm_packed(g, pool);
  };
  const auto reading_packed = [&](int i) {
    return [&, i] {
      const PackedWeights& weights = packed[i][++turn % packed[i].size()];
      read_all(weights.data(), static_cast<std::int64_t>(weights.bytes()), pool);
    };
  };
  struct Row {
    const char* name;
    double bytes;
    std::function<void()> run, read;
    std::vector<double> ratios, rates;
  };
  const double e = static_cast<double>(elements);
  const auto reading = [&](Ring& ring, std::int64_t size) {
    return [&ring, &pool, bytes = elements * size] { read_all(ring.next(), bytes, pool); };
  };
  std::vector<Row> rows = {
      {"x W^T", 4 * e, [&] { dense(f32, DType::f32, true); }, reading(f32, 4), {}, {}},
      {"x W", 4 * e, [&] { dense(f32, DType::f32, false); }, reading(f32, 4), {}, {}},
      {"bf16 x W^T", 2 * e, [&] { dense(bf16, DType::bf16, true); }, reading(bf16, 2), {}, {}},
      {"p.f32", 4 * e, [&] { from_packed(0); }, reading_packed(0), {}, {}},
      {"p.bf16", 2 * e, [&] { from_packed(1); }, reading_packed(1), {}, {}},
      {"p.int8", e, [&] { from_packed(2); }, reading_packed(2), {}, {}},
  };
  for (int round = 0; round < options.rounds; ++round)
    for (Row& row : rows) {
      const double read = time_calls(row.read, 4e-3), run = time_calls(row.run, 4e-3);
      row.ratios.push_back(read / run), row.rates.push_back(row.bytes / run / 1e9);
    }
  const auto median = [](std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
  };
  fmt::print("{:3} x {:5} x {:5}", m, n, k);
  for (Row& row : rows) fmt::print("  {:>10} {:5.1f} {:3.0f} %", row.name, median(row.rates), 100 * median(row.ratios));
  fmt::print("\n");
  std::fflush(stdout);
}

void bench_decodes(const Options& options, ThreadPool& pool) {
  fmt::print("GB/s of weights and % of reading the same bytes, {} threads, medians of {} rounds\n", pool.threads(),
             options.rounds);
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(64, Ring::kBytes)), std::free);
  // Small numbers both as f32 and as bf16.
  std::fill_n(reinterpret_cast<std::uint16_t*>(memory.get()), Ring::kBytes / 2, std::uint16_t{0x3c3c});
  for (const auto& [n, k] : {std::pair{512, 512}, {768, 768}, {3072, 768}, {768, 3072}, {50257, 768}})
    for (const int m : {1, 4, 8}) {
      const std::string name = fmt::format("{}x{}x{}", m, n, k);
      if (options.only.empty() || name.find(options.only) != std::string::npos)
        bench_decode(m, n, k, options, memory.get(), pool);
    }
}

}  // namespace

int main(int argc, char** argv) {
  // The OpenMP libraries must not spin on the cores while another contender is timed.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    setenv("OMP_WAIT_POLICY", "passive", 1);
    setenv("OPENBLAS_THREAD_TIMEOUT", "16", 0);
    // OpenBLAS 0.3.21 takes processors newer than itself for old ones; this gives it its AVX-512 kernels.
    if (features().avx512) setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 0);
    execv("/proc/self/exe", argv);
  }
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--best") options.best = true;
    if (flag == "--no-packed") options.packed = false;
    if (flag == "--decode") options.decode = true;
    if (i + 1 < argc && flag == "--threads") options.threads = std::atoi(argv[++i]);
    if (i + 1 < argc && flag == "--rounds") options.rounds = std::atoi(argv[++i]);
    if (i + 1 < argc && flag == "--only") options.only = argv[++i];
  }
  if (options.threads == 1) timer = CLOCK_THREAD_CPUTIME_ID;
  if (options.decode) {
    ThreadPool pool(options.threads);
    return bench_decodes(options, pool), 0;
  }
  std::vector<Library> libraries = find_libraries();
  ThreadPool pool(options.threads);
  for (Library& library : libraries) library.set_threads(options.threads);
  fmt::print("cpu: {}; threads: {}; GFLOP/s, {} of {} rounds\n", describe(features()), options.threads,
             options.best ? "best" : "median", options.rounds);
  fmt::print("{:9} {:21}      {:>8}{:>8}{:>8}{:>8}{:>8}{:>8} |", "", "m x n x k (x batch)", "exact", "split", "bf16",
             "p.f32", "p.bf16", "p.int8");
  for (const Library& library : libraries) fmt::print(" {:>7}", library.name);
  fmt::print(" | exact and split / best library\n");
  for (const Shape& s : kShapes) {
    const std::string name = fmt::format("{} {}x{}x{}", s.what, s.m, s.n, s.k);
    if (options.only.empty() || name.find(options.only) != std::string::npos) bench_shape(s, options, libraries, pool);
  }
}
