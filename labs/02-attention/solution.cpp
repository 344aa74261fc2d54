// softmax(Q Kᵀ / √D) V for one head, and the gradient of Q.
#include <algorithm>
#include <cmath>

#include "lab.h"

// [T, D], [S, D] -> [T, S]
lab::Array weights_of(const lab::Array& q, const lab::Array& k) {
  // hole
  const int T = q.shape[0], S = k.shape[0], D = q.shape[1];
  lab::Array w({T, S});
  for (int t = 0; t < T; ++t) {
    double top = -1e300, total = 0;
    for (int s = 0; s < S; ++s) {
      for (int d = 0; d < D; ++d) w(t, s) += q(t, d) * k(s, d);
      w(t, s) /= std::sqrt(D);
      top = std::max(top, w(t, s));
    }
    for (int s = 0; s < S; ++s) total += w(t, s) = std::exp(w(t, s) - top);
    for (int s = 0; s < S; ++s) w(t, s) /= total;
  }
  return w;
  // end
}

lab::Array attention(const lab::Array& q, const lab::Array& k, const lab::Array& v) {
  // hole
  const lab::Array w = weights_of(q, k);
  lab::Array y({q.shape[0], v.shape[1]});
  for (int t = 0; t < y.shape[0]; ++t)
    for (int s = 0; s < v.shape[0]; ++s)
      for (int e = 0; e < v.shape[1]; ++e) y(t, e) += w(t, s) * v(s, e);
  return y;
  // end
}

lab::Array attention_gradient(const lab::Array& q, const lab::Array& k, const lab::Array& v, const lab::Array& dy) {
  // hole
  const lab::Array w = weights_of(q, k);
  lab::Array dq(q.shape), dw(w.shape);
  for (int t = 0; t < q.shape[0]; ++t) {
    double mean = 0;
    for (int s = 0; s < k.shape[0]; ++s) {
      for (int e = 0; e < v.shape[1]; ++e) dw(t, s) += dy(t, e) * v(s, e);
      mean += dw(t, s) * w(t, s);
    }
    for (int s = 0; s < k.shape[0]; ++s)
      for (int d = 0; d < q.shape[1]; ++d) dq(t, d) += w(t, s) * (dw(t, s) - mean) * k(s, d) / std::sqrt(q.shape[1]);
  }
  return dq;
  // end
}

int main() { return lab::Program().add("attention", attention).add("attention_gradient", attention_gradient).run(); }
