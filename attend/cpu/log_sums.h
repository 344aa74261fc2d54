// log Σ exp of a row from those of its pieces.
#pragma once

#include <cmath>
#include <limits>
#include <span>

namespace attend::cpu {

inline float merged_log_sums(std::span<const float> parts) {
  if (parts.size() == 1) return parts[0];
  float most = -std::numeric_limits<float>::infinity();
  for (const float part : parts) most = part > most || std::isnan(part) ? part : most;
  if (!std::isfinite(most)) return most;
  float sum = 0;
  for (const float part : parts) sum += std::exp(part - most);
  return most + std::log(sum);
}

}  // namespace attend::cpu
