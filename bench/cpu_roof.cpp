// What this machine's cores can do at best with weights of one form: the roofs that bench/side_by_side.py measures
// programs by, in the same run.
//   cpu_roof --weights int8 --megabytes 128 [--threads 2]
// Prints a JSON object. operations: 2 m n k per second of our best product with 1,024 rows or more; f32 is plain f32,
// as everyone computes it. bytes: read per second when so many megabytes are only read, over and over, as decoding
// reads its weights; if they fit into a cache, they come from there for decoding, too.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "attend/base/json.h"
#include "attend/cpu/gemm.h"
#include "bench/support/bench_main.h"
#include "bench/support/measure.h"
#include "bench/support/read_all.h"

namespace {

using namespace attend;
using namespace attend::cpu;

struct Options {
  std::string weights = "f32";
  double megabytes = 500;
  int threads = 2;
};

// The least seconds that a call took within a budget of time.
template <class Run>
double least_seconds(double budget, const Run& run) {
  run();
  double least = 1e9;
  for (const auto start = BenchClock::now(); seconds_since(start) < budget;) {
    const auto begin = BenchClock::now();
    run();
    least = std::min(least, seconds_since(begin));
  }
  return least;
}

double operations(const Options& options, ThreadPool& pool) {
  const cpu::Precision precision = options.weights == "bf16x3" ? cpu::Precision::split : cpu::Precision::exact;
  const DType dtype = options.weights == "int8" ? DType::i8 : options.weights == "bf16" ? DType::bf16 : DType::f32;
  double best = 0;
  for (const auto& [m, n, k] : {std::array{1024, 3072, 768}, {1024, 768, 3072}, {2048, 2048, 2048}}) {
    const std::vector<float> a(static_cast<std::size_t>(m * k), 0.5f), b(static_cast<std::size_t>(n * k), 0.25f);
    std::vector<float> c(static_cast<std::size_t>(m * n));
    const cpu::PackedWeights weights =
        cpu::PackedWeights::pack({b.data(), DType::f32, k, false}, n, k, dtype, precision, pool);
    cpu::PackedGemm g;
    g.m = m, g.a = a.data(), g.a_stride = k, g.weights = &weights;
    g.out.c = c.data(), g.out.c_stride = n;
    best = std::max(best, 2.0 * m * n * k / least_seconds(0.2, [&] { cpu::gemm_packed(g, pool); }));
  }
  return best;
}

double bytes(const Options& options, ThreadPool& pool) {
  const auto count = static_cast<std::int64_t>(1e6 * options.megabytes) / 256 * 256;
  const std::vector<std::byte> memory(static_cast<std::size_t>(count), std::byte{1});
  return static_cast<double>(count) / least_seconds(0.4, [&] { read_all(memory.data(), count, pool); });
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("What this machine's cores can do at best.");
  app.add_option("--weights", options.weights, "f32, bf16x3, bf16 or int8")
      ->check(CLI::IsMember({"f32", "bf16x3", "bf16", "int8"}));
  app.add_option("--megabytes", options.megabytes, "of weights");
  app.add_option("--threads", options.threads, "CPU threads, 0 for all cores");
  return bench_main(app, argc, argv, [&] {
    ThreadPool pool(options.threads);
    const Json report = {{"operations", operations(options, pool)}, {"bytes", bytes(options, pool)}};
    fmt::print("{}\n", report.dump());
  });
}
