// Layer normalisation of the rows of x [N, C], and the gradient of x.
#include <cmath>

#include "lab.h"

lab::Array layer_norm(const lab::Array& x, const lab::Array& weight, const lab::Array& bias, double eps) {
  // hole
  const int C = x.shape[1];
  lab::Array y(x.shape);
  for (int n = 0; n < x.shape[0]; ++n) {
    double mean = 0, variance = 0;
    for (int c = 0; c < C; ++c) mean += x(n, c) / C;
    for (int c = 0; c < C; ++c) variance += (x(n, c) - mean) * (x(n, c) - mean) / C;
    for (int c = 0; c < C; ++c) y(n, c) = weight(c) * (x(n, c) - mean) / std::sqrt(variance + eps) + bias(c);
  }
  return y;
  // end
}

lab::Array layer_norm_backward(const lab::Array& x, const lab::Array& weight, double eps, const lab::Array& dy) {
  // hole
  const int C = x.shape[1];
  lab::Array dx(x.shape), ones({C}, 1), zeros({C});
  const lab::Array normed = layer_norm(x, ones, zeros, eps);
  for (int n = 0; n < x.shape[0]; ++n) {
    double mean = 0, variance = 0, slope = 0, along = 0;
    for (int c = 0; c < C; ++c) mean += x(n, c) / C;
    for (int c = 0; c < C; ++c) variance += (x(n, c) - mean) * (x(n, c) - mean) / C;
    for (int c = 0; c < C; ++c) slope += weight(c) * dy(n, c) / C, along += weight(c) * dy(n, c) * normed(n, c) / C;
    for (int c = 0; c < C; ++c)
      dx(n, c) = (weight(c) * dy(n, c) - slope - normed(n, c) * along) / std::sqrt(variance + eps);
  }
  return dx;
  // end
}

int main() { return lab::Program().add("layer_norm", layer_norm).add("layer_norm_backward", layer_norm_backward).run(); }
