// Distances of boxes, and the hinge losses.
#include <algorithm>
#include <cmath>

#include "attend/ops/boxes.h"
#include "attend/ops/hinge.h"
#include "tests/ops/cases.h"

namespace attend::test {

namespace {

double overlap(double a, double a_size, double b, double b_size) {
  return std::max(0.0, std::min(a + a_size / 2, b + b_size / 2) - std::max(a - a_size / 2, b - b_size / 2));
}
double span_of(double a, double a_size, double b, double b_size) {
  return std::max(a + a_size / 2, b + b_size / 2) - std::min(a - a_size / 2, b - b_size / 2);
}

// The definition: areas, and not edges.
Array distances_reference(const Array& a, const Array& b) {
  Array y(a.shape.with_last(2));
  for (std::int64_t r = 0; r < a.rows(); ++r) {
    for (std::int64_t c = 0; c < 4; ++c) y.at(r, 0) += std::abs(a.at(r, c) - b.at(r, c));
    double shared = 1, hull = 1;
    for (std::int64_t c = 0; c < 2; ++c) {
      shared *= overlap(a.at(r, c), a.at(r, c + 2), b.at(r, c), b.at(r, c + 2));
      hull *= span_of(a.at(r, c), a.at(r, c + 2), b.at(r, c), b.at(r, c + 2));
    }
    const double together = a.at(r, 2) * a.at(r, 3) + b.at(r, 2) * b.at(r, 3) - shared;
    y.at(r, 1) = 1 - shared / together + (hull - together) / hull;
  }
  return y;
}

Case distances_case(const std::string& name, const Shape& boxes, double low, double high) {
  return {
      .name = "box_distances_" + name,
      .inputs = {reals(boxes, low, high), reals(boxes, low, high)},
      .run = [](std::span<const Tensor> in) { return Tensors{ops::box_distances(in[0], in[1])}; },
      .reference = [](std::span<const Array> in) { return Arrays{distances_reference(in[0], in[1])}; },
      .bf16 = false,
  };
}

Case losses_case(const Shape& boxes) {
  return {
      .name = "box_losses",
      .inputs = {reals(boxes, 0.2, 0.8), reals(boxes, 0.2, 0.8), fixed(boxes.with_last(2), 0, 1)},
      .run = [](std::span<const Tensor> in) { return Tensors{ops::box_losses(in[0], in[1], in[2])}; },
      .reference =
          [](std::span<const Array> in) {
            const Array each = distances_reference(in[0], in[1]);
            Array y({2});
            for (std::int64_t i = 0; i < each.size(); ++i) y[i % 2] += each[i] * in[2][i];
            return Arrays{y};
          },
      .bf16 = false,
  };
}

Case hinge_case() {
  return {
      .name = "hinge",
      .inputs = {reals({3, 4}, -2, 2), reals({5, 1}, -2, 2)},
      .run =
          [](std::span<const Tensor> in) {
            return Tensors{ops::hinge_discriminator(in[0], in[1]), ops::hinge_generator(in[1])};
          },
      .reference =
          [](std::span<const Array> in) {
            Array judged({1}), made({1});
            for (double real : in[0].values) judged(0) += std::max(0.0, 1 - real) / static_cast<double>(in[0].size());
            for (double fake : in[1].values) {
              judged(0) += std::max(0.0, 1 + fake) / static_cast<double>(in[1].size());
              made(0) -= fake / static_cast<double>(in[1].size());
            }
            return Arrays{judged, made};
          },
      .slack = 2,
  };
}

}  // namespace

static void add_box_cases(std::vector<Case>& cases) {
  cases.push_back(distances_case("meeting", {7, 4}, 0.3, 0.7));
  cases.push_back(distances_case("far_and_near", {2, 9, 4}, 0.02, 0.98));
  cases.push_back(distances_case("one", {4}, 0.2, 0.8));
  cases.push_back(distances_case("none", {0, 4}, 0.2, 0.8));
  cases.push_back(losses_case({3, 5, 4}));
  cases.push_back(hinge_case());
}

const CaseList kBoxCases("box", add_box_cases);

}  // namespace attend::test
