// Dropout (Srivastava et al. 2014). The mask is a function of the element's index, so the backward pass is the same
// call on the gradient.
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

void CpuBackend::dropout(const Tensor& x, const Dropout& dropout, const Grad& y) {
  if (!y) return;
  const cpu::DropRule rule = cpu::rule_of(dropout);
  if (rule.threshold == 0) return scale(x, 1.0f, y);
  cpu::for_rows(pool(), x.size(), 4, [&](std::int64_t begin, std::int64_t end) {
    rows_.dropout[cpu::kind_of(x)](x.raw(), rule, cpu::out_of(y), begin, end);
  });
}

}  // namespace attend
