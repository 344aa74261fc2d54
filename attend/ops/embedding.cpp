// Lookup of table rows by id, and its gradient, which adds rows of dy to rows of the table.
#include "attend/ops/embedding.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/tensor/backend.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

// Adds the rows of dy to the rows of the table that ids name. The padding row keeps its gradient: it is saved before
// and written back after, so that the kernel needs no special case.
void gather_backward(const Tensor& dy, const Tensor& ids, float scale, const Grad& table, std::int64_t padding) {
  Backend& backend = dy.backend();
  if (padding < 0) return backend.embedding_backward(dy, ids, scale, table);
  const Tensor row = table.into.slice_first(padding, 1), before = like(dy, row.shape(), row.dtype());
  if (table.accumulate)
    backend.scale(row, 1, {before});
  else
    backend.fill(before, 0);
  backend.embedding_backward(dy, ids, scale, table);
  backend.scale(before, 1, {row});
}

}  // namespace

Tensor embedding(const Tensor& ids, const Tensor& table, const EmbeddingOptions& options) {
  const auto& [scale, positions, position_ids, padding, position_padding] = options;
  check_floats("embedding", {table, positions});
  check_ints("embedding", ids, table);
  check_contiguous("embedding", {ids, table, positions, position_ids});
  check(table.rank() == 2, "embedding: the table must be [V, C], not {}", table.shape());
  const std::int64_t width = table.dim(1), length = ids.rank() ? ids.dim(-1) : 1;
  if (positions.defined()) {
    check(positions.rank() == 2 && positions.dim(1) == width,
          "embedding: the table is {}, so positions must be [P, {}], not {}", table.shape(), width, positions.shape());
    check(position_ids.defined() || length <= positions.dim(0), "embedding: {} tokens, but only {} positions", length,
          positions.dim(0));
  }
  if (position_ids.defined()) {
    check_ints("embedding", position_ids, table);
    check(position_ids.shape() == ids.shape(), "embedding: ids are {}, so position_ids must be too, not {}",
          ids.shape(), position_ids.shape());
  }
  check(padding < table.dim(0), "embedding: the padding is {}, but the table is {}", padding, table.shape());
  check(position_padding < 0 || (position_ids.defined() && position_padding < positions.dim(0)),
        "embedding: the padding of positions is {}; it needs position_ids, and a row", position_padding);
  Shape shape = ids.shape();
  shape.append(width);
  Tensor y = like(lead({&ids, &table}), shape, table.dtype());  // [.., C]
  table.backend().embedding(ids, table, scale, positions, position_ids, y);
  return record(y, {table, positions},
                [=, scale = scale, positions = positions, position_ids = position_ids, padding = padding,
                 position_padding = position_padding](const Tensor& dy, Grads& grad) {
                  Backend& backend = dy.backend();
                  if (Grad dtable = grad(table)) gather_backward(dy, ids, scale, dtable, padding);
                  if (Grad dpositions = grad(positions)) {
                    if (position_ids.defined())
                      return gather_backward(dy, position_ids, 1, dpositions, position_padding);
                    // Each index in the sequence has one row, so the gradient is the sum over the batch. Rows beyond
                    // the sequence get 0.
                    const std::int64_t batch = length ? ids.size() / length : 0;
                    const Tensor used = dpositions.into.slice_first(0, length),
                                 rest = dpositions.into.slice_first(length, positions.dim(0) - length);
                    backend.reduce(Reduction::sum, dy.reshape({1, batch, length * width}),
                                   {used.reshape({1, length * width}), dpositions.accumulate}, {});
                    if (!dpositions.accumulate) backend.fill(rest, 0);
                  }
                });
}

Tensor gather(const Tensor& x, const Tensor& ids) {
  check(x.defined() && x.rank() >= 2, "gather: x must have two axes or more, not {}",
        x.defined() ? x.shape() : Shape{});
  check(ids.defined() && ids.rank() == 1, "gather: ids must be [M], not {}", ids.defined() ? ids.shape() : Shape{});
  check_floats("gather", {x});
  check_ints("gather", ids, x);
  check_contiguous("gather", {x, ids});
  // x is viewed as a table [N, rest].
  const std::int64_t rows = x.dim(0);
  Shape shape = x.shape();
  shape.set(0, ids.dim(0));
  return embedding(ids, x.reshape(Shape{rows, rows ? x.size() / rows : 0})).reshape(shape);
}

}  // namespace attend::ops
