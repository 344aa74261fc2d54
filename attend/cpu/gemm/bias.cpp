// See bias.h.
#include "attend/cpu/gemm/bias.h"

#include <array>
#include <cstring>

#include "attend/cpu/activation_math.h"
#include "attend/cpu/gemm/scratch.h"
#include "attend/cpu/recording.h"

namespace attend::cpu::detail {

namespace {

struct Widened {
  const Bf16* from;
  float* to;
  std::int64_t n;

  void operator()(std::int64_t) const {
    using Eight = Lanes<8>;
    std::int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      Eight::Half half;
      std::memcpy(&half, from + i, sizeof half);
      const Eight::Word words = __builtin_convertvector(half, Eight::Word) << 16;
      std::memcpy(to + i, &words, sizeof words);
    }
    for (; i < n; ++i) to[i] = from[i];
  }
  std::array<ThreadPool::Stage, 1> stages() const { return {ThreadPool::each(1, *this)}; }
};

}  // namespace

const void* bias_in_f32(const void* bias, DType dtype, std::int64_t n, Recording* recording) {
  if (bias == nullptr || dtype == DType::f32) return bias;
  thread_local Scratch scratch;
  const auto bytes = static_cast<std::size_t>(n) * sizeof(float);
  auto* to = reinterpret_cast<float*>(recording != nullptr ? recording->memory(bytes) : scratch.get(bytes));
  const Widened widened{static_cast<const Bf16*>(bias), to, n};
  recording != nullptr ? recording->add(widened) : widened(0);
  return to;
}

}  // namespace attend::cpu::detail
