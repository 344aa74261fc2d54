// A tensor of a model that is stored in files: its shape, its initial value, and, once Parameters has allocated it, its
// value. Modules list their parameters once, in visit(), under the names of the checkpoint files. Initialisation,
// loading, saving and the optimiser all walk that list.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "attend/tensor/tensor.h"

namespace attend::nn {

struct Init {
  enum Kind : std::uint8_t { zeros, ones, uniform, normal } kind = zeros;
  float spread = 0;  // bound of the uniform, standard deviation of the normal distribution

  // Glorot & Bengio 2010, for a weight [out, in].
  static Init xavier(std::int64_t in, std::int64_t out) {
    return {uniform, std::sqrt(6.0f / static_cast<float>(in + out))};
  }
  // He et al. 2015, for layers before a relu; fan is the number of inputs (or outputs) of each value.
  static Init he(std::int64_t fan) { return {normal, std::sqrt(2.0f / static_cast<float>(fan))}; }
};

// How ops read a parameter. A weight that is only a factor of products (x wᵀ, or x w), or a table that is looked up and
// multiplied by, may be packed in a device's own format once it is constant. A buffer is not trained: the forward pass
// writes it (running statistics, vectors of a power iteration). It is always f32, and is saved, loaded and moved like
// the rest, without gradient and optimiser state. The weight of a convolution is [O, kh, kw, C / groups] here and [O, C
// / groups, kh, kw] in files. It may be packed too, unless it is in groups, or another op reads its numbers
// (plain_convolution).
enum class Role : std::uint8_t { other, weight, input_major_weight, table, buffer, convolution, plain_convolution };

constexpr bool is_convolution(Role role) { return role == Role::convolution || role == Role::plain_convolution; }

struct Parameter {
  Shape shape;
  Init init;
  Role role = Role::other;
  Tensor value = {};
  operator const Tensor&() const { return value; }
};

// A parameter that checkpoint files store as rows [begin, begin + its own rows) of a taller tensor, such as the query
// part of a fused projection.
struct FileRows {
  Parameter& parameter;
  std::int64_t begin, rows_in_file;
};

// Joins names as "a.b". A part of a module without a name of its own in files is visited under "".
inline std::string joined_name(const std::string& prefix, std::string_view name) {
  if (prefix.empty() || name.empty()) return prefix + std::string(name);
  return prefix + "." + std::string(name);
}

// fn(name, Parameter&) for every parameter of a module, in visiting order; names are joined with dots.
// A visitor may also take FileRows; one that does not sees the parameter under the name of the file's tensor.
template <class Module, class Fn>
void for_each_parameter(Module& module, Fn&& fn, const std::string& prefix = "") {
  module.visit([&]<class Member>(std::string_view name, Member&& member) {
    const std::string path = joined_name(prefix, name);
    using Type = std::remove_cvref_t<Member>;
    if constexpr (std::is_same_v<Type, Parameter>) {
      fn(path, member);
    } else if constexpr (std::is_same_v<Type, FileRows>) {
      if constexpr (std::is_invocable_v<Fn&, const std::string&, const FileRows&>)
        fn(path, member);
      else
        fn(path, member.parameter);
    } else if constexpr (requires { member.begin(); }) {
      int i = 0;
      for (auto& item : member) for_each_parameter(item, fn, path + "." + std::to_string(i++));
    } else {
      for_each_parameter(member, fn, path);
    }
  });
}

}  // namespace attend::nn
