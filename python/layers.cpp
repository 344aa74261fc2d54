// The part of attend.Tensor, attend.ops, attend.nn and attend.optim that is C++: tensors, ops, layers and optimisers of
// attend/nn.h. Calls keep Python's lock, so threads take turns on a device.
#include "python/layers.h"

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/operators.h>
#include <pybind11/stl.h>

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attend/layers/modules.h"
#include "attend/layers/ops.h"
#include "attend/layers/training.h"

namespace py = pybind11;

namespace attend::python {

namespace {

using layers::Tensor;
using Dims = std::vector<std::int64_t>;
using Floats = py::array_t<float, py::array::c_style | py::array::forcecast>;
using Ints = py::array_t<std::int32_t, py::array::c_style | py::array::forcecast>;
using Wide = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

Shape shape_of(const Dims& dims) {
  Shape shape;
  check(dims.size() <= Shape::kMaxRank, "tensor: {} axes are more than {}", dims.size(), Shape::kMaxRank);
  for (const std::int64_t dim : dims) shape.append(dim);
  return shape;
}

Dims dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

Device& default_device() {
  static auto* device = new Device("cpu");  // until the process ends: tensors may be destroyed after this module
  return *device;
}

// Floats become f32, integers and bools i32.
Tensor tensor_of(const py::array& array, const Device& device) {
  const Shape shape = shape_of(Dims(array.shape(), array.shape() + array.ndim()));
  const char kind = array.dtype().kind();
  const auto count = static_cast<std::size_t>(array.size());
  if (kind == 'f') {
    const Floats values(array);
    return Tensor(device, shape, std::span(values.data(), count));
  }
  check(kind == 'i' || kind == 'u' || kind == 'b', "tensor: an array of kind '{}' is neither floats nor integers", kind);
  const Wide wide(array);
  for (std::size_t i = 0; i < count; ++i)
    check(wide.data()[i] == static_cast<std::int32_t>(wide.data()[i]), "tensor: {} does not fit 32 bits",
          wide.data()[i]);
  const Ints values(array);
  return Tensor(device, shape, std::span(values.data(), count));
}

// A view that cannot be written, if the memory lies on the host; else a copy.
py::array numpy_of(const Tensor& x) {
  const Dims dims = dims_of(x.shape());
  const void* data = x.dtype() == DType::bf16 ? nullptr : x.host_data();
  if (data) {
    const auto dtype = x.dtype() == DType::i32 ? py::dtype::of<std::int32_t>() : py::dtype::of<float>();
    py::array view(dtype, dims, {}, data, py::cast(x));
    view.attr("setflags")(py::arg("write") = false);
    return view;
  }
  if (x.dtype() == DType::i32) return py::array_t<std::int32_t>(dims, x.ints().data());
  return py::array_t<float>(dims, x.values().data());
}

std::optional<Tensor> maybe(const Tensor& x) { return x.defined() ? std::optional<Tensor>(x) : std::nullopt; }
Tensor or_none(const std::optional<Tensor>& x) { return x.value_or(Tensor()); }

Activation activation_named(const std::string& name) {
  for (const Activation kind : {Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                Activation::silu, Activation::tanh, Activation::sigmoid, Activation::leaky_relu})
    if (name == name_of(kind)) return kind;
  fail("activation: there is no '{}'", name);
}

layers::Init init_named(const std::string& name, float spread) {
  const char* names[] = {"zeros", "ones", "uniform", "normal"};
  for (int i = 0; i < 4; ++i)
    if (name == names[i]) return {static_cast<layers::Init::Kind>(i), spread};
  fail("init: '{}' is none of zeros, ones, uniform and normal", name);
}

// An argument that is an array becomes a tensor. py::implicitly_convertible would do, but lets one thread at a time: while
// one converts, another's call has no such conversion and is a TypeError.
PyObject* tensor_from_array(PyObject* object, PyTypeObject* type) {
  thread_local bool converting = false;  // Tensor(Tensor(array)) is no way
  if (converting || !py::isinstance<py::array>(object)) return nullptr;
  converting = true;
  PyObject* tensor = PyObject_CallFunctionObjArgs(reinterpret_cast<PyObject*>(type), object, nullptr);
  converting = false;
  if (!tensor) PyErr_Clear();
  return tensor;
}

void add_tensor(py::module_& module) {
  py::class_<Device>(module, "Device", "cpu, cuda or cuda:1; threads 0 takes every core")
      .def(py::init([](const std::string& name, int threads) {
             return Device(name, {.threads = threads, .batch_invariant = false});
           }),
           py::arg("name") = "cpu", py::arg("threads") = 0);
  py::class_<Tensor>(module, "Tensor")  // its docstring is in _tensor.py
      .def(py::init([](const py::array& array) { return tensor_of(array, default_device()); }))
      .def(py::init([](const py::array& array, const Device& device) { return tensor_of(array, device); }))
      .def_property_readonly("shape", [](const Tensor& x) { return py::tuple(py::cast(dims_of(x.shape()))); },
                             "The extents of its axes, a tuple.")
      .def_property_readonly("ndim", &Tensor::rank, "The number of axes.")
      .def_property_readonly("size", &Tensor::size, "The number of numbers.")
      .def_property_readonly("dtype", [](const Tensor& x) { return name_of(x.dtype()); }, "'f32', 'bf16' or 'i32'.")
      .def_property_readonly("device", &Tensor::device_name, "The name of its device.")
      .def_property_readonly("recorded", &Tensor::recorded, "Whether backward() may start here.")
      .def("numpy", &numpy_of, "A read-only view without a copy on the CPU, else a copy; bf16 becomes float32.")
      .def("item", &Tensor::item, "The number of a tensor [1] or [].")
      .def("reshape", [](const Tensor& x, const Dims& dims) { return x.reshape(std::span(dims)); },
           "The same numbers under another shape; one extent may be -1.")
      .def("detach", &Tensor::detach, "A copy that no tape knows.")
      .def("backward", &Tensor::backward,
           "Runs the tape backward from this number, [1]; leaves gradients in variables and parameters. Once per step.")
      .def_property_readonly("grad", [](const Tensor& x) { return maybe(x.gradient()); },
                             "The gradient of a variable or parameter, shaped like it, or None if none arrived.")
      .def("__add__", [](const Tensor& a, const Tensor& b) { return a + b; }, py::is_operator())
      .def("__radd__", [](const Tensor& a, const Tensor& b) { return b + a; }, py::is_operator())
      .def("__sub__", [](const Tensor& a, const Tensor& b) { return a - b; }, py::is_operator())
      .def("__rsub__", [](const Tensor& a, const Tensor& b) { return b - a; }, py::is_operator())
      .def("__mul__", [](const Tensor& a, float b) { return a * b; }, py::is_operator())
      .def("__rmul__", [](const Tensor& a, float b) { return a * b; }, py::is_operator())
      .def("__mul__", [](const Tensor& a, const Tensor& b) { return a * b; }, py::is_operator())
      .def(
          "__rmul__", [](const Tensor& a, const Tensor& b) { return b * a; }, py::is_operator())
      .def(
          "__rmatmul__", [](const Tensor& a, const Tensor& b) { return layers::matmul(b, a); }, py::is_operator())
      .def("__truediv__", [](const Tensor& a, float b) { return a * (1 / b); }, py::is_operator())
      .def("__neg__", [](const Tensor& a) { return a * -1.0f; }, py::is_operator())
      .def("__matmul__", [](const Tensor& a, const Tensor& b) { return layers::matmul(a, b); }, py::is_operator());
  py::detail::get_type_info(typeid(Tensor), true)->implicit_conversions.push_back(&tensor_from_array);
  py::class_<layers::Tape>(module, "Tape",
                           "Records what is computed from its tensors. backward() ends a step; the next input() begins "
                           "another. One tape serves a whole run.")
      .def(py::init([](const std::optional<Device>& device, std::uint64_t seed) {
             return layers::Tape(device ? *device : default_device(), seed);
           }),
           py::arg("device") = std::nullopt, py::arg("seed") = 1)
      .def("input", &layers::Tape::input, "x [..] -> [..], recorded from here on.")
      .def("variable", &layers::Tape::variable, "x [..] -> [..], recorded, and with a gradient: x.grad after backward().")
      .def("restart", &layers::Tape::restart, "Forgets what was recorded since the last step.");
}

layers::AttentionOptions attention_options(std::int64_t heads, bool causal, const std::optional<Tensor>& lengths,
                                           float dropout) {
  return {heads, causal, or_none(lengths), dropout};
}

void add_ops(py::module_& ops) {
  using namespace py::literals;
  const auto none = std::optional<Tensor>();
  ops.def("add", &layers::add, "a"_a, "b"_a, "a [..], b: the same shape or its last axes -> [..]");
  ops.def("multiply", &layers::multiply, "a"_a, "b"_a, "a [..], b: the same shape or its last axes -> [..]");
  ops.def("matmul", &layers::matmul, "a"_a, "b"_a, "a [.., M, K], b [.., K, N] -> [.., M, N]");
  ops.def("linear", [](const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
    return layers::linear(x, weight, or_none(bias));
  }, "x"_a, "weight"_a, "bias"_a = none, "x Wᵀ + b.   x [.., in], weight [out, in], bias [out] -> [.., out]");
  ops.def("activation", [](const Tensor& x, const std::string& kind) {
    return layers::activation(x, activation_named(kind));
  }, "x"_a, "kind"_a, "x [..] -> [..]; kind is relu, gelu, gelu_tanh, silu, tanh, sigmoid or leaky_relu");
  ops.def("relu", &layers::relu, "x"_a, "x [..] -> [..]");
  ops.def("gelu", &layers::gelu, "x"_a, "x [..] -> [..]");
  ops.def("silu", &layers::silu, "x"_a, "x [..] -> [..]");
  ops.def("tanh", &layers::tanh, "x"_a, "x [..] -> [..]");
  ops.def("sigmoid", &layers::sigmoid, "x"_a, "x [..] -> [..]");
  ops.def("dropout", &layers::dropout, "x"_a, "rate"_a, "x [..] -> [..]; x itself where nothing is recorded");
  ops.def("softmax", &layers::softmax, "x"_a, "axis"_a = -1, "x [..] -> [..], over one axis");
  ops.def("layer_norm", &layers::layer_norm, "x"_a, "weight"_a, "bias"_a, "eps"_a = 1e-5f, "x [.., C], weight and bias [C] -> [.., C]");
  ops.def("embedding", &layers::embedding, "ids"_a, "table"_a, "ids int [..], table [V, C] -> [.., C]");
  ops.def("attention", [](const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t heads, bool causal,
                          const std::optional<Tensor>& key_lengths, float dropout) {
    return layers::attention(q, k, v, attention_options(heads, causal, key_lengths, dropout));
  }, "q"_a, "k"_a, "v"_a, "heads"_a = 1, "causal"_a = false, "key_lengths"_a = none, "dropout"_a = 0.0f, "softmax(q kᵀ / √D) v for each head.   q [B, T, C], k and v [B, S, C] -> [B, T, C]");
  ops.def("attention_weights", [](const Tensor& q, const Tensor& k, std::int64_t heads, bool causal,
                                  const std::optional<Tensor>& key_lengths) {
    return layers::attention_weights(q, k, attention_options(heads, causal, key_lengths, 0));
  }, "q"_a, "k"_a, "heads"_a = 1, "causal"_a = false, "key_lengths"_a = none, "q [B, T, C], k [B, S, C] -> [B, H, T, S]; not recorded");
  ops.def("additive_scores", &layers::additive_scores, "q"_a, "k"_a, "v"_a, "v · tanh(q + k).   q [B, T, C], k [B, S, C], v [C] -> [B, T, S]");
  ops.def("conv2d", [](const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, std::int64_t stride,
                       std::int64_t padding) {
    return layers::conv2d(x, weight, or_none(bias), {.stride = stride, .padding = padding});
  }, "x"_a, "weight"_a, "bias"_a = none, "stride"_a = 1, "padding"_a = 0, "x [B, height, width, C], weight [O, kh, kw, C] -> [B, height', width', O]");
  ops.def("max_pool2d", &layers::max_pool2d, "x"_a, "size"_a, "stride"_a, "padding"_a = 0, "x [B, height, width, C] -> [B, height', width', C]");
  ops.def("avg_pool2d", &layers::avg_pool2d, "x"_a, "size"_a, "stride"_a, "padding"_a = 0, "x [B, height, width, C] -> [B, height', width', C]");
  const auto reduced = [](Tensor (*all)(const Tensor&), Tensor (*along)(const Tensor&, int)) {
    return [all, along](const Tensor& x, std::optional<int> axis) { return axis ? along(x, *axis) : all(x); };
  };
  ops.def("sum", reduced(&layers::sum, &layers::sum), "x"_a, "axis"_a = std::optional<int>(), "x [.., N, ..] -> without that axis; without an axis [1]");
  ops.def("mean", reduced(&layers::mean, &layers::mean), "x"_a, "axis"_a = std::optional<int>(), "x [.., N, ..] -> without that axis; without an axis [1]");
  ops.def("max", &layers::max, "x"_a, "axis"_a, "x [.., N, ..] -> without that axis");
  ops.def("argmax", &layers::argmax, "x"_a, "axis"_a = -1, "x [.., N, ..] -> int32 without that axis");
  ops.def("slice", &layers::slice, "x"_a, "axis"_a, "begin"_a, "count"_a, "entries [begin, begin + count) of an axis");
  ops.def("concat", [](const std::vector<Tensor>& parts, int axis) { return layers::concat(std::span(parts), axis); },
          "parts"_a, "axis"_a, "joins tensors along an axis");
  ops.def("split", &layers::split, "x"_a, "parts"_a, "equal parts of the last axis, as a list");
  ops.def("permute", [](const Tensor& x, const std::vector<int>& order) { return layers::permute(x, std::span(order)); },
          "x"_a, "order"_a, "axis i of the result is axis order[i] of x");
  ops.def("transpose", &layers::transpose, "x"_a, "a"_a = -2, "b"_a = -1, "exchanges two axes");
  ops.def("beside", &layers::beside, "x"_a, "value"_a, "value, recorded by the tape of x if x has one");
  ops.def("sinusoids", [](std::int64_t length, std::int64_t width) {
    return layers::sinusoids(default_device(), length, width);
  }, "length"_a, "width"_a, "sinusoidal positions (Vaswani et al. 2017, section 3.5), [length, width]");
  ops.def("cross_entropy", [](const Tensor& logits, const Tensor& targets, float smoothing, std::int32_t ignore) {
    return layers::cross_entropy(logits, targets, {smoothing, ignore});
  }, "logits"_a, "targets"_a, "smoothing"_a = 0.0f, "ignore"_a = -100, "logits [.., V], targets int [..] -> [1], the mean");
  ops.def("mean_squared_error", &layers::mean_squared_error, "x"_a, "target"_a, "x [..], target [..] -> [1]");
  ops.def("custom_op", [](const std::vector<Tensor>& inputs, const Tensor& y, const py::function& backward) {
    return layers::custom_op(std::span(inputs), y, [backward](const Tensor& dy) {
      const py::object returned = backward(dy);
      try {
        std::vector<Tensor> gradients;
        for (const auto& gradient : returned.cast<std::vector<std::optional<Tensor>>>())
          gradients.push_back(or_none(gradient));
        return gradients;
      } catch (const py::cast_error&) {
        fail("custom_op: backward(dy) must return a list with a tensor or None for each input, not {}",
             py::repr(returned).cast<std::string>());
      }
    });
  }, "inputs"_a, "y"_a, "backward"_a, "y, computed from inputs in any way; backward(dy) returns a gradient or None for each input");
}

// The parameters of a layer with their names, as references into it.
template <class Layer>
std::vector<std::pair<std::string, layers::Parameter*>> named_parameters(Layer& layer) {
  std::vector<layers::NamedParameter> list;
  layers::list_parameters(layer, "", list);
  std::vector<std::pair<std::string, layers::Parameter*>> named;
  for (const layers::NamedParameter& one : list) named.emplace_back(one.name, one.parameter);
  return named;
}

template <class Layer>
py::class_<Layer> add_layer(py::module_& module, const char* name) {
  return py::class_<Layer>(module, name)
      .def("named_parameters", &named_parameters<Layer>, py::return_value_policy::reference_internal);
}

layers::Mask mask_of(bool causal, const std::optional<Tensor>& lengths) { return {causal, or_none(lengths)}; }

layers::TransformerLayerOptions layer_options(std::int64_t width, std::int64_t heads, std::int64_t hidden, float dropout,
                                              const std::string& activation, bool pre_norm) {
  return {width, heads, hidden, dropout, activation_named(activation), pre_norm};
}

void add_modules(py::module_& module) {
  using layers::Parameter;
  py::class_<Parameter>(module, "Parameter")
      .def(py::init([](const Dims& dims, const std::string& init, float spread) {
        return Parameter(shape_of(dims), init_named(init, spread));
      }))
      .def_property_readonly("shape", [](const Parameter& p) { return py::tuple(py::cast(dims_of(p.shape()))); })
      .def("value", &Parameter::value)
      .def("values", [](const Parameter& p) { return py::array_t<float>(dims_of(p.shape()), p.values().data()); });
  add_layer<layers::Linear>(module, "Linear")
      .def(py::init<std::int64_t, std::int64_t, bool>())
      .def("__call__", &layers::Linear::operator());
  add_layer<layers::Embedding>(module, "Embedding")
      .def(py::init<std::int64_t, std::int64_t>())
      .def("__call__", &layers::Embedding::operator())
      .def("logits", &layers::Embedding::logits);
  add_layer<layers::LayerNorm>(module, "LayerNorm")
      .def(py::init<std::int64_t, float>())
      .def("__call__", &layers::LayerNorm::operator());
  add_layer<layers::Conv2d>(module, "Conv2d")
      .def(py::init([](std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                       bool bias) {
        return layers::Conv2d(in, out, {kernel, {.stride = stride, .padding = padding}, bias});
      }))
      .def("__call__", &layers::Conv2d::operator());
  add_layer<layers::MultiHeadAttention>(module, "MultiHeadAttention")
      .def(py::init<std::int64_t, std::int64_t, float>())
      .def("__call__", [](const layers::MultiHeadAttention& layer, const Tensor& x, const std::optional<Tensor>& memory,
                          bool causal, const std::optional<Tensor>& lengths) {
        const layers::Mask mask = mask_of(causal, lengths);
        return memory ? layer(x, *memory, mask) : layer(x, mask);
      })
      .def("weights", [](const layers::MultiHeadAttention& layer, const Tensor& x, const std::optional<Tensor>& memory,
                         bool causal, const std::optional<Tensor>& lengths) {
        return layer.weights(x, memory ? *memory : x, mask_of(causal, lengths));
      });
  add_layer<layers::FeedForward>(module, "FeedForward")
      .def(py::init([](std::int64_t width, std::int64_t hidden, const std::string& activation) {
        return layers::FeedForward(width, hidden, activation_named(activation));
      }))
      .def("__call__", &layers::FeedForward::operator());
  add_layer<layers::TransformerEncoderLayer>(module, "TransformerEncoderLayer")
      .def(py::init([](std::int64_t width, std::int64_t heads, std::int64_t hidden, float dropout,
                       const std::string& activation, bool pre_norm) {
        return layers::TransformerEncoderLayer(layer_options(width, heads, hidden, dropout, activation, pre_norm));
      }))
      .def("__call__", [](const layers::TransformerEncoderLayer& layer, const Tensor& x, bool causal,
                          const std::optional<Tensor>& lengths) { return layer(x, mask_of(causal, lengths)); });
  add_layer<layers::TransformerDecoderLayer>(module, "TransformerDecoderLayer")
      .def(py::init([](std::int64_t width, std::int64_t heads, std::int64_t hidden, float dropout,
                       const std::string& activation, bool pre_norm) {
        return layers::TransformerDecoderLayer(layer_options(width, heads, hidden, dropout, activation, pre_norm));
      }))
      .def("__call__", [](const layers::TransformerDecoderLayer& layer, const Tensor& x, const Tensor& memory,
                          const std::optional<Tensor>& lengths, const std::optional<Tensor>& memory_lengths) {
        return layer(x, memory, mask_of(true, lengths), mask_of(false, memory_lengths));
      });
  add_layer<layers::Recurrent>(module, "Recurrent")
      .def(py::init([](int kind, std::int64_t in, std::int64_t width, std::int64_t count) {
        return layers::Recurrent(static_cast<layers::RnnKind>(kind), in, width, count);
      }))
      .def("__call__", [](const layers::Recurrent& layer, const Tensor& x, const std::optional<Tensor>& hidden,
                          const std::optional<Tensor>& cell, const std::optional<Tensor>& lengths) {
        const layers::RnnResult result = layer(x, {or_none(hidden), or_none(cell)}, or_none(lengths));
        return std::make_tuple(result.states, result.last.hidden, maybe(result.last.cell));
      });
}

void add_training(py::module_& module) {
  using layers::Parameters;
  py::class_<Parameters>(module, "Parameters",
                         "All parameters of a model: their memory, their gradients and their names.")
      .def(py::init([](const std::optional<Device>& device,
                       const std::vector<std::pair<std::string, layers::Parameter*>>& named, std::uint64_t seed,
                       const std::string& dtype) {
        check(dtype == "f32" || dtype == "bf16", "parameters: a model computes in f32 or bf16, not in '{}'", dtype);
        std::vector<layers::NamedParameter> list;
        for (const auto& [name, parameter] : named) list.push_back({name, parameter});
        return Parameters(device ? *device : default_device(), list, seed,
                          dtype == "bf16" ? DType::bf16 : DType::f32);
      }))
      .def_property_readonly("count", &Parameters::count, "How many numbers they are.")
      .def("names", &Parameters::names, "Their names, in the order of the model.")
      .def("get", [](const Parameters& all, const std::string& name) { return all[name]; },
           "The parameter of this name, as a tensor.")
      .def("gradient", [](const Parameters& all, const std::string& name) { return maybe(all.gradient(name)); },
           "Its gradient, shaped like it, or None.")
      .def("set", [](Parameters& all, const std::string& name, const Floats& values) {
        const Shape given = shape_of(Dims(values.shape(), values.shape() + values.ndim())), own = all[name].shape();
        check(given == own, "parameters: '{}' is {}, not {}", name, own, given);
        all.set(name, std::span(values.data(), static_cast<std::size_t>(values.size())));
      }, "Sets the parameter of this name from an array of its shape.")
      .def("clear_gradients", &Parameters::clear_gradients, "Forgets all gradients.")
      .def("save", [](const Parameters& all, const std::string& file) { all.save(file); }, "Writes safetensors.")
      .def("load", [](Parameters& all, const std::string& file) { all.load(file); },
           "Reads safetensors; another name or shape raises Error.");
  py::class_<layers::Optimizer>(module, "Optimizer", "Made by AdamW() or SGD().")
      .def(py::init([](const Parameters& parameters, const std::string& kind, const py::object& rate, float beta1,
                       float beta2, float eps, float weight_decay, float momentum, bool nesterov, float clip_norm) {
        layers::OptimizerOptions options{.kind = kind == "sgd" ? layers::OptimizerOptions::sgd
                                                               : layers::OptimizerOptions::adamw,
                                         .beta1 = beta1, .beta2 = beta2, .eps = eps, .weight_decay = weight_decay,
                                         .momentum = momentum, .nesterov = nesterov, .clip_norm = clip_norm};
        if (py::isinstance<py::float_>(rate) || py::isinstance<py::int_>(rate))
          options.rate = rate.cast<float>();
        else
          options.schedule = rate.cast<layers::Schedule>();
        return layers::Optimizer(parameters, options);
      }))
      .def("step", &layers::Optimizer::step, "Applies the gradients of all backward() since the last step, and forgets them.")
      .def_property_readonly("steps", &layers::Optimizer::steps, "The number of steps so far.")
      .def_property_readonly("rate", &layers::Optimizer::rate, "The learning rate of the last step.")
      .def_property_readonly("gradient_norm", &layers::Optimizer::gradient_norm,
                             "The norm of all gradients in the last step, before clipping.");
  module.def("cosine", &layers::cosine);
  module.def("linear_decay", &layers::linear_decay);
  module.def("inverse_square_root", &layers::inverse_square_root);
}

}  // namespace

void add_layers(py::module_& module) {
  add_tensor(module);
  py::module_ ops = module.def_submodule("ops");
  add_ops(ops);
  py::module_ nn = module.def_submodule("nn");
  add_modules(nn);
  add_training(nn);
}

}  // namespace attend::python
