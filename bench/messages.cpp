// What messages between processes cost: all-reduces of more and more numbers, by the world that a launcher has started.
//   mpirun -n 2 -x ATTEND_MPI_PLUGIN=build/libattend_mpi.so build/bench/messages [--reps 20] [--wire f32]
// Rank 0 prints a JSON object a size: bytes, and the median seconds. bench/scaling_model.py reads them.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "attend/world/mpi/mpi_world.h"
#include "bench/support/bench_main.h"

namespace {

using namespace attend;

struct Options {
  int reps = 20;
  std::string wire = "f32";
};

double seconds_of(world::World& world, std::vector<float>& numbers, world::Wire wire) {
  world.barrier();
  const auto start = std::chrono::steady_clock::now();
  world.all_reduce(std::span<float>(numbers), wire);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void run(const Options& options) {
  const std::unique_ptr<world::World> opened = world::open_world();
  world::World& world = opened ? *opened : world::alone();
  const world::Wire wire = options.wire == "bf16" ? world::Wire::bf16 : world::Wire::f32;
  for (std::size_t count = 256; count <= (std::size_t{1} << 24); count *= 4) {
    std::vector<float> numbers(count, 1.0f);
    seconds_of(world, numbers, wire);
    std::vector<double> times;
    for (int i = 0; i < options.reps; ++i) times.push_back(seconds_of(world, numbers, wire));
    std::ranges::sort(times);
    if (world.is_root())
      fmt::print("{{\"ranks\": {}, \"bytes\": {}, \"seconds\": {:.3e}}}\n", world.size(), count * sizeof(float),
                 times[times.size() / 2]);
  }
  if (opened) opened->finish();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("All-reduces between processes, timed.");
  app.add_option("--reps", options.reps, "of each size");
  app.add_option("--wire", options.wire, "f32 or bf16");
  return bench_main(app, argc, argv, [&] { run(options); });
}
