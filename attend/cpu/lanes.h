// Vectors of any width for any instruction set: GCC vectors, so the code is compiled for the target of the function it
// is inlined into. All of it is inlined: nothing compiled for one instruction set can be linked into code for another.
#pragma once

#include <cstdint>

// Vectors wider than the baseline target are only ever passed between inlined functions.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace attend::cpu {

template <int Width>
struct Lanes {
  typedef float Float __attribute__((vector_size(Width * 4)));
  typedef std::int32_t Int __attribute__((vector_size(Width * 4)));
  typedef std::uint32_t Word __attribute__((vector_size(Width * 4)));
  typedef std::uint16_t Half __attribute__((vector_size(Width * 2)));
  typedef std::int8_t Bytes __attribute__((vector_size(Width)));
  // Without the alignment of the vector: for loads and stores anywhere.
  typedef float Loose __attribute__((vector_size(Width * 4), aligned(4), may_alias));
};

// Several vectors, each operation on all of them before the next: a chain of dependent sums leaves a processor idle
// that looks only so far ahead (GELU: 24 cycles per vector alone, 18 of three, on a Neoverse-V1).
template <int Width, int Count>
struct Several {
  using F = typename Lanes<Width>::Float;
  using I = typename Lanes<Width>::Int;
  F of[Count];

  template <class Each>
  [[gnu::always_inline]] static Several each(const Each& value) {
    Several s;
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) s.of[i] = value(i);
    return s;
  }

  [[gnu::always_inline]] friend Several operator+(const Several& a, const Several& b) {
    return each([&](int i) __attribute__((always_inline)) { return a.of[i] + b.of[i]; });
  }
  [[gnu::always_inline]] friend Several operator-(const Several& a, const Several& b) {
    return each([&](int i) __attribute__((always_inline)) { return a.of[i] - b.of[i]; });
  }
  [[gnu::always_inline]] friend Several operator*(const Several& a, const Several& b) {
    return each([&](int i) __attribute__((always_inline)) { return a.of[i] * b.of[i]; });
  }
  [[gnu::always_inline]] friend Several operator/(const Several& a, const Several& b) {
    return each([&](int i) __attribute__((always_inline)) { return a.of[i] / b.of[i]; });
  }
  [[gnu::always_inline]] Several operator-() const {
    return each([&](int i) __attribute__((always_inline)) { return -of[i]; });
  }

  // A number in each lane.
  [[gnu::always_inline]] Several(float x) {
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) of[i] = F{} + x;
  }
  Several() = default;

  // Where x < limit: yes, elsewhere no.
  [[gnu::always_inline]] friend Several where_less(const Several& x, float limit, const Several& yes,
                                                   const Several& no) {
    return each([&](int i) __attribute__((always_inline)) { return x.of[i] < limit ? yes.of[i] : no.of[i]; });
  }
  // NaN stays NaN.
  [[gnu::always_inline]] friend Several at_most(const Several& x, float limit) {
    return each([&](int i) __attribute__((always_inline)) { return x.of[i] > limit ? F{} + limit : x.of[i]; });
  }
  [[gnu::always_inline]] friend Several at_least(const Several& x, float limit) {
    return each([&](int i) __attribute__((always_inline)) { return x.of[i] < limit ? F{} + limit : x.of[i]; });
  }
  // x 2^n, n being the low bits of 1.5 * 2^23 + n.
  [[gnu::always_inline]] friend Several times_power(const Several& x, const Several& shifted) {
    return each([&](int i)
                    __attribute__((always_inline)) { return x.of[i] * (F)(((I)shifted.of[i] << 23) + (127 << 23)); });
  }
};

}  // namespace attend::cpu

#pragma GCC diagnostic pop
