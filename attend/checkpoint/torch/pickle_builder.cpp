#include "attend/checkpoint/torch/pickle_builder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/limits.h"

namespace attend::checkpoint::torch {

using Kind = Value::Kind;

Value PickleBuilder::container(Kind kind, std::vector<Value> items) {
  Value made{.kind = kind, .at = static_cast<std::uint32_t>(made_.containers.size())};
  made_.containers.emplace_back();
  add(made, items);
  return made;
}

void PickleBuilder::add(const Value& to, std::span<const Value> items) {
  int depth = 1;
  for (const Value& item : items)
    if (item.is_container()) depth = std::max(depth, made_.containers[item.at].depth + 1);
  demand(depth <= limits::kDeepestPickle, "more than {} containers lie inside one another", limits::kDeepestPickle);
  items_ += items.size();
  demand(items_ <= limits::kMostPickleValues, "the pickle's containers hold more than {} values",
         limits::kMostPickleValues);
  Container& container = made_.containers[to.at];
  container.depth = std::max(container.depth, depth);
  container.items.insert(container.items.end(), items.begin(), items.end());
}

void PickleBuilder::append(const Value& list, std::span<const Value> items) {
  demand(list.kind == Kind::list, "the pickle appends to what is no list");
  add(list, items);
}

void PickleBuilder::set_items(const Value& dict, std::span<const Value> items) {
  demand(dict.is_dict() && items.size() % 2 == 0, "the pickle sets items of what is no dict");
  for (std::size_t i = 0; i < items.size(); i += 2)
    demand(items[i].kind == Kind::text || items[i].kind == Kind::integer,
           "a dict has a key that is neither a text nor a whole number");
  add(dict, items);
}

Value PickleBuilder::reduce(const Value& callable, const Value& arguments) {
  demand(callable.kind == Kind::global && arguments.kind == Kind::tuple, "the pickle calls what is no function");
  constexpr std::size_t kMostArguments = 8;  // a long tuple that is handed over again and again would take hours
  demand(items(arguments).size() <= kMostArguments, "{} has {} arguments", callable.global->full_name(),
         items(arguments).size());
  const std::vector<Value> given = items(arguments);  // a copy: more containers may be made
  switch (callable.global->kind) {
    case Global::Kind::ordered_dict:
      return ordered_dict(given);
    case Global::Kind::rebuild_tensor:
    case Global::Kind::rebuild_typed_tensor:
      return tensor(given, *callable.global);
    case Global::Kind::rebuild_parameter:
      return parameter(given);
    default:
      fail("{}: the pickle calls {}, which weights never do", source_, callable.global->full_name());
  }
}

// Python 3 makes an empty one and fills it; Python 2 hands over a list of pairs.
Value PickleBuilder::ordered_dict(std::span<const Value> arguments) {
  if (arguments.empty()) return container(Kind::ordered_dict, {});
  demand(arguments.size() == 1 && arguments[0].kind == Kind::list, "collections.OrderedDict has other arguments");
  std::vector<Value> flat;
  for (const Value& pair : items(arguments[0])) {
    demand((pair.kind == Kind::list || pair.kind == Kind::tuple) && items(pair).size() == 2,
           "collections.OrderedDict has other arguments");
    flat.insert(flat.end(), items(pair).begin(), items(pair).end());
  }
  const Value dict = container(Kind::ordered_dict, {});
  set_items(dict, flat);
  return dict;
}

std::uint64_t PickleBuilder::whole(const Value& value, const char* what) const {
  demand(value.kind == Kind::integer, "a tensor has a {} that is no whole number", what);
  demand(value.integer >= 0, "a tensor has a negative {}: {}", what, value.integer);
  return static_cast<std::uint64_t>(value.integer);
}

// ('storage', class, key, device, elements), and in old files a window: None or (key, first element, elements).
Value PickleBuilder::storage(const Value& identity) {
  demand(identity.kind == Kind::tuple, "a storage is not named by a tuple");
  const std::vector<Value>& parts = items(identity);
  demand((parts.size() == 5 || parts.size() == 6) && parts[0].kind == Kind::text && parts[0].text == "storage" &&
             parts[1].kind == Kind::global && parts[1].global->kind == Global::Kind::storage &&
             parts[2].kind == Kind::text && parts[3].kind == Kind::text,
         "a storage has a name of another form than torch's");
  demand(parts[2].text.size() <= limits::kLongestGlobal, "the key of a storage is longer than {} bytes",
         limits::kLongestGlobal);
  StorageReference made{.type = parts[1].global->type, .key = parts[2].text};
  made.elements = made.window_elements = whole(parts[4], "storage size");
  if (parts.size() == 6 && parts[5].kind != Kind::none) {
    demand(parts[5].kind == Kind::tuple && items(parts[5]).size() == 3, "a window of a storage has another form");
    made.window_begin = whole(items(parts[5])[1], "window offset");
    made.window_elements = whole(items(parts[5])[2], "window size");
    demand(made.window_begin <= made.elements && made.window_elements <= made.elements - made.window_begin,
           "a window of elements {} + {} lies beyond storage {}, which has {}", made.window_begin, made.window_elements,
           shown(made.key), made.elements);
  }
  made_.storages.push_back(made);
  return {.kind = Kind::storage, .at = static_cast<std::uint32_t>(made_.storages.size() - 1)};
}

// (storage, offset, shape, strides, requires_grad, hooks[, metadata]); the typed one: (.., hooks, dtype[, metadata]).
Value PickleBuilder::tensor(std::span<const Value> arguments, const Global& how) {
  const bool typed = how.kind == Global::Kind::rebuild_typed_tensor;
  const std::size_t usual = typed ? 7 : 6;
  demand(arguments.size() == usual || arguments.size() == usual + 1, "{} has {} arguments", how.full_name(),
         arguments.size());
  demand(arguments[0].kind == Kind::storage && arguments[4].kind == Kind::boolean && is_empty_dict(arguments[5]),
         "{} has arguments of other kinds", how.full_name());
  demand(arguments.size() == usual || arguments[usual].kind == Kind::none || is_empty_dict(arguments[usual]),
         "a tensor is conjugated or negated, or has other metadata, which is not read here");
  TensorReference made{.storage = arguments[0].at, .offset = whole(arguments[1], "storage offset")};
  const std::optional<StoredType> stored = made_.storages[made.storage].type;
  if (typed)
    demand(arguments[6].kind == Kind::global && arguments[6].global->kind == Global::Kind::dtype,
           "a tensor has a dtype that is none");
  const std::optional<StoredType> type = typed ? arguments[6].global->type : stored;
  demand(type.has_value() && typed != stored.has_value(), "a tensor's storage has no type, or two");
  made.type = *type;
  read_extents(made, arguments[2], arguments[3]);
  made_.tensors.push_back(made);
  return {.kind = Kind::tensor, .at = static_cast<std::uint32_t>(made_.tensors.size() - 1)};
}

// A product that overflows is refused even where another dimension is 0: later code multiplies in other orders.
void PickleBuilder::read_extents(TensorReference& tensor, const Value& shape, const Value& strides) const {
  demand(shape.kind == Kind::tuple && strides.kind == Kind::tuple && items(shape).size() == items(strides).size(),
         "a tensor's shape and strides are not two tuples of one length");
  demand(items(shape).size() <= Shape::kMaxRank, "a tensor has {} dimensions, and {} is the limit", items(shape).size(),
         Shape::kMaxRank);
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t bytes = bytes_of(tensor.type);
  for (std::size_t i = 0; i < items(shape).size(); ++i) {
    const std::uint64_t extent = whole(items(shape)[i], "dimension");
    demand(extent == 0 || bytes <= kMost / extent, "a tensor has a shape whose size overflows");
    bytes *= std::max<std::uint64_t>(extent, 1);
    tensor.shape.append(static_cast<std::int64_t>(extent));
    tensor.strides[i] = static_cast<std::int64_t>(whole(items(strides)[i], "stride"));
  }
}

// (tensor, requires_grad, hooks)
Value PickleBuilder::parameter(std::span<const Value> arguments) const {
  demand(arguments.size() == 3 && arguments[0].kind == Kind::tensor && arguments[1].kind == Kind::boolean &&
             is_empty_dict(arguments[2]),
         "torch._utils._rebuild_parameter has other arguments");
  return arguments[0];
}

void PickleBuilder::set_state(const Value& object, const Value& state) const {
  demand(object.kind == Kind::ordered_dict && state.is_dict(), "the pickle sets attributes of what is no state dict");
  demand(items(state).size() == 2, "the pickle sets {} attributes of a state dict", items(state).size() / 2);
  const Value& key = items(state)[0];
  demand(key.kind == Kind::text && key.text == "_metadata", "the pickle sets the attribute {} of a state dict",
         key.kind == Kind::text ? shown(key.text.substr(0, limits::kLongestGlobal)) : "with a number");
}

Pickle PickleBuilder::take(const Value& root, std::size_t bytes) {
  made_.root = root, made_.bytes = bytes;
  return std::move(made_);
}

}  // namespace attend::checkpoint::torch
