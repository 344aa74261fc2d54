// Images of few channels for the kernels of windows: folded (images::Fold), and gradients of folded weights unfolded.
#pragma once

#include "attend/cuda/conv/convolution.cuh"
#include "attend/tensor/window_walk.h"

namespace attend::cuda {

bool folds(const Conv& c);
images::Fold fold_of(const Conv& c);

// x [B, H, W, C] to [B, fold.height, fold.line, fold.width], and weight [O, kh, kw, C] to [O, fold.kernel_h, fold.run].
void fold_image(const CudaBackend& backend, const Conv& c, const images::Fold& fold, const bf16* x, bf16* to);
void fold_weight(const CudaBackend& backend, const Conv& c, const images::Fold& fold, const bf16* weight, bf16* to);

// dweight (+)= the sum of the parts of a folded one, f32 [parts, O, fold.kernel_h, fold.run].
void unfold_weight(const CudaBackend& backend, const Conv& c, const images::Fold& fold, const float* partial, int parts,
                   const Grad& dweight);

}  // namespace attend::cuda
