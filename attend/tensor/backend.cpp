#include "attend/tensor/backend.h"

#include "attend/base/error.h"

namespace attend {

void Backend::cast8(const Tensor&, const Units8&, const Tensor&, const Tensor&) {
  fail("fp8: {} has no products of 8-bit floats", name());
}

void Backend::follow_rows(const Tensor&, const Tensor&, const Tensor&, std::int64_t) {
  fail("decoder: {} moves the rows of its caches", name());
}
void Backend::next_units8(const Tensor&) { fail("fp8: {} has no products of 8-bit floats", name()); }

}  // namespace attend
