#include "attend/checkpoint/torch/state_dict.h"

#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "attend/base/error.h"
#include "attend/base/json.h"
#include "attend/base/limits.h"

namespace attend::checkpoint::torch {

namespace {

using Kind = Value::Kind;

constexpr std::string_view kWrappers[] = {"state_dict", "model_state_dict", "model"};

// Walks containers by their keys. One may lie in several places, or in itself: the number of steps and the depth are
// bounded, whatever the file holds.
class TensorWalk {
 public:
  TensorWalk(const Pickle& pickle, const std::string& source) : pickle_(pickle), source_(source) {}

  // Of the root, with the item of it that each lies under.
  struct Found {
    NamedTensor named;
    std::size_t item = 0;
  };
  std::vector<Found> all() {
    walk(pickle_.root, "", 1);
    return std::move(found_);
  }

 private:
  void walk(const Value& container, const std::string& path, int depth) {
    check(depth <= limits::kDeepestPickle, "{}: more than {} containers lie inside one another", source_,
          limits::kDeepestPickle);
    check(path.size() <= limits::kLongestTensorName, "{}: the keys of a container are longer than {} bytes", source_,
          limits::kLongestTensorName);
    const std::vector<Value>& items = pickle_.items(container);
    const bool dict = container.is_dict();
    std::set<std::string> keys;
    for (std::size_t i = 0; i < items.size(); i += dict ? 2 : 1) {
      check(++steps_ <= limits::kMostPickleValues, "{}: more than {} values, where containers lie in several places",
            source_, limits::kMostPickleValues);
      if (depth == 1) item_ = i;
      const Value& value = items[dict ? i + 1 : i];
      check(value.kind != Kind::storage, "{}: a storage lies there without a tensor", source_);
      const std::string key = dict ? key_of(items[i]) : std::to_string(i);
      if (dict) check(keys.insert(key).second, "{}: a dict has the key {} twice", source_, shown(key));
      if (value.kind == Kind::tensor) found(path + key, value.at);
      if (value.is_container()) walk(value, path + key + ".", depth + 1);
    }
  }

  std::string key_of(const Value& key) const {
    if (key.kind == Kind::integer) return std::to_string(key.integer);
    return std::string(key.text.substr(0, limits::kLongestTensorName + 1));
  }

  void found(const std::string& name, std::uint32_t tensor) {
    check(name.size() <= limits::kLongestTensorName, "{}: the name of a tensor is longer than {} bytes: {}..", source_,
          limits::kLongestTensorName, shown(name.substr(0, 64)));
    found_.push_back({{name, tensor}, item_});
    check(found_.size() <= limits::kMostTorchTensors, "{}: more than {} tensors", source_, limits::kMostTorchTensors);
  }

  const Pickle& pickle_;
  const std::string& source_;
  std::vector<Found> found_;
  std::size_t steps_ = 0, item_ = 0;
};

// The item of the root that is the state dict of a checkpoint; none where the root is it.
std::optional<std::size_t> wrapped(const Pickle& pickle) {
  const std::vector<Value>& items = pickle.items(pickle.root);
  for (std::size_t i = 1; i < items.size(); i += 2)
    if (items[i].kind == Kind::tensor) return std::nullopt;
  for (const std::string_view wrapper : kWrappers)
    for (std::size_t i = 0; i < items.size(); i += 2)
      if (items[i].kind == Kind::text && items[i].text == wrapper && items[i + 1].is_dict()) return i;
  return std::nullopt;
}

}  // namespace

StateDict find_state_dict(const Pickle& pickle, const std::string& source) {
  check(pickle.root.is_dict(), "{}: it holds no state dict: {}", source,
        pickle.root.kind == Kind::tensor ? "only one tensor, without a name" : "its pickle is not a dict of tensors");
  StateDict result;
  const std::optional<std::size_t> inner = wrapped(pickle);
  std::size_t last = pickle.items(pickle.root).size();
  for (auto& [named, item] : TensorWalk(pickle, source).all()) {
    const Value& key = pickle.items(pickle.root)[item];
    if (!inner) {
      result.tensors.push_back(std::move(named));
    } else if (item == *inner) {
      named.name.erase(0, key.text.size() + 1);
      result.tensors.push_back(std::move(named));
    } else if (std::exchange(last, item) != item) {
      result.left_out.push_back(key.kind == Kind::text ? std::string(key.text) : std::to_string(key.integer));
    }
  }
  check(!result.tensors.empty(), "{}: it holds no tensors", source);
  return result;
}

}  // namespace attend::checkpoint::torch
