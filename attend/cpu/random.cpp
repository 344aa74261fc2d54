// Random tensors: uniform, and normal by Box and Muller (1958).
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

void CpuBackend::random(const Tensor& x, const RandomFill& fill) {
  const bool normal = fill.kind == RandomFill::normal;
  cpu::RandomRows args;
  args.key = {fill.seed, fill.stream};
  args.normal = normal;
  args.low = fill.low_or_mean;
  args.width = normal ? fill.high_or_deviation : fill.high_or_deviation - fill.low_or_mean;
  args.out = x.raw();
  // Some ten operations per element; pieces are even, since a pair of words makes a pair of normal numbers.
  pool().for_range(x.size(), cpu::kPiece / 4,
                   [&](std::int64_t begin, std::int64_t end) { rows_.random[cpu::kind_of(x)](args, begin, end); });
}

}  // namespace attend
