// Multi-head self-attention of x [T, C] with weights [C, C].
#include "blocks.h"

using lab::Array;

Array multi_head(const Array& x, const Array& wq, const Array& wk, const Array& wv, const Array& wo, int heads) {
  // hole
  const Array q = lab::matmul(x, wq), k = lab::matmul(x, wk), v = lab::matmul(x, wv);
  const int T = x.shape[0], C = x.shape[1], D = C / heads;
  Array joined({T, C});
  for (int h = 0; h < heads; ++h) {
    const auto columns = [&](const Array& all) {
      Array part({T, D});
      for (int t = 0; t < T; ++t)
        for (int d = 0; d < D; ++d) part(t, d) = all(t, h * D + d);
      return part;
    };
    const Array part = lab::attention(columns(q), columns(k), columns(v));
    for (int t = 0; t < T; ++t)
      for (int d = 0; d < D; ++d) joined(t, h * D + d) = part(t, d);
  }
  return lab::matmul(joined, wo);
  // end
}

int main() { return lab::Program().add("multi_head", multi_head).run(); }
