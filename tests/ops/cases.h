// The one list of op cases. Each says how to call the op and what plain loops in double make of the same inputs; it is
// used for forward, backward (finite differences of the reference), CUDA against CPU, accumulation, threads and timing.
//
// A family of ops is one file cases_<family>.cpp. Names are words of letters, digits and underscores.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attend/base/dtype.h"
#include "attend/tensor/tensor.h"
#include "tests/ops/activate.h"
#include "tests/ops/array.h"

namespace attend::test {

// What an input holds: random numbers, random integers in [low, high), given integers, or numbers that are all
// different by more than bf16 can blur (for max, which has no slope where two are equal).
struct Input {
  enum class Kind : std::uint8_t { real, integer, given, distinct };
  Shape shape;
  Kind kind = Kind::real;
  double low = -1, high = 1;
  std::vector<std::int32_t> values = {};
  bool differentiable = true;
  bool parameter = false;  // a weight: under bf16 its gradient may be wanted in f32
  bool keeps_f32 = false;  // stays f32 when the case runs in bf16

  bool is_int() const { return kind == Kind::integer || kind == Kind::given; }
};

Input reals(const Shape& shape, double low = -1, double high = 1);
Input weights(const Shape& shape, double low = -1, double high = 1);
Input fixed(const Shape& shape, double low = -1, double high = 1);  // no gradient wanted
Input distinct(const Shape& shape);                                 // at most 512 of them
Input ids(const Shape& shape, std::int64_t limit);
Input ints(std::vector<std::int32_t> values);

using Tensors = std::vector<Tensor>;
using Arrays = std::vector<Array>;

// What the bench divides by time. elements: read and written once each, in the dtype of the case.
struct Work {
  double flops = 0;
  double elements = 0;
};

struct Case {
  std::string name;
  std::vector<Input> inputs;
  std::function<Tensors(std::span<const Tensor>)> run;
  std::function<Arrays(std::span<const Array>)> reference = {};
  int differentiable = -1;  // only the first so many outputs; -1: all
  int streams = 0;          // of dropout numbers that run takes
  double slack = 1;         // times the tolerance: for chains of many rounded steps
  bool bf16 = true;         // runs in bf16 too

  // Timing only: base is a layer of Vaswani et al.'s base model (C 512, 1,024 tokens), large one of GPT-2 124M.
  enum class Size : std::uint8_t { test, base, large };
  Size size = Size::test;
  Work forward = {}, backward = {};
};

// norm_2_3 of norm and [2, 3].
std::string with_shape(std::string name, const Shape& shape);

const std::vector<Case>& test_cases();
const std::vector<Case>& bench_cases();

// The seed of every pass the tests make, and what dropout multiplies element i of a stream by under it.
inline constexpr std::uint64_t kSeed = 0x5eed0123456789abULL;
double dropout_factor(float rate, std::uint32_t stream, std::int64_t i);

// A file of cases ends with one of these, which adds them: const CaseList kNormCases("norm", add_norm_cases);
class CaseList {
 public:
  using Add = void (*)(std::vector<Case>& cases);
  CaseList(const char* name, Add add);
};

}  // namespace attend::test
