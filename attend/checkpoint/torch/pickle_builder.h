// Builds what a pickle describes, where Python would call something: containers, storages and tensors, and nothing
// else. Every size is held against a limit before memory is taken (limits.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attend/base/error.h"
#include "attend/checkpoint/torch/globals.h"
#include "attend/checkpoint/torch/pickle.h"

namespace attend::checkpoint::torch {

class PickleBuilder {
 public:
  explicit PickleBuilder(const std::string& source) : source_(source) {}

  Value container(Value::Kind kind, std::vector<Value> items);
  // APPENDS and SETITEMS: to a list, or pairs to a dict.
  void append(const Value& list, std::span<const Value> items);
  void set_items(const Value& dict, std::span<const Value> items);
  // REDUCE: what the call would have returned.
  Value reduce(const Value& callable, const Value& arguments);
  // BUILD: a state dict's _metadata, which is dropped.
  void set_state(const Value& object, const Value& state) const;
  // BINPERSID: a reference to a storage.
  Value storage(const Value& identity);

  Pickle take(const Value& root, std::size_t bytes);

 private:
  // For bad pickles: the message begins with the file.
  template <class... Args>
  void demand(bool ok, fmt::format_string<Args...> format, Args&&... args) const {
    if (!ok) fail("{}: {}", source_, fmt::format(format, std::forward<Args>(args)...));
  }
  const std::vector<Value>& items(const Value& container) const { return made_.items(container); }
  void add(const Value& to, std::span<const Value> items);
  std::uint64_t whole(const Value& value, const char* what) const;
  bool is_empty_dict(const Value& value) const { return value.is_dict() && items(value).empty(); }

  Value ordered_dict(std::span<const Value> arguments);
  Value tensor(std::span<const Value> arguments, const Global& how);
  Value parameter(std::span<const Value> arguments) const;
  void read_extents(TensorReference& tensor, const Value& shape, const Value& strides) const;

  const std::string& source_;
  Pickle made_;
  std::size_t items_ = 0;  // of all containers
};

}  // namespace attend::checkpoint::torch
