// How far two sets of images are apart: the Fréchet distance between normal distributions that have the means and the
// covariances of their features (Dowson & Landau 1982; Heusel et al. 2017, with the features of a network of theirs).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace attend::metrics {

struct Gaussian {
  std::vector<double> mean, covariance;  // [N], [N, N]
  std::int64_t width() const { return static_cast<std::int64_t>(mean.size()); }
};

// Collects vectors of one width.
class Moments {
 public:
  void add(std::span<const float> vector);
  std::int64_t count() const { return count_; }
  // The covariance is the unbiased one. Throws Error for fewer than two vectors.
  Gaussian gaussian() const;

 private:
  std::int64_t count_ = 0;
  std::vector<double> first_;  // the first vector: sums of what differs from it lose no digits
  std::vector<double> sums_, products_;
};

// |μ - ν|² + tr(A + B - 2 (A B)^½). Throws Error when the widths differ.
double frechet_distance(const Gaussian& a, const Gaussian& b);

// A = V diag(values) Vᵀ for a symmetric A [N, N], by Jacobi's rotations; columns of V are the vectors.
struct Eigen {
  std::vector<double> values, vectors;
};
Eigen symmetric_eigen(std::vector<double> matrix, std::int64_t width);

}  // namespace attend::metrics
