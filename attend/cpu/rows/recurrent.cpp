// Recurrent cells after their projections, and Bahdanau's additive scores.
#include "attend/cpu/rows/math.h"
#include "attend/cpu/rows/table.h"

namespace attend::cpu::ATTEND_ROWS {

// One row. saved holds the gates after their functions, then what else backward needs: gru's hidden part of n,
// lstm's tanh of the cell.
template <class E>
void rnn_step_row(const RnnRows& row) {
  const std::int64_t C = row.width;
  const E *input = static_cast<const E*>(row.from_input), *recurrent = static_cast<const E*>(row.from_hidden);
  const E *hidden = static_cast<const E*>(row.hidden), *cell = static_cast<const E*>(row.cell);
  E *next_hidden = static_cast<E*>(row.next_hidden), *next_cell = static_cast<E*>(row.next_cell);
  E* saved = static_cast<E*>(row.saved);
  each(C, [&](std::int64_t i, auto part) {
    const auto both = [&](int gate) { return load(input + gate * C + i, part) + load(recurrent + gate * C + i, part); };
    const auto save = [&](int slot, Vec v) {
      if (saved) store(saved + slot * C + i, v, part);
    };
    if (row.gates == 1) {
      const Vec h = hyperbolic_tangent(both(0));
      save(0, h);
      save(1, Vec{});
      store(next_hidden + i, h, part);
    } else if (row.gates == 3) {
      const Vec r = sigmoid(both(0)), z = sigmoid(both(1)), inner = load(recurrent + 2 * C + i, part);
      const Vec n = hyperbolic_tangent(load(input + 2 * C + i, part) + r * inner);
      save(0, r), save(1, z), save(2, n), save(3, inner);
      store(next_hidden + i, n + z * (load(hidden + i, part) - n), part);
    } else {
      const Vec in = sigmoid(both(0)), forget = sigmoid(both(1)), g = hyperbolic_tangent(both(2));
      const Vec out = sigmoid(both(3)), c = forget * load(cell + i, part) + in * g;
      const Vec squashed = hyperbolic_tangent(c);
      save(0, in), save(1, forget), save(2, g), save(3, out), save(4, squashed);
      store(next_cell + i, c, part);
      store(next_hidden + i, out * squashed, part);
    }
  });
}

template <class E>
void rnn_step_backward_row(const RnnRows& row) {
  const std::int64_t C = row.width;
  const E *saved = static_cast<const E*>(row.saved), *dnext = static_cast<const E*>(row.dnext_hidden);
  const E *dnext_cell = static_cast<const E*>(row.dnext_cell), *hidden = static_cast<const E*>(row.hidden);
  const E* cell = static_cast<const E*>(row.cell);
  E *dinput = static_cast<E*>(row.dfrom_input), *drecurrent = static_cast<E*>(row.dfrom_hidden);
  E *dhidden = static_cast<E*>(row.dhidden), *dcell = static_cast<E*>(row.dcell);
  each(C, [&](std::int64_t i, auto part) {
    const auto kept = [&](int slot) { return load(saved + slot * C + i, part); };
    const auto give = [&](int gate, Vec v) {
      store(dinput + gate * C + i, v, part);
      store(drecurrent + gate * C + i, v, part);
    };
    const Vec dh = load(dnext + i, part);
    if (row.gates == 1) {
      const Vec h = kept(0);
      give(0, dh * (1.0f - h * h));
      store(dhidden + i, Vec{}, part);
    } else if (row.gates == 3) {
      const Vec r = kept(0), z = kept(1), n = kept(2), inner = kept(3);
      const Vec dn = dh * (1.0f - z) * (1.0f - n * n);
      give(0, dn * inner * r * (1.0f - r));
      give(1, dh * (load(hidden + i, part) - n) * z * (1.0f - z));
      store(dinput + 2 * C + i, dn, part);
      store(drecurrent + 2 * C + i, dn * r, part);
      store(dhidden + i, dh * z, part);
    } else {
      const Vec in = kept(0), forget = kept(1), g = kept(2), out = kept(3), squashed = kept(4);
      Vec dc = dh * out * (1.0f - squashed * squashed);
      if (dnext_cell) dc += load(dnext_cell + i, part);
      give(0, dc * g * in * (1.0f - in));
      give(1, dc * load(cell + i, part) * forget * (1.0f - forget));
      give(2, dc * in * (1.0f - g * g));
      give(3, dh * squashed * out * (1.0f - out));
      store(dhidden + i, Vec{}, part);
      store(dcell + i, dc * forget, part);
    }
  });
}

template <class E>
void additive_scores_rows(const AdditiveRows& args) {
  const E *q = static_cast<const E*>(args.q), *k = static_cast<const E*>(args.k), *v = static_cast<const E*>(args.v);
  E* scores = static_cast<E*>(args.scores);
  for (std::int64_t t = 0; t < args.queries; ++t)
    for (std::int64_t s = 0; s < args.keys; ++s) {
      Vec sum = {};
      each(args.width, [&](std::int64_t i, auto part) {
        sum += load(v + i, part) *
               hyperbolic_tangent(load(q + t * args.stride + i, part) + load(k + s * args.stride + i, part));
      });
      store(scores + t * args.keys + s, splat(sum_of(sum)), Part{1});
    }
}

// One sequence, a block of columns: the tanh is computed once for dq, dk and dv.
template <class E>
void additive_scores_backward_rows(const AdditiveRows& args) {
  const E *q = static_cast<const E*>(args.q), *k = static_cast<const E*>(args.k), *v = static_cast<const E*>(args.v);
  const E* dscores = static_cast<const E*>(args.dscores);
  E* dq = static_cast<E*>(args.dq.data);
  each(args.width, [&](std::int64_t i, auto part) {
    const Vec vi = load(v + i, part);
    Vec dv = {};
    for (std::int64_t t = 0; t < args.queries; ++t) {
      const Vec qi = load(q + t * args.stride + i, part);
      Vec dqi = {};
      for (std::int64_t s = 0; s < args.keys; ++s) {
        const float d = load(dscores + t * args.keys + s, Part{1})[0];
        const Vec h = hyperbolic_tangent(qi + load(k + s * args.stride + i, part));
        dv += d * h;
        const Vec inner = d * vi * (1.0f - h * h);
        dqi += inner;
        float* dk = args.dk ? args.dk + s * args.stride + i : nullptr;
        if (dk) store(dk, load(dk, part) + inner, part);
      }
      if (!dq) continue;
      if (args.dq.accumulate) dqi += load(dq + t * args.stride + i, part);
      store(dq + t * args.stride + i, dqi, part);
    }
    if (args.dv) store(args.dv + i, load(args.dv + i, part) + dv, part);
  });
}

void set_recurrent(RowKernels& table) {
  table.rnn_step[0] = rnn_step_row<float>, table.rnn_step[1] = rnn_step_row<Bf16Bits>;
  table.rnn_step_backward[0] = rnn_step_backward_row<float>;
  table.rnn_step_backward[1] = rnn_step_backward_row<Bf16Bits>;
  table.additive_scores[0] = additive_scores_rows<float>, table.additive_scores[1] = additive_scores_rows<Bf16Bits>;
  table.additive_scores_backward[0] = additive_scores_backward_rows<float>;
  table.additive_scores_backward[1] = additive_scores_backward_rows<Bf16Bits>;
}

}  // namespace attend::cpu::ATTEND_ROWS
