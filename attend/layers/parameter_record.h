// What stands behind nn::Parameter and nn::Parameters. No public header includes this one.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "attend/layers/inner.h"
#include "attend/layers/parameters.h"
#include "attend/nn/parameters.h"

namespace attend::layers {

struct ParametersState;

struct [[gnu::visibility("hidden")]] ParameterRecord {
  nn::Parameter inner = {};
  Tensor tensor = {};                          // inner.value as a public tensor
  std::weak_ptr<const ParametersState> owner;  // has the f32 master of a bf16 parameter
};

struct [[gnu::visibility("hidden")]] ParametersState {
  explicit ParametersState(const Device& on) : device(on) {}
  void check_owner() const;
  const nn::Parameters::Entry& entry(std::string_view name) const;
  const nn::Parameters::Entry& entry(const ParameterRecord& record) const;

  Device device;
  std::vector<std::shared_ptr<ParameterRecord>> records;  // entries of inner point to them
  std::unique_ptr<nn::Parameters> inner;
};

struct [[gnu::visibility("hidden")]] ParameterAccess {
  static const std::shared_ptr<ParameterRecord>& record(const Parameter& parameter);
};

}  // namespace attend::layers
