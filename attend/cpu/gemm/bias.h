// A bias as f32, whatever it is kept as.
#pragma once

#include <cstdint>

#include "attend/base/dtype.h"

namespace attend::cpu::detail {

// bias itself when it is f32 (or null); else a copy that stays valid until this thread's next call.
const void* bias_in_f32(const void* bias, DType dtype, std::int64_t n);

}  // namespace attend::cpu::detail
