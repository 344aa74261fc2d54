// Multi-head self-attention of x [T, C] with weights [C, C].
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

lab::Array multi_head(const lab::Array& x, const lab::Array& wq, const lab::Array& wk, const lab::Array& wv,
                      const lab::Array& wo, int heads) {
  // hole
  const lab::Array q = product(x, wq), k = product(x, wk), v = product(x, wv);
  const int T = x.shape[0], C = x.shape[1], D = C / heads;
  lab::Array joined({T, C});
  for (int h = 0; h < heads; ++h)
    for (int t = 0; t < T; ++t) {
      std::vector<double> w(static_cast<std::size_t>(T));
      double top = -1e300, total = 0;
      for (int s = 0; s < T; ++s) {
        double score = 0;
        for (int d = 0; d < D; ++d) score += q(t, h * D + d) * k(s, h * D + d);
        w[static_cast<std::size_t>(s)] = score / std::sqrt(D);
        top = std::max(top, w[static_cast<std::size_t>(s)]);
      }
      for (double& weight : w) total += weight = std::exp(weight - top);
      for (int s = 0; s < T; ++s)
        for (int d = 0; d < D; ++d) joined(t, h * D + d) += w[static_cast<std::size_t>(s)] / total * v(s, h * D + d);
    }
  return product(joined, wo);
  // end
}

int main() { return lab::Program().add("multi_head", multi_head).run(); }
