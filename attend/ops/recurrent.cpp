// Recurrent layers, one step after another. States are stored by time, [T + 1, B, C], so that the gradient of the
// recurrent weight is one product over all steps.
#include "attend/ops/recurrent.h"

#include "attend/base/error.h"
#include "attend/ops/checks.h"
#include "attend/tensor/tape.h"

namespace attend::ops {

namespace {

// The rows of the state history that a time step uses. Forward, step t reads row t and writes row t + 1; reversed, it
// reads row t + 1 and writes row t.
struct Order {
  std::int64_t length;
  bool reverse;
  std::int64_t time(std::int64_t i) const { return reverse ? length - 1 - i : i; }
  std::int64_t before(std::int64_t t) const { return reverse ? t + 1 : t; }
  std::int64_t after(std::int64_t t) const { return reverse ? t : t + 1; }
  std::int64_t first() const { return reverse ? length : 0; }
  std::int64_t last() const { return reverse ? 0 : length; }
};

// Row i of a history [N, B, C] as [B, C].
Tensor at(const Tensor& history, std::int64_t i) {
  return history.slice_first(i, 1).reshape({history.dim(1), history.dim(2)});
}

// Position t of [B, T, C] as [B, C]; its rows have gaps between them.
Tensor position(const Tensor& x, std::int64_t t) {
  Window window = x.window();
  window.offset += t * x.dim(2);
  window.shape = {x.dim(0), x.dim(2)};
  window.row_stride = x.dim(1) * x.dim(2);
  return Tensor(x.memory(), window);
}

void start(const Tensor& state, const Tensor& from) {
  if (from.defined())
    state.backend().scale(from, 1, {state});
  else
    state.backend().fill(state, 0);
}

// Copies a history [T + 1, B, C] without its initial state to [B, T, C].
void collect(const Tensor& history, const Order& order, const Tensor& states) {
  const std::int64_t batch = states.dim(0), length = states.dim(1), width = states.dim(2);
  const Walk from{history, history.window().offset + (order.reverse ? 0 : batch * width), {width, batch * width, 1}};
  const Walk to{states, states.window().offset, {length * width, width, 1}};
  states.backend().strided_copy(from, to, states.shape(), false);
}

void check_inputs(RnnKind kind, const Tensor& gates, const Tensor& weight, const Tensor& bias,
                  const RecurrentOptions& options) {
  check_floats("recurrent", {gates, weight, bias, options.hidden, options.cell});
  check_contiguous("recurrent", {gates, weight, bias, options.hidden, options.cell});
  const std::int64_t parts = gates_of(kind);
  check(gates.rank() == 3 && gates.dim(2) % parts == 0, "recurrent: gates must be [B, T, {}·C], not {}", parts,
        gates.shape());
  const std::int64_t width = gates.dim(2) / parts;
  check(weight.shape() == Shape{parts * width, width}, "recurrent: gates are {}, so weight must be [{}, {}], not {}",
        gates.shape(), parts * width, width, weight.shape());
  check(!bias.defined() || bias.shape() == Shape{parts * width}, "recurrent: gates are {}, so bias must be [{}]",
        gates.shape(), parts * width);
  const Shape state{gates.dim(0), width};
  for (const Tensor& from : {options.hidden, options.cell})
    check(!from.defined() || from.shape() == state, "recurrent: the starting state must be {}, not {}", state,
          from.defined() ? from.shape() : Shape{});
  if (options.lengths.defined()) {
    check_ints("recurrent", options.lengths, gates);
    check(options.lengths.shape() == Shape{gates.dim(0)}, "recurrent: {} sequences, but lengths is {}", gates.dim(0),
          options.lengths.shape());
  }
}

}  // namespace

RecurrentResult recurrent(RnnKind kind, const Tensor& gates, const Tensor& weight, const Tensor& bias,
                          const RecurrentOptions& options) {
  check_inputs(kind, gates, weight, bias, options);
  const std::int64_t batch = gates.dim(0), length = gates.dim(1), parts = gates_of(kind), width = gates.dim(2) / parts;
  const bool lstm = kind == RnnKind::lstm;
  const Order order{length, options.reverse};
  Backend& backend = gates.backend();

  // Histories [T + 1, B, C]; saved [T, B, (G + 1)·C] is what backward reads of each step.
  Tensor hiddens = like(gates, {length + 1, batch, width}), cells = lstm ? like(hiddens) : Tensor();
  Tensor saved = like(gates, {length, batch, (parts + 1) * width}), from_hidden = like(gates, {batch, parts * width});
  start(at(hiddens, order.first()), options.hidden);
  if (lstm) start(at(cells, order.first()), options.cell);
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t t = order.time(i);
    const Tensor hidden = at(hiddens, order.before(t)), cell = lstm ? at(cells, order.before(t)) : Tensor();
    // The state's share of the gates: [B, C] x [C, G·C] -> [B, G·C]
    backend.matmul({.a = hidden, .b = weight, .transpose_b = true, .bias = bias}, {from_hidden});
    backend.rnn_step({kind, position(gates, t), from_hidden, hidden, cell, options.lengths, t},
                     at(hiddens, order.after(t)), lstm ? at(cells, order.after(t)) : Tensor(), at(saved, t));
  }
  RecurrentResult result{like(gates, {batch, length, width}), like(gates, {batch, width}),
                         lstm ? like(gates, {batch, width}) : Tensor()};
  collect(hiddens, order, result.states);
  backend.scale(at(hiddens, order.last()), 1, {result.hidden});
  if (lstm) backend.scale(at(cells, order.last()), 1, {result.cell});

  record_all(
      {result.states, result.hidden, result.cell}, {gates, weight, bias, options.hidden, options.cell},
      [=](std::span<const Tensor> dys, Grads& grad) {
        const Tensor& dstates = dys[0];
        Tensor dhidden = like(gates, {batch, width}), dcell = lstm ? like(dhidden) : Tensor();
        start(dhidden, dys[1]);
        if (lstm) start(dcell, dys[2]);
        Tensor dgates = like(gates), dfrom_hidden = like(saved, {length, batch, parts * width});
        Backend& backend = gates.backend();
        // Backpropagation through time: steps in reverse, with the gradients of the state carried along.
        for (std::int64_t i = length - 1; i >= 0; --i) {
          const std::int64_t t = order.time(i);
          if (dstates.defined()) backend.scale(position(dstates, t), 1, {dhidden, true});
          const RnnStep step{
              kind, {}, {}, at(hiddens, order.before(t)), lstm ? at(cells, order.before(t)) : Tensor(), options.lengths,
              t};
          backend.rnn_step_backward(step, at(saved, t), dhidden, dcell, position(dgates, t), at(dfrom_hidden, t),
                                    dhidden, dcell);
          backend.matmul({.a = at(dfrom_hidden, t), .b = weight}, {dhidden, true});
        }
        // [T·B, G·C]: one product over all steps gives the weight's gradient.
        const Tensor all = dfrom_hidden.flat_rows();
        if (Grad dweight = grad(weight))
          backend.matmul(
              {.a = all, .b = hiddens.slice_first(order.reverse ? 1 : 0, length).flat_rows(), .transpose_a = true},
              dweight);
        if (Grad dbias = grad(bias))
          backend.reduce(Reduction::sum, all.reshape({1, length * batch, parts * width}),
                         {dbias.into.reshape({1, parts * width}), dbias.accumulate}, {});
        grad.give(gates, dgates);
        grad.give(options.hidden, dhidden);
        grad.give(options.cell, dcell);
      });
  return result;
}

}  // namespace attend::ops
