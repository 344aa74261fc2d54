// What a pickle of torch's holds once it is read: values, kept in flat lists, so that nothing in them is walked or
// freed by recursion. Texts point into the file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "attend/checkpoint/stored_type.h"
#include "attend/tensor/shape.h"

namespace attend::checkpoint::torch {

struct Global;

struct Value {
  enum class Kind : std::uint8_t {
    mark,  // on the machine's stack only
    none,
    boolean,
    integer,
    large_integer,  // of more than 8 bytes: text has them
    real,           // its number is nobody's concern
    text,
    global,
    tuple,
    list,
    dict,
    ordered_dict,
    storage,
    tensor,
  };

  Kind kind = Kind::none;
  std::uint32_t at = 0;      // of a container, storage or tensor in its list
  std::int64_t integer = 0;  // and of a boolean
  std::string_view text = {};
  const Global* global = nullptr;

  bool is_dict() const { return kind == Kind::dict || kind == Kind::ordered_dict; }
  bool is_container() const { return kind >= Kind::tuple && kind <= Kind::ordered_dict; }
};

struct Container {
  std::vector<Value> items;  // of a dict: key, value, key, value
  int depth = 1;             // containers inside one another, this one counted, when it was last added to
};

// ('storage', torch.FloatStorage, '0', 'cpu', 30): numbers that lie elsewhere in the file, under a key.
struct StorageReference {
  std::optional<StoredType> type;  // none: bytes
  std::string_view key = {};
  std::uint64_t elements = 0;
  // A window of it, of old files: this many elements from this one on. Else all of it.
  std::uint64_t window_begin = 0, window_elements = 0;
};

struct TensorReference {
  std::uint32_t storage = 0;
  StoredType type = StoredType::f32;
  std::uint64_t offset = 0;  // elements of the storage, or of its window
  Shape shape = {};
  std::array<std::int64_t, Shape::kMaxRank> strides = {};
};

struct Pickle {
  Value root;
  std::size_t bytes = 0;  // how long it is
  std::vector<Container> containers;
  std::vector<StorageReference> storages;
  std::vector<TensorReference> tensors;

  const std::vector<Value>& items(const Value& container) const { return containers[container.at].items; }
};

}  // namespace attend::checkpoint::torch
