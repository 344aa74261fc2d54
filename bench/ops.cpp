// The case list of the op tests, timed at the sizes of real layers; and what a tape op costs the host.
//   build/bench/ops [--device cpu|cuda:0] [--dtype f32|bf16] [--size base|large] [--filter text] [--json]
// Forward is the op as a recording pass runs it; backward is a step of both less that. Rates count what the case says
// it must compute or move: once through each tensor, not what caches save.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "attend/backends.h"
#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/ops/arithmetic.h"
#include "attend/tensor/pass.h"
#include "tests/ops/cases.h"
#include "tests/ops/runner.h"
#include "tests/tensor/null_backend.h"

namespace attend::test {
namespace {

struct Options {
  std::string device = "cpu", filter;
  std::optional<DType> dtype;
  std::optional<Case::Size> size;
  bool json = false;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Seconds of one call: the best of several batches. On a GPU a batch is long enough that its launches hide.
template <class Step>
double best_time(Backend& backend, const Step& step) {
  step(), step();  // the arena's plan is made and packed
  backend.synchronize();
  const double started = now();
  step();
  backend.synchronize();
  const double once = now() - started;
  const int calls = std::clamp(static_cast<int>(0.02 / std::max(once, 1e-7)), 1, 1000);
  const int batches = std::clamp(static_cast<int>(0.4 / std::max(once * calls, 1e-7)), 3, 15);
  double best = 1e30;
  for (int batch = 0; batch < batches; ++batch) {
    const double from = now();
    for (int i = 0; i < calls; ++i) step();
    backend.synchronize();
    best = std::min(best, (now() - from) / calls);
  }
  return best;
}

// Drawn on the device: the inputs of a language model's loss would take minutes on the host.
Tensors device_inputs(const Case& one, Backend& backend, DType dtype) {
  Tensors inputs;
  for (const Input& input : one.inputs) {
    if (input.is_int()) {
      Case ids;
      ids.name = one.name;
      ids.inputs = {input};
      inputs.push_back(to_tensor(backend, make_inputs(ids, dtype)[0], DType::i32));
      continue;
    }
    Tensor tensor = make_tensor(backend, input.shape, input.keeps_f32 ? DType::f32 : dtype);
    backend.random(tensor, {.kind = RandomFill::uniform,
                            .low_or_mean = static_cast<float>(input.low),
                            .high_or_deviation = static_cast<float>(input.high),
                            .seed = kSeed,
                            .stream = static_cast<std::uint32_t>(inputs.size())});
    inputs.push_back(tensor);
  }
  return inputs;
}

class Timed {
 public:
  Timed(const Case& one, Backend& backend, DType dtype)
      : case_(one),
        backend_(backend),
        pass_(backend, {.recording = true}),
        inputs_(device_inputs(one, backend, dtype)) {
    const Tensors outputs = run();
    const std::size_t count = one.differentiable < 0 ? outputs.size() : static_cast<std::size_t>(one.differentiable);
    for (std::size_t i = 0; i < count; ++i) {
      gradients_.push_back(make_tensor(backend, outputs[i].shape(), outputs[i].dtype()));
      backend.random(gradients_.back(), {.low_or_mean = -1, .high_or_deviation = 1, .seed = kSeed, .stream = 99});
    }
    start_ = make_tensor(backend, {1}, DType::f32);
  }

  double forward() {
    return best_time(backend_, [&] {
      pass_.begin({.plan = 1, .seed = kSeed});
      run();
    });
  }
  double both() {
    return best_time(backend_, [&] {
      pass_.begin({.plan = 2, .seed = kSeed});
      Tensors outputs = run();
      outputs.resize(gradients_.size());
      Tensor loss = joined(outputs, gradients_);
      outputs.clear();
      pass_.backward(loss, start_);
    });
  }

 private:
  Tensors run() {
    Tensors leaves;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      leaves.push_back(case_.inputs[i].differentiable ? pass_.variable(inputs_[i]) : pass_.input(inputs_[i]));
    return case_.run(leaves);
  }

