// Dropout (Srivastava et al. 2014). The mask is a function of the element's index, so the backward pass is the same
// call on the gradient.
#include "attend/base/random.h"
#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

namespace {

// Each group as a whole.
void drop_groups(CpuBackend& backend, const Tensor& x, const Dropout& dropout, const Grad& y) {
  const Shape folded{x.size() / dropout.group, dropout.group};
  const Tensor from = x.reshape(folded), into = y.into.reshape(folded);
  const std::uint64_t seed = dropout.seed[0] | static_cast<std::uint64_t>(dropout.seed[1]) << 32;
  for (std::int64_t i = 0; i < folded[0]; ++i) {
    const bool kept =
        dropout_draw(seed, dropout.stream, static_cast<std::uint64_t>(i)) >= dropout_threshold(dropout.rate);
    backend.scale(from.slice_first(i, 1), kept ? dropout_scale(dropout.rate) : 0.0f,
                  {into.slice_first(i, 1), y.accumulate});
  }
}

}  // namespace

void CpuBackend::dropout(const Tensor& x, const Dropout& dropout, const Grad& y) {
  if (!y) return;
  const cpu::DropRule rule = cpu::rule_of(dropout);
  if (rule.threshold == 0) return scale(x, 1.0f, y);
  if (dropout.group > 1) return drop_groups(*this, x, dropout, y);
  cpu::for_rows(pool(), x.size(), 4, [&](std::int64_t begin, std::int64_t end) {
    rows_.dropout[cpu::kind_of(x)](x.raw(), rule, cpu::out_of(y), begin, end);
  });
}

}  // namespace attend
