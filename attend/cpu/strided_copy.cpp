// Copies between any two walks over the same axes: permutations, windows, concatenation. Runs that are contiguous on
// both sides go as runs; transpositions go through blocks that fit the first cache; the rest element by element.
#include <cstring>
#include <utility>

#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

namespace {

struct Axis {
  std::int64_t extent, from, to;
};

// The axes without those of extent 1, in order of falling stride of the result, neighbours joined where both walks
// allow it. Reordering is free: every element goes to its own place.
struct Plan {
  Axis axes[Shape::kMaxRank];
  int rank = 0;

  Plan(const Walk& from, const Walk& to, const Shape& extent) {
    for (int i = 0; i < extent.rank(); ++i)
      if (extent[i] != 1) axes[rank++] = {extent[i], from.strides[i], to.strides[i]};
    for (int i = 1; i < rank; ++i)
      for (int j = i; j > 0 && axes[j - 1].to < axes[j].to; --j) std::swap(axes[j - 1], axes[j]);
    int last = 0;
    for (int i = 1; i < rank; ++i) {
      Axis& outer = axes[last];
      if (outer.from == axes[i].from * axes[i].extent && outer.to == axes[i].to * axes[i].extent)
        outer = {outer.extent * axes[i].extent, axes[i].from, axes[i].to};
      else
        axes[++last] = axes[i];
    }
    rank = rank == 0 ? 0 : last + 1;
  }
  std::int64_t size_before(int end) const {
    std::int64_t n = 1;
    for (int i = 0; i < end; ++i) n *= axes[i].extent;
    return n;
  }
  // Offsets of the i-th combination of the first `end` axes.
  std::pair<std::int64_t, std::int64_t> offsets(std::int64_t i, int end) const {
    std::int64_t from = 0, to = 0;
    for (int axis = end - 1; axis >= 0; --axis) {
      const std::int64_t place = i % axes[axis].extent;
      i /= axes[axis].extent;
      from += place * axes[axis].from, to += place * axes[axis].to;
    }
    return {from, to};
  }
};

template <class T>
void copy_line(const void* from_, std::int64_t from_stride, void* to_, std::int64_t to_stride, std::int64_t n) {
  const T* from = static_cast<const T*>(from_);
  T* to = static_cast<T*>(to_);
  for (std::int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
}

// rows x columns where columns are contiguous in the result and rows in the source.
template <class T>
void transpose_block(const void* from_, std::int64_t from_stride, void* to_, std::int64_t to_stride, std::int64_t rows,
                     std::int64_t columns) {
  const T* from = static_cast<const T*>(from_);
  T* to = static_cast<T*>(to_);
  constexpr std::int64_t kSide = 16;
  T block[kSide][kSide];
  for (std::int64_t r = 0; r < rows; r += kSide)
    for (std::int64_t c = 0; c < columns; c += kSide) {
      const std::int64_t m = std::min(kSide, rows - r), n = std::min(kSide, columns - c);
      if (m == kSide && n == kSide) {
        for (std::int64_t j = 0; j < kSide; ++j)
          std::memcpy(block[j], from + (c + j) * from_stride + r, sizeof block[j]);
        for (std::int64_t i = 0; i < kSide; ++i) {
          T line[kSide];
          for (std::int64_t j = 0; j < kSide; ++j) line[j] = block[j][i];
          std::memcpy(to + (r + i) * to_stride + c, line, sizeof line);
        }
      } else {
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j) to[(r + i) * to_stride + c + j] = from[(c + j) * from_stride + r + i];
      }
    }
}

template <class Function>
void by_size(DType dtype, Function&& function) {
  switch (bytes_of(dtype)) {
    case 4:
      return function(std::uint32_t{});
    case 2:
      return function(std::uint16_t{});
    default:
      return function(std::uint8_t{});
  }
}

}  // namespace

void CpuBackend::strided_copy(const Walk& from, const Walk& to, const Shape& extent, bool accumulate) {
  if (extent.size() == 0) return;
  const DType source = from.tensor.dtype(), target = to.tensor.dtype();
  const bool plain = source == target && !accumulate;
  const void* in = cpu::at(static_cast<const void*>(from.tensor.storage()->data), from.offset, source);
  void* out = cpu::at(static_cast<void*>(to.tensor.storage()->data), to.offset, target);
  Plan plan(from, to, extent);
  if (plan.rank == 0) plan.axes[plan.rank++] = {1, 1, 1};
  const Axis last = plan.axes[plan.rank - 1];

  // A transposition: the axis that is contiguous in the source comes just before the one contiguous in the result.
  int other = -1;
  for (int i = 0; i + 1 < plan.rank; ++i)
    if (plan.axes[i].from == 1) other = i;
  if (plain && last.to == 1 && last.from != 1 && other >= 0) {
    for (int i = other; i + 2 < plan.rank; ++i) std::swap(plan.axes[i], plan.axes[i + 1]);
    const int outer = plan.rank - 2;
    const Axis rows = plan.axes[outer];
    // Slabs of 64 rows make tasks even where there is no outer axis.
    const std::int64_t slabs = (rows.extent + 63) / 64;
    cpu::for_rows(pool(), plan.size_before(outer) * slabs, 64 * last.extent, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const auto place = plan.offsets(task / slabs, outer);
        const std::int64_t row = task % slabs * 64, count = std::min<std::int64_t>(64, rows.extent - row);
        by_size(source, [&](auto unit) {
          transpose_block<decltype(unit)>(cpu::at(in, place.first + row, source), last.from,
                                          cpu::at(out, place.second + row * rows.to, target), rows.to, count,
                                          last.extent);
        });
      }
    });
    return;
  }

  const int outer = plan.rank - 1;
  cpu::for_rows(pool(), plan.size_before(outer), last.extent, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto [f, t] = plan.offsets(i, outer);
      const void* a = cpu::at(in, f, source);
      void* b = cpu::at(out, t, target);
      if (plain && last.from == 1 && last.to == 1) {
        std::memcpy(b, a, static_cast<std::size_t>(last.extent) * bytes_of(source));
      } else if (plain) {
        by_size(source, [&](auto unit) { copy_line<decltype(unit)>(a, last.from, b, last.to, last.extent); });
      } else if (source == DType::i32 && target == DType::i32) {
        for (std::int64_t j = 0; j < last.extent; ++j)
          static_cast<std::int32_t*>(b)[j * last.to] += static_cast<const std::int32_t*>(a)[j * last.from];
      } else {
        check(is_float(source) && is_float(target), "strided_copy: cannot turn {} into {}", source, target);
        const auto kernel = rows_.scale[source == DType::bf16][target == DType::bf16];
        const bool runs = last.from == 1 && last.to == 1;
        for (std::int64_t j = 0; j < (runs ? 1 : last.extent); ++j)
          kernel(cpu::at(a, j * last.from, source), 1.0f, cpu::Out{cpu::at(b, j * last.to, target), accumulate},
                 runs ? last.extent : 1);
      }
    }
  });
}

}  // namespace attend
