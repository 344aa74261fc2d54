// The blocks that later labs build on, for matrices [rows, columns].
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "lab.h"

namespace lab {

// [N, K] [K, M] -> [N, M]
inline Array matmul(const Array& a, const Array& b) {
  Array y({a.shape[0], b.shape[1]});
  for (int i = 0; i < a.shape[0]; ++i)
    for (int k = 0; k < a.shape[1]; ++k)
      for (int j = 0; j < b.shape[1]; ++j) y(i, j) += a(i, k) * b(k, j);
  return y;
}

inline Array add(Array a, const Array& b) {
  for (std::size_t i = 0; i < a.data.size(); ++i) a.data[i] += b.data.at(i);
  return a;
}

inline Array relu(Array x) {
  for (double& value : x.data) value = std::max(0.0, value);
  return x;
}

// softmax(Q Kᵀ / √D) V; a causal query t sees keys 0 to t.
inline Array attention(const Array& q, const Array& k, const Array& v, bool causal = false) {
  Array w({q.shape[0], k.shape[0]});
  for (int t = 0; t < q.shape[0]; ++t) {
    double top = -std::numeric_limits<double>::infinity(), total = 0;
    const int seen = causal ? t + 1 : k.shape[0];
    for (int s = 0; s < seen; ++s) {
      for (int d = 0; d < q.shape[1]; ++d) w(t, s) += q(t, d) * k(s, d) / std::sqrt(q.shape[1]);
      top = std::max(top, w(t, s));
    }
    for (int s = 0; s < seen; ++s) total += w(t, s) = std::exp(w(t, s) - top);
    for (int s = 0; s < seen; ++s) w(t, s) /= total;
  }
  return matmul(w, v);
}

// Layer normalisation of rows, without weight and bias.
inline Array norm(Array x) {
  const int width = x.shape[1];
  for (int row = 0; row < x.shape[0]; ++row) {
    double sum = 0, squares = 0;
    for (int c = 0; c < width; ++c) sum += x(row, c);
    for (int c = 0; c < width; ++c) squares += std::pow(x(row, c) -= sum / width, 2);
    for (int c = 0; c < width; ++c) x(row, c) /= std::sqrt(squares / width + 1e-5);
  }
  return x;
}

}  // namespace lab
