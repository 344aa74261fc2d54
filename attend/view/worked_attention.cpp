#include "attend/view/worked_attention.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "attend/base/error.h"

namespace attend::view {

namespace {

constexpr double kMostSteps = 4e9;  // n·m·d: seconds

double product(const double* a, const double* b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

void name_rows(NamedMatrix& matrix, const char* letter) {
  if (matrix.row_names.empty())
    for (std::size_t i = 0; i < matrix.rows; ++i) matrix.row_names.push_back(fmt::format("{}{}", letter, i + 1));
}

void check_shapes(const NamedMatrix& q, const NamedMatrix& k, const NamedMatrix& v, const NamedMatrix& w, Score score) {
  check(k.rows == v.rows,
        "attention: k is {} and v is {}; every key needs one value, so the numbers of rows must be equal", k.shape(),
        v.shape());
  if (score == Score::general && w.rows > 0)
    check(w.rows == q.columns && w.columns == k.columns,
          "attention: q is {} and k is {}, so w must be [{}, {}], not {}", q.shape(), k.shape(), q.columns, k.columns,
          w.shape());
  else
    check(q.columns == k.columns, "attention: q is {} and k is {}; queries and keys must have equally many columns",
          q.shape(), k.shape());
  if (score == Score::additive && w.rows > 0)
    check(w.rows == 1 && w.columns == k.columns, "attention: k is {}, so w must be [1, {}], not {}", k.shape(),
          k.columns, w.shape());
  check(w.rows == 0 || score == Score::general || score == Score::additive,
        "attention: w {} is for the scores general and additive", w.shape());
  check(static_cast<double>(q.rows) * static_cast<double>(k.rows) * static_cast<double>(k.columns + v.columns) <=
                kMostSteps &&
            q.rows * k.rows <= kMostMatrixNumbers && q.rows * v.columns <= kMostMatrixNumbers,
        "attention: {} queries and {} keys are too many to show", q.rows, k.rows);
}

NamedMatrix scores_of(const NamedMatrix& q, const NamedMatrix& k, const NamedMatrix& w, Score score) {
  NamedMatrix projected = q;  // q W, where there is a W
  if (score == Score::general && w.rows > 0) {
    projected.columns = w.columns, projected.values.assign(q.rows * w.columns, 0);
    for (std::size_t i = 0; i < q.rows; ++i)
      for (std::size_t a = 0; a < w.rows; ++a)
        for (std::size_t b = 0; b < w.columns; ++b) projected.values[i * w.columns + b] += q.at(i, a) * w.at(a, b);
  }
  NamedMatrix scores{.rows = q.rows, .columns = k.rows, .row_names = q.row_names, .column_names = k.row_names};
  const std::size_t d = k.columns;
  for (std::size_t i = 0; i < q.rows; ++i)
    for (std::size_t j = 0; j < k.rows; ++j) {
      const double *a = &projected.values[i * d], *b = &k.values[j * d];
      double value = 0;
      if (score == Score::additive) {
        for (std::size_t c = 0; c < d; ++c) value += (w.rows ? w.values[c] : 1) * std::tanh(a[c] + b[c]);
      } else {
        value = product(a, b, d);
      }
      if (score == Score::cosine) {
        const double lengths = std::sqrt(product(a, a, d) * product(b, b, d));
        value = lengths > 0 ? value / lengths : 0;
      }
      check(std::isfinite(value), "attention: the score of {} and {} is not finite", q.row_names[i], k.row_names[j]);
      scores.values.push_back(value);
    }
  return scores;
}

NamedMatrix softmax_of(const WorkedAttention& worked) {
  NamedMatrix weights = worked.scaled;
  for (std::size_t i = 0; i < weights.rows; ++i) {
    double largest = -INFINITY, sum = 0;
    for (std::size_t j = 0; j < weights.columns; ++j)
      if (worked.visible(i, j)) largest = std::max(largest, worked.scaled.at(i, j));
    for (std::size_t j = 0; j < weights.columns; ++j) {
      double& weight = weights.values[i * weights.columns + j];
      weight = worked.visible(i, j) ? std::exp(worked.scaled.at(i, j) - largest) : 0;
      sum += weight;
    }
    for (std::size_t j = 0; j < weights.columns && sum > 0; ++j) weights.values[i * weights.columns + j] /= sum;
  }
  return weights;
}

}  // namespace

WorkedAttention work_attention(NamedMatrix q, NamedMatrix k, NamedMatrix v, NamedMatrix w,
                               const AttentionSettings& settings) {
  check_shapes(q, k, v, w, settings.score);
  name_rows(q, "q"), name_rows(k, "k"), name_rows(v, "v");
  WorkedAttention worked{
      .settings = settings, .q = std::move(q), .k = std::move(k), .v = std::move(v), .w = std::move(w)};
  worked.scores = scores_of(worked.q, worked.k, worked.w, settings.score);
  worked.divisor = settings.scaled ? std::sqrt(static_cast<double>(worked.k.columns)) : 1;
  worked.scaled = worked.scores;
  for (double& value : worked.scaled.values) value /= worked.divisor;
  worked.weights = softmax_of(worked);
  const NamedMatrix& values = worked.v;
  worked.output = {.rows = worked.q.rows,
                   .columns = values.columns,
                   .values = std::vector<double>(worked.q.rows * values.columns, 0.0),
                   .row_names = worked.q.row_names,
                   .column_names = values.column_names};
  for (std::size_t i = 0; i < worked.q.rows; ++i)
    for (std::size_t j = 0; j < values.rows; ++j)
      for (std::size_t c = 0; c < values.columns; ++c)
        worked.output.values[i * values.columns + c] += worked.weights.at(i, j) * values.at(j, c);
  for (const double value : worked.output.values) check(std::isfinite(value), "attention: the output is not finite");
  return worked;
}

}  // namespace attend::view
