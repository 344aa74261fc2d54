// Sums and products of two tensors, the second of which may repeat.
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

namespace {

// run(a offset, b offset, count) over stretches in which b does not repeat.
template <class Run>
void over_suffix(ThreadPool& pool, const Tensor& a, const Tensor& b, Run&& run) {
  const std::int64_t n = a.size(), period = b.size();
  cpu::for_rows(pool, n, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end;) {
      const std::int64_t from = i % period, count = std::min(period - from, end - i);
      run(i, from, count);
      i += count;
    }
  });
}

}  // namespace

void CpuBackend::add(const Tensor& a, const Tensor& b, const Tensor& y) {
  const DType dtype = a.dtype();
  over_suffix(pool(), a, b, [&](std::int64_t i, std::int64_t j, std::int64_t n) {
    rows_.add[cpu::kind_of(a)](cpu::at(a.raw(), i, dtype), cpu::at(b.raw(), j, dtype), cpu::at(y.raw(), i, dtype), n);
  });
}

void CpuBackend::multiply(const Tensor& a, const Tensor& b, const Grad& y) {
  if (!y) return;
  const DType dtype = a.dtype();
  over_suffix(pool(), a, b, [&](std::int64_t i, std::int64_t j, std::int64_t n) {
    cpu::Out out{cpu::at(y.into.raw(), i, dtype), y.accumulate};
    rows_.multiply[cpu::kind_of(a)](cpu::at(a.raw(), i, dtype), cpu::at(b.raw(), j, dtype), out, n);
  });
}

}  // namespace attend
