// The names of Python that a file of weights may mention. None of them is ever called: each stands for something that
// the reader builds itself (pickle_builder.h). Every other name is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attend/checkpoint/stored_type.h"

namespace attend::checkpoint::torch {

struct Global {
  enum class Kind : std::uint8_t {
    ordered_dict,
    rebuild_tensor,
    rebuild_typed_tensor,
    rebuild_parameter,
    storage,
    dtype
  };

  std::string_view module, name;
  Kind kind;
  std::optional<StoredType> type = std::nullopt;  // of a storage and a dtype; an UntypedStorage has none

  std::string full_name() const { return std::string(module) + "." + std::string(name); }
};

// Throws Error with the name when it is not on the list.
const Global& find_global(std::string_view module, std::string_view name, const std::string& source);

}  // namespace attend::checkpoint::torch
