// What this machine's cores can do at best with weights of one form: the roofs that bench/side_by_side.py measures
// programs by, in the same run.
//   cpu_roof --weights int8 --megabytes 128 [--threads 2]
// Prints a JSON object. operations: 2 m n k per second of our best product with 1,024 rows or more; f32 is plain f32,
// as everyone computes it. bytes: read per second when so many megabytes are only read, over and over, as decoding
// reads its weights; if they fit into a cache, they come from there for decoding, too.
#include <fmt/core.h>

#include <string>
#include <vector>

#include "attend/base/json.h"
#include "bench/support/bench_main.h"
#include "bench/support/cpu_roof.h"
#include "bench/support/read_all.h"

namespace {

using namespace attend;

struct Options {
  std::string weights = "f32";
  double megabytes = 500;
  int threads = 2;
};

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
    const Json report = {{"operations", operations_per_second(options.weights, pool)}, {"bytes", bytes(options, pool)}};
    fmt::print("{}\n", report.dump());
  });
}
