// Eigen's product for bench/cpu_gemm.cpp, in a file of its own so that it can be compiled for the machine at hand.
#include <omp.h>

#include <Eigen/Core>

namespace {
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using View = Eigen::Map<const RowMajor, 0, Eigen::OuterStride<>>;
}  // namespace

void eigen_threads(int threads) { Eigen::setNbThreads(threads); }

void eigen_gemm(bool ta, bool tb, int m, int n, int k, const float* a, int lda, const float* b, int ldb, float* c) {
  const View va(a, ta ? k : m, ta ? m : k, Eigen::OuterStride<>(lda));
  const View vb(b, tb ? n : k, tb ? k : n, Eigen::OuterStride<>(ldb));
  Eigen::Map<RowMajor> out(c, m, n);
  if (ta && tb)
    out.noalias() = va.transpose() * vb.transpose();
  else if (ta)
    out.noalias() = va.transpose() * vb;
  else if (tb)
    out.noalias() = va * vb.transpose();
  else
    out.noalias() = va * vb;
}
