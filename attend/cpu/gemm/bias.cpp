// See bias.h.
#include "attend/cpu/gemm/bias.h"

#include <cstring>

#include "attend/cpu/lanes.h"
#include "attend/cpu/parallel.h"
#include "attend/cpu/recording.h"
#include "attend/cpu/scratch.h"

namespace attend::cpu::detail {

const void* bias_in_f32(const void* bias, DType dtype, std::int64_t n, Recording* recording) {
  if (bias == nullptr || dtype == DType::f32) return bias;
  thread_local Scratch scratch;
  const auto bytes = static_cast<std::size_t>(n) * sizeof(float);
  auto* to = reinterpret_cast<float*>(recording != nullptr ? recording->memory(bytes) : scratch.get(bytes));
  const auto widen = [from = static_cast<const Bf16*>(bias), to](std::int64_t i, std::int64_t end) {
    using Eight = Lanes<8>;
    for (; i + 8 <= end; i += 8) {
      Eight::Half half;
      std::memcpy(&half, from + i, sizeof half);
      const Eight::Word words = __builtin_convertvector(half, Eight::Word) << 16;
      std::memcpy(to + i, &words, sizeof words);
    }
    for (; i < end; ++i) to[i] = from[i];
  };
  recording != nullptr ? recording->add(RowWork{n, 1, widen}) : widen(0, n);
  return to;
}

}  // namespace attend::cpu::detail
