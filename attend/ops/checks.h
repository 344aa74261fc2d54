// Checks of an op's inputs before it runs a kernel. Every message names the op.
#pragma once

#include <initializer_list>

#include "attend/tensor/tensor.h"

namespace attend::ops {

// All defined tensors must be floats of one dtype on one device. The first must be defined.
void check_floats(const char* op, std::initializer_list<Tensor> tensors);
// ids must be i32 on the same device as `beside`.
void check_ints(const char* op, const Tensor& ids, const Tensor& beside);
void check_contiguous(const char* op, std::initializer_list<Tensor> tensors);
// Returns the axis with 0 <= axis < rank; negative axes count from the end.
int check_axis(const char* op, const Tensor& x, int axis);
// True if a result of these inputs will be recorded, so that what backward needs must be kept.
bool recorded(std::initializer_list<Tensor> inputs);

// The first input that belongs to a pass, else the first defined one. Results belong to the same pass.
const Tensor& lead(std::initializer_list<const Tensor*> inputs);

}  // namespace attend::ops
