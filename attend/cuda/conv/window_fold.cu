#include "attend/cuda/conv/window_fold.cuh"

namespace attend::cuda {
namespace {

constexpr int kThreads = 256, kMostFolded = 64;

// A thread makes eight numbers of a folded pixel. Where each number of a pixel comes from is worked out once for a
// block.
__global__ void __launch_bounds__(kThreads)
    fold_image_kernel(Conv c, images::Fold fold, const bf16* x, uint4* to, std::int64_t packs) {
  __shared__ images::Fold::Source sources[kMostFolded];
  for (int at = threadIdx.x; at < fold.width; at += kThreads) sources[at] = fold.source(0, 0, at);
  __syncthreads();
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= packs) return;
  const int across = fold.width / 8;
  const std::int64_t pixel = i / across, line = pixel / fold.line;
  const int first = static_cast<int>(i - pixel * across) * 8, column = static_cast<int>(pixel - line * fold.line);
  const int image = static_cast<int>(line / fold.height), row = static_cast<int>(line - image * fold.height);
  Pack<bf16, 8> pack;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const images::Fold::Source& from = sources[first + j];
    const bf16* at =
        from.valid ? place_of(c, x, image, row * fold.down + from.h, column * fold.across + from.w) : nullptr;
    pack.at[j] = at ? at[from.channel] : from_float<bf16>(0);
  }
  to[i] = *reinterpret_cast<const uint4*>(&pack);
}

__global__ void __launch_bounds__(kThreads)
    fold_weight_kernel(Conv c, images::Fold fold, const bf16* weight, bf16* to, std::int64_t size) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= size) return;
  const std::int64_t line = i / fold.run, o = line / fold.kernel_h;
  const images::Fold::Source from =
      fold.tap_source(static_cast<int>(line - o * fold.kernel_h), static_cast<int>(i - line * fold.run));
  const bool valid = from.valid && from.h < c.kernel_h && from.w < c.kernel_w;
  to[i] =
      valid ? weight[((o * c.kernel_h + from.h) * c.kernel_w + from.w) * c.inputs + from.channel] : from_float<bf16>(0);
}

template <class T>
__global__ void __launch_bounds__(kThreads) unfold_weight_kernel(Conv c, images::Fold fold, const float* partial,
                                                                 int parts, T* to, std::int64_t size, bool accumulate) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (i >= size) return;
  const std::int64_t tap = i / c.inputs, row = tap / c.kernel_w, o = row / c.kernel_h;
  const int channel = static_cast<int>(i - tap * c.inputs), w = static_cast<int>(tap - row * c.kernel_w),
            h = static_cast<int>(row - o * c.kernel_h);
  const std::int64_t each = static_cast<std::int64_t>(fold.kernel_h) * fold.run;
  const float* from = partial + o * each + fold.place_of(h, w, channel);
  float sum = 0;
  for (int part = 0; part < parts; ++part) sum += from[part * (each * c.outputs)];
  to[i] = from_float<T>(accumulate ? to_float(to[i]) + sum : sum);
}

}  // namespace

bool folds(const Conv& c) {
  return c.groups == 1 && c.dilation_h == 1 && c.dilation_w == 1 && fold_of(c).width <= kMostFolded;
}

images::Fold fold_of(const Conv& c) {
  return images::Fold::of({c.kernel_h, c.kernel_w}, {c.stride_h, c.stride_w}, {c.padding_h, c.padding_w}, c.inputs,
                          c.results_h, c.results_w);
}

void fold_image(const CudaBackend& backend, const Conv& c, const images::Fold& fold, const bf16* x, bf16* to) {
  const std::int64_t packs = static_cast<std::int64_t>(c.batch) * fold.height * fold.line * (fold.width / 8);
  fold_image_kernel<<<blocks_for(packs, kThreads), kThreads, 0, backend.stream()>>>(
      c, fold, x, reinterpret_cast<uint4*>(to), packs);
  launch_check("convolution: fold");
}

void fold_weight(const CudaBackend& backend, const Conv& c, const images::Fold& fold, const bf16* weight, bf16* to) {
  const std::int64_t size = static_cast<std::int64_t>(c.outputs) * fold.kernel_h * fold.run;
  fold_weight_kernel<<<blocks_for(size, kThreads), kThreads, 0, backend.stream()>>>(c, fold, weight, to, size);
  launch_check("convolution: fold");
}

void unfold_weight(const CudaBackend& backend, const Conv& c, const images::Fold& fold, const float* partial, int parts,
                   const Grad& dweight) {
  const std::int64_t size = dweight.into.size();
  with_float(dweight.into.dtype(), "convolution", [&](auto type) {
    using T = typename decltype(type)::type;
    unfold_weight_kernel<T><<<blocks_for(size, kThreads), kThreads, 0, backend.stream()>>>(
        c, fold, partial, parts, pointer<T>(dweight.into), size, dweight.accumulate);
  });
  launch_check("convolution: unfold");
}

}  // namespace attend::cuda
