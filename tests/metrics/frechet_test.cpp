// The Fréchet distance where it has a closed form.
#include "attend/metrics/frechet.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attend/base/error.h"

namespace attend::metrics {
namespace {

TEST(Frechet, OfNormalsOnALine) {
  // (μ - ν)² + (σ - τ)²
  EXPECT_NEAR(frechet_distance({{1}, {4}}, {{4}, {9}}), 9 + 1, 1e-12);
  EXPECT_NEAR(frechet_distance({{0}, {0}}, {{0}, {2.25}}), 2.25, 1e-12);
}

TEST(Frechet, OfNormalsThatShareAxes) {
  // Σ (√λ - √κ)² over the axes, turned by 30 degrees.
  const double c = std::cos(M_PI / 6), s = std::sin(M_PI / 6);
  const auto turned = [&](double x, double y) {
    return std::vector<double>{x * c * c + y * s * s, (x - y) * c * s, (x - y) * c * s, x * s * s + y * c * c};
  };
  EXPECT_NEAR(frechet_distance({{1, 2}, turned(4, 1)}, {{1, 0}, turned(9, 16)}), 4 + 1 + 9, 1e-11);
}

TEST(Frechet, OfNormalsWithOtherAxes) {
  // In the plane tr (A B)^½ = √(tr AB + 2 √det AB).
  const Gaussian a{{0, 0}, {2, 0.5, 0.5, 1}}, b{{0, 0}, {1, -0.3, -0.3, 3}};
  const double trace = 2 * 1 + 2 * 0.5 * -0.3 + 1 * 3, det = (2 - 0.25) * (3 - 0.09);
  EXPECT_NEAR(frechet_distance(a, b), 3 + 4 - 2 * std::sqrt(trace + 2 * std::sqrt(det)), 1e-11);
  EXPECT_NEAR(frechet_distance(b, a), frechet_distance(a, b), 1e-11);
}

TEST(Frechet, IsZeroFromItselfAlsoWithoutFullRank) {
  Moments moments;
  for (int i = 0; i < 5; ++i) {
    std::vector<float> vector(40);
    for (std::size_t j = 0; j < vector.size(); ++j)
      vector[j] = std::sin(static_cast<float>(i * 7) + static_cast<float>(j));
    moments.add(vector);
  }
  EXPECT_NEAR(frechet_distance(moments.gaussian(), moments.gaussian()), 0, 1e-6);
}

TEST(Frechet, EigenvectorsMakeTheMatrix) {
  constexpr std::size_t n = 30;
  std::vector<double> matrix(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      matrix[i * n + j] = matrix[j * n + i] = std::sin(static_cast<double>(i * i + 3 * j));
  const Eigen eigen = symmetric_eigen(matrix, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double value = 0, dot = 0;
      for (std::size_t k = 0; k < n; ++k) {
        value += eigen.vectors[i * n + k] * eigen.values[k] * eigen.vectors[j * n + k];
        dot += eigen.vectors[k * n + i] * eigen.vectors[k * n + j];
      }
      EXPECT_NEAR(value, matrix[i * n + j], 1e-11);
      EXPECT_NEAR(dot, i == j ? 1 : 0, 1e-11);
    }
}

TEST(Frechet, MomentsAreThoseOfTheVectors) {
  Moments moments;
  for (const float x : {1e4f + 1, 1e4f + 2, 1e4f + 6}) moments.add(std::vector<float>{x, 2 * x});
  const Gaussian got = moments.gaussian();
  EXPECT_NEAR(got.mean[0], 1e4 + 3, 1e-9);
  EXPECT_NEAR(got.covariance[0], 7, 1e-9);  // (4 + 1 + 9) / 2
  EXPECT_NEAR(got.covariance[1], 14, 1e-9);
  EXPECT_NEAR(got.covariance[3], 28, 1e-9);
  EXPECT_THROW(moments.add(std::vector<float>{1}), Error);
  EXPECT_THROW(Moments().gaussian(), Error);
  EXPECT_THROW(frechet_distance(got, {{1}, {1}}), Error);
}

}  // namespace
}  // namespace attend::metrics
