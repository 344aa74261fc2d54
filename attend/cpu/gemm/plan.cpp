// A small model of a task's time decides: multiply-adds at the kernel's speed, one cycle for each element packed, less
// for each element read back from the shared cache, and a start. Near-square blocks win where threads are many: with 16
// threads and 512 rows, tasks of 28 rows (as halving the rows gives) would read B at 4.6 bytes per cycle, blocks of
// 256 x 384 at 0.5.
#include "attend/cpu/gemm/plan.h"

#include <algorithm>

namespace attend::cpu::detail {

namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

constexpr double kPack = 1.0, kRead = 0.2;  // cycles per element
constexpr double kStart = 3000;             // cycles per task
constexpr double kTail = 0.25;              // of a task: what threads wait for the slowest

struct Timed {
  Plan plan;
  double cycles;
};

Timed time_plan(const Kernel& kernel, const Product& p, const Plan& plan) {
  const double rows = static_cast<double>(plan.high * p.width), cols = static_cast<double>(plan.wide * kernel.nr);
  const std::int64_t tasks = ceil_div(p.panels_m, plan.high) * ceil_div(p.panels_n, plan.wide);
  const double a = plan.share_a || p.a_packed ? kRead : kPack, b = p.b_packed ? kRead : kPack;
  const double task = rows * cols / kernel.speed + a * rows + b * cols + kStart / static_cast<double>(p.k);
  const double ahead = plan.share_a ? kPack * static_cast<double>(p.panels_m * p.width) / p.threads : 0;
  return {plan, ahead + task * (static_cast<double>(ceil_div(tasks, p.threads)) + (p.threads > 1 ? kTail : 0))};
}

}  // namespace

Plan make_plan(const Kernel& kernel, const Product& p) {
  const std::int64_t fewest_m = ceil_div(p.panels_m, std::max<std::int64_t>(1, kernel.mc / p.width));
  const std::int64_t fewest_n = ceil_div(p.panels_n, p.most_wide);
  const auto plan = [&](std::int64_t cuts_m, std::int64_t cuts_n, bool share_a) {
    return Plan{ceil_div(p.panels_m, cuts_m), ceil_div(p.panels_n, cuts_n), share_a};
  };
  // One block of rows: what every task needs of A is packed once.
  const bool one_block = fewest_m == 1 && !p.a_packed;
  if (p.threads == 1) return plan(fewest_m, fewest_n, one_block);
  Timed best{{}, 1e300};
  for (std::int64_t step = 0, cuts_m = fewest_m; step < 6 && cuts_m <= p.panels_m; ++step) {
    for (const int rounds : {1, 2, 3, 4, 6, 8}) {
      if (p.streamed && rounds > 1) break;
      const std::int64_t cuts_n = std::clamp(ceil_div(rounds * p.threads, cuts_m), fewest_n, p.panels_n);
      for (const bool share_a : {false, true}) {
        if (share_a ? p.a_packed : one_block) continue;
        const Timed timed = time_plan(kernel, p, plan(cuts_m, cuts_n, share_a));
        if (timed.cycles < best.cycles) best = timed;
      }
    }
    cuts_m = step < 2 ? cuts_m + 1 : 2 * cuts_m;
  }
  return best.plan;
}

}  // namespace attend::cpu::detail
