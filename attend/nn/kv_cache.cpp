#include "attend/nn/kv_cache.h"

#include <algorithm>

#include "attend/base/error.h"
#include "attend/tensor/backend.h"

namespace attend::nn {

namespace {

constexpr std::int64_t kFirstCapacity = 16;

}  // namespace

KvCache::KvCache(Backend& backend, std::int64_t rows, std::int64_t width, DType dtype)
    : width_(width), memory_(make_tensor(backend, {rows, kFirstCapacity, 2 * width}, dtype)) {}

void KvCache::append(const Tensor& keys_values) {
  const std::int64_t rows = memory_.dim(0), both = 2 * width_;
  check(keys_values.shape() == Shape{rows, both}, "kv_cache: {} appended to a cache of {} rows and width {}",
        keys_values.shape(), rows, width_);
  reserve(length_ + 1);
  const Walk from{keys_values, keys_values.window().offset, {keys_values.row_stride(), 1}};
  const Walk to{memory_, length_ * both, {memory_.dim(1) * both, 1}};
  memory_.backend().strided_copy(from, to, {rows, both}, false);
  ++length_;
}

void KvCache::reserve(std::int64_t positions) {
  const std::int64_t rows = memory_.dim(0), capacity = memory_.dim(1), both = 2 * width_;
  if (positions <= capacity) return;
  Tensor larger = make_tensor(memory_.backend(), {rows, std::max(positions, 2 * capacity), both}, memory_.dtype());
  const Walk from{memory_, 0, {capacity * both, 1}}, to{larger, 0, {larger.dim(1) * both, 1}};
  memory_.backend().strided_copy(from, to, {rows, length_ * both}, false);
  memory_ = std::move(larger);
}

void KvCache::reorder(const Tensor& from) {
  Tensor next = make_tensor(memory_.backend(), {from.size(), memory_.dim(1), memory_.dim(2)}, memory_.dtype());
  const std::int64_t row = memory_.dim(1) * memory_.dim(2);
  memory_.backend().embedding(from, memory_.reshape({memory_.dim(0), row}), 1, {}, {},
                              next.reshape({from.size(), row}));
  memory_ = std::move(next);
}

}  // namespace attend::nn
