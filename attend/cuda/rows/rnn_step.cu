// One time step of a recurrent layer after its two projections: tanh, GRU (Cho et al. 2014), LSTM (Hochreiter &
// Schmidhuber 1997), with the gate order of PyTorch. One thread for each unit of each sequence.
#include "attend/cuda/launch.cuh"
#include "attend/cuda/rows/activation.cuh"

namespace attend {
namespace cuda {
namespace {

constexpr int kThreads = 256;

// Rows that may lie apart.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0;

  explicit Rows(const Tensor& x) : data(pointer<T>(x)), stride(x.defined() ? x.row_stride() : 0) {}
  __device__ bool defined() const { return data != nullptr; }
  __device__ float get(std::int64_t row, int column) const {
    return data ? to_float(data[row * stride + column]) : 0.0f;
  }
  __device__ void put(std::int64_t row, int column, float value) const {
    if (data) data[row * stride + column] = from_float<T>(value);
  }
};

template <class T>
struct Step {
  Rows<T> from_input, from_hidden, hidden, cell, next_hidden, next_cell, saved;
  const std::int32_t* lengths;
  std::int64_t time, batch;
  int width;
  RnnKind kind;
};

template <class T>
__global__ void rnn_step_kernel(Step<T> args) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  const std::int64_t b = i / args.width;
  if (b >= args.batch) return;
  const int width = args.width, c = static_cast<int>(i - b * width);
  const bool over = args.lengths && args.time >= args.lengths[b];
  const float hidden = args.hidden.get(b, c), cell = args.cell.get(b, c);
  float next_hidden = 0, next_cell = 0;
  const auto both = [&](int gate) {
    return args.from_input.get(b, gate * width + c) + args.from_hidden.get(b, gate * width + c);
  };
  const auto save = [&](int part, float value) { args.saved.put(b, part * width + c, value); };
  if (args.kind == RnnKind::tanh) {
    next_hidden = tanhf(both(0));
    save(0, next_hidden), save(1, 0.0f);
  } else if (args.kind == RnnKind::gru) {
    const float r = sigmoid(both(0)), z = sigmoid(both(1)), from_hidden = args.from_hidden.get(b, 2 * width + c);
    const float n = tanhf(args.from_input.get(b, 2 * width + c) + r * from_hidden);
    next_hidden = (1 - z) * n + z * hidden;
    save(0, r), save(1, z), save(2, n), save(3, from_hidden);
  } else {
    const float in = sigmoid(both(0)), forget = sigmoid(both(1)), g = tanhf(both(2)), out = sigmoid(both(3));
    next_cell = forget * cell + in * g;
    const float squashed = tanhf(next_cell);
    next_hidden = out * squashed;
    save(0, in), save(1, forget), save(2, g), save(3, out), save(4, squashed);
  }
  args.next_hidden.put(b, c, over ? hidden : next_hidden);
  args.next_cell.put(b, c, over ? cell : next_cell);
}

template <class T>
struct BackwardStep {
  Rows<T> saved, hidden, cell, dnext_hidden, dnext_cell, dfrom_input, dfrom_hidden, dhidden, dcell;
  const std::int32_t* lengths;
  std::int64_t time, batch;
  int width;
  RnnKind kind;
};

template <class T>
__global__ void rnn_step_backward_kernel(BackwardStep<T> args) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  const std::int64_t b = i / args.width;
  if (b >= args.batch) return;
  const int width = args.width, c = static_cast<int>(i - b * width);
  const float dh = args.dnext_hidden.get(b, c), dc = args.dnext_cell.get(b, c);
  const auto saved = [&](int part) { return args.saved.get(b, part * width + c); };
  const auto gate = [&](int part, float from_input, float from_hidden) {
    args.dfrom_input.put(b, part * width + c, from_input);
    args.dfrom_hidden.put(b, part * width + c, from_hidden);
  };
  if (args.lengths && args.time >= args.lengths[b]) {  // the state went straight through
    const int gates = args.kind == RnnKind::tanh ? 1 : args.kind == RnnKind::gru ? 3 : 4;
    for (int part = 0; part < gates; ++part) gate(part, 0, 0);
    args.dhidden.put(b, c, dh), args.dcell.put(b, c, dc);
    return;
  }
  float dhidden = 0, dcell = 0;
  if (args.kind == RnnKind::tanh) {
    const float h = saved(0), d = dh * (1 - h * h);
    gate(0, d, d);
  } else if (args.kind == RnnKind::gru) {
    const float r = saved(0), z = saved(1), n = saved(2), from_hidden = saved(3);
    const float dn = dh * (1 - z) * (1 - n * n), dr = dn * from_hidden * r * (1 - r);
    const float dz = dh * (args.hidden.get(b, c) - n) * z * (1 - z);
    gate(0, dr, dr), gate(1, dz, dz), gate(2, dn, dn * r);
    dhidden = dh * z;
  } else {
    const float in = saved(0), forget = saved(1), g = saved(2), out = saved(3), squashed = saved(4);
    const float d = dc + dh * out * (1 - squashed * squashed);
    const float di = d * g * in * (1 - in), df = d * args.cell.get(b, c) * forget * (1 - forget);
    const float dg = d * in * (1 - g * g), dout = dh * squashed * out * (1 - out);
    gate(0, di, di), gate(1, df, df), gate(2, dg, dg), gate(3, dout, dout);
    dcell = d * forget;
  }
  args.dhidden.put(b, c, dhidden), args.dcell.put(b, c, dcell);
}

}  // namespace
}  // namespace cuda

