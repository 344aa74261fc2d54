#include "tests/ops/cases.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "attend/base/error.h"
#include "attend/base/random.h"

namespace attend::test {

namespace {

// By name, so that the order of the cases does not depend on the linker's.
std::map<std::string, CaseList::Add>& case_lists() {
  static std::map<std::string, CaseList::Add> lists;
  return lists;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& [name, add] : case_lists()) add(cases);
  return cases;
}

std::vector<Case> those(bool bench) {
  std::vector<Case> all = all_cases(), chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
               [bench](const Case& one) { return (one.size != Case::Size::test) == bench; });
  return chosen;
}

}  // namespace

CaseList::CaseList(const char* name, Add add) {
  check(case_lists().emplace(name, add).second, "cases: '{}' is there twice", name);
}

std::string with_shape(std::string name, const Shape& shape) {
  for (std::int64_t dim : shape) name += fmt::format("_{}", dim);
  return name;
}

Input reals(const Shape& shape, double low, double high) { return {.shape = shape, .low = low, .high = high}; }

Input weights(const Shape& shape, double low, double high) {
  Input input = reals(shape, low, high);
  input.parameter = true;
  return input;
}

Input fixed(const Shape& shape, double low, double high) {
  Input input = reals(shape, low, high);
  input.differentiable = false;
  return input;
}

Input distinct(const Shape& shape) {
  check(shape.size() <= 512, "cases: {} has more elements than bf16 has integers", shape);
  return {.shape = shape, .kind = Input::Kind::distinct};
}

Input ids(const Shape& shape, std::int64_t limit) {
  return {.shape = shape,
          .kind = Input::Kind::integer,
          .low = 0,
          .high = static_cast<double>(limit),
          .differentiable = false};
}

Input ints(std::vector<std::int32_t> values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return {.shape = shape, .kind = Input::Kind::given, .values = std::move(values), .differentiable = false};
}

const std::vector<Case>& test_cases() {
  static const std::vector<Case> kCases = those(false);
  return kCases;
}

const std::vector<Case>& bench_cases() {
  static const std::vector<Case> kCases = those(true);
  return kCases;
}

double dropout_factor(float rate, std::uint32_t stream, std::int64_t i) {
  const bool kept = dropout_draw(kSeed, stream, static_cast<std::uint64_t>(i)) >= dropout_threshold(rate);
  return kept ? dropout_scale(rate) : 0;
}

}  // namespace attend::test
