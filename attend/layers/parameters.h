// Parameters of layers: what they begin as, the memory of all of a model, and files of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "attend/layers/tensor.h"

namespace attend::layers {

struct Init {
  enum Kind : std::uint8_t { zeros, ones, uniform, normal } kind = zeros;
  float spread = 0;  // bound of the uniform, standard deviation of the normal distribution

  static Init xavier(std::int64_t in, std::int64_t out);  // Glorot & Bengio 2010
};

struct ParameterRecord;  // the library's own

// A tensor that is learned. It has a shape from the start, and numbers once Parameters holds it. Copies made before
// that are parameters of their own, so a std::vector of equal layers has separate weights; copies made later are the
// same parameter.
class Parameter {
 public:
  Parameter() : Parameter(Shape{}) {}
  explicit Parameter(const Shape& shape, const Init& init = {});
  // Weights of convolutions [O, kh, kw, C] are [O, C, kh, kw] in files.
  static Parameter convolution(const Shape& shape, const Init& init);
  Parameter(const Parameter& other);
  Parameter(Parameter&& other) noexcept = default;
  Parameter& operator=(const Parameter& other);
  Parameter& operator=(Parameter&& other) noexcept = default;
  ~Parameter() = default;

  const Shape& shape() const;
  // Throws Error if it has no numbers yet.
  Tensor value() const;
  operator Tensor() const { return value(); }
  Tensor gradient() const { return value().gradient(); }
  void set(std::span<const float> values);
  std::vector<float> values() const;  // of a bf16 model those of the f32 master

 private:
  friend struct ParameterAccess;
  std::shared_ptr<ParameterRecord> record_;
};

struct NamedParameter {
  std::string name;
  Parameter* parameter;
};

// All parameters of a model in visiting order, with names joined by dots. A member of visit() is a parameter, a layer,
// or a container of layers, whose names are their numbers.
template <class Module>
void list_parameters(Module& module, const std::string& prefix, std::vector<NamedParameter>& into) {
  module.visit([&]<class Member>(std::string_view name, Member& member) {
    const std::string dot = prefix.empty() || name.empty() ? "" : ".";
    const std::string path = prefix + dot + std::string(name);
    if constexpr (std::is_same_v<std::remove_const_t<Member>, Parameter>) {
      into.push_back({path, &member});
    } else if constexpr (requires { member.begin(); }) {
      int i = 0;
      for (auto& item : member) {
        const std::string place = path + (path.empty() ? "" : ".") + std::to_string(i++);
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(item)>, Parameter>)
          into.push_back({place, &item});
        else
          list_parameters(item, place, into);
      }
    } else {
      list_parameters(member, path, into);
    }
  });
}

struct ParametersState;  // the library's own

// The memory of a model's parameters and gradients, initialised. A copy is the same parameters. The model may be moved
// or destroyed. Parameters that had numbers keep them; whoever held them before does not any more. A model in bf16
// computes in bf16 and learns in f32: weights that are updated and gradients are f32.
class Parameters {
 public:
  template <class Module>
  requires(!std::is_same_v<Module, std::vector<NamedParameter>>)
      Parameters(const Device& device, Module& module, std::uint64_t seed = 1, DType dtype = DType::f32)
      : Parameters(device, listed(module), seed, dtype) {}
  Parameters(const Device& device, const std::vector<NamedParameter>& list, std::uint64_t seed = 1,
             DType dtype = DType::f32);

  std::int64_t count() const;  // numbers
  std::vector<std::string> names() const;
  Tensor operator[](std::string_view name) const;  // throws Error for an unknown name
  Tensor gradient(std::string_view name) const;    // undefined if none arrived since the last update
  void set(std::string_view name, std::span<const float> values);
  void clear_gradients();  // the next backward() begins anew

  // safetensors, by name. load() throws Error if a name is missing or unknown or has another shape.
  void save(const std::filesystem::path& file) const;
  void load(const std::filesystem::path& file);

 private:
  friend class Optimizer;
  template <class Module>
  static std::vector<NamedParameter> listed(Module& module) {
    std::vector<NamedParameter> list;
    list_parameters(module, "", list);
    return list;
  }
  std::shared_ptr<ParametersState> state_;
};

}  // namespace attend::layers
