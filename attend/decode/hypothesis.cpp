#include "attend/decode/hypothesis.h"

#include <algorithm>
#include <cmath>

namespace attend::decode {

double normalised(double sum, std::size_t length, LengthPenalty penalty, float alpha) {
  const double size = static_cast<double>(length);
  const double base = penalty == LengthPenalty::wu ? (5 + size) / 6 : std::max(size, 1.0);
  return sum / std::pow(base, static_cast<double>(alpha));
}

}  // namespace attend::decode