void CudaBackend::rnn_step(const RnnStep& args, const Tensor& next_hidden, const Tensor& next_cell,
                           const Tensor& saved) {
  using namespace cuda;
  if (next_hidden.size() == 0) return;
  with_float(next_hidden.dtype(), "rnn_step", [&](auto type) {
    using T = typename decltype(type)::type;
    const Step<T> step = {.from_input = Rows<T>(args.from_input),
                          .from_hidden = Rows<T>(args.from_hidden),
                          .hidden = Rows<T>(args.hidden),
                          .cell = Rows<T>(args.cell),
                          .next_hidden = Rows<T>(next_hidden),
                          .next_cell = Rows<T>(next_cell),
                          .saved = Rows<T>(saved),
                          .lengths = pointer<std::int32_t>(args.lengths),
                          .time = args.time,
                          .batch = next_hidden.rows(),
                          .width = static_cast<int>(next_hidden.width()),
                          .kind = args.kind};
    rnn_step_kernel<T><<<blocks_for(next_hidden.size(), kThreads), kThreads, 0, stream()>>>(step);
  });
  launch_check("rnn_step");
}

void CudaBackend::rnn_step_backward(const RnnStep& args, const Tensor& saved, const Tensor& dnext_hidden,
                                    const Tensor& dnext_cell, const Tensor& dfrom_input, const Tensor& dfrom_hidden,
                                    const Tensor& dhidden, const Tensor& dcell) {
  using namespace cuda;
  if (saved.size() == 0) return;
  with_float(saved.dtype(), "rnn_step_backward", [&](auto type) {
    using T = typename decltype(type)::type;
    const std::int64_t width = saved.width() / (gates_of(args.kind) + 1);
    const BackwardStep<T> step = {.saved = Rows<T>(saved),
                                  .hidden = Rows<T>(args.hidden),
                                  .cell = Rows<T>(args.cell),
                                  .dnext_hidden = Rows<T>(dnext_hidden),
                                  .dnext_cell = Rows<T>(dnext_cell),
                                  .dfrom_input = Rows<T>(dfrom_input),
                                  .dfrom_hidden = Rows<T>(dfrom_hidden),
                                  .dhidden = Rows<T>(dhidden),
                                  .dcell = Rows<T>(dcell),
                                  .lengths = pointer<std::int32_t>(args.lengths),
                                  .time = args.time,
                                  .batch = saved.rows(),
                                  .width = static_cast<int>(width),
                                  .kind = args.kind};
    rnn_step_backward_kernel<T><<<blocks_for(saved.rows() * width, kThreads), kThreads, 0, stream()>>>(step);
  });
  launch_check("rnn_step_backward");
}

}  // namespace attend
