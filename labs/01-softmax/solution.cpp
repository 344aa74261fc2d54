// Softmax over the rows of x [N, V], and its gradient.
#include <algorithm>
#include <cmath>

#include "lab.h"

lab::Array softmax(const lab::Array& x) {
  // hole
  lab::Array y(x.shape);
  for (int n = 0; n < x.shape[0]; ++n) {
    double top = x(n, 0), total = 0;
    for (int v = 0; v < x.shape[1]; ++v) top = std::max(top, x(n, v));
    for (int v = 0; v < x.shape[1]; ++v) total += y(n, v) = std::exp(x(n, v) - top);
    for (int v = 0; v < x.shape[1]; ++v) y(n, v) /= total;
  }
  return y;
  // end
}

lab::Array softmax_backward(const lab::Array& y, const lab::Array& dy) {
  // hole
  lab::Array dx(y.shape);
  for (int n = 0; n < y.shape[0]; ++n) {
    double mean = 0;
    for (int v = 0; v < y.shape[1]; ++v) mean += y(n, v) * dy(n, v);
    for (int v = 0; v < y.shape[1]; ++v) dx(n, v) = y(n, v) * (dy(n, v) - mean);
  }
  return dx;
  // end
}

int main() { return lab::Program().add("softmax", softmax).add("softmax_backward", softmax_backward).run(); }
