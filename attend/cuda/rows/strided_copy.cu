// Copies between two walks over the same extents: permute, slice, concatenate, and their backward passes.
#include "attend/cuda/launch.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 256;

// Both walks in units of one element or of a pack of them, after axes that belong together have been merged.
struct Plan {
  int rank = 0;
  std::int64_t size = 1;
  std::uint32_t extent[Shape::kMaxRank] = {};
  std::int64_t from[Shape::kMaxRank] = {}, to[Shape::kMaxRank] = {};
};

// Merges neighbouring axes that are one run in both walks and drops axes of one element.
Plan merge_axes(const Walk& from, const Walk& to, const Shape& extent) {
  Plan plan;
  plan.size = extent.size();
  for (int axis = 0; axis < extent.rank(); ++axis) {
    const std::int64_t dim = extent[axis], x = from.strides[axis], y = to.strides[axis];
    if (dim == 1) continue;
    check(dim < (std::int64_t{1} << 31), "strided_copy: cuda: an axis of {} elements", dim);
    const int last = plan.rank - 1;
    if (last >= 0 && plan.from[last] == x * dim && plan.to[last] == y * dim &&
        plan.extent[last] * dim < (std::int64_t{1} << 31)) {
      plan.extent[last] *= static_cast<std::uint32_t>(dim);
      plan.from[last] = x, plan.to[last] = y;
      continue;
    }
    plan.extent[plan.rank] = static_cast<std::uint32_t>(dim);
    plan.from[plan.rank] = x, plan.to[plan.rank] = y;
    ++plan.rank;
  }
  return plan;
}

// How many elements one access can carry: the last axis is a run in both, and every row starts on such a boundary.
int widest_pack(const Plan& plan, const void* from, const void* to, std::int64_t bytes) {
  if (plan.rank == 0 || plan.from[plan.rank - 1] != 1 || plan.to[plan.rank - 1] != 1) return 1;
  std::uint64_t common = reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(to) |
                         static_cast<std::uint64_t>(plan.extent[plan.rank - 1] * bytes);
  for (int axis = 0; axis + 1 < plan.rank; ++axis)
    common |= static_cast<std::uint64_t>(plan.from[axis] * bytes) | static_cast<std::uint64_t>(plan.to[axis] * bytes);
  const std::int64_t unit = common % 16 == 0 ? 16 : common % 8 == 0 ? 8 : common % 4 == 0 ? 4 : bytes;
  return static_cast<int>(std::max<std::int64_t>(unit / bytes, 1));
}

__device__ __forceinline__ void locate(const Plan& plan, std::int64_t i, std::int64_t& from, std::int64_t& to) {
  from = 0, to = 0;
  if (plan.size <= 0xffffffffll) {  // 32-bit division is four times as fast
    std::uint32_t rest = static_cast<std::uint32_t>(i);
    for (int axis = plan.rank - 1; axis >= 0; --axis) {
      const std::uint32_t next = axis == 0 ? 0 : rest / plan.extent[axis];
      const std::uint32_t at = rest - next * plan.extent[axis];
      from += at * plan.from[axis], to += at * plan.to[axis];
      rest = next;
    }
    return;
  }
  std::int64_t rest = i;
  for (int axis = plan.rank - 1; axis >= 0; --axis) {
    const std::int64_t next = axis == 0 ? 0 : rest / plan.extent[axis];
    const std::int64_t at = rest - next * plan.extent[axis];
    from += at * plan.from[axis], to += at * plan.to[axis];
    rest = next;
  }
}

template <class Word>
__global__ void copy_kernel(const Word* from, Word* to, Plan plan) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= plan.size) return;
  std::int64_t x, y;
  locate(plan, i, x, y);
  to[y] = from[x];
}

template <class T, int N>
__global__ void add_kernel(const T* from, T* to, Plan plan) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= plan.size) return;
  std::int64_t x, y;
  locate(plan, i, x, y);
  float values[N], before[N];
  load(from + x * N, values);
  load(to + y * N, before);
#pragma unroll
  for (int j = 0; j < N; ++j) values[j] += before[j];
  store(to + y * N, values);
}

__global__ void add_ints_kernel(const std::int32_t* from, std::int32_t* to, Plan plan) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= plan.size) return;
  std::int64_t x, y;
  locate(plan, i, x, y);
  to[y] += from[x];
}

void divide(Plan& plan, int pack) {
  if (pack == 1) return;
  plan.size /= pack;
  plan.extent[plan.rank - 1] /= static_cast<std::uint32_t>(pack);
  for (int axis = 0; axis + 1 < plan.rank; ++axis) plan.from[axis] /= pack, plan.to[axis] /= pack;
}

template <class Word>
void copy_words(const CudaBackend& backend, const void* from, void* to, const Plan& plan) {
  copy_kernel<<<blocks_for(plan.size, kThreads), kThreads, 0, backend.stream()>>>(static_cast<const Word*>(from),
                                                                                  static_cast<Word*>(to), plan);
}

}  // namespace
}  // namespace cuda

void CudaBackend::strided_copy(const Walk& from, const Walk& to, const Shape& extent, bool accumulate) {
  using namespace cuda;
  const DType dtype = from.tensor.dtype();
  check(dtype == to.tensor.dtype(), "strided_copy: cuda: from {} to {}", dtype, to.tensor.dtype());
  if (extent.size() == 0) return;
  const std::int64_t bytes = static_cast<std::int64_t>(bytes_of(dtype));
  // Offsets count from the start of the memory, not of the tensor's window.
  const std::byte* source = from.tensor.storage()->data + from.offset * bytes;
  std::byte* target = to.tensor.storage()->data + to.offset * bytes;
  Plan plan = merge_axes(from, to, extent);
  int pack = widest_pack(plan, source, target, bytes);
  if (accumulate && dtype == DType::i32) {
    add_ints_kernel<<<blocks_for(plan.size, kThreads), kThreads, 0, stream()>>>(
        reinterpret_cast<const std::int32_t*>(source), reinterpret_cast<std::int32_t*>(target), plan);
  } else if (accumulate) {
    with_float(dtype, "strided_copy", [&](auto type) {
      using T = typename decltype(type)::type;
      if (pack < kPack<T>) pack = 1;
      divide(plan, pack);
      const T* x = reinterpret_cast<const T*>(source);
      T* y = reinterpret_cast<T*>(target);
      if (pack == 1)
        add_kernel<T, 1><<<blocks_for(plan.size, kThreads), kThreads, 0, stream()>>>(x, y, plan);
      else
        add_kernel<T, kPack<T>><<<blocks_for(plan.size, kThreads), kThreads, 0, stream()>>>(x, y, plan);
    });
  } else {
    divide(plan, pack);
    switch (pack * bytes) {
      case 16:
        copy_words<uint4>(*this, source, target, plan);
        break;
      case 8:
        copy_words<uint2>(*this, source, target, plan);
        break;
      case 4:
        copy_words<std::uint32_t>(*this, source, target, plan);
        break;
      case 2:
        copy_words<std::uint16_t>(*this, source, target, plan);
        break;
      default:
        copy_words<std::uint8_t>(*this, source, target, plan);
    }
  }
  launch_check("strided_copy");
}

}  // namespace attend
