#include "attend/metrics/frechet.h"

#include <cmath>
#include <utility>

#include "attend/base/error.h"

namespace attend::metrics {

namespace {

using Matrix = std::vector<double>;

// a b, both [n, n].
Matrix product(const Matrix& a, const Matrix& b, std::size_t n) {
  Matrix c(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k) {
      const double factor = a[i * n + k];
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += factor * b[k * n + j];
    }
  return c;
}

double root(double value) { return value > 0 ? std::sqrt(value) : 0; }

// The symmetric root of a symmetric matrix without negative eigenvalues.
Matrix square_root(const Matrix& matrix, std::size_t n) {
  const Eigen eigen = symmetric_eigen(matrix, static_cast<std::int64_t>(n));
  Matrix scaled(n * n), transposed(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      scaled[i * n + j] = eigen.vectors[i * n + j] * root(eigen.values[j]);
      transposed[j * n + i] = eigen.vectors[i * n + j];
    }
  return product(scaled, transposed, n);
}

// Turns rows p and q of a [n, n], each a run of memory, by an angle.
void rotate_rows(Matrix& a, std::size_t n, std::size_t p, std::size_t q, double cosine, double sine) {
  double *x = a.data() + p * n, *y = a.data() + q * n;
  for (std::size_t k = 0; k < n; ++k) {
    const double before = x[k];
    x[k] = cosine * before - sine * y[k];
    y[k] = sine * before + cosine * y[k];
  }
}

// One rotation that makes a[p, q] zero; turns holds the vectors as rows.
void rotate(Matrix& a, Matrix& turns, std::size_t n, std::size_t p, std::size_t q) {
  const double between = a[p * n + q];
  const double theta = (a[q * n + q] - a[p * n + p]) / (2 * between);
  const double tangent = (theta >= 0 ? 1.0 : -1.0) / (std::abs(theta) + std::sqrt(theta * theta + 1));
  const double cosine = 1 / std::sqrt(tangent * tangent + 1), sine = tangent * cosine;
  const double pp = a[p * n + p] - tangent * between, qq = a[q * n + q] + tangent * between;
  rotate_rows(a, n, p, q, cosine, sine);
  for (std::size_t k = 0; k < n; ++k) a[k * n + p] = a[p * n + k], a[k * n + q] = a[q * n + k];
  a[p * n + p] = pp, a[q * n + q] = qq, a[p * n + q] = a[q * n + p] = 0;
  rotate_rows(turns, n, p, q, cosine, sine);
}

}  // namespace

Eigen symmetric_eigen(std::vector<double> matrix, std::int64_t width) {
  constexpr int kMostSweeps = 60;
  constexpr double kDone = 1e-26;  // of the squares, off the diagonal
  const auto n = static_cast<std::size_t>(width);
  check(matrix.size() == n * n, "eigen: {} numbers are no matrix of {} x {}", matrix.size(), n, n);
  Matrix turns(n * n);
  double all = 0;
  for (std::size_t i = 0; i < n; ++i) turns[i * n + i] = 1;
  for (const double value : matrix) all += value * value;
  check(std::isfinite(all), "eigen: a number of the matrix is not finite");
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double off = 0;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) off += 2 * matrix[p * n + q] * matrix[p * n + q];
    if (off <= kDone * all) break;
    // What is this small by now changes nothing.
    const double small = std::sqrt(kDone * all) / static_cast<double>(n);
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q)
        if (std::abs(matrix[p * n + q]) > small) rotate(matrix, turns, n, p, q);
  }
  Eigen eigen{std::vector<double>(n), Matrix(n * n)};
  for (std::size_t i = 0; i < n; ++i) {
    eigen.values[i] = matrix[i * n + i];
    for (std::size_t k = 0; k < n; ++k) eigen.vectors[k * n + i] = turns[i * n + k];
  }
  return eigen;
}

void Moments::add(std::span<const float> vector) {
  const std::size_t n = vector.size();
  if (count_ == 0) {
    first_.assign(vector.begin(), vector.end());
    sums_.assign(n, 0), products_.assign(n * n, 0);
  }
  check(n == first_.size(), "moments: a vector of {} after those of {}", n, first_.size());
  ++count_;
  std::vector<double> from_first(n);
  for (std::size_t i = 0; i < n; ++i) from_first[i] = static_cast<double>(vector[i]) - first_[i];
  for (std::size_t i = 0; i < n; ++i) {
    sums_[i] += from_first[i];
    for (std::size_t j = 0; j < n; ++j) products_[i * n + j] += from_first[i] * from_first[j];
  }
}

Gaussian Moments::gaussian() const {
  check(count_ >= 2, "moments: {} vectors have no covariance; two at least are needed", count_);
  const std::size_t n = first_.size();
  const double count = static_cast<double>(count_);
  Gaussian result{std::vector<double>(n), std::vector<double>(n * n)};
  for (std::size_t i = 0; i < n; ++i) {
    result.mean[i] = first_[i] + sums_[i] / count;
    for (std::size_t j = 0; j < n; ++j)
      result.covariance[i * n + j] = (products_[i * n + j] - sums_[i] * sums_[j] / count) / (count - 1);
  }
  return result;
}

// (A B)^½ has the trace of (A^½ B A^½)^½, which is symmetric.
double frechet_distance(const Gaussian& a, const Gaussian& b) {
  check(a.width() == b.width(), "frechet distance: features of {} and of {}", a.width(), b.width());
  const auto n = static_cast<std::size_t>(a.width());
  const Matrix half = square_root(a.covariance, n);
  const Eigen both = symmetric_eigen(product(product(half, b.covariance, n), half, n), a.width());
  double distance = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double apart = a.mean[i] - b.mean[i];
    distance += apart * apart + a.covariance[i * n + i] + b.covariance[i * n + i] - 2 * root(both.values[i]);
  }
  return distance > 0 ? distance : 0;
}

}  // namespace attend::metrics
