// A bias as f32, whatever it is kept as.
#pragma once

#include <cstdint>

#include "attend/base/dtype.h"

namespace attend::cpu {

class Recording;

namespace detail {

// bias itself when it is f32 (or null); else a copy that stays valid until this thread's next call, or one that is made
// when what is recorded comes to it.
const void* bias_in_f32(const void* bias, DType dtype, std::int64_t n, Recording* recording = nullptr);

}  // namespace detail
}  // namespace attend::cpu