  const Case& case_;
  Backend& backend_;
  Pass pass_;
  Tensors inputs_, gradients_;
  Tensor start_;
};

std::string rate(const Work& work, double seconds, DType dtype) {
  if (seconds <= 0) return "-";
  if (work.flops > 0) return fmt::format("{:.1f} GFLOP/s", work.flops / seconds * 1e-9);
  if (work.elements > 0)
    return fmt::format("{:.1f} GB/s", work.elements * static_cast<double>(bytes_of(dtype)) / seconds * 1e-9);
  return "-";
}

Json time_case(const Case& one, Backend& backend, DType dtype, const Options& options) {
  Timed timed(one, backend, dtype);
  const double forward = timed.forward(), backward = std::max(0.0, timed.both() - forward);
  if (!options.json)
    fmt::print("{:<44} {:<5} {:>10.3f} {:>18} {:>10.3f} {:>18}\n", one.name, name_of(dtype), forward * 1e3,
               rate(one.forward, forward, dtype), backward * 1e3, rate(one.backward, backward, dtype));
  std::fflush(stdout);
  const double bytes = static_cast<double>(bytes_of(dtype));
  return {{"case", one.name},
          {"device", backend.name()},
          {"dtype", name_of(dtype)},
          {"forward_ms", forward * 1e3},
          {"backward_ms", backward * 1e3},
          {"forward_flops", one.forward.flops},
          {"backward_flops", one.backward.flops},
          {"forward_bytes", one.forward.elements * bytes},
          {"backward_bytes", one.backward.elements * bytes}};
}

// A chain of sums of one element, forward and backward: nanoseconds of host time an op, in a replayed step. The best of
// many short steps, which a busy machine disturbs least.
double tape_nanoseconds(Backend& backend) {
  constexpr int kOps = 200, kSteps = 500;
  const Tensor one = make_tensor(backend, {1}, DType::f32), dy = make_tensor(backend, {1}, DType::f32);
  backend.fill(one, 0);
  backend.fill(dy, 1);
  Pass pass(backend, {.recording = true});
  double best = 1e30;
  for (int step = 0; step < kSteps; ++step) {
    const double from = now();
    pass.begin({.plan = 1});
    const Tensor leaf = pass.variable(one);
    Tensor y = leaf;
    for (int i = 0; i < kOps; ++i) y = ops::add(y, leaf);
    pass.backward(y, dy);
    y = Tensor();
    best = std::min(best, now() - from);
    backend.synchronize();
  }
  return best / kOps * 1e9;
}

Json time_tape(Backend& backend, const Options& options) {
  NullBackend nothing;
  const double tape = tape_nanoseconds(nothing), whole = tape_nanoseconds(backend);
  if (!options.json)
    fmt::print(
        "a tape op (add of one element, recorded and run backward): {:.0f} ns of host time with kernels that do "
        "nothing, {:.0f} ns with those of {}\n\n",
        tape, whole, backend.name());
  return {{"case", "tape_op"}, {"device", backend.name()}, {"host_ns", tape}, {"with_kernels_ns", whole}};
}

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    if (name == "--json") {
      options.json = true;
      continue;
    }
    check(i + 1 < count, "bench: {} wants a value", name);
    const std::string value = arguments[++i];
    if (name == "--device")
      options.device = value;
    else if (name == "--filter")
      options.filter = value;
    else if (name == "--dtype" && (value == "f32" || value == "bf16"))
      options.dtype = value == "f32" ? DType::f32 : DType::bf16;
    else if (name == "--size" && (value == "base" || value == "large"))
      options.size = value == "base" ? Case::Size::base : Case::Size::large;
    else
      fail("bench: '{} {}' is unknown; there are --device, --dtype f32|bf16, --size base|large, --filter, --json", name,
           value);
  }
  return options;
}

void run(const Options& options) {
  const std::unique_ptr<Backend> backend = open_backend(options.device);
  // The large sizes are for a GPU; on a CPU they take minutes.
  const auto wanted = [&](const Case& one) {
    const bool size = options.size ? one.size == *options.size : one.size == Case::Size::base || !backend->on_host();
    return size && one.name.find(options.filter) != std::string::npos;
  };
  Json results = Json::array();
  if (options.filter.empty() || std::string("tape_op").find(options.filter) != std::string::npos)
    results.push_back(time_tape(*backend, options));
  if (!options.json)
    fmt::print("{:<44} {:<5} {:>10} {:>18} {:>10} {:>18}\n", "case on " + backend->name(), "dtype", "forward ms", "",
               "backward ms", "");
  for (const Case& one : bench_cases())
    for (DType dtype : {DType::f32, DType::bf16}) {
      if (!wanted(one) || (options.dtype && *options.dtype != dtype)) continue;
      results.push_back(time_case(one, *backend, dtype, options));
    }
  if (options.json) fmt::print("{}\n", results.dump(2));
}

}  // namespace
}  // namespace attend::test

int main(int count, char** arguments) {
  try {
    attend::test::run(attend::test::parse(count, arguments));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
