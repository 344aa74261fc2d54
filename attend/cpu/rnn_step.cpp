// One time step of a recurrent layer: tanh (Elman 1990), GRU (Cho et al. 2014) or LSTM (Hochreiter & Schmidhuber
// 1997), after both projections; rows are independent.
#include <cstring>

#include "attend/cpu/cpu_backend.h"
#include "attend/cpu/parallel.h"

namespace attend {

namespace {

void* row_of(const Tensor& x, std::int64_t row) {
  return x.defined() ? cpu::at(x.raw(), row * x.row_stride(), x.dtype()) : nullptr;
}

bool running(const RnnStep& args, std::int64_t b) {
  return !args.lengths.defined() || args.time < args.lengths.data<std::int32_t>()[b];
}

// memmove: the state after may lie where the state before does.
void copy_row(const Tensor& from, const Tensor& to, std::int64_t b) {
  if (!to.defined() || !from.defined()) return;
  std::memmove(row_of(to, b), row_of(from, b), static_cast<std::size_t>(to.width()) * bytes_of(to.dtype()));
}

void clear_row(const Tensor& x, std::int64_t b) {
  if (x.defined()) std::memset(row_of(x, b), 0, static_cast<std::size_t>(x.width()) * bytes_of(x.dtype()));
}

}  // namespace

void CpuBackend::rnn_step(const RnnStep& args, const Tensor& next_hidden, const Tensor& next_cell,
                          const Tensor& saved) {
  const std::int64_t C = next_hidden.width();
  const int gates = gates_of(args.kind);
  cpu::for_rows(pool(), next_hidden.rows(), 8 * gates * C, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      if (!running(args, b)) {
        copy_row(args.hidden, next_hidden, b);
        copy_row(args.cell, next_cell, b);
        clear_row(saved, b);
        continue;
      }
      cpu::RnnRows row;
      row.gates = gates, row.width = C;
      row.from_input = row_of(args.from_input, b), row.from_hidden = row_of(args.from_hidden, b);
      row.hidden = row_of(args.hidden, b), row.cell = row_of(args.cell, b);
      row.next_hidden = row_of(next_hidden, b), row.next_cell = row_of(next_cell, b);
      row.saved = row_of(saved, b);
      rows_.rnn_step[cpu::kind_of(next_hidden)](row);
    }
  });
}

void CpuBackend::rnn_step_backward(const RnnStep& args, const Tensor& saved, const Tensor& dnext_hidden,
                                   const Tensor& dnext_cell, const Tensor& dfrom_input, const Tensor& dfrom_hidden,
                                   const Tensor& dhidden, const Tensor& dcell) {
  const std::int64_t C = dhidden.width();
  const int gates = gates_of(args.kind);
  cpu::for_rows(pool(), dhidden.rows(), 4 * gates * C, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      if (!running(args, b)) {
        copy_row(dnext_hidden, dhidden, b);
        copy_row(dnext_cell, dcell, b);
        clear_row(dfrom_input, b);
        clear_row(dfrom_hidden, b);
        continue;
      }
      cpu::RnnRows row;
      row.gates = gates, row.width = C;
      row.hidden = row_of(args.hidden, b), row.cell = row_of(args.cell, b);
      row.saved = row_of(saved, b);
      row.dnext_hidden = row_of(dnext_hidden, b), row.dnext_cell = row_of(dnext_cell, b);
      row.dfrom_input = row_of(dfrom_input, b), row.dfrom_hidden = row_of(dfrom_hidden, b);
      row.dhidden = row_of(dhidden, b), row.dcell = row_of(dcell, b);
      rows_.rnn_step_backward[cpu::kind_of(dhidden)](row);
    }
  });
}

}  // namespace attend
