// Checks of an op's inputs. They run before every kernel, so messages are only built on failure.
#include "attend/ops/checks.h"

#include "attend/base/error.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/pass.h"

namespace attend::ops {

void check_floats(const char* op, std::initializer_list<Tensor> tensors) {
  const Tensor& first = *tensors.begin();
  check(first.defined(), "{}: the first tensor is undefined", op);
  check(is_float(first.dtype()), "{}: wants floats, not {}", op, first.dtype());
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined()) continue;
    check(tensor.dtype() == first.dtype(), "{}: mixes {} {} with {} {}", op, first.dtype(), first.shape(),
          tensor.dtype(), tensor.shape());
    if (&tensor.backend() != &first.backend()) [[unlikely]]  // not check(), because it would build the names every time
      fail("{}: one tensor lies on {}, another on {}", op, first.backend().name(), tensor.backend().name());
  }
}

void check_ints(const char* op, const Tensor& ids, const Tensor& beside) {
  check(ids.defined() && ids.dtype() == DType::i32, "{}: wants i32 ids, not {}", op,
        ids.defined() ? name_of(ids.dtype()) : "an undefined tensor");
  if (&ids.backend() != &beside.backend()) [[unlikely]]
    fail("{}: the ids lie on {}, the numbers on {}", op, ids.backend().name(), beside.backend().name());
}

void check_contiguous(const char* op, std::initializer_list<Tensor> tensors) {
  for (const Tensor& tensor : tensors)
    check(!tensor.defined() || tensor.contiguous(), "{}: {} has gaps between its rows; copy it with ops::contiguous",
          op, tensor.defined() ? tensor.shape() : Shape{});
}

int check_axis(const char* op, const Tensor& x, int axis) {
  check(x.defined(), "{}: the tensor is undefined", op);
  check(axis >= -x.rank() && axis < x.rank(), "{}: there is no axis {} in {}", op, axis, x.shape());
  return x.shape().index(axis);
}

// Recording needs both: a pass that records and an input that is trained or depends on one.
bool recorded(std::initializer_list<Tensor> inputs) {
  bool recording = false, differentiable = false;
  for (const Tensor& input : inputs) {
    if (!input.defined()) continue;
    recording |= input.pass() && input.pass()->recording();
    differentiable |= input.storage()->differentiable;
  }
  return recording && differentiable;
}

const Tensor& lead(std::initializer_list<const Tensor*> inputs) {
  const Tensor* first = nullptr;
  for (const Tensor* input : inputs) {
    if (!input->defined()) continue;
    if (input->pass()) return *input;
    if (!first) first = input;
  }
  check(first, "op: no input is defined");
  return *first;
}

}  // namespace attend::ops
