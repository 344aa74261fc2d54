// Filling memory with a constant or with random numbers.
#include "attend/base/random.h"
#include "attend/cuda/launch.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 256;

// rows x width elements of one word each; rows lie stride elements apart.
template <class Word>
__global__ void fill_kernel(Word* to, std::int64_t rows, std::int64_t width, std::int64_t stride, Word value) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= rows * width) return;
  const std::int64_t row = i / width;
  to[row * stride + (i - row * width)] = value;
}

template <class Word>
void fill_words(const CudaBackend& backend, void* to, std::int64_t rows, std::int64_t width, std::int64_t stride,
                Word value) {
  fill_kernel<<<blocks_for(rows * width, kThreads), kThreads, 0, backend.stream()>>>(static_cast<Word*>(to), rows,
                                                                                     width, stride, value);
  launch_check("fill");
}

// The bits of value in dtype, repeated until they fill 32.
std::uint32_t repeated_bits(DType dtype, float value) {
  switch (dtype) {
    case DType::f32:
      return std::bit_cast<std::uint32_t>(value);
    case DType::bf16:
      return Bf16(value).bits * 0x10001u;
    case DType::i32:
      return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
    case DType::i8:
      return static_cast<std::uint8_t>(static_cast<std::int8_t>(value)) * 0x01010101u;
    case DType::u8:
      return static_cast<std::uint8_t>(value) * 0x01010101u;
  }
  return 0;
}

// A thread makes four elements, one Philox block.
template <class T>
__global__ void random_kernel(T* x, std::int64_t size, RandomFill fill) {
  const std::int64_t block = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (block * 4 >= size) return;
  const Random4 random = philox(fill.seed, fill.stream, static_cast<std::uint64_t>(block));
  float values[4];
  if (fill.kind == RandomFill::uniform) {
    for (int j = 0; j < 4; ++j)
      values[j] = fill.low_or_mean + (fill.high_or_deviation - fill.low_or_mean) * to_unit(random.word[j]);
  } else {  // Box & Muller 1958: two words make two normal numbers
    for (int j = 0; j < 4; j += 2) {
      const float radius = sqrtf(-2.0f * logf(1.0f - to_unit(random.word[j])));
      const float angle = 6.283185307179586f * to_unit(random.word[j + 1]);
      values[j] = fill.low_or_mean + fill.high_or_deviation * (radius * cosf(angle));
      values[j + 1] = fill.low_or_mean + fill.high_or_deviation * (radius * sinf(angle));
    }
  }
  for (int j = 0; j < 4 && block * 4 + j < size; ++j) x[block * 4 + j] = from_float<T>(values[j]);
}

}  // namespace
}  // namespace cuda

void CudaBackend::fill(const Tensor& x, float value) {
  using namespace cuda;
  if (x.size() == 0) return;
  const std::uint32_t bits = repeated_bits(x.dtype(), value);
  const std::int64_t size = static_cast<std::int64_t>(bytes_of(x.dtype()));
  std::int64_t rows = x.rows(), width = x.width() * size, stride = x.row_stride() * size;
  if (x.contiguous()) width *= rows, stride = width, rows = 1;
  // In the widest words that everything is a multiple of.
  const std::uint64_t common = reinterpret_cast<std::uintptr_t>(x.raw()) | static_cast<std::uint64_t>(width) |
                               static_cast<std::uint64_t>(rows > 1 ? stride : 0);
  if (common % 16 == 0)
    fill_words(*this, x.raw(), rows, width / 16, stride / 16, make_uint4(bits, bits, bits, bits));
  else if (common % 4 == 0)
    fill_words(*this, x.raw(), rows, width / 4, stride / 4, bits);
  else if (common % 2 == 0)
    fill_words(*this, x.raw(), rows, width / 2, stride / 2, static_cast<std::uint16_t>(bits));
  else
    fill_words(*this, x.raw(), rows, width, stride, static_cast<std::uint8_t>(bits));
}

void CudaBackend::random(const Tensor& x, const RandomFill& fill) {
  using namespace cuda;
  if (x.size() == 0) return;
  with_float(x.dtype(), "random", [&](auto type) {
    using T = typename decltype(type)::type;
    random_kernel<T>
        <<<blocks_for(divide_up(x.size(), 4), kThreads), kThreads, 0, stream()>>>(pointer<T>(x), x.size(), fill);
  });
  launch_check("random");
}

}  // namespace attend
