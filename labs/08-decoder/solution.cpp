// A post-norm decoder layer with one head.
#include <algorithm>
#include <cmath>

#include "lab.h"

lab::Array product(const lab::Array& a, const lab::Array& b) {
  lab::Array y({a.shape[0], b.shape[1]});
  for (int i = 0; i < a.shape[0]; ++i)
    for (int k = 0; k < a.shape[1]; ++k)
      for (int j = 0; j < b.shape[1]; ++j) y(i, j) += a(i, k) * b(k, j);
  return y;
}

lab::Array plus(const lab::Array& a, const lab::Array& b) {
  lab::Array y = a;
  for (std::size_t i = 0; i < y.data.size(); ++i) y.data[i] += b.data.at(i);
  return y;
}

// A causal query t sees keys 0 to t.
lab::Array attention(const lab::Array& q, const lab::Array& k, const lab::Array& v, bool causal) {
  lab::Array w({q.shape[0], k.shape[0]});
  for (int t = 0; t < q.shape[0]; ++t) {
    double top = -1e300, total = 0;
    const int seen = causal ? t + 1 : k.shape[0];
    for (int s = 0; s < seen; ++s) {
      for (int d = 0; d < q.shape[1]; ++d) w(t, s) += q(t, d) * k(s, d) / std::sqrt(q.shape[1]);
      top = std::max(top, w(t, s));
    }
    for (int s = 0; s < seen; ++s) total += w(t, s) = std::exp(w(t, s) - top);
    for (int s = 0; s < seen; ++s) w(t, s) /= total;
  }
  return product(w, v);
}

lab::Array norm(const lab::Array& x) {
  const int C = x.shape[1];
  lab::Array y(x.shape);
  for (int n = 0; n < x.shape[0]; ++n) {
    double mean = 0, variance = 0;
    for (int c = 0; c < C; ++c) mean += x(n, c) / C;
    for (int c = 0; c < C; ++c) variance += (x(n, c) - mean) * (x(n, c) - mean) / C;
    for (int c = 0; c < C; ++c) y(n, c) = (x(n, c) - mean) / std::sqrt(variance + 1e-5);
  }
  return y;
}

lab::Array relu(lab::Array x) {
  for (double& value : x.data) value = std::max(0.0, value);
  return x;
}

using lab::Array;

Array decoder_layer(const Array& x, const Array& memory, const Array& w1q, const Array& w1k, const Array& w1v,
                    const Array& w2q, const Array& w2k, const Array& w2v, const Array& f1, const Array& f2) {
  // hole
  const Array a = norm(plus(x, attention(product(x, w1q), product(x, w1k), product(x, w1v), true)));
  const Array b = norm(plus(a, attention(product(a, w2q), product(memory, w2k), product(memory, w2v), false)));
  return norm(plus(b, product(relu(product(b, f1)), f2)));
  // end
}

int main() { return lab::Program().add("decoder_layer", decoder_layer).run(); }
