// log Σ exp of a row, from those of its pieces; and what is chosen from.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "attend/cpu/rows/kernels.h"

namespace attend::cpu {

// What a choice among logits sees of one: NaN is no number to choose.
inline constexpr float kLowest = -std::numeric_limits<float>::infinity();
template <class T>
float or_lowest(T logit) {
  const float value = static_cast<float>(logit);
  return value >= kLowest ? value : kLowest;
}

// Of n logits, by the kernel that has the cross entropy of rows.
inline float log_sum(void (*kernel)(const CrossEntropyRows& args, std::int64_t begin, std::int64_t end), const void* x,
                     std::int64_t n) {
  const std::int32_t target = 0;
  float loss = 0, sum = 0;
  CrossEntropyRows row;
  row.logits = x, row.targets = &target, row.losses = &loss, row.lse = &sum;
  row.width = n, row.ignore = -1;
  kernel(row, 0, 1);
  return sum;
}

inline float merged_log_sums(std::span<const float> parts) {
  if (parts.size() == 1) return parts[0];
  float most = kLowest;
  for (const float part : parts) most = part > most || std::isnan(part) ? part : most;
  if (!std::isfinite(most)) return most;
  float sum = 0;
  for (const float part : parts) sum += std::exp(part - most);
  return most + std::log(sum);
}

}  // namespace attend::cpu
