// What ops ask of their inputs before they run a kernel. Every message names the op.
#pragma once

#include <initializer_list>

#include "attend/tensor/tensor.h"

namespace attend::ops {

// All defined ones are floats of one dtype on one device; the first must be defined.
void check_floats(const char* op, std::initializer_list<Tensor> tensors);
// i32 on the same device as beside.
void check_ints(const char* op, const Tensor& ids, const Tensor& beside);
void check_contiguous(const char* op, std::initializer_list<Tensor> tensors);
// 0 <= axis < rank, with negative axes counted from the end.
int check_axis(const char* op, const Tensor& x, int axis);
// Whether a result made from these will be recorded, so that what backward needs must be kept.
bool recorded(std::initializer_list<Tensor> inputs);

// The first of these that belongs to a pass (its results do too), or else the first defined one.
const Tensor& lead(std::initializer_list<const Tensor*> inputs);

}  // namespace attend::ops
