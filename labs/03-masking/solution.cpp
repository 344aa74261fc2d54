// Which keys a query sees, and the softmax over those.
#include <algorithm>
#include <cmath>

#include "lab.h"

lab::Array causal_mask(int n) {
  // hole
  lab::Array mask({n, n});
  for (int t = 0; t < n; ++t)
    for (int s = 0; s <= t; ++s) mask(t, s) = 1;
  return mask;
  // end
}

lab::Array masked_softmax(const lab::Array& scores, const lab::Array& mask) {
  // hole
  lab::Array y(scores.shape);
  for (int t = 0; t < scores.shape[0]; ++t) {
    double top = -1e300, total = 0;
    for (int s = 0; s < scores.shape[1]; ++s)
      if (mask(t, s) > 0) top = std::max(top, scores(t, s));
    for (int s = 0; s < scores.shape[1]; ++s) total += y(t, s) = mask(t, s) > 0 ? std::exp(scores(t, s) - top) : 0;
    for (int s = 0; s < scores.shape[1]; ++s) y(t, s) /= total;
  }
  return y;
  // end
}

int main() { return lab::Program().add("causal_mask", causal_mask).add("masked_softmax", masked_softmax).run(); }
